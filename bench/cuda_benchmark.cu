// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
// cuda_benchmark [RESULT.json [COMMIT]]: the CUDA filters against the limits of the device that they run on, kernels
// alone and from host memory to host memory. Each result is checked against the CPU before it is timed.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "backends/choice.hpp"
#include "cuda/backend.hpp"
#include "cuda/device.hpp"
#include "cuda/filters/median/network.hpp"
#include "cuda/resources.hpp"
#include "cuda_ceilings.hpp"
#include "cuda_timing.hpp"
#include "filters/bilateral.hpp"
#include "filters/median.hpp"
#include "filters/registry.hpp"
#include "filters/selection/network.hpp"

namespace quietvox::bench {
namespace {

using cuda::Queue;

struct Case {
  std::string filter, radius;
  Extent extent;
};

constexpr Extent flat{4096, 4096, 1}, deep{512, 512, 256}, odd{500, 500, 256};  // odd: rows of no power of two

/// Float noise around 1000, as whole numbers for integers; never zeros.
template <class T>
std::vector<T> noise(const Extent& extent) {
  std::mt19937 random(1);
  std::vector<T> voxels(static_cast<std::size_t>(extent.voxels()));
  for (T& voxel : voxels) {
    double sum = 1000;
    for (int i = 0; i < 4; ++i) sum += 150 * (static_cast<double>(random()) / 4294967296.0 - 0.5);
    voxel = static_cast<T>(sum);
  }
  return voxels;
}

template <class T>
const std::vector<T>& shared_noise(const Extent& extent) {
  static const std::vector<T> flat_noise = noise<T>(flat), deep_noise = noise<T>(deep), odd_noise = noise<T>(odd);
  return extent.z == 1 ? flat_noise : extent.x == odd.x ? odd_noise : deep_noise;
}

Settings make_settings(const Case& c) {
  Settings settings(find_filter(c.filter));
  settings.set("radius", c.radius);
  if (c.filter == "bilateral") settings.set("range-sigma", "100");
  return settings.resolved({c.extent, {1, 1, 1}, [] { return 50.0; }, [] { return Range<double>{0, 2000}; }});
}

/// Largest difference from the CPU in a box in the middle of the volume.
template <class T>
double difference_from_cpu(const Settings& settings, const Extent& extent, const std::vector<T>& in,
                           const std::vector<T>& out) {
  const auto cpu = make_backend("cpu");
  const VolumeView<const T> whole{in.data(), extent};
  VolumeView<float> box{nullptr, {}, {1, 1, 1}, {}};
  for (int axis = 0; axis < 3; ++axis) {
    box.extent[axis] = std::min<std::int64_t>(extent[axis], 37);
    box.origin[axis] = (extent[axis] - box.extent[axis]) / 2;
  }
  const VolumeView<float> around = grown(box, settings.halo(), {nullptr, extent});
  const auto cut = [&](const std::vector<T>& from, const VolumeView<float>& place) {
    std::vector<T> part;
    for (std::int64_t z = 0; z < place.extent.z; ++z) {
      for (std::int64_t y = 0; y < place.extent.y; ++y) {
        const T* row = VolumeView<const T>{from.data(), extent}.row(y + place.origin.y, z + place.origin.z);
        part.insert(part.end(), row + place.origin.x, row + place.origin.x + place.extent.x);
      }
    }
    return part;
  };
  const std::vector<T> source = cut(in, around), actual = cut(out, box);
  std::vector<T> expected(actual.size());
  const VolumeView<const T> from{source.data(), around.extent, {1, 1, 1}, around.origin};
  const VolumeView<T> to{expected.data(), box.extent, {1, 1, 1}, box.origin};
  if constexpr (std::is_same_v<T, float>) {
    cpu->run({&settings, 1}, from, to, {});
  } else {
    cpu->run(settings, from, to, {});
  }
  double largest = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i])));
  }
  return largest;
}

/// Minima and maxima per output of the network that the window has, if any.
std::optional<double> network_operations(const Radius3& r) {
  const Triple<int> window{2 * r.x + 1, 2 * r.y + 1, 2 * r.z + 1};
  for (const cuda::MedianNetwork& network : cuda::median_networks()) {
    if (network.window != window) continue;
    double operations = 0;
    for (const selection::Step& step : selection::median_network(window, network.group_f32)) {
      operations += step.kind == selection::StepKind::min || step.kind == selection::StepKind::max;
    }
    const Triple<int> tile = network.group_f32;
    return operations / (tile.x * tile.y * tile.z);
  }
  return std::nullopt;
}

