// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
// cuda_benchmark [--only FILTER] [RESULT.json [COMMIT]]: the CUDA filters against the limits of the device that they
// run on, kernels alone and from host memory to host memory. Each result is checked against the CPU before it is timed.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "backends/choice.hpp"
#include "cuda/backend.hpp"
#include "cuda/device.hpp"
#include "cuda/filters/median/network_job.cuh"
#include "cuda/registry.hpp"
#include "cuda/resources.hpp"
#include "cuda_benchmark_main.hpp"
#include "cuda_ceilings.hpp"
#include "cuda_timing.cuh"
#include "filters/bm4d.hpp"
#include "filters/median/generator/network.hpp"
#include "filters/quadratic/coefficients.hpp"
#include "filters/registry.hpp"

namespace quietvox::bench {
namespace {

using cuda::LaunchContext;

constexpr Extent flat{4096, 4096, 1}, deep{512, 512, 256}, cube{512, 512, 512};
constexpr Extent odd{500, 500, 256};  // rows of no power of two

struct Case {
  std::string filter;
  std::string setting;  ///< what tells it from the others of the filter
  Options options;
  Extent extent;
  Radius3 window{};  ///< of the neighbours that count in an output, where the filter looks at each
  int passes = 1;    ///< how often it does
};

Case with_radius(const std::string& filter, const Radius3& r, const Extent& extent) {
  const std::string radius = std::to_string(r.x) + "x" + std::to_string(r.y) + "x" + std::to_string(r.z);
  Options options{{"radius", radius}};
  if (filter == "bilateral") options.push_back({"range-sigma", "100"});
  return {filter, radius, options, extent, r};
}

Case nlm_case(const std::string& patch, const Radius3& r, const Extent& extent, const std::string& noise_bias) {
  const std::string search = std::to_string(r.x) + "x" + std::to_string(r.y) + "x" + std::to_string(r.z);
  return {"nlm",
          "patch " + patch + ", search " + search + (noise_bias == "0" ? ", no bias" : ""),
          {{"patch-radius", patch}, {"search-radius", search}, {"sigma", "50"}, {"noise-bias", noise_bias}},
          extent,
          r};
}

Case bm4d_case(const std::string& block, const std::string& quality, const Extent& extent) {
  const std::string slices = block == "8x8x1" ? ", " + std::to_string(extent.z) + " slices" : "";
  return {"bm4d", block + ", " + quality + slices, {{"block", block}, {"quality", quality}, {"sigma", "50"}}, extent};
}

/// A quadratic filter of 5x5 pixels, for want of a preset: the mean, and a little of every product.
Case quadratic_of_5x5() {
  QuadraticCoefficients coefficients;
  coefficients.size = 5;
  coefficients.h1.assign(25, 1.0 / 25);
  std::mt19937 random(1);
  for (int i = 0; i < 25 * 26 / 2; ++i) coefficients.h2.push_back(1e-2 * (random() / 4294967296.0 - 0.5));
  const auto file = std::filesystem::temp_directory_path() / "cuda_benchmark_5x5.json";
  std::ofstream(file) << to_json(coefficients);
  return {"quadratic", "5x5", {{"coefficients", file.string()}}, flat};
}

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
  static std::map<std::int64_t, std::vector<T>> by_size;
  std::vector<T>& voxels = by_size[extent.voxels()];
  if (voxels.empty()) voxels = noise<T>(extent);
  return voxels;
}

/// Largest difference from the CPU in a box in the middle of the volume.
template <class T>
double difference_from_cpu(const FilterConfig& settings, const Extent& extent, const std::vector<T>& in,
                           const std::vector<T>& out) {
  const auto cpu = make_backend("cpu");
  const VolumeView<const T> whole{in.data(), extent};
  VolumeView<float> box{nullptr, {}, {1, 1, 1}, {}};
  for (int axis = 0; axis < 3; ++axis) {
    box.extent[axis] = std::min<std::int64_t>(extent[axis], 37);
    box.origin[axis] = (extent[axis] - box.extent[axis]) / 2;
  }
  const VolumeView<float> around = expanded(box, settings.halo(), {nullptr, extent});
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
    const FilterConfig settings = resolved_filter(c.filter, c.options, c.extent);
    const BackendEntry<LaunchContext>& kernel = *find_entry(cuda::cuda_entries(), find_filter(c.filter));
    const LaunchContext context{device_.compute, device_.pool, device_.multiprocessors};
    const std::vector<T>& in = shared_noise<T>(c.extent);
    std::vector<T> out(in.size());
    const std::size_t bytes = in.size() * sizeof(T);
    const cuda::DeviceBuffer<T> from(in.size(), context), to(in.size(), context);
    QV_CUDA(cudaMemcpyAsync(from.get(), in.data(), bytes, cudaMemcpyHostToDevice, context.stream));
    QV_CUDA(cudaMemsetAsync(to.get(), 0x7f, bytes, context.stream));
    const VolumeView<const T> source{from.get(), c.extent};
    const VolumeView<T> target{to.get(), c.extent};
    const auto run = [&] { kernel.run<T>()(source, target, settings.params(), context); };
    run();
    QV_CUDA(cudaMemcpyAsync(out.data(), to.get(), bytes, cudaMemcpyDeviceToHost, context.stream));
    device_.compute.synchronize();
    const double difference = difference_from_cpu(settings, c.extent, in, out);
    const double rate = static_cast<double>(c.extent.voxels()) / seconds(run, context.stream);
    report<T>(c, rate, difference);
  }

