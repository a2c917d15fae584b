// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/stabilisation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace quietvox {
namespace {

struct Moments {
  double mean, deviation;
};

/// Of what `change` makes of Rician numbers of a signal.
template <class Change>
Moments moments(double nu, const Change& change) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> noise;
  constexpr int count = 200000;
  double sum = 0, squares = 0;
  for (int i = 0; i < count; ++i) {
    const double value = change(std::hypot(nu + noise(random), noise(random)));
    sum += value;
    squares += value * value;
  }
  return {sum / count, std::sqrt(squares / count - sum / count * sum / count)};
}

TEST(Stabilisation, RicianNoiseGetsUnitVarianceWhateverTheSignal) {
  for (const double nu : {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 7.9, 8.1, 20.0, 500.0}) {
    const Moments after = moments(nu, stabilise_rician);
    EXPECT_GT(after.deviation, 0.88) << nu;
    EXPECT_LT(after.deviation, 1.07) << nu;
    EXPECT_NEAR(unstabilise_rician(after.mean), nu, nu < 1 ? 0.08 : 0.015) << nu;
  }
  // What an inverse without heed to the bias would give in air.
  EXPECT_GT(moments(0, [](double m) { return m; }).mean, 1.2);
}

TEST(Stabilisation, RisesWithoutAJump) {
  double before = stabilise_rician(0), back = unstabilise_rician(0);
  EXPECT_EQ(back, 0);
  EXPECT_EQ(before, 0);
  for (int i = 1; i < 20000; ++i) {
    const double f = stabilise_rician(i * 1e-3), nu = unstabilise_rician(i * 1e-3);
    EXPECT_GT(f, before);
    EXPECT_LT(f - before, 2e-3) << i;
    EXPECT_GE(nu, back);
    EXPECT_LT(nu - back, 0.12) << i;
    before = f;
    back = nu;
  }
  EXPECT_NEAR(unstabilise_rician(stabilise_rician(1e6)), 1e6, 1e-5);
}

/// A background below 0, as registration leaves it, stays as it is.
TEST(Stabilisation, NumbersBelowZeroStay) {
  for (const double below : {-1e4, -1.0, -1e-3}) {
    EXPECT_EQ(stabilise_rician(below), below);
    EXPECT_EQ(unstabilise_rician(below), below);
  }
}

/// Of what `change` makes of counts times the gain, with Gaussian noise and a level besides: sums over all counts and a
/// fine grid.
struct Counts {
  SignalVariance variance;
  double deviation;  ///< of the Gaussian noise, in counts
  double level = 0;  ///< what no count makes

  static Counts with(double gain, double deviation, double level = 0) {
    const double offset = gain * gain * deviation * deviation - gain * level;
    return {{gain, offset}, deviation, level};
  }
  double signal(double mean) const { return variance.gain * mean + level; }
  template <class Change>
  Moments moments(double mean, const Change& change) const {
    double sum = 0, squares = 0, all = 0;
    const double most = 12 * std::sqrt(mean) + 20;
    const double first = std::max(std::floor(mean - most), 0.0);
    constexpr int in_one = 64, end = 8 * in_one;  // steps
    for (int count = 0; first + count < mean + most; ++count) {
      const double k = first + count;
      const double probability = std::exp((k > 0 ? k * std::log(mean) : 0) - mean - std::lgamma(k + 1));
      if (!(probability > 1e-15)) continue;
      for (int i = deviation > 0 ? -end : 0; i <= (deviation > 0 ? end : 0); ++i) {
        const double n = static_cast<double>(i) / in_one, weight = probability * std::exp(-n * n / 2);
        const double value = change(signal(k + deviation * n));
        sum += weight * value;
        squares += weight * value * value;
        all += weight;
      }
    }
    return {sum / all, std::sqrt(squares / all - sum / all * sum / all)};
  }
};

TEST(Stabilisation, PoissonNoiseGetsUnitVarianceAndNoBiasWhateverTheSignal) {
  for (const double gain : {1e-4, 1.0, 71.0}) {
    for (const Counts& counts :
         {Counts::with(gain, 0), Counts::with(gain, 0.5), Counts::with(gain, 1), Counts::with(gain, 3),
          Counts::with(gain, 20), Counts::with(gain, 0, -900 * gain), Counts::with(gain, 2, 50 * gain)}) {
      for (const double mean : {0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 150.0, 4000.0}) {
        const Moments after = counts.moments(mean, [&](double u) { return stabilise_poisson(u, counts.variance); });
        const double signal = counts.signal(mean), bias = unstabilise_poisson(after.mean, counts.variance) - signal;
        const double spread = std::sqrt(counts.variance.at(signal));
        EXPECT_NEAR(bias, 0, 0.05 * gain) << gain << " " << counts.deviation << " " << mean;
        if (spread < 0.999 * gain) continue;
        EXPECT_NEAR(bias, 0, 0.03 * spread) << gain << " " << counts.deviation << " " << mean;
        EXPECT_GT(after.deviation, 0.84) << gain << " " << counts.deviation << " " << mean;
        EXPECT_LT(after.deviation, 1.1) << gain << " " << counts.deviation << " " << mean;
      }
    }
  }
}

