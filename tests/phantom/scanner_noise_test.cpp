// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "phantom/scanner_noise.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "core/error.hpp"
#include "core/memory_volume.hpp"

namespace quietvox {
namespace {

constexpr Extent whole_extent{{90, 101, 24}};

/// A cylinder of 200 in air of 0, with a stripe.
std::vector<float> object() {
  std::vector<float> voxels;
  for (std::int64_t i = 0; i < whole_extent.voxels(); ++i) {
    const double x = 2.0 * static_cast<double>(i % 90) / 89 - 1, y = 2.0 * static_cast<double>(i / 90 % 101) / 100 - 1;
    voxels.push_back(x * x + y * y > 0.7 ? 0.0F : y > 0.3 ? 150.0F : 200.0F);
  }
  return voxels;
}

std::vector<float> noisy(const std::vector<float>& clean, const NoiseParams& params, std::int64_t slab = whole_extent.z,
                         int threads = 0) {
  MemoryVolume source({clean.data(), whole_extent});
  Execution execution;
  execution.threads = threads;
  NoiseAdder adder(source, params, execution);
  std::vector<float> voxels = clean;
  const VolumeView<float> view{voxels.data(), whole_extent};
  for (std::int64_t z = 0; z < whole_extent.z; z += slab) adder.add(view.slices(z, std::min(slab, whole_extent.z - z)));
  return voxels;
}

/// What is added: the difference of two seeds, over the square root of 2, where the signal is far above the noise.
struct Added {
  std::vector<double> noise;
  std::vector<float> clean;

  explicit Added(NoiseParams params) : clean(object()) {
    const auto first = noisy(clean, params);
    params.seed += 1000;
    const auto second = noisy(clean, params);
    for (std::size_t i = 0; i < first.size(); ++i) {
      noise.push_back((static_cast<double>(first[i]) - static_cast<double>(second[i])) / std::numbers::sqrt2);
    }
  }

  /// Mean product of the noise and itself `step` voxels on, inside the object, over its variance. `region` chooses.
  template <class Region>
  double moment(std::size_t step, Region region) const {
    double sum = 0, count = 0;
    for (std::size_t i = 0; i + step < noise.size(); ++i) {
      if (clean[i] == 0 || clean[i + step] == 0 || !region(i)) continue;
      sum += noise[i] * noise[i + step];
      ++count;
    }
    return sum / count;
  }
  double deviation() const {
    return std::sqrt(moment(0, [](std::size_t) { return true; }));
  }
  double correlation(std::size_t step) const {
    const auto all = [](std::size_t) { return true; };
    return moment(step, all) / moment(0, all);
  }
  /// Deviation within `radius` of the centre (1: the edge of a slice) over that beyond it.
  double centre_to_rim(double radius) const {
    const auto inner = [=](std::size_t i) {
      const double x = 2.0 * static_cast<double>(i % 90) / 89 - 1,
                   y = 2.0 * static_cast<double>(i / 90 % 101) / 100 - 1;
      return std::hypot(x, y) < radius;
    };
    return std::sqrt(moment(0, inner) / moment(0, [=](std::size_t i) { return !inner(i); }));
  }
};

constexpr std::size_t x_step = 1, y_step = 90, z_step = 90 * 101;

// The correlations are those of the same noise made by NumPy's and scikit-image's Fourier and Radon transforms and
// zoom.
TEST(ScannerNoise, ZeroFilledIsCorrelatedInPlane) {
  const Added added({NoiseKind::zero_filled, 8, 1});
  EXPECT_NEAR(added.deviation(), 8, 0.15);
  EXPECT_NEAR(added.correlation(x_step), 0.58, 0.02);
  EXPECT_NEAR(added.correlation(y_step), 0.58, 0.02);
  EXPECT_NEAR(added.correlation(2 * x_step), -0.07, 0.02);
  EXPECT_NEAR(added.correlation(3 * x_step), -0.17, 0.02);
  EXPECT_NEAR(added.correlation(z_step), 0, 0.02);
}

TEST(ScannerNoise, ZeroFilledHasTheResolutionOfItsKSpace) {
  const auto clean = object();
  const auto low = noisy(clean, {NoiseKind::zero_filled, 0, 1});
  EXPECT_NE(low, clean);
  const auto roughness = [](const std::vector<float>& voxels) {
    double sum = 0;
    for (std::size_t i = 0; i + 1 < voxels.size(); ++i) {
      const auto step = static_cast<double>(voxels[i + 1]) - static_cast<double>(voxels[i]);
      sum += step * step;
    }
    return sum;
  };
  EXPECT_LT(roughness(low), 0.7 * roughness(clean));
  const std::size_t centre = 45 + y_step * 50;  // flat around
  EXPECT_NEAR(low[centre], clean[centre], 0.02 * clean[centre]);
}

TEST(ScannerNoise, GFactorFallsFromTheCentre) {
  const Added added({NoiseKind::g_factor, 8, 1});
  EXPECT_NEAR(added.deviation(), 8, 0.15);
  EXPECT_GT(added.centre_to_rim(0.3), 1.3);
  EXPECT_NEAR(added.correlation(x_step), 0, 0.02);
}

TEST(ScannerNoise, CtIsCorrelatedByItsKernel) {
  const Added soft({NoiseKind::ct, 8, 1, CtKernel::soft}), sharp({NoiseKind::ct, 8, 1, CtKernel::sharp});
  for (const Added* one : {&soft, &sharp}) {
    EXPECT_NEAR(one->deviation(), 8, 0.3);
    EXPECT_NEAR(one->correlation(z_step), 0.5, 0.04);
    EXPECT_NEAR(one->correlation(2 * z_step), 0, 0.04);
    EXPECT_NEAR(one->centre_to_rim(0.4), 1.22, 0.05);
  }
  EXPECT_NEAR(soft.correlation(x_step), 0.606, 0.02);
  EXPECT_NEAR(soft.correlation(2 * x_step), 0.035, 0.02);
  EXPECT_NEAR(soft.correlation(3 * x_step), -0.127, 0.02);
  EXPECT_NEAR(soft.correlation(y_step), 0.632, 0.02);
  EXPECT_NEAR(sharp.correlation(x_step), 0.082, 0.02);
  EXPECT_NEAR(sharp.correlation(2 * x_step), -0.073, 0.02);
  EXPECT_NEAR(sharp.correlation(y_step), 0.159, 0.02);
}

TEST(ScannerNoise, CtNeedsNoObject) {
  const std::vector<float> constant(static_cast<std::size_t>(whole_extent.voxels()), 100);
  const std::vector<float> voxels = noisy(constant, {NoiseKind::ct, 20, 3});
  double squares = 0;
  for (const float voxel : voxels) squares += (voxel - 100) * (voxel - 100);
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(voxels.size())), 20, 2);
}

