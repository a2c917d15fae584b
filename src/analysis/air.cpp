// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/air.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/median_of.hpp"
#include "analysis/rician.hpp"

namespace quietvox {

Air find_air(const NoiseBricks& bricks, double middle, bool are_magnitudes) {
  constexpr std::size_t fewest = 32;
  constexpr double least_share = 0.25;  // of the dark part of the volume
  constexpr double tolerance = 0.12, most_zeros = 0.02;
  const double widest = are_magnitudes ? 0.8 : 0.42;  // of means: speckle of ultrasound varies more
  constexpr double even = 0.12;
  constexpr double least_skewness = 0.3;             // of a Rayleigh distribution 0.63, of a normal one 0
  constexpr double as_dark = 1.3, most_quiet = 0.5;  // of the mean of air, and of its bricks
  std::vector<double> means, deviations, skewness, powers, quiet;
  Air air;
  double dark = 0;
  for (std::int64_t i = 0; i < bricks.count(); ++i) {
    const float* const brick = bricks.brick(i);
    if (bricks.mean(i) >= middle) continue;
    ++dark;
    double sum = 0, squares = 0, zeros = 0;
    for (std::int64_t j = 0; j < bricks.voxels(); ++j) {
      const auto value = static_cast<double>(brick[j]);
      sum += value;
      squares += value * value;
      zeros += value <= 0;
    }
    const auto voxels = static_cast<double>(bricks.voxels());
    const double mean = sum / voxels;
    if (!(mean > 0) || zeros > most_zeros * voxels) continue;
    const double ratio = std::sqrt(std::max(squares / voxels - mean * mean, 0.0)) / mean;
    if (ratio <= rayleigh_ratio - tolerance) quiet.push_back(mean);
    if (!(std::abs(ratio - rayleigh_ratio) < tolerance)) continue;
    means.push_back(mean);
    deviations.push_back(ratio);
    powers.push_back(squares / voxels);
    air.parts.push_back({bricks.place(i), std::log(squares / voxels / 2)});
    skewness.push_back(std::accumulate(brick, brick + bricks.voxels(), 0.0,
                                       [&](double so_far, float value) {
                                         const double score = (static_cast<double>(value) - mean) / (ratio * mean);
                                         return so_far + score * score * score;
                                       }) /
                       voxels);
  }
  if (means.size() < fewest || static_cast<double>(means.size()) < least_share * dark) return {};
  if (median_of<double>(skewness) < least_skewness) return {};
  const auto [mean, width] = shortest_half(means);
  if (width > widest * mean) return {};
  // The air of many coils varies less than its mean, and edges beside it look like that of one coil.
  const auto as_dark_and_quiet =
      std::ranges::count_if(quiet, [most = as_dark * mean](double one) { return one < most; });
  if (static_cast<double>(as_dark_and_quiet) > most_quiet * static_cast<double>(means.size())) return {};
  constexpr double three_deviations = 2.2;  // in widths, of normal means
  std::size_t usual = 0;
  for (std::size_t i = 0; i < means.size(); ++i) {
    if (std::abs(means[i] - mean) <= three_deviations * width) powers[usual++] = powers[i];
  }
  powers.resize(usual);
  air.sigma = std::sqrt(median_of<double>(powers) / 2);
  air.is_even = width < even * mean;
  air.deviation = median_of<double>(deviations);
  return air;
}

}  // namespace quietvox
