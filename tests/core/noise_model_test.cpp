// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/noise_model.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace quietvox {
namespace {

TEST(NoiseSpectrum, WhiteNoiseIsUncorrelated) {
  const NoiseSpectrum sampled{{{8, 8, 4}}, std::vector<float>(64, 1), std::vector<float>(4, 1)};
  for (const NoiseSpectrum& white : {NoiseSpectrum(), sampled}) {
    EXPECT_EQ(white.correlation({0, 0, 0}), 1);
    for (const Triple<double> step : {Triple<double>{1, 0, 0}, {0, 2, 0}, {0, 0, 1}, {1, 1, 3}}) {
      EXPECT_NEAR(white.correlation(step), 0, 1e-12);
    }
    for (int axis = 0; axis < 3; ++axis) EXPECT_NEAR(white.length()[axis], 1, 1e-12);
  }
}

// Noise of the lower half of the frequencies along x has the correlation sinc(d / 2).
TEST(NoiseSpectrum, HalfTheFrequenciesMakeTwoVoxelsOfLength) {
  NoiseSpectrum half{{{8, 1, 1}}, {2, 2, 2, 2, 0, 0, 0, 0}, {1}};
  const double edge = 3.5 / 8;  // of the last band that has power
  for (const double distance : {1.0, 2.0, 3.0}) {
    const double angle = std::acos(-1.0) * edge * distance;
    EXPECT_NEAR(half.correlation({distance, 0, 0}), std::sin(angle) / angle, 1e-12);
  }
  EXPECT_NEAR(half.length().x, 1 / edge, 0.1);
}

TEST(CoarseField, IsLinearBetweenItsNodes) {
  const CoarseField field{{{2, 3, 1}}, {1, 3, 5, 7, 9, 11}};
  const Extent extent{{5, 9, 4}};
  EXPECT_EQ(field.at({0, 0, 0}, extent), 1);
  EXPECT_EQ(field.at({4, 0, 3}, extent), 3);
  EXPECT_EQ(field.at({2, 0, 1}, extent), 2);
  EXPECT_EQ(field.at({2, 2, 1}, extent), 4);
  EXPECT_EQ(field.at({4, 8, 2}, extent), 11);
  EXPECT_EQ(CoarseField().at({3, 3, 3}, extent), 1);
  EXPECT_EQ(field.at({0, 0, 0}, {{1, 1, 1}}), 1);
}

TEST(CoarseField, ARowHoldsWhatItsVoxelsHave) {
  const CoarseField field{{{3, 2, 2}}, {1, 0.5F, 2, 0, 1.5F, 1, 0.3F, 0.7F, 0.2F, 1, 1, 3}};
  for (const Extent& extent : {Extent{1, 1, 1}, Extent{2, 5, 4}, Extent{17, 3, 2}, Extent{100, 1, 7}}) {
    for (std::int64_t z = 0; z < extent.z; ++z) {
      for (std::int64_t y = 0; y < extent.y; ++y) {
        for (const std::int64_t first : {std::int64_t{0}, extent.x / 3}) {
          std::vector<float> row(static_cast<std::size_t>(extent.x - first));
          field.row({first, y, z}, extent, row);
          for (std::size_t i = 0; i < row.size(); ++i) {
            EXPECT_EQ(row[i], static_cast<float>(field.at({first + static_cast<std::int64_t>(i), y, z}, extent)));
          }
        }
      }
    }
  }
}

TEST(CoarseField, IsNowhereZero) {
  const CoarseField field{{{2, 1, 1}}, {0, 1}};
  EXPECT_EQ(field.at({0, 0, 0}, {{3, 1, 1}}), 1e-3);
  EXPECT_EQ(field.at({1, 0, 0}, {{3, 1, 1}}), 0.5);
}

}  // namespace
}  // namespace quietvox