class Benchmark {
 public:
  Benchmark(cuda::Device& device, const Ceilings& ceilings) : device_(device), ceilings_(ceilings) {}

  template <class T>
  void kernel(const Case& c) {
    const Settings settings = make_settings(c);
    const Queue queue{device_.compute, device_.pool, device_.multiprocessors};
    const std::vector<T>& in = shared_noise<T>(c.extent);
    std::vector<T> out(in.size());
    const std::size_t bytes = in.size() * sizeof(T);
    const cuda::DeviceBuffer<T> from(in.size(), queue), to(in.size(), queue);
    QV_CUDA(cudaMemcpyAsync(from.get(), in.data(), bytes, cudaMemcpyHostToDevice, queue.stream));
    QV_CUDA(cudaMemsetAsync(to.get(), 0x7f, bytes, queue.stream));
    const VolumeView<const T> source{from.get(), c.extent};
    const VolumeView<T> target{to.get(), c.extent};
    const auto run = [&] {
      if (c.filter == "median") {
        median_cuda(source, target, std::any_cast<const MedianParams&>(settings.params()), queue);
      } else if constexpr (std::is_same_v<T, float>) {
        bilateral_cuda(source, target, std::any_cast<const BilateralParams&>(settings.params()), queue);
      }
    };
    run();
    QV_CUDA(cudaMemcpyAsync(out.data(), to.get(), bytes, cudaMemcpyDeviceToHost, queue.stream));
    device_.compute.synchronize();
    const double difference = difference_from_cpu(settings, c.extent, in, out);
    const double rate = static_cast<double>(c.extent.voxels()) / seconds(run, queue.stream);
    report<T>(c, settings.halo(), rate, difference);
  }

  /// From host memory to host memory, through the backend.
  void host_to_host(const Backend& backend, const Case& c, bool pinned) {
    const Settings settings = make_settings(c);
    const std::vector<float>& noise = shared_noise<float>(deep);
    const auto voxels = static_cast<std::size_t>(c.extent.voxels());
    std::vector<float> pageable(pinned ? 0 : 2 * voxels);
    cuda::PinnedBuffer buffer;
    float* in = pinned ? static_cast<float*>(buffer.reserve(2 * voxels * sizeof(float))) : pageable.data();
    for (std::size_t i = 0; i < voxels; ++i) in[i] = noise[i % noise.size()];
    std::vector<double> times;
    for (int run = -1; run < 5; ++run) {
      const auto start = std::chrono::steady_clock::now();
      backend.run({&settings, 1}, VolumeView<const float>{in, c.extent}, VolumeView<float>{in + voxels, c.extent}, {});
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
      if (run >= 0) times.push_back(time.count());
    }
    std::sort(times.begin(), times.end());
    const double rate = static_cast<double>(voxels) / times[times.size() / 2];
    const double ceiling = std::min(ceilings_.upload, ceilings_.download) / sizeof(float);
    std::printf("%-10s %-8s host to host %-8s %9.2f Gvoxel/s   %.2f of the bus\n", c.filter.c_str(), c.radius.c_str(),
                pinned ? "pinned" : "pageable", rate / 1e9, rate / ceiling);
    std::fflush(stdout);
    rows_.push_back({{"filter", c.filter},
                     {"radius", c.radius},
                     {"type", "float"},
                     {"what", pinned ? "pinned" : "pageable"},
                     {"gvoxel_per_s", rate / 1e9},
                     {"of_ceiling", rate / ceiling},
                     {"ceiling", "bus"}});
  }

  const nlohmann::json& rows() const { return rows_; }

