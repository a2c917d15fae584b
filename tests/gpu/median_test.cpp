// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "backends/choice.hpp"
#include "gpu/gpu_test.hpp"

namespace quietvox::test {
namespace {

using GpuMedian = GpuTest;

/// Windows with a network, and some without.
const std::vector<std::string> radii{"1x1x0", "2x2x0", "3x3x0", "4x4x0", "5x5x0",  "6x6x0", "7x7x0", "1x1x1",
                                     "2x2x1", "2x2x2", "3x3x1", "1x0x0", "2x0x0",  "3x0x0", "4x0x0", "7x0x0",
                                     "0x1x0", "0x2x0", "0x3x0", "0x4x0", "0x0x1",  "0x0x2", "0x0x3", "0x0x4",
                                     "3x3x3", "2x1x0", "1x2x3", "9x1x0", "11x9x0", "4x4x3", "5x0x0"};

void expect_equal(const Backend& backend, const FilterConfig& chosen, const Volume& volume) {
  const FilterConfig step = resolved(chosen, volume);
  const Volume expected = reference("median").run(volume, step);
  EXPECT_EQ(first_difference(expected, run(backend, {step}, volume)), "")
      << chosen.get("radius") << " " << chosen.get("shape") << " " << chosen.get("border") << ", " << volume.extent.x
      << "x" << volume.extent.y << "x" << volume.extent.z;
}

class GpuMedianWindow : public GpuTest, public testing::WithParamInterface<std::string> {};

TEST_P(GpuMedianWindow, EqualsTheReference) {
  for (const char* border : {"replicate", "reflect", "copy"}) {
    const FilterConfig chosen = settings("median", {{"radius", GetParam()}, {"border", border}});
    expect_equal(*backend, chosen, busy_volume({67, 45, 9}, 1));
    expect_equal(*backend, chosen, with_holes(busy_volume({41, 38, 11}, 2, true), 97));
  }
}

INSTANTIATE_TEST_SUITE_P(Radius, GpuMedianWindow, testing::ValuesIn(radii),
                         [](const auto& test) { return test.param; });

/// Small volumes take another kernel, which shows in the tests above.
TEST_F(GpuMedian, EqualsTheCpuOnLargeVolumes) {
  const Volume volume = with_holes(busy_volume({2053, 1026, 3}, 10), 9973);
  for (const char* radius : {"1x1x0", "2x2x0", "3x3x0", "1"}) {
    for (const char* border : {"replicate", "reflect", "copy"}) {
      const FilterConfig step = resolved(settings("median", {{"radius", radius}, {"border", border}}), volume);
      EXPECT_EQ(first_difference(run(*make_backend("cpu"), {step}, volume), run(*backend, {step}, volume)), "")
          << radius << " " << border;
    }
  }
}

TEST_F(GpuMedian, EqualsTheReferenceForEveryShape) {
  for (const char* shape : {"box", "cross", "row", "column"}) {
    for (const char* radius : {"1", "2x3x1", "4x4x4"}) {
      expect_equal(*backend, settings("median", {{"radius", radius}, {"shape", shape}}),
                   with_holes(busy_volume({35, 19, 12}, 3), 211));
    }
  }
}

TEST_F(GpuMedian, EqualsTheReferenceWhereNothingDividesTheSize) {
  for (const Extent extent : {Extent{1, 1, 1}, Extent{3, 3, 3}, Extent{5, 7, 11}, Extent{33, 1, 2}, Extent{4, 3, 3},
                              Extent{129, 5, 3}, Extent{31, 33, 4}}) {
    expect_equal(*backend, settings("median", {{"radius", fitting_radius(extent, 1)}}), busy_volume(extent, 4, true));
    if (extent.x >= 3 && extent.y >= 3) {
      expect_equal(*backend, settings("median", {{"radius", "1x1x0"}}), with_holes(busy_volume(extent, 5), 7));
    }
  }
}

TEST_F(GpuMedian, TakesTheLowerMiddleWhereMostAreMissing) {
  expect_equal(*backend, settings("median", {{"radius", "2x2x0"}}), with_holes(busy_volume({40, 40, 2}, 6), 3));
}

TEST_F(GpuMedian, KeepsSubnormalsAndTheLargestNumbers) {
  Volume volume = busy_volume({37, 21, 5}, 7);
  for (std::size_t i = 0; i < volume.voxels.size(); ++i) volume.voxels[i] *= i % 2 == 0 ? 1e-43F : 1e35F;
  expect_equal(*backend, settings("median", {{"radius", "1"}}), volume);
  expect_equal(*backend, settings("median", {{"radius", "2x1x1"}}), volume);
}

template <class T>
void expect_integers_equal(const Backend& backend, const std::string& radius, bool has_missing, float offset) {
  Volume volume = busy_volume({75, 39, 9}, 8, true);
  for (float& voxel : volume.voxels) voxel += offset;
  std::vector<T> in(volume.voxels.size()), out(in.size());
  std::transform(volume.voxels.begin(), volume.voxels.end(), in.begin(), [](float v) { return static_cast<T>(v); });
  std::optional<T> missing;
  if (has_missing) {
    missing = in[in.size() / 2];
    for (float& voxel : volume.voxels) {
      if (voxel == static_cast<float>(*missing)) voxel = std::nanf("");
    }
  }
  const FilterConfig step = resolved(settings("median", {{"radius", radius}}), volume);
  backend.run(step, VolumeView<const T>{in.data(), volume.extent, {1, 1, 1}, {}, missing},
              VolumeView<T>{out.data(), volume.extent, {1, 1, 1}, {}, missing}, {});
  const Volume expected = reference("median").run(volume, step);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const float value = std::isnan(expected.voxels[i]) ? static_cast<float>(*missing) : expected.voxels[i];
    ASSERT_EQ(static_cast<float>(out[i]), value) << "voxel " << i << ", radius " << radius;
  }
}

TEST_P(GpuMedianWindow, FiltersIntegersAsTheyAre) {
  for (const bool has_missing : {false, true}) {
    expect_integers_equal<std::int16_t>(*backend, GetParam(), has_missing, 0);
    expect_integers_equal<std::uint16_t>(*backend, GetParam(), has_missing, 32'000);
  }
}

/// Such volumes are padded as a whole. The blocks of a launch along an axis of the grid are limited; 131 columns take
/// as many blocks as 256.
TEST_F(GpuMedian, TakesLargeImagesOfOddWidth) {
  constexpr Extent period{131, 64, 1}, three{131, 3 * 64, 1}, large{131, 5700 * 64, 1};
  const Volume pattern = busy_volume(period, 9, true);
  std::vector<std::int16_t> in(static_cast<std::size_t>(large.voxels())), out(in.size()), expected(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<std::int16_t>(pattern.voxels[i % pattern.voxels.size()]);
  }
  const FilterConfig step = settings("median", {{"radius", "3x3x0"}});
  make_backend("cpu")->run(step, VolumeView<const std::int16_t>{in.data(), three},
                           VolumeView<std::int16_t>{expected.data(), three}, {});
  backend->run(step, VolumeView<const std::int16_t>{in.data(), large}, VolumeView<std::int16_t>{out.data(), large}, {});
  const auto first = expected.begin(), middle = first + period.voxels(), last = middle + period.voxels();
  std::copy(last, last + period.voxels(), expected.end() - period.voxels());
  for (auto to = last; to != expected.end() - period.voxels(); to += period.voxels()) std::copy(middle, last, to);
  EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace quietvox::test
