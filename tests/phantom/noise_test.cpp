// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "phantom/noise.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/error.hpp"
#include "phantom/philox.hpp"

namespace quietvox {
namespace {

constexpr Extent whole_extent{{64, 61, 37}};

std::vector<float> noisy_constant(float value, NoiseParams params, const Execution& execution = {}) {
  std::vector<float> voxels(static_cast<std::size_t>(whole_extent.voxels()), value);
  add_noise({voxels.data(), whole_extent}, params, -5, 205, execution);
  return voxels;
}

struct Statistics {
  double mean = 0, variance = 0;
};
Statistics statistics(const std::vector<float>& voxels) {
  Statistics result;
  for (const float v : voxels) result.mean += v;
  result.mean /= static_cast<double>(voxels.size());
  for (const float v : voxels) result.variance += (v - result.mean) * (v - result.mean);
  result.variance /= static_cast<double>(voxels.size());
  return result;
}

bool same_bytes(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// The published answers of Philox4x32-10 (Random123 kat_vectors).
TEST(Philox, KnownAnswers) {
  constexpr std::uint32_t ones = 0xFFFFFFFF;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (std::array<std::uint32_t, 4>{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  EXPECT_EQ(philox({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}),
            (std::array<std::uint32_t, 4>{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

TEST(AddNoise, GaussianHasItsMoments) {
  const auto [mean, variance] = statistics(noisy_constant(100, {NoiseKind::gaussian, 20, 1}));
  EXPECT_NEAR(mean, 100, 0.3);  // 5 standard errors of 144,448 voxels
  EXPECT_NEAR(std::sqrt(variance), 20, 0.2);
}

TEST(AddNoise, RicianHasItsSecondMoment) {
  for (const float value : {0.0F, 10.0F, 100.0F}) {
    const auto [mean, variance] = statistics(noisy_constant(value, {NoiseKind::rician, 20, 2}));
    EXPECT_NEAR(mean * mean + variance, value * value + 2 * 20.0 * 20.0, 60) << value;
  }
  const auto [mean, variance] = statistics(noisy_constant(0, {NoiseKind::rician, 20, 2}));
  EXPECT_NEAR(mean, 20 * std::sqrt(std::acos(-1.0) / 2), 0.2);  // Rayleigh
}

TEST(AddNoise, PoissonHasMeanAndVarianceOfTheValue) {
  for (const double amount : {0.01, 1.0, 25.0}) {
    for (const float value : {0.5F, 29.0F, 31.0F, 1000.0F}) {
      const auto [mean, variance] = statistics(noisy_constant(value, {NoiseKind::poisson, amount, 3}));
      const double expected = value * amount;
      EXPECT_NEAR(mean, value, 5 * std::sqrt(expected / 144448)) << value << " " << amount;
      const double kurtosis = 3 + amount / value;
      EXPECT_NEAR(variance, expected, 5 * expected * std::sqrt((kurtosis - 1) / 144448)) << value << " " << amount;
    }
  }
  for (const float value : noisy_constant(-7, {NoiseKind::poisson, 2, 3})) ASSERT_EQ(value, -7);
}

TEST(AddNoise, SpeckleGrowsWithTheValue) {
  const auto [mean, variance] = statistics(noisy_constant(-200, {NoiseKind::speckle, 0.1, 4}));
  EXPECT_NEAR(mean, -200, 0.3);
  EXPECT_NEAR(std::sqrt(variance), 20, 0.2);
}

TEST(AddNoise, SaltAndPepperHitsItsShare) {
  double low = 0, high = 0, kept = 0;
  for (const float value : noisy_constant(50, {NoiseKind::salt_and_pepper, 0.1, 5})) {
    low += value == -5;
    high += value == 205;
    kept += value == 50;
  }
  EXPECT_EQ(low + high + kept, whole_extent.voxels());
  EXPECT_NEAR(low / kept, 0.05 / 0.9, 0.004);
  EXPECT_NEAR(high / kept, 0.05 / 0.9, 0.004);
}

TEST(AddNoise, SaltAndPepperShareIsAtMostOne) {
  try {
    noisy_constant(50, {NoiseKind::salt_and_pepper, 1.5, 5});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("amount = '1.5'"), std::string::npos) << error.what();
  }
}

TEST(AddNoise, QuantisationRoundsToMultiples) {
  EXPECT_EQ(noisy_constant(13.6F, {NoiseKind::quantisation, 5, 1}).front(), 15);
  EXPECT_EQ(noisy_constant(-13.6F, {NoiseKind::quantisation, 0.5, 1}).back(), -13.5F);
}

TEST(AddNoise, AmountZeroChangesNothing) {
  for (const auto kind : {NoiseKind::gaussian, NoiseKind::rician, NoiseKind::poisson, NoiseKind::speckle,
                          NoiseKind::salt_and_pepper, NoiseKind::quantisation}) {
    for (const float value : noisy_constant(123.25F, {kind, 0, 1})) ASSERT_EQ(value, 123.25F);
  }
}

TEST(AddNoise, SlabsAndThreadsChangeNothing) {
  for (const auto kind :
       {NoiseKind::gaussian, NoiseKind::rician, NoiseKind::poisson, NoiseKind::speckle, NoiseKind::salt_and_pepper}) {
    const NoiseParams params{kind, 0.5, 6};
    Execution one;
    one.threads = 1;
    const auto whole = noisy_constant(80, params);
    EXPECT_TRUE(same_bytes(whole, noisy_constant(80, params, one)));
    std::vector<float> slabs(whole.size(), 80);
    const VolumeView<float> view{slabs.data(), whole_extent};
    for (std::int64_t z = 0; z < whole_extent.z; z += 5) {
      add_noise(view.slices(z, std::min<std::int64_t>(5, whole_extent.z - z)), params, -5, 205, {});
    }
    EXPECT_TRUE(same_bytes(whole, slabs));
  }
}

TEST(AddNoise, SeedsAndPlacesDiffer) {
  const auto first = noisy_constant(0, {NoiseKind::gaussian, 1, 1}),
             second = noisy_constant(0, {NoiseKind::gaussian, 1, 2});
  double same = 0, between_seeds = 0, along_x = 0;
  for (std::size_t i = 0; i + 1 < first.size(); ++i) {
    same += first[i] == second[i];
    between_seeds += first[i] * second[i];
    along_x += first[i] * first[i + 1];
  }
  EXPECT_LT(same, 10);
  EXPECT_LT(std::abs(between_seeds / 144448), 0.015);
  EXPECT_LT(std::abs(along_x / 144448), 0.015);
}

TEST(AddNoise, MissingVoxelsStay) {
  std::vector<float> voxels{1, std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity(), 4};
  const auto before = voxels;
  add_noise({voxels.data(), {{4, 1, 1}}}, {NoiseKind::gaussian, 3, 1}, 0, 1, {});
  EXPECT_EQ(std::memcmp(&voxels[1], &before[1], 2 * sizeof(float)), 0);
  EXPECT_NE(voxels[0], before[0]);
}

}  // namespace
}  // namespace quietvox
