// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/air.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>

#include "analysis/median_of.hpp"
#include "analysis/rician.hpp"

namespace quietvox {
namespace {

/// Correlation of complex Gaussian numbers whose magnitudes have this correlation (Middleton 1960: the mean product of
/// two Rayleigh numbers, a hypergeometric function, by elliptic integrals).
double correlation_of_complex(double of_magnitudes) {
  constexpr double by_chance = 0.02;
  if (of_magnitudes < by_chance) return 0;
  double low = 0, high = 1;
  for (int step = 0; step < 30; ++step) {
    const double middle = (low + high) / 2;
    const double product = 2 * std::comp_ellint_2(middle) - (1 - middle * middle) * std::comp_ellint_1(middle);
    const double correlation = (product - std::numbers::pi / 2) / (2 - std::numbers::pi / 2);
    (correlation < of_magnitudes ? low : high) = middle;
  }
  return low;
}

/// How much the covariance at each distance along an axis adds to the mean energy at each frequency:
/// [frequency][distance].
std::vector<std::vector<double>> energies_of_distances(std::int64_t count) {
  const auto n = static_cast<std::size_t>(count);
  std::vector energies(n, std::vector<double>(n));
  for (std::size_t k = 0; k < n; ++k) {
    const auto wave = [&](std::size_t i) {
      return std::sqrt((k == 0 ? 1.0 : 2.0) / static_cast<double>(n)) *
             std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) * static_cast<double>(k) /
                      static_cast<double>(n));
    };
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) energies[k][i < j ? j - i : i - j] += wave(i) * wave(j);
    }
  }
  return energies;
}

/// Of noise whose magnitudes are these bricks: the correlation at each distance within one.
std::vector<double> correlations(const NoiseBricks& bricks, const std::vector<std::int64_t>& chosen) {
  constexpr std::size_t most = 256;
  const Extent size = bricks.size();
  const auto voxels = static_cast<std::size_t>(bricks.voxels());
  std::vector<double> products(voxels), pairs(voxels);
  double sum = 0, count = 0;
  const std::size_t every = (chosen.size() + most - 1) / most;
  const auto for_each = [&](const auto& take) {
    for (std::size_t i = 0; i < chosen.size(); i += every) take(bricks.brick(chosen[i]));
  };
  for_each([&](const float* brick) {
    sum += std::accumulate(brick, brick + voxels, 0.0);
    count += static_cast<double>(voxels);
  });
  const double mean = sum / count;
  std::vector<double> centred(voxels);
  for_each([&](const float* brick) {
    for (std::size_t i = 0; i < voxels; ++i) centred[i] = static_cast<double>(brick[i]) - mean;
    std::size_t distance = 0;
    for (std::int64_t z = 0; z < size.z; ++z) {
      for (std::int64_t y = 0; y < size.y; ++y) {
        for (std::int64_t x = 0; x < size.x; ++x, ++distance) {
          const std::int64_t apart = (z * size.y + y) * size.x + x;
          for (std::int64_t row = 0; row < (size.z - z) * (size.y - y); ++row) {
            const std::int64_t from = (row / (size.y - y) * size.y + row % (size.y - y)) * size.x;
            for (std::int64_t i = from; i < from + size.x - x; ++i) {
              products[distance] += centred[static_cast<std::size_t>(i)] * centred[static_cast<std::size_t>(i + apart)];
            }
          }
          pairs[distance] += static_cast<double>((size.z - z) * (size.y - y) * (size.x - x));
        }
      }
    }
  });
  const double variance = products[0] / pairs[0];
  std::vector<double> correlation(voxels, 1);
  for (std::size_t i = 1; i < voxels; ++i) {
    correlation[i] = correlation_of_complex(products[i] / (pairs[i] * variance));
  }
  return correlation;
}

/// Noise that is so correlated in bricks of `size`.
NoiseSpectrum spectrum_of(const std::vector<double>& correlation, const Extent& size) {
  const auto plane = static_cast<std::size_t>(size.slice()), depth = static_cast<std::size_t>(size.z),
             width = static_cast<std::size_t>(size.x);
  const auto along_x = energies_of_distances(size.x), along_y = energies_of_distances(size.y),
             along_z = energies_of_distances(size.z);
  NoiseSpectrum spectrum{size, std::vector<float>(plane), std::vector<float>(depth)};
  double sum = 0;
  for (std::size_t k = 0; k < depth; ++k) {
    for (std::size_t p = 0; p < plane; ++p) {
      double power = 0;
      std::size_t distance = 0;
      for (const double by_z : along_z[k]) {
        for (const double by_y : along_y[p / width]) {
          for (const double by_x : along_x[p % width]) power += by_z * by_y * by_x * correlation[distance++];
        }
      }
      power = std::max(power, 0.0);
      sum += power;
      spectrum.in_plane[p] += static_cast<float>(power);
      spectrum.across[k] += static_cast<float>(power);
    }
  }
  for (float& power : spectrum.in_plane) power *= static_cast<float>(static_cast<double>(plane) / sum);
  for (float& power : spectrum.across) power *= static_cast<float>(static_cast<double>(depth) / sum);
  return spectrum;
}

}  // namespace

Air find_air(const NoiseBricks& bricks, double middle, bool are_magnitudes) {
  constexpr std::size_t fewest = 32;
  constexpr double least_share = 0.25;  // of the dark part of the volume
  constexpr double tolerance = 0.12, most_zeros = 0.02;
  const double widest = are_magnitudes ? 0.8 : 0.42;  // of means: speckle of ultrasound varies more
  constexpr double even = 0.12;
  constexpr double least_skewness = 0.3;             // of a Rayleigh distribution 0.63, of a normal one 0
  constexpr double as_dark = 1.3, most_quiet = 0.5;  // of the mean of air, and of its bricks
  std::vector<double> means, deviations, skewness, powers, quiet;
  std::vector<std::int64_t> numbers;
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
    numbers.push_back(i);
    air.parts.push_back({bricks.place(i), std::log(squares / voxels / 2)});
    skewness.push_back(std::accumulate(brick, brick + bricks.voxels(), 0.0,
                                       [&](double so_far, float value) {
                                         const double score = (static_cast<double>(value) - mean) / (ratio * mean);
                                         return so_far + score * score * score;
                                       }) /
                       voxels);
  }
  if (means.size() < fewest) return {};
  air.is_little = static_cast<double>(means.size()) < least_share * dark;
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
    if (std::abs(means[i] - mean) > three_deviations * width) continue;
    powers[usual] = powers[i];
    numbers[usual++] = numbers[i];
  }
  powers.resize(usual);
  numbers.resize(usual);
  air.sigma = std::sqrt(median_of<double>(powers) / 2);
  air.is_even = width < even * mean;
  if (air.is_little && !air.is_even) return {};
  air.deviation = median_of<double>(deviations);
  if (air.is_even && bricks.are_of_neighbours()) {
    const std::vector<double> correlation = correlations(bricks, numbers);
    air.spectrum = spectrum_of(correlation, bricks.size());
    const Extent& size = bricks.size();
    if (size.x > 1 && size.y > 1) {
      const auto below = static_cast<std::size_t>(size.x);
      air.diagonal_share = 1 - correlation[1] - correlation[below] + correlation[below + 1];
    }
  }
  return air;
}

}  // namespace quietvox
