// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/stabilisation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
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
  double before = stabilise_rician(0), back = unstabilise_rician(-1);
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
    if (i != 4) EXPECT_NEAR(changed[i], voxels[i], 1);  // less the bias
  }
  EXPECT_EQ(stabilisation.noise_after().sigma, 20);
  EXPECT_EQ(stabilisation.noise_after().map.values.size(), 2U);
  EXPECT_EQ(stabilisation.noise_after().distribution, NoiseDistribution::gaussian);
}

TEST(Stabilisation, IsLeftOutWhereItDoesNothingOrTheMeasureIsNotTrusted) {
  NoiseModel noise{.sigma = 20};
  EXPECT_FALSE(Stabilisation::helps(noise));
  noise.distribution = NoiseDistribution::rician;
  EXPECT_TRUE(Stabilisation::helps(noise));
  noise.confidence = Confidence::low;
  EXPECT_FALSE(Stabilisation::helps(noise));
}

}  // namespace
}  // namespace quietvox