TEST(Stabilisation, SpeckleGetsUnitVarianceAndNoBiasWhateverTheSignal) {
  constexpr int in_one = 16, end = 8 * in_one;  // steps
  for (const double share : {0.01, 0.05, 0.1, 0.2}) {
    const SignalVariance variance{share * share, 25, 2};
    for (const double signal : {-300.0, 0.0, 10.0, 100.0, 500.0, 2000.0, 1e5}) {
      double sum = 0, squares = 0, all = 0;
      const double spread = std::sqrt(variance.at(signal));
      for (int i = -end; i <= end; ++i) {
        const double n = static_cast<double>(i) / in_one;
        const double weight = std::exp(-n * n / 2), value = stabilise_speckle(signal + spread * n, variance);
        sum += weight * value;
        squares += weight * value * value;
        all += weight;
      }
      const double mean = sum / all, deviation = std::sqrt(squares / all - mean * mean);
      EXPECT_NEAR(unstabilise_speckle(mean, variance), signal, 0.03 * spread) << share << " " << signal;
      EXPECT_GT(deviation, 0.98) << share << " " << signal;
      EXPECT_LT(deviation, 1.15) << share << " " << signal;
    }
  }
  const SignalVariance variance{0.01, 25, 2};
  EXPECT_EQ(unstabilise_speckle(stabilise_speckle(0, variance), variance), 0);
}

TEST(Stabilisation, OfPoissonNoiseRisesWithoutAJumpAndNothingStaysNothing) {
  for (const SignalVariance& variance : {SignalVariance{1, 0}, {1, 9}, {1, -30}}) {
    const double least = -variance.offset;  // of no variance
    EXPECT_NEAR(unstabilise_poisson(stabilise_poisson(least, variance), variance), least, 1e-12);
    // A fine dark detail may lie far below all that the variance was found by. Of counts alone nothing is less than
    // none.
    for (const double below : {2.0, 5.0, 3000.0}) {
      const double back = unstabilise_poisson(stabilise_poisson(least - below, variance), variance);
      EXPECT_NEAR(back, variance.offset == 0 ? least : least - std::max(below - 3, 0.0), 1e-9)
          << variance.offset << " " << below;
    }
    EXPECT_EQ(unstabilise_poisson(0.5, variance), least);
    double before = stabilise_poisson(least, variance), back = unstabilise_poisson(0, variance);
    for (int i = 1; i < 20000; ++i) {
      const double f = stabilise_poisson(least + i * 1e-3, variance), u = unstabilise_poisson(i * 1e-3, variance);
      EXPECT_GT(f, before);
      EXPECT_LT(f - before, 2e-3);
      EXPECT_GE(u, back);
      EXPECT_LT(u - back, 0.02);
      before = f;
      back = u;
    }
    EXPECT_NEAR(unstabilise_poisson(stabilise_poisson(1e6, variance), variance), 1e6, 0.26);
  }
}

/// The gain of a place is that of the volume times the square of the map.
TEST(Stabilisation, OfPoissonNoiseFollowsTheLocalNoise) {
  const Extent extent{{2, 1, 1}};
  const NoiseModel noise{.sigma = 20,
                         .distribution = NoiseDistribution::poisson,
                         .poisson = {4, 100},
                         .map = {{{2, 1, 1}}, {0.1F, 0.2F}},  // of noise as it is
                         .signal_map = {{{2, 1, 1}}, {0.5F, 1.5F}}};
  const Stabilisation stabilisation(noise, extent);
  for (const auto& [place, local] : {std::pair(0, 0.5), {1, 1.5}}) {
    const SignalVariance variance{4 * local * local, 100 * local * local};
    std::mt19937_64 random(11);
    double sum = 0, squares = 0;
    constexpr int count = 100000;
    for (int i = 0; i < count; ++i) {
      std::vector<float> voxels(2, 250);
      voxels[static_cast<std::size_t>(place)] =
          static_cast<float>(std::normal_distribution<double>(250, std::sqrt(variance.at(250)))(random));
      stabilisation.apply({voxels.data(), extent}, {});
      const double value = static_cast<double>(voxels[static_cast<std::size_t>(place)]);
      sum += value;
      squares += value * value;
    }
    EXPECT_NEAR(std::sqrt(squares / count - sum / count * sum / count), 20 * local, 0.2 * local) << place;
    std::vector<float> mean(2, static_cast<float>(sum / count));
    stabilisation.undo({mean.data(), extent}, {});
    EXPECT_NEAR(mean[static_cast<std::size_t>(place)], 250, 0.5) << place;
  }
  EXPECT_EQ(stabilisation.noise_after().sigma, 20);
  EXPECT_EQ(stabilisation.noise_after().distribution, NoiseDistribution::gaussian);
  EXPECT_EQ(stabilisation.noise_after().map.values, noise.signal_map.values);
}

