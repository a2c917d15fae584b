// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/blank_slices.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
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

using Voxels = std::function<float(std::int64_t x, std::int64_t y, std::int64_t z)>;

/// What becomes of slices along an axis, whose voxels are read some at a time.
Found found_along(int axis, const Voxels& at) {
  const auto exchanged = [axis](auto values) {
    std::swap(values[axis], values.z);
    return values;
  };
  const Extent size = exchanged(extent);
  const Spacing spacing = axis == 2 ? Spacing{1, 1, 1} : exchanged(Spacing{1, 1, 5});
  std::vector<float> voxels;
  for (std::int64_t i = 0; i < size.voxels(); ++i) {
    const Index3 place = exchanged(Index3{i % size.x, i / size.x % size.y, i / size.slice()});
    voxels.push_back(at(place.x, place.y, place.z));
  }
  BlankSlices blanks(std::make_unique<MemoryVolume>(VolumeView<const float>{voxels.data(), size, spacing}), {});
  std::vector<float> seen(voxels.size());
  for (std::int64_t first = 0; first < size.z; first += 5) {
    const std::int64_t count = std::min<std::int64_t>(5, size.z - first);
    blanks.read({seen.data() + first * size.slice(), {{size.x, size.y, count}}, spacing, {0, 0, first}});
  }
  EXPECT_EQ(blanks.axis(), axis);
  Found result{{}, blanks.lost()};
  std::vector<std::int64_t> missing(static_cast<std::size_t>(extent.z));
  for (std::int64_t i = 0; i < size.voxels(); ++i) {
    const Index3 place = exchanged(Index3{i % size.x, i / size.x % size.y, i / size.slice()});
    missing[static_cast<std::size_t>(place.z)] += std::isnan(seen[static_cast<std::size_t>(i)]);
  }
  for (std::int64_t z = 0; z < extent.z; ++z) {
    const std::int64_t count = missing[static_cast<std::size_t>(z)];
    if (count == extent.slice()) result.missing.push_back(z);
  }
  // Whatever a filter makes of them, they have their value again.
  std::vector<float> handed_on;
  const auto append = [&](VolumeView<const float> slices) {
    EXPECT_EQ(slices.origin.z * size.slice(), std::ssize(handed_on));
    handed_on.insert(handed_on.end(), slices.data, slices.data + slices.extent.voxels());
  };
  blanks.with_values({seen.data(), {{size.x, size.y, 7}}}, append);
  blanks.with_values({seen.data() + 7 * size.slice(), {{size.x, size.y, size.z - 7}}, {1, 1, 1}, {0, 0, 7}}, append);
  EXPECT_EQ(std::memcmp(handed_on.data(), voxels.data(), sizeof(float) * voxels.size()), 0);
  return result;
}

Found found(const Voxels& at) {
  const auto voxels = [&] {  // some are made by chance
    std::vector<float> made;
    for (std::int64_t i = 0; i < extent.voxels(); ++i)
      made.push_back(at(i % extent.x, i / extent.x % extent.y, i / extent.slice()));
    return made;
  }();
  const auto same = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    return voxels[static_cast<std::size_t>((z * extent.y + y) * extent.x + x)];
  };
  Found result = found_along(2, same);
  for (const int axis : {0, 1}) {
    const Found along_axis = found_along(axis, same);
    EXPECT_EQ(along_axis.missing, result.missing) << axis;
    EXPECT_EQ(along_axis.lost, result.lost) << axis;
  }
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

TEST_F(BlankSlicesTest, SlicesThatWereLostBesideOnesThatAreMissingAnyway) {
  const auto scan = found([&](auto, auto, auto z) {
    return z == 5 ? 0 : z == 4 || z == 6 ? std::numeric_limits<float>::quiet_NaN() : noise();
  });
  EXPECT_EQ(scan.lost, (Slices{5}));
}

TEST_F(BlankSlicesTest, SlicesThatWereLostWithinWhatIsThere) {
  const auto scan = found([&](auto x, auto y, auto z) {
    return x < 3 || y < 2 ? std::numeric_limits<float>::quiet_NaN() : z == 5 ? 0 : noise();
  });
  EXPECT_EQ(scan.lost, (Slices{5}));
  const auto narrow = found([&](auto x, auto y, auto z) {
    return z == 5 && (x != 7 || y != 7) ? std::numeric_limits<float>::quiet_NaN() : noise();
  });
  EXPECT_EQ(narrow.lost, Slices{}) << "a slice of which one voxel is there";
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
