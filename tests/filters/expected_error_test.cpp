// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/common/expected_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu_backend.hpp"
#include "core/memory_volume.hpp"
#include "filters/adaptive_bilateral.hpp"
#include "filters/bilateral.hpp"
#include "filters/nlm.hpp"
#include "filters/registry.hpp"
#include "support/volumes.hpp"
#include "support/white_noise.hpp"

namespace quietvox::test {
namespace {

constexpr double sigma = 10;
constexpr Extent extent{{72, 72, 36}};

/// Waves of all directions: each voxel differs from its neighbours.
Volume waves() {
  Volume volume(extent);
  std::size_t i = 0;
  for (std::int64_t z = 0; z < extent.z; ++z) {
    for (std::int64_t y = 0; y < extent.y; ++y) {
      for (std::int64_t x = 0; x < extent.x; ++x) {
        const auto wave = [](std::int64_t at) {
          return std::sin(2 * std::numbers::pi * static_cast<double>(at) / 7.3);
        };
        volume.voxels[i++] = static_cast<float>(500 + 60 * wave(x) * wave(y) * wave(z));
      }
    }
  }
  return volume;
}

/// Grains of two values.
Volume grains() {
  Volume volume = waves();
  std::mt19937 random(5);
  for (std::int64_t z = 0; z < extent.z; z += 4) {
    for (std::int64_t y = 0; y < extent.y; y += 4) {
      for (std::int64_t x = 0; x < extent.x; x += 4) {
        const float value = random() % 2 == 0 ? 400 : 600;
        for (std::int64_t i = 0; i < 64; ++i) volume.view().at(x + i % 4, y + i / 4 % 4, z + i / 16) = value;
      }
    }
  }
  return volume;
}

double mean_square(const Volume& a, const Volume& b, std::int64_t margin) {
  double sum = 0, count = 0;
  for (std::int64_t z = margin; z < a.extent.z - margin; ++z) {
    for (std::int64_t y = margin; y < a.extent.y - margin; ++y) {
      for (std::int64_t x = margin; x < a.extent.x - margin; ++x) {
        const double difference = static_cast<double>(a.view().at(x, y, z)) - static_cast<double>(b.view().at(x, y, z));
        sum += difference * difference;
        ++count;
      }
    }
  }
  return sum / count;
}

/// The noise of this volume, all of which is a piece.
NoiseModel noise_of(const Volume& noisy) {
  NoiseModel noise{.sigma = sigma, .contrast = 4 * sigma};
  noise.pieces = std::make_shared<const std::vector<VolumePiece>>(1, VolumePiece{{}, extent, noisy.voxels});
  return noise;
}

BilateralParams bilateral_of(double domain_sigma, double range_sigma) {
  BilateralParams params;
  params.domain_sigma = {domain_sigma, domain_sigma, domain_sigma};
  params.range_sigma = range_sigma;
  return params.resolved({extent, {1, 1, 1}});
}

TEST(ExpectedError, IsTheErrorThatTheTruthShows) {
  for (const Volume& truth : {waves(), grains()}) {
    const Volume noisy = with_white_noise(truth, sigma, 91);
    const auto error = ExpectedError::of(noise_of(noisy), {extent, {1, 1, 1}}, {4, 4, 4});
    ASSERT_TRUE(error);
    for (const double domain_sigma : {0.6, 1.0, 1.5}) {
      for (const double range_sigma : {20.0, 40.0, 100.0}) {
        const BilateralParams params = bilateral_of(domain_sigma, range_sigma);
        Volume result(extent);
        bilateral_cpu(noisy.view(), result.view(), params, {});
        const double expected = (*error)([&](VolumeView<const float> in, VolumeView<float> out, double level) {
          EXPECT_EQ(level, 1);
          bilateral_cpu(in, out, params, {});
        });
        const double actual = mean_square(result, truth, 0) / (sigma * sigma);
        EXPECT_NEAR(expected, actual, 0.02 + 0.01 * actual) << domain_sigma << ' ' << range_sigma;
      }
    }
  }
}

/// Noise of the lower three quarters of the frequencies along x, as its spectrum says.
TEST(ExpectedError, HeedsTheCorrelationOfTheNoise) {
  const Volume truth = waves();
  Volume noisy = truth;
  const Volume white = with_white_noise(Volume(extent), sigma, 93);
  double energy = 0;
  const auto weight = [](std::int64_t distance) {
    constexpr double share = 0.75;
    const auto at = static_cast<double>(distance);
    return distance == 0 ? share : std::sin(std::numbers::pi * share * at) / (std::numbers::pi * at);
  };
  for (std::int64_t distance = -20; distance <= 20; ++distance) energy += weight(distance) * weight(distance);
  for (std::int64_t i = 0; i < extent.voxels(); ++i) {
    const std::int64_t x = i % extent.x;
    double sum = 0;
    for (std::int64_t distance = -20; distance <= 20; ++distance) {
      const std::int64_t from = (x + distance + extent.x) % extent.x;
      sum += weight(distance) * static_cast<double>(white.voxels[static_cast<std::size_t>(i - x + from)]);
    }
    noisy.voxels[static_cast<std::size_t>(i)] += static_cast<float>(sum / std::sqrt(energy));
  }
  NoiseModel noise = noise_of(noisy);
  noise.spectrum = {{{8, 1, 1}}, {1, 1, 1, 1, 1, 1, 0, 0}, {1}};
  for (const double domain_sigma : {0.6, 1.0}) {
    const BilateralParams params = bilateral_of(domain_sigma, 35);
    Volume result(extent);
    bilateral_cpu(noisy.view(), result.view(), params, {});
    const auto run = [&](VolumeView<const float> in, VolumeView<float> out, double) {
      bilateral_cpu(in, out, params, {});
    };
    const double actual = mean_square(result, truth, 0) / (sigma * sigma);
    const double heeding = (*ExpectedError::of(noise, {extent, {1, 1, 1}}, {4, 4, 4}))(run);
    EXPECT_NEAR(heeding, actual, 0.02) << domain_sigma;
    NoiseModel as_white = noise;
    as_white.spectrum = {};
    const double not_heeding = (*ExpectedError::of(as_white, {extent, {1, 1, 1}}, {4, 4, 4}))(run);
    EXPECT_LT(not_heeding, actual - 0.04) << domain_sigma;
  }
}

TEST(ExpectedError, IsNotToldWhereNoiseIsOfAnotherKind) {
  const VolumeFacts facts{extent, {1, 1, 1}};
  EXPECT_FALSE(ExpectedError::of({.sigma = sigma}, facts, {})) << "there are no pieces";
  const NoiseModel noise = noise_of(waves());
  EXPECT_TRUE(ExpectedError::of(noise, facts, {}));
  NoiseModel counts = noise, unknown = noise, spotted = noise;
  counts.distribution = NoiseDistribution::poisson;
  counts.poisson = {3, 0};
  unknown.confidence = Confidence::none;
  spotted.impulses = 0.01;
  NoiseModel magnitudes = noise;
  magnitudes.distribution = NoiseDistribution::rician;
  for (const NoiseModel& other : {counts, unknown, spotted, magnitudes}) {
    EXPECT_FALSE(ExpectedError::of(other, facts, {})) << other.describe();
  }
  const VolumeFacts larger{{{200, 200, 200}}, {1, 1, 1}};
  EXPECT_TRUE(ExpectedError::of(noise, larger, {5, 5, 5}));
  EXPECT_FALSE(ExpectedError::of(noise, larger, {5, 5, 13})) << "a window sees what lies beyond a piece";
}

/// The error that a filter leaves by these parameters; automatic where nothing is given.
double error_left(const char* filter, const Volume& noisy, const Volume& truth,
                  const std::vector<std::pair<const char*, std::string>>& given) {
  FilterConfig config(find_filter(filter));
  for (const auto& [field, value] : given) config.set(field, value);
  MemoryVolume source(noisy.view());
  const auto backend = make_cpu_backend();
  const std::vector chain = resolve_chain(std::vector{config}, source, *backend, {},
                                          [&](VolumeSource&, const Execution&) { return noise_of(noisy); });
  Volume result(extent);
  backend->run(chain, noisy.view(), result.view(), {});
  return mean_square(result, truth, 0);
}

/// What suits waves spoils grains, and the other way round.
TEST(ExpectedError, ChoosesWhatIsNearTheBestOfAGrid) {
  for (const bool are_waves : {true, false}) {
    const Volume truth = are_waves ? waves() : grains(), noisy = with_white_noise(truth, sigma, 92);
    double best = error_left("bilateral", noisy, truth, {});
    const double automatic = best;
    for (const char* domain_sigma : {"0.6", "0.8", "1"}) {
      for (const char* range_sigma : {"20", "27", "35"}) {
        best = std::min(best, error_left("bilateral", noisy, truth,
                                         {{"domain-sigma", domain_sigma}, {"range-sigma", range_sigma}}));
      }
    }
    EXPECT_LT(automatic, 1.05 * best + 0.01 * sigma * sigma) << are_waves;
    EXPECT_GT(error_left("bilateral", noisy, truth, {{"domain-sigma", are_waves ? "1" : "0.6"}}), 1.1 * automatic);
    const double by_nlm = error_left("nlm", noisy, truth, {});
    for (const char* strength : {"0.8", "1", "1.25", "1.6"}) {
      EXPECT_LT(by_nlm, 1.15 * error_left("nlm", noisy, truth, {{"strength", strength}}))
          << are_waves << ' ' << strength;
    }
  }
}

TEST(ExpectedError, ChangesNoParameterThatIsGivenAndHeedsTheMap) {
  const Volume noisy = with_white_noise(waves(), sigma, 94);
  NoiseModel noise = noise_of(noisy);
  const VolumeFacts facts{extent, {1, 1, 1}, [&] { return noise; }};
  const BilateralParams automatic = BilateralParams{}.resolved(facts);
  EXPECT_LT(automatic.domain_sigma->x, 1);
  const AdaptiveBilateralParams adaptive = AdaptiveBilateralParams{}.resolved(facts);
  EXPECT_LT(adaptive.domain_sigma->x, 1);
  EXPECT_NE(*adaptive.highest_range_sigma, 3 * sigma);
  AdaptiveBilateralParams bound_given;
  bound_given.highest_range_sigma = 3 * sigma;
  EXPECT_EQ(*bound_given.resolved(facts).domain_sigma, (Triple<double>{1, 1, 1}));
  EXPECT_EQ(*bound_given.resolved(facts).lowest_range_sigma, 0.5 * sigma);
  BilateralParams given;
  given.domain_sigma = {1, 1, 1};
  given.radius = {2, 2, 1};
  EXPECT_EQ(*given.resolved(facts).domain_sigma, (Triple<double>{1, 1, 1}));
  EXPECT_EQ(given.resolved(facts).halo(), (Radius3{2, 2, 1}));
  NlmParams search;
  search.search_radius = OrAll<Radius3>(Radius3{3, 3, 3});
  EXPECT_EQ(search.resolved(facts).search_window(), (Radius3{3, 3, 3}));
  noise.sigma /= 2;
  noise.map = {{{1, 1, 1}}, {2}};
  const BilateralParams mapped = BilateralParams{}.resolved(facts);
  EXPECT_EQ(*mapped.domain_sigma, *automatic.domain_sigma);
  EXPECT_EQ(*AdaptiveBilateralParams{}.resolved(facts).domain_sigma, *adaptive.domain_sigma);
}

}  // namespace
}  // namespace quietvox::test