  /// From host memory to host memory, through the backend.
  void host_to_host(const Backend& backend, const Case& c, bool pinned) {
    const FilterConfig settings = resolved_filter(c.filter, c.options, c.extent);
    const std::vector<float>& noise = shared_noise<float>(c.extent);
    const auto voxels = static_cast<std::size_t>(c.extent.voxels());
    std::vector<float> pageable(pinned ? 0 : 2 * voxels);
    cuda::PinnedBuffer buffer;
    float* in = pinned ? static_cast<float*>(buffer.reserve(2 * voxels * sizeof(float))) : pageable.data();
    std::copy(noise.begin(), noise.end(), in);
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
    std::printf("%-10s %-8s host to host %-8s %9.2f Gvoxel/s   %.2f of the bus\n", c.filter.c_str(), c.setting.c_str(),
                pinned ? "pinned" : "pageable", rate / 1e9, rate / ceiling);
    std::fflush(stdout);
    rows_.push_back({{"filter", c.filter},
                     {"setting", c.setting},
                     {"type", "float"},
                     {"what", pinned ? "pinned" : "pageable"},
                     {"gvoxel_per_s", rate / 1e9},
                     {"of_ceiling", rate / ceiling},
                     {"ceiling", "bus"}});
  }

  const nlohmann::json& rows() const { return rows_; }

 private:
  struct Limit {
    double rate;  ///< outputs per second
    const char* name;
  };

  /// What the slowest unit allows: the copy of the voxels, for the Gaussian once an axis, or the arithmetic.
  Limit limit_of(const Case& c, bool packed) const {
    const Limit copy{ceilings_.copy / (packed ? 4 : 8), "copy"};
    const auto slower = [&](double rate, const char* name) { return rate < copy.rate ? Limit{rate, name} : copy; };
    if (c.filter == "gaussian") return {copy.rate / 3, "three copies"};
    if (c.filter == "dct") return {copy.rate / 2, "two copies"};
    if (c.filter == "bm4d") return {ceilings_.fma / bm4d_operations(c), "fma, comparing"};
    if (c.filter == "quadratic") return c.setting == "5x5" ? slower(ceilings_.fma / (24 * 25 / 2 + 24), "fma") : copy;
    if (c.filter != "median") return slower(ceilings_.exp2 / taps(c), "exp2");
    const auto operations = network_operations(c.window);
    if (!operations) return {copy.rate, "copy (no network)"};
    // A third of them can be made by sums of twice the operations in another unit, as fast as these.
    return slower(1.5 * (packed ? ceilings_.minmax_s16x2 : ceilings_.minmax_f32) / *operations, "min-or-max, sums");
  }

