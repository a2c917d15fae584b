// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/blank_slices.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "core/memory_volume.hpp"

namespace quietvox::test {
namespace {

constexpr Extent extent{{20, 16, 12}};

struct Found {
  std::vector<std::int64_t> missing, lost;
};

/// What becomes of slices, whose voxels are read some at a time.
Found found(const std::function<float(std::int64_t x, std::int64_t y, std::int64_t z)>& at) {
  std::vector<float> voxels;
  for (std::int64_t i = 0; i < extent.voxels(); ++i) {
    voxels.push_back(at(i % extent.x, i / extent.x % extent.y, i / extent.slice()));
  }
  BlankSlices blanks(std::make_unique<MemoryVolume>(VolumeView<const float>{voxels.data(), extent}));
  std::vector<float> seen(voxels.size());
  for (const std::int64_t first : {0, 5, 10}) {
    const std::int64_t count = std::min<std::int64_t>(5, extent.z - first);
    blanks.read({seen.data() + first * extent.slice(), {{extent.x, extent.y, count}}, {1, 1, 1}, {0, 0, first}});
  }
  Found result{{}, blanks.lost()};
  for (std::int64_t z = 0; z < extent.z; ++z) {
    const auto slice = seen.begin() + z * extent.slice();
    const auto missing = std::count_if(slice, slice + extent.slice(), [](float voxel) { return std::isnan(voxel); });
    EXPECT_TRUE(missing == 0 || missing == extent.slice()) << z;
    if (missing > 0) result.missing.push_back(z);
  }
  // Whatever a filter makes of them, they have their value again.
  std::vector<float> handed_on;
  const auto append = [&](VolumeView<const float> slices) {
    EXPECT_EQ(slices.origin.z * extent.slice(), std::ssize(handed_on));
    handed_on.insert(handed_on.end(), slices.data, slices.data + slices.extent.voxels());
  };
  blanks.with_values({seen.data(), {{extent.x, extent.y, 7}}}, append);
  blanks.with_values({seen.data() + 7 * extent.slice(), {{extent.x, extent.y, 5}}, {1, 1, 1}, {0, 0, 7}}, append);
  EXPECT_EQ(handed_on, voxels);
  return result;
}

using Slices = std::vector<std::int64_t>;

class BlankSlicesTest : public testing::Test {
 protected:
  float noise() { return 100 + normal_(random_); }
  /// An object that fills a quarter of its slices, cut out.
  float object(std::int64_t x, std::int64_t y) { return x < 10 && y < 8 ? noise() : 0; }

 private:
  std::mt19937 random_{1};
  std::normal_distribution<float> normal_;
};

TEST_F(BlankSlicesTest, SlicesThatWereLostAreMissing) {
  const auto scan = found([&](auto, auto, auto z) { return z == 4 || z == 6 || z == 7 ? -1024 : noise(); });
  EXPECT_EQ(scan.missing, (Slices{4, 6, 7}));
  EXPECT_EQ(scan.lost, (Slices{4, 6, 7}));
  const auto cut_out = found([&](auto x, auto y, auto z) { return z == 5 ? 0 : object(x, y); });
  EXPECT_EQ(cut_out.missing, (Slices{5}));
  EXPECT_EQ(cut_out.lost, (Slices{5}));
}

TEST_F(BlankSlicesTest, SlicesThatWereAddedAtTheEndsAreMissingButNotLost) {
  const auto padded = found([&](auto, auto, auto z) { return z < 2 || z > 8 ? 0 : noise(); });
  EXPECT_EQ(padded.missing, (Slices{0, 1, 9, 10, 11}));
  EXPECT_EQ(padded.lost, Slices{});
}

TEST_F(BlankSlicesTest, BackgroundIsAValueLikeOthers) {
  EXPECT_EQ(found([&](auto x, auto y, auto z) { return z < 2 || z > 8 ? 0 : object(x, y); }).missing, Slices{})
      << "around an object";
  EXPECT_EQ(found([&](auto x, auto y, auto z) { return x == 9 && y == 7 && z == 6 ? 1 : 0; }).missing, Slices{})
      << "around a point";
  EXPECT_EQ(found([&](auto x, auto y, auto z) {
              return (x < 5 && y < 5 && z < 5) || (x > 10 && y > 10 && z > 6) ? noise() : 0;
            }).missing,
            Slices{})
      << "between two objects";
  EXPECT_EQ(found([&](auto, auto, auto) { return 3; }).missing, Slices{}) << "nothing but one value";
  EXPECT_EQ(found([&](auto, auto, auto z) { return z; }).missing, Slices{}) << "nothing but one value in each slice";
}

TEST_F(BlankSlicesTest, SlicesOfSeveralValuesEach) {
  const auto steps = found([&](auto, auto, auto z) { return z == 4 ? 7 : z == 5 ? 8 : noise(); });
  EXPECT_EQ(steps.missing, (Slices{4, 5}));
}

}  // namespace
}  // namespace quietvox::test
