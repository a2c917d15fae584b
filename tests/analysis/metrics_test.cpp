// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/metrics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/error.hpp"

namespace quietvox {
namespace {

/// Two volumes that anyone can make again in another language: a texture, and the same with a coarse error.
struct Pair {
  Extent extent;
  std::vector<float> a, b;

  Pair(std::int64_t nx, std::int64_t ny, std::int64_t nz) : extent{{nx, ny, nz}} {
    for (std::int64_t z = 0; z < nz; ++z) {
      for (std::int64_t y = 0; y < ny; ++y) {
        for (std::int64_t x = 0; x < nx; ++x) {
          const std::int64_t value = (x * 37 + y * 101 + z * 53 + x * y % 17 * 9) % 256;
          a.push_back(static_cast<float>(value));
          b.push_back(static_cast<float>(value + (x * 7 + y * 13 + z * 29) % 61 - 30));
        }
      }
    }
  }
  Comparison compared(std::optional<double> data_range = std::nullopt, const Execution& execution = {}) const {
    return compare({a.data(), extent}, {b.data(), extent}, data_range, execution);
  }
};

// Expected: skimage.metrics 0.26 structural_similarity(a, b, data_range=255), mean_squared_error,
// normalized_root_mse(normalization='euclidean'), peak_signal_noise_ratio, in float64.
TEST(Compare, AgreesWithScikitImage) {
  const Comparison volume = Pair(19, 16, 11).compared(255);
  EXPECT_NEAR(volume.ssim, 0.9724819775732713, 1e-9);
  EXPECT_NEAR(volume.mse, 310.3325358851675, 1e-9);
  EXPECT_NEAR(volume.nrmse, 0.11936519970493349, 1e-12);
  EXPECT_NEAR(volume.psnr, 23.212530505926416, 1e-9);
  const Comparison slice = Pair(33, 20, 1).compared(255);
  EXPECT_NEAR(slice.ssim, 0.9714895724593818, 1e-9);
}

TEST(Compare, CountsAndRange) {
  Pair pair(8, 9, 10);
  pair.b = pair.a;
  pair.b[3] += 4;
  pair.b[5] -= 6;
  const Comparison result = pair.compared();
  EXPECT_EQ(result.voxels, 720);
  EXPECT_EQ(result.different, 2);
  EXPECT_EQ(result.max_error, 6);
  EXPECT_DOUBLE_EQ(result.mse, (16.0 + 36) / 720);
  EXPECT_EQ(result.data_range, 255);
}

TEST(Compare, EqualVolumes) {
  Pair pair(8, 9, 10);
  pair.b = pair.a;
  const Comparison result = pair.compared();
  EXPECT_EQ(result.different, 0);
  EXPECT_EQ(result.nrmse, 0);
  EXPECT_EQ(result.psnr, std::numeric_limits<double>::infinity());
  EXPECT_NEAR(result.ssim, 1, 1e-12);
}

// Expected: NumPy, corrcoef of the interior 6-neighbour Laplacians, and mean over the axes of corrcoef(r[1:], r[:-1]).
TEST(Compare, EdgesAndResiduals) {
  const Comparison volume = Pair(19, 16, 11).compared(255);
  EXPECT_NEAR(volume.edge_preservation, 0.973504860858293, 1e-9);
  EXPECT_NEAR(volume.residual_whiteness, -0.038876693090177626, 1e-9);
  const Comparison slice = Pair(33, 20, 1).compared(255);
  EXPECT_NEAR(slice.edge_preservation, 0.9822508645862421, 1e-9);
  EXPECT_NEAR(slice.residual_whiteness, 0.1911842480798819, 1e-9);

  Pair same(8, 9, 10);
  same.b = same.a;
  EXPECT_NEAR(same.compared().edge_preservation, 1, 1e-12);
  EXPECT_EQ(same.compared().residual_whiteness, 0);
  for (float& voxel : same.b) voxel += 7;  // edges stay as they are
  EXPECT_NEAR(same.compared().edge_preservation, 1, 1e-12);
}

TEST(Compare, ConstantVolumes) {
  const std::vector<float> zero(125, 0), one(125, 1);
  const Extent extent{{5, 5, 5}};
  EXPECT_EQ(compare({zero.data(), extent}, {zero.data(), extent}, std::nullopt, {}).ssim, 1);
  EXPECT_EQ(compare({zero.data(), extent}, {one.data(), extent}, std::nullopt, {}).ssim, 0);
}

TEST(Compare, LargeOffsetsLoseNothing) {
  Pair near(19, 16, 11), far = near;
  for (auto* voxels : {&far.a, &far.b}) {
    for (float& v : *voxels) v += 1e6F;
  }
  EXPECT_NEAR(far.compared(255).mse, near.compared(255).mse, 1e-9);
  EXPECT_LT(far.compared(255).ssim, 1);
}

/// Values far from 0 come less what floats cannot hold besides.
TEST(Compare, WhatWasSubtractedFromBothCounts) {
  const Pair pair(19, 16, 11);
  Pair raised = pair;
  for (auto* voxels : {&raised.a, &raised.b}) {
    for (float& v : *voxels) v += 1024;
  }
  const Extent extent{{19, 16, 11}};
  const Comparison less = compare({pair.a.data(), extent}, {pair.b.data(), extent}, 255, {}, 1024);
  EXPECT_NEAR(less.nrmse, raised.compared(255).nrmse, 1e-9);
  EXPECT_NEAR(less.ssim, raised.compared(255).ssim, 1e-6);
  EXPECT_EQ(less.mse, pair.compared(255).mse);
}

TEST(Compare, MissingVoxelsDoNotCount) {
  Pair pair(19, 16, 11);
  const Comparison whole = pair.compared(255);
  Pair holed = pair;
  holed.a[100] = NAN;
  holed.b[2000] = INFINITY;
  const Comparison result = holed.compared(255);
  EXPECT_EQ(result.voxels, whole.voxels - 2);
  EXPECT_TRUE(std::isfinite(result.ssim) && std::isfinite(result.mse));
  EXPECT_NE(result.ssim, whole.ssim);
  for (float& v : holed.a) v = NAN;
  EXPECT_TRUE(std::isnan(holed.compared(255).mse));
  EXPECT_TRUE(std::isnan(holed.compared(255).ssim));
}

TEST(Compare, ThreadsChangeNothing) {
  const Pair pair(40, 41, 23);
  Execution one;
  one.threads = 1;
  EXPECT_EQ(pair.compared(255).ssim, pair.compared(255, one).ssim);
  EXPECT_EQ(pair.compared(255).mse, pair.compared(255, one).mse);
}

TEST(Compare, RefusesWhatCannotBeCompared) {
  const Pair pair(8, 9, 10);
  EXPECT_THROW(compare({pair.a.data(), {{8, 9, 10}}}, {pair.b.data(), {{9, 8, 10}}}, std::nullopt, {}), Error);
  EXPECT_THROW(pair.compared(0.0), Error);
  EXPECT_THROW(pair.compared(NAN), Error);
}

}  // namespace
}  // namespace quietvox
