// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise_detail.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace quietvox {
namespace {

constexpr double stiffness = 0.01;

TEST(NoiseDetail, FollowsAHillAndHeedsWeights) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> anywhere(-1, 1);
  std::vector<Triple<double>> places;
  std::vector<double> values, weights;
  const auto hill = [](const Triple<double>& at) {
    return std::exp(-(at.x * at.x + at.y * at.y + at.z * at.z) / (2 * 0.6 * 0.6));
  };
  for (int i = 0; i < 4000; ++i) {
    places.push_back({anywhere(random), anywhere(random), anywhere(random)});
    const bool is_wrong = i % 2 == 1;
    values.push_back(is_wrong ? NAN : hill(places.back()));
    weights.push_back(is_wrong ? 0 : 1);
  }
  NoiseDetail detail;
  EXPECT_EQ(detail.at({0.1, 0.2, 0.3}), 0);
  detail.fit(places, values, weights, stiffness);
  for (std::size_t i = 0; i < places.size(); ++i) EXPECT_NEAR(detail.at(places[i]), hill(places[i]), 0.12);
}

TEST(NoiseDetail, GoesOnWhereNothingIsKnown) {
  std::vector<Triple<double>> places;
  for (double x = -1; x <= 0; x += 0.1) places.push_back({x, 0, 0});  // as in a single row
  NoiseDetail detail;
  detail.fit(places, std::vector<double>(places.size(), 2), std::vector<double>(places.size(), 1), stiffness);
  EXPECT_NEAR(detail.at({-0.5, 0, 0}), 2, 0.02);
  EXPECT_NEAR(detail.at({0.5, 0, 0}), 2, 0.3);
  EXPECT_NEAR(detail.at({-0.5, 0.9, -0.9}), 2, 0.5);
}

}  // namespace
}  // namespace quietvox