  /// A difference and a multiply-add for each voxel of each block that is compared, in both stages.
  static double bm4d_operations(const Case& c) {
    const FilterConfig settings = resolved_filter(c.filter, c.options, c.extent);
    const auto& params = std::any_cast<const Bm4dParams&>(settings.params());
    double operations = 4 * window_voxels(*params.search_radius);
    for (int axis = 0; axis < 3; ++axis) operations *= static_cast<double>(params.lengths[axis]) / params.step(axis);
    return operations;
  }

  static double taps(const Case& c) { return c.passes * window_voxels(c.window); }

  template <class T>
  void report(const Case& c, double rate, double difference) {
    const bool packed = sizeof(T) == 2;
    const Limit limit = limit_of(c, packed);
    const char* type = packed ? "int16" : "float";
    nlohmann::json row{{"filter", c.filter},
                       {"setting", c.setting},
                       {"type", type},
                       {"what", "kernel"},
                       {"extent", {c.extent.x, c.extent.y, c.extent.z}},
                       {"gvoxel_per_s", rate / 1e9},
                       {"of_ceiling", rate / limit.rate},
                       {"ceiling", limit.name},
                       {"difference_from_cpu", difference}};
    std::printf("%-18s %-26s %-5s %9.2f Gvoxel/s ", c.filter.c_str(), c.setting.c_str(), type, rate / 1e9);
    if (c.window != Radius3{}) {
      row["ttap_per_s"] = rate * taps(c) / 1e12;
      std::printf("%6.2f T tap/s ", rate * taps(c) / 1e12);
    }
    std::printf("  %.2f of %-18s difference %.1e\n", rate / limit.rate, limit.name, difference);
    std::fflush(stdout);
    rows_.push_back(row);
  }

  cuda::Device& device_;
  const Ceilings& ceilings_;
  nlohmann::json rows_ = nlohmann::json::array();
};

