// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "phantom/phantom.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "support/expect_error.hpp"

namespace quietvox {
namespace {

using test::expect_error;

/// FNV-1a over the bits of the voxels.
std::uint64_t fingerprint(const Phantom& phantom) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const float voxel : phantom.voxels) hash = (hash ^ std::bit_cast<std::uint32_t>(voxel)) * 1099511628211ULL;
  return hash;
}

double value_range(const Phantom& phantom) {
  const auto [low, high] = std::minmax_element(phantom.voxels.begin(), phantom.voxels.end());
  return *high - *low;
}

TEST(Phantom, IsTheSameToTheBitEverywhere) {
  EXPECT_EQ(fingerprint(make_phantom(PhantomKind::ct, {64, 64, 8})), 18252073289169528605ULL);
  EXPECT_EQ(fingerprint(make_phantom(PhantomKind::mr, {48, 64, 32})), 6057766678215703838ULL);
  EXPECT_EQ(fingerprint(make_phantom(PhantomKind::mammogram, {90, 115, 1})), 10926628277316954263ULL);
}

TEST(Phantom, CtHoldsAirLungFatBloodAndBone) {
  Phantom phantom = make_phantom(PhantomKind::ct, {256, 256, 24});
  EXPECT_EQ(phantom.view().at(0, 0, 0), -1000);
  const auto share = [&](float low, float high) {
    const auto inside = [=](float v) { return v >= low && v <= high; };
    return static_cast<double>(std::count_if(phantom.voxels.begin(), phantom.voxels.end(), inside)) /
           static_cast<double>(phantom.voxels.size());
  };
  EXPECT_GT(share(-900, -800), 0.05) << "lung";
  EXPECT_GT(share(-130, -70), 0.05) << "fat";
  EXPECT_GT(share(30, 70), 0.05) << "muscle";
  EXPECT_GT(share(170, 240), 0.01) << "blood and spongy bone";
  EXPECT_GT(share(500, 800), 0.003) << "cortical bone";
  EXPECT_DOUBLE_EQ(phantom.spacing.x * 256, 380);
  EXPECT_DOUBLE_EQ(phantom.spacing.z * 24, 120);
}

TEST(Phantom, MrHasNothingInTheAir) {
  Phantom phantom = make_phantom(PhantomKind::mr, {96, 112, 48});
  EXPECT_EQ(phantom.view().at(0, 0, 24), 0);
  EXPECT_GT(value_range(phantom), 700);
  EXPECT_GE(*std::min_element(phantom.voxels.begin(), phantom.voxels.end()), 0);
}

TEST(Phantom, MammogramFitsTwelveBits) {
  Phantom phantom = make_phantom(PhantomKind::mammogram, {360, 460, 1});
  EXPECT_GE(*std::min_element(phantom.voxels.begin(), phantom.voxels.end()), 0);
  EXPECT_LE(*std::max_element(phantom.voxels.begin(), phantom.voxels.end()), 4095);
  EXPECT_GT(value_range(phantom), 3000);
}

TEST(Phantom, EdgesAreSoft) {
  Phantom phantom = make_phantom(PhantomKind::ct, {128, 128, 1});
  int partial = 0;
  for (std::int64_t x = 0; x < 64; ++x) {
    const float voxel = phantom.view().at(x, 64, 0);
    if (voxel > -999 && voxel < -400) ++partial;
  }
  EXPECT_GT(partial, 0) << "no voxel is part air, part skin";
}

TEST(Phantom, AnySizeWorks) {
  for (const Extent extent : {Extent{1, 1, 1}, Extent{3, 40, 2}, Extent{40, 3, 5}}) {
    EXPECT_EQ(static_cast<std::int64_t>(make_phantom(PhantomKind::ct, extent).voxels.size()), extent.voxels());
    EXPECT_EQ(static_cast<std::int64_t>(make_phantom(PhantomKind::mr, extent).voxels.size()), extent.voxels());
  }
}

TEST(Phantom, RefusesSizesThatMakeNoImage) {
  expect_error(Errc::invalid_argument, "4x0x3 is empty", [] { make_phantom(PhantomKind::ct, {4, 0, 3}); });
  expect_error(Errc::invalid_argument, "it has one", [] { make_phantom(PhantomKind::mammogram, {4, 4, 3}); });
}

}  // namespace
}  // namespace quietvox