TEST(ScannerNoise, InterpolatedIsCorrelatedAlongEveryAxis) {
  const Added added({NoiseKind::interpolated, 8, 1});
  EXPECT_NEAR(added.deviation(), 8, 0.2);
  for (const std::size_t step : {x_step, y_step, z_step}) EXPECT_NEAR(added.correlation(step), 0.475, 0.03);
}

constexpr NoiseKind scanners[] = {NoiseKind::zero_filled, NoiseKind::g_factor, NoiseKind::ct, NoiseKind::interpolated};

TEST(ScannerNoise, SlabsAndThreadsChangeNothing) {
  const auto clean = object();
  for (const NoiseKind kind : scanners) {
    const auto whole = noisy(clean, {kind, 8, 3});
    EXPECT_EQ(whole, noisy(clean, {kind, 8, 3}, 5)) << static_cast<int>(kind);
    EXPECT_EQ(whole, noisy(clean, {kind, 8, 3}, whole_extent.z, 1)) << static_cast<int>(kind);
    EXPECT_NE(whole, noisy(clean, {kind, 8, 4})) << static_cast<int>(kind);
  }
}

TEST(ScannerNoise, MissingVoxelsStayAndSpoilNoOthers) {
  auto clean = object();
  clean[5000] = std::numeric_limits<float>::quiet_NaN();
  for (const NoiseKind kind : scanners) {
    const auto voxels = noisy(clean, {kind, 8, 3});
    for (std::size_t i = 0; i < voxels.size(); ++i)
      ASSERT_EQ(std::isnan(voxels[i]), i == 5000) << static_cast<int>(kind);
  }
}

TEST(ScannerNoise, AxesOfOneVoxelAndEmptyVolumes) {
  for (const Extent extent : {Extent{{1, 1, 1}}, Extent{{40, 1, 1}}, Extent{{1, 30, 4}}, Extent{{2, 3, 2}}}) {
    for (const NoiseKind kind : scanners) {
      for (const float value : {0.0F, 70.0F}) {
        std::vector<float> voxels(static_cast<std::size_t>(extent.voxels()), value);
        const std::vector<float> clean = voxels;
        MemoryVolume source({clean.data(), extent});
        NoiseAdder(source, {kind, 8, 3}, {}).add({voxels.data(), extent});
        for (const float voxel : voxels) ASSERT_TRUE(std::isfinite(voxel)) << static_cast<int>(kind);
      }
    }
  }
}

TEST(ScannerNoise, SingleVoxelsAloneAreNotEnough) {
  std::vector<float> voxels(8, 1);
  EXPECT_THROW(add_noise({voxels.data(), {{2, 2, 2}}}, {NoiseKind::ct, 8, 3}, 0, 1, {}), Error);
}

}  // namespace
}  // namespace quietvox
