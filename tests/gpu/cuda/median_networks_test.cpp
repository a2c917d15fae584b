// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// The selection networks on volumes small enough for a slow reference and for compute-sanitizer. The backend gives
// small volumes of floats to another kernel, by what the device has multiprocessors for: here the filter is told that
// there are few.
#include <algorithm>
#include <cmath>

#include "cuda/check.hpp"
#include "cuda/device.hpp"
#include "filters/median.hpp"
#include "gpu/gpu_test.hpp"

namespace quietvox::test {
namespace {

struct NetworkCase {
  Radius3 radius;
  Extent floats;  ///< sizes that no tile divides, of windows that see more voxels than the other kernel would take
};

class GpuMedianNetwork : public testing::TestWithParam<NetworkCase> {
 protected:
  void SetUp() override {
    try {
      device_ = std::move(cuda::open_devices(0).front());
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), Errc::device);
      GTEST_SKIP() << "no CUDA device: " << error.what();
    }
  }

  /// Filters what windows of a box of the volume see, on the device.
  template <class T>
  std::vector<T> run(const std::vector<T>& voxels, const VolumeView<const float>& shape, const VolumeView<T>& box,
                     Border border) const {
    const cuda::LaunchContext context{device_->compute, device_->pool, 4};
    const cuda::DeviceBuffer<T> in(voxels.size(), context);
    const auto count = static_cast<std::size_t>(box.extent.voxels());
    const cuda::DeviceBuffer<T> out(count, context);
    std::vector<T> result(count);
    QV_CUDA(cudaMemcpyAsync(in.get(), voxels.data(), voxels.size() * sizeof(T), cudaMemcpyDefault, context.stream));
    VolumeView<T> to = box;
    to.data = out.get();
    median_cuda(VolumeView<const T>{in.get(), shape.extent, shape.spacing, {}, box.missing}, to,
                {.radius = GetParam().radius, .border = border}, context);
    QV_CUDA(cudaMemcpyAsync(result.data(), out.get(), count * sizeof(T), cudaMemcpyDefault, context.stream));
    device_->compute.synchronize();
    return result;
  }

  /// Compares every voxel of the volume, and of a box of it, with the reference.
  template <class T>
  void expect_equal(const Volume& volume, std::optional<T> missing = std::nullopt) const {
    std::vector<T> voxels(volume.voxels.size());
    std::transform(volume.voxels.begin(), volume.voxels.end(), voxels.begin(),
                   [&](float v) { return missing && std::isnan(v) ? *missing : static_cast<T>(v); });
    for (const Border border : {Border::replicate, Border::reflect, Border::copy}) {
      FilterConfig step = settings("median", {{"radius", FieldType<Radius3>::format(GetParam().radius)}});
      step.set("border", choices(border)[static_cast<std::size_t>(border)]);
      const Volume expected = reference("median").run(volume, resolved(step, volume));
      const Extent& whole = volume.extent;
      for (const auto& [origin, extent] :
           {std::pair{Index3{0, 0, 0}, whole}, {Index3{3, 1, 0}, Extent{whole.x - 5, whole.y - 2, whole.z - 1}}}) {
        const std::vector<T> made =
            run(voxels, volume.view(), VolumeView<T>{nullptr, extent, {1, 1, 1}, origin, missing}, border);
        Volume actual(extent);
        std::transform(made.begin(), made.end(), actual.voxels.begin(),
                       [&](T v) { return missing == v ? std::nanf("") : static_cast<float>(v); });
        EXPECT_EQ(first_difference(box_of(expected, origin, extent), actual), "")
            << step.get("border") << ", from column " << origin.x;
      }
    }
  }

 private:
  std::unique_ptr<cuda::Device> device_;
};

TEST_P(GpuMedianNetwork, OfFloatsEqualsTheReference) {
  expect_equal<float>(with_holes(busy_volume(GetParam().floats, 21), 997));
}

/// Rows of an even number of voxels are read where they are, others from a copy.
TEST_P(GpuMedianNetwork, OfIntegersEqualsTheReference) {
  const std::int64_t slices = 6 + 4 * GetParam().radius.z;
  for (const Extent extent : {Extent{46, 27, slices}, Extent{45, 25, slices}}) {
    Volume volume = busy_volume(extent, 22, true);
    expect_equal<std::int16_t>(volume);
    for (std::size_t i = 100; i < volume.voxels.size(); i += 997) volume.voxels[i] = std::nanf("");
    expect_equal<std::int16_t>(volume, -32'000);
    for (float& voxel : volume.voxels) voxel += 32'000;
    expect_equal<std::uint16_t>(volume, 65'535);
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, GpuMedianNetwork,
                         testing::Values(NetworkCase{{1, 1, 0}, {259, 139, 3}}, NetworkCase{{2, 2, 0}, {131, 101, 3}},
                                         NetworkCase{{3, 3, 0}, {103, 65, 3}}, NetworkCase{{4, 4, 0}, {69, 43, 3}},
                                         NetworkCase{{5, 5, 0}, {69, 43, 3}}, NetworkCase{{6, 6, 0}, {69, 43, 3}},
                                         NetworkCase{{7, 7, 0}, {69, 43, 3}}, NetworkCase{{1, 1, 1}, {91, 67, 7}},
                                         NetworkCase{{2, 2, 1}, {69, 43, 7}}, NetworkCase{{2, 2, 2}, {69, 43, 7}},
                                         NetworkCase{{3, 3, 1}, {69, 43, 7}}, NetworkCase{{1, 0, 0}, {401, 267, 3}},
                                         NetworkCase{{2, 0, 0}, {259, 251, 3}}, NetworkCase{{3, 0, 0}, {261, 179, 3}},
                                         NetworkCase{{4, 0, 0}, {259, 139, 3}}, NetworkCase{{7, 0, 0}, {145, 149, 3}},
                                         NetworkCase{{0, 1, 0}, {401, 267, 3}}, NetworkCase{{0, 2, 0}, {259, 251, 3}},
                                         NetworkCase{{0, 3, 0}, {261, 179, 3}}, NetworkCase{{0, 4, 0}, {259, 139, 3}},
                                         NetworkCase{{0, 0, 1}, {211, 139, 11}}, NetworkCase{{0, 0, 2}, {131, 101, 15}},
                                         NetworkCase{{0, 0, 3}, {101, 93, 15}}, NetworkCase{{0, 0, 4}, {91, 79, 15}}),
                         [](const auto& chosen) {
                           const Radius3& r = chosen.param.radius;
                           return "radius" + std::to_string(r.x) + "x" + std::to_string(r.y) + "x" +
                                  std::to_string(r.z);
                         });

}  // namespace
}  // namespace quietvox::test
