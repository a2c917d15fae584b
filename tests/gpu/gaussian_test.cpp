// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include "gpu/gpu_test.hpp"

namespace quietvox::test {
namespace {

using GpuGaussian = GpuTest;

FilterConfig gaussian(const Volume& volume, const std::string& sigma, const std::string& border = "replicate",
                      const std::string& algorithm = "by-sigma") {
  return resolved(settings("gaussian", {{"sigma", sigma}, {"border", border}, {"algorithm", algorithm}}), volume);
}

void expect_near(const Backend& backend, const FilterConfig& step, const Volume& volume) {
  const Reference& exact = reference("gaussian");
  EXPECT_EQ(first_difference(exact.run(volume, step), run(backend, {step}, volume), exact.tolerance(volume, step)), "")
      << step.get("sigma") << " " << step.get("border");
}

/// Whether voxels are missing, and the border.
class GpuGaussianWindows : public GpuTest, public testing::WithParamInterface<std::tuple<bool, std::string>> {};

/// Radii on both sides of every kernel's limit, sigmas for recursion; lines longer than a tile, and windows longer than
/// a line.
TEST_P(GpuGaussianWindows, EqualTheReference) {
  const auto& [holes, border] = GetParam();
  for (const Extent& extent : {Extent{{301, 5, 3}}, Extent{{35, 150, 3}}, Extent{{33, 3, 140}}}) {
    const Volume volume = holes ? with_holes(busy_volume(extent, 2), 97) : busy_volume(extent, 1);
    for (const int radius : {1, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 23, 24, 31, 32, 40}) {
      expect_near(*backend, gaussian(volume, std::to_string(radius / 5.0), border, "fir"), volume);
    }
    for (const char* sigma : {"6", "6.2", "8", "20"}) expect_near(*backend, gaussian(volume, sigma, border), volume);
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, GpuGaussianWindows,
                         testing::Combine(testing::Bool(), testing::Values("replicate", "reflect", "copy")),
                         [](const auto& test) {
                           return std::get<1>(test.param) + (std::get<0>(test.param) ? "_with_holes" : "");
                         });

/// Where differences, and sums of two of them, are beyond all floats.
TEST_F(GpuGaussian, EqualsTheReferenceForTheLargestVoxels) {
  constexpr float largest = std::numeric_limits<float>::max();
  const Volume busy = busy_volume({{70, 45, 40}}, 9);
  const auto two_values = [&](float magnitude) {
    Volume volume = busy;
    for (float& voxel : volume.voxels) voxel = std::fmod(std::floor(voxel), 2.0F) == 0 ? magnitude : -magnitude;
    return volume;
  };
  Volume blocks = busy, no_data = busy;
  for (std::int64_t z = 0; z < busy.extent.z; ++z) {
    for (std::int64_t y = 0; y < busy.extent.y; ++y) {
      for (std::int64_t x = 0; x < busy.extent.x; ++x) {
        blocks.view().at(x, y, z) = (x / 9 + y / 9 + z / 9) % 2 == 0 ? largest : -largest;
        if (x > 20 && y > 11) continue;
        no_data.view().at(x, y, z) = -largest;
      }
    }
  }
  for (const Volume& volume : {two_values(3e38F), two_values(largest), blocks, no_data, with_holes(no_data, 97)}) {
    for (const char* sigma : {"0.6", "0.7", "1", "1.7", "3", "6"}) {
      expect_near(*backend, gaussian(volume, sigma), volume);
    }
  }
}

TEST_F(GpuGaussian, IsExactFarFromZero) {
  Volume volume = busy_volume({{60, 41, 30}}, 7);
  for (float& voxel : volume.voxels) voxel = 60000 + std::fmod(voxel, 8.0F);
  for (const char* sigma : {"0.8", "3", "6"}) expect_near(*backend, gaussian(volume, sigma), volume);
}

TEST_F(GpuGaussian, KeepsConstantsToTheBit) {
  for (const float value : {0.0F, -1024.0F, 0.1F, 3e30F}) {
    const Volume volume({{200, 19, 40}}, {1, 1, 1}, value);
    for (const char* sigma : {"0.7", "1", "3", "6"}) {
      EXPECT_EQ(run(*backend, {gaussian(volume, sigma)}, volume), volume) << sigma;
    }
  }
}

/// Wherever a box begins, and whether or not voxels are missing elsewhere in it.
TEST_F(GpuGaussian, BoxesComeOutAsTheyDoInTheWhole) {
  Volume volume = busy_volume({{140, 45, 110}}, 5);
  volume.view().at(5, 7, 3) = std::numeric_limits<float>::quiet_NaN();
  for (const char* sigma : {"1", "2.3", "3", "6", "9"}) {
    const FilterConfig step = gaussian(volume, sigma);
    const Volume whole = run(*backend, {step}, volume);
    for (const auto& [origin, extent] :
         {std::pair(Index3{0, 0, 40}, Extent{{140, 45, 3}}), std::pair(Index3{61, 3, 107}, Extent{{9, 40, 3}}),
          std::pair(Index3{127, 11, 50}, Extent{{3, 1, 33}})}) {
      const Volume box = filtered_box(volume, origin, extent, step.halo(),
                                      [&](auto from, auto to) { backend->run(std::vector{step}, from, to, {}); });
      EXPECT_TRUE(same_bytes(box, box_of(whole, origin, extent))) << sigma;
    }
  }
}

}  // namespace
}  // namespace quietvox::test