TEST(Stabilisation, StrongSignalsStayAndComeBackWhateverTheLocalNoise) {
  const Extent extent{{9, 7, 5}};
  const NoiseModel noise{.sigma = 20, .distribution = NoiseDistribution::rician, .map = {{{2, 1, 1}}, {0.5F, 1.5F}}};
  const Stabilisation stabilisation(noise, extent);
  std::vector<float> voxels(static_cast<std::size_t>(extent.voxels()), 1000), changed = voxels;
  voxels[4] = changed[4] = std::numeric_limits<float>::quiet_NaN();
  const VolumeView<float> view{changed.data(), extent};
  stabilisation.apply(view, {});
  EXPECT_NEAR(view.at(0, 0, 0), 1000, 2 * 10);
  EXPECT_NEAR(view.at(8, 6, 4), 1000, 2 * 30);
  EXPECT_TRUE(std::isnan(changed[4]));
  stabilisation.undo(view, {});
  for (std::size_t i = 0; i < voxels.size(); ++i) {
    if (i != 4) {
      EXPECT_NEAR(changed[i], voxels[i], 1);  // less the bias
    }
  }
  EXPECT_EQ(stabilisation.noise_after().sigma, 20);
  EXPECT_EQ(stabilisation.noise_after().map.values.size(), 2U);
  EXPECT_EQ(stabilisation.noise_after().distribution, NoiseDistribution::gaussian);
}

/// A mean of 100 voxels is a filter that leaves a tenth of the noise.
TEST(Stabilisation, AirIsDarkThoughAFilterLeavesNoise) {
  constexpr double sigma = 20;
  constexpr int group = 100, groups = 2000;
  const Stabilisation stabilisation({.sigma = sigma, .distribution = NoiseDistribution::rician}, {{groups, 1, 1}});
  std::mt19937_64 random(11);
  std::normal_distribution<double> noise(0, sigma);
  const auto mean_after = [&](double nu) {
    std::vector<float> filtered(groups, 0);
    for (float& mean : filtered) {
      std::vector<float> voxels(group);
      for (float& voxel : voxels) voxel = static_cast<float>(std::hypot(nu + noise(random), noise(random)));
      stabilisation.apply({voxels.data(), {{group, 1, 1}}}, {});
      for (const float voxel : voxels) mean += voxel / group;
    }
    stabilisation.undo({filtered.data(), {{groups, 1, 1}}}, {});
    return std::accumulate(filtered.begin(), filtered.end(), 0.0) / groups;
  };
  EXPECT_LT(mean_after(0), 0.15 * sigma);
  EXPECT_NEAR(mean_after(sigma), sigma, 0.1 * sigma);
  for (const double nu : {2 * sigma, 4 * sigma}) EXPECT_NEAR(mean_after(nu), nu, 0.01 * nu);
}

TEST(Stabilisation, ChangesThePiecesOfTheNoiseAsItChangesTheVolume) {
  const Extent extent{{9, 7, 5}};
  NoiseModel noise{.sigma = 20, .distribution = NoiseDistribution::rician, .map = {{{2, 1, 1}}, {0.5F, 1.5F}}};
  std::vector<float> voxels(static_cast<std::size_t>(extent.voxels()), 30);
  std::vector<VolumePiece> pieces{{{4, 2, 1}, {{5, 4, 3}}, std::vector<float>(60, 30)}};
  noise.pieces = std::make_shared<const std::vector<VolumePiece>>(std::move(pieces));
  const Stabilisation stabilisation(noise, extent);
  const VolumeView<float> view{voxels.data(), extent};
  stabilisation.apply(view, {});
  const NoiseModel after = stabilisation.noise_after();
  ASSERT_TRUE(after.pieces);
  const std::vector<float>& changed = after.pieces->front().voxels;
  EXPECT_EQ(changed.front(), view.at(4, 2, 1));
  EXPECT_EQ(changed.back(), view.at(8, 5, 3));
  EXPECT_NE(changed.front(), changed.back());
  EXPECT_EQ(noise.pieces->front().voxels.front(), 30);
}

TEST(Stabilisation, IsLeftOutWhereItDoesNothingOrTheMeasureIsNotTrusted) {
  NoiseModel noise{.sigma = 20};
  EXPECT_FALSE(Stabilisation::helps(noise));
  noise.poisson = {3, 0};  // what it may be is not what it is
  EXPECT_FALSE(Stabilisation::helps(noise));
  noise.distribution = NoiseDistribution::poisson;
  EXPECT_TRUE(Stabilisation::helps(noise));
  noise.confidence = Confidence::low;
  EXPECT_FALSE(Stabilisation::helps(noise));
  noise.distribution = NoiseDistribution::rician;  // which air shows, whatever tissue holds
  EXPECT_TRUE(Stabilisation::helps(noise));
  noise.confidence = Confidence::none;
  EXPECT_FALSE(Stabilisation::helps(noise));
}

}  // namespace
}  // namespace quietvox