 private:
  template <class T>
  void report(const Case& c, const Radius3& r, double rate, double difference) {
    const bool packed = sizeof(T) == 2;
    const double copy = ceilings_.copy / (2 * sizeof(T));
    double ceiling = copy;
    const char* limit = "copy";
    const auto limited_by = [&](double other, const char* name) {
      if (other < ceiling) ceiling = other, limit = name;
    };
    const double taps = (2.0 * r.x + 1) * (2.0 * r.y + 1) * (2.0 * r.z + 1);
    if (c.filter == "bilateral") {
      limited_by(ceilings_.exp2 / taps, "exp2");
    } else if (const auto operations = network_operations(r)) {
      limited_by((packed ? ceilings_.minmax_s16x2 : ceilings_.minmax_f32) / *operations, "min-or-max");
    } else {
      limit = "copy (no network)";
    }
    const char* type = packed ? "int16" : "float";
    std::printf("%-10s %-8s %-5s %9.2f Gvoxel/s %6.2f T tap/s   %.2f of %-18s difference %.1e\n", c.filter.c_str(),
                c.radius.c_str(), type, rate / 1e9, rate * taps / 1e12, rate / ceiling, limit, difference);
    std::fflush(stdout);
    rows_.push_back({{"filter", c.filter},
                     {"radius", c.radius},
                     {"type", type},
                     {"what", "kernel"},
                     {"extent", {c.extent.x, c.extent.y, c.extent.z}},
                     {"gvoxel_per_s", rate / 1e9},
                     {"ttap_per_s", rate * taps / 1e12},
                     {"of_ceiling", rate / ceiling},
                     {"ceiling", limit},
                     {"difference_from_cpu", difference}});
  }

  cuda::Device& device_;
  const Ceilings& ceilings_;
  nlohmann::json rows_ = nlohmann::json::array();
};

int run(int argc, char** argv) {
  const auto device = std::move(cuda::open_devices(0).front());
  const Ceilings ceilings = measure_ceilings();
  std::printf(
      "%s\ncopy %.2f TB/s, min-or-max %.1f T/s, 16-bit min-or-max %.1f T/s, exp2 %.2f T/s, up %.1f GB/s, down %.1f "
      "GB/s\n",
      device->name.c_str(), ceilings.copy / 1e12, ceilings.minmax_f32 / 1e12, ceilings.minmax_s16x2 / 1e12,
      ceilings.exp2 / 1e12, ceilings.upload / 1e9, ceilings.download / 1e9);
  Benchmark benchmark(*device, ceilings);
  for (const char* radius : {"1x1x0", "2x2x0", "3x3x0", "4x4x0", "5x5x0", "6x6x0", "7x7x0", "15x15x0"}) {
    benchmark.kernel<float>({"median", radius, flat});
    benchmark.kernel<std::int16_t>({"median", radius, flat});
  }
  for (const char* radius : {"1x1x1", "2x2x1", "2x2x2", "3x3x1", "3x3x3"}) {
    benchmark.kernel<float>({"median", radius, deep});
    benchmark.kernel<std::int16_t>({"median", radius, deep});
  }
  for (const char* radius : {"1x1x1", "2x2x1", "2x2x2", "3x3x1"}) benchmark.kernel<float>({"median", radius, odd});
  for (const char* radius : {"1x1x0", "2x2x0", "3x3x0", "4x4x0", "5x5x0", "7x7x0", "9x9x0", "15x15x0"}) {
    benchmark.kernel<float>({"bilateral", radius, flat});
  }
  for (const char* radius : {"1x1x1", "2x2x2", "3x3x3", "5x5x5"}) benchmark.kernel<float>({"bilateral", radius, deep});

  const auto backend = make_cuda_backend(0);
  for (const bool pinned : {true, false}) {
    benchmark.host_to_host(*backend, {"median", "1x1x1", {512, 512, 512}}, pinned);
    benchmark.host_to_host(*backend, {"bilateral", "2x2x2", {512, 512, 512}}, pinned);
  }
  if (argc > 1) {
    int driver = 0;
    QV_CUDA(cudaDriverGetVersion(&driver));
    const nlohmann::json result{{"gpu", device->name},
                                {"cuda_driver", driver},
                                {"cuda_runtime", CUDART_VERSION},
                                {"commit", argc > 2 ? argv[2] : "unknown"},
                                {"ceilings",
                                 {{"copy", ceilings.copy},
                                  {"minmax_f32", ceilings.minmax_f32},
                                  {"minmax_s16x2", ceilings.minmax_s16x2},
                                  {"exp2", ceilings.exp2},
                                  {"upload", ceilings.upload},
                                  {"download", ceilings.download}}},
                                {"rows", benchmark.rows()}};
    std::ofstream(argv[1]) << result.dump(1) << '\n';
  }
  return 0;
}

}  // namespace
}  // namespace quietvox::bench

int main(int argc, char** argv) {
#ifndef NDEBUG
  std::fprintf(stderr, "cuda_benchmark: this is a Debug build; build with CMAKE_BUILD_TYPE=Release\n");
  return 1;
#endif
  try {
    return quietvox::bench::run(argc, argv);
  } catch (const quietvox::Error& error) {
    std::fprintf(stderr, "cuda_benchmark: %s\n", error.what());
    return 1;
  }
}