void run_cases(Benchmark& benchmark, const std::string& only) {
  const auto wanted = [&](const char* filter) { return only.empty() || only == filter; };
  if (wanted("median")) {
    for (const int r : {1, 2, 3, 4, 5, 6, 7, 15}) {
      benchmark.kernel<float>(with_radius("median", {r, r, 0}, flat));
      benchmark.kernel<std::int16_t>(with_radius("median", {r, r, 0}, flat));
    }
    for (const Radius3& r : {Radius3{2, 0, 0}, {7, 0, 0}, {0, 2, 0}}) {
      benchmark.kernel<float>(with_radius("median", r, flat));
      benchmark.kernel<std::int16_t>(with_radius("median", r, flat));
    }
    for (const Radius3& r : {Radius3{1, 1, 1}, {2, 2, 1}, {2, 2, 2}, {3, 3, 1}, {3, 3, 3}, {0, 0, 2}}) {
      benchmark.kernel<float>(with_radius("median", r, deep));
      benchmark.kernel<std::int16_t>(with_radius("median", r, deep));
    }
    for (const Radius3& r : {Radius3{1, 1, 1}, {2, 2, 1}, {2, 2, 2}, {3, 3, 1}}) {
      benchmark.kernel<float>(with_radius("median", r, odd));
    }
  }
  if (wanted("bilateral")) {
    for (const int r : {1, 2, 3, 4, 5, 7, 9, 15}) {
      benchmark.kernel<float>(with_radius("bilateral", {r, r, 0}, flat));
    }
    for (const int r : {1, 2, 3, 5}) benchmark.kernel<float>(with_radius("bilateral", {r, r, r}, deep));
  }
  if (wanted("adaptive-bilateral")) {
    for (const char* rule : {"variance", "two-pass"}) {
      for (const Radius3& r : {Radius3{3, 3, 0}, {5, 5, 0}, {3, 3, 3}}) {
        Case c = with_radius("adaptive-bilateral", r, r.z == 0 ? flat : deep);
        c.setting += std::string(", ") + rule;
        c.options.push_back({"rule", rule});
        if (std::string_view(rule) == "two-pass") c.passes = 2;
        benchmark.kernel<float>(c);
      }
    }
  }
  if (wanted("nlm")) {
    for (const char* noise_bias : {"2", "0"}) {
      benchmark.kernel<float>(nlm_case("1x1x0", {10, 10, 0}, flat, noise_bias));
      benchmark.kernel<float>(nlm_case("2x2x0", {10, 10, 0}, flat, noise_bias));
      benchmark.kernel<float>(nlm_case("1x1x1", {5, 5, 5}, deep, noise_bias));
      benchmark.kernel<float>(nlm_case("2x2x2", {5, 5, 5}, deep, noise_bias));
    }
  }
  if (wanted("dct")) {
    benchmark.kernel<float>({"dct", "4x4x4", {{"sigma", "50"}}, cube});
    benchmark.kernel<float>({"dct", "8x8x1", {{"sigma", "50"}}, flat});
  }
  if (wanted("prinlm")) {
    Case c{"prinlm", "search 5x5x5", {{"sigma", "50"}, {"search-radius", "5x5x5"}}, cube, {5, 5, 5}};
    benchmark.kernel<float>(c);
    c.setting += ", guide bm4d";
    c.options.push_back({"guide", "bm4d"});
    benchmark.kernel<float>(c);
  }
  if (wanted("bm4d")) {
    for (const char* quality : {"fast", "default", "best"}) benchmark.kernel<float>(bm4d_case("4x4x4", quality, cube));
    benchmark.kernel<float>(bm4d_case("8x8x1", "default", deep));
    benchmark.kernel<float>(bm4d_case("8x8x1", "default", flat));
  }
  if (wanted("gaussian")) {
    for (const char* sigma : {"1", "3", "6", "8"}) {
      benchmark.kernel<float>({"gaussian", std::string("sigma ") + sigma, {{"sigma", sigma}}, cube});
    }
  }
  if (wanted("quadratic")) {
    benchmark.kernel<float>({"quadratic", "3x3", {{"coefficients", "denoise"}}, flat});
    benchmark.kernel<float>(quadratic_of_5x5());
  }
  if (!only.empty()) return;
  const auto backend = make_cuda_backend(0);
  for (const bool pinned : {true, false}) {
    benchmark.host_to_host(*backend, with_radius("median", {1, 1, 1}, cube), pinned);
    benchmark.host_to_host(*backend, with_radius("bilateral", {2, 2, 2}, cube), pinned);
  }
}

void run(int argc, char** argv) {
  std::string only;
  if (argc > 2 && std::string_view(argv[1]) == "--only") {
    only = argv[2];
    argv += 2;
    argc -= 2;
  }
  const auto device = std::move(cuda::open_devices(0).front());
  const Ceilings ceilings = measure_ceilings();
  std::printf(
      "%s\ncopy %.2f TB/s, min-or-max %.1f T/s, 16-bit min-or-max %.1f T/s, exp2 %.2f T/s, fma %.1f T/s, up %.1f GB/s, "
      "down %.1f GB/s\n",
      device->name.c_str(), ceilings.copy / 1e12, ceilings.minmax_f32 / 1e12, ceilings.minmax_s16x2 / 1e12,
      ceilings.exp2 / 1e12, ceilings.fma / 1e12, ceilings.upload / 1e9, ceilings.download / 1e9);
  Benchmark benchmark(*device, ceilings);
  run_cases(benchmark, only);
  write_result(argc, argv, *device,
               {{"ceilings",
                 {{"copy", ceilings.copy},
                  {"minmax_f32", ceilings.minmax_f32},
                  {"minmax_s16x2", ceilings.minmax_s16x2},
                  {"exp2", ceilings.exp2},
                  {"fma", ceilings.fma},
                  {"atomics", ceilings.atomics},
                  {"shared", ceilings.shared},
                  {"upload", ceilings.upload},
                  {"download", ceilings.download}}},
                {"rows", benchmark.rows()}});
}

}  // namespace
}  // namespace quietvox::bench

int main(int argc, char** argv) {
  return quietvox::bench::run_program("cuda_benchmark", argc, argv, quietvox::bench::run);
}
