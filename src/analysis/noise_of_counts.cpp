// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise_of_counts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "analysis/median_of.hpp"
#include "analysis/noise_confidence.hpp"
#include "analysis/rician.hpp"

namespace quietvox {
namespace {

/// The variance of white noise in a brick, by the differences along both diagonals of four voxels, which a slope leaves
/// as they are.
double variance_of_squares(const float* brick, const Extent& size) {
  double sum = 0;
  for (std::int64_t z = 0; z < size.z; ++z) {
    for (std::int64_t y = 0; y + 1 < size.y; ++y) {
      const float *const row = brick + (z * size.y + y) * size.x, *const next = row + size.x;
      for (std::int64_t x = 0; x + 1 < size.x; ++x) {
        const double difference = static_cast<double>(row[x] - row[x + 1] - next[x] + next[x + 1]);
        sum += difference * difference / 4;
      }
    }
  }
  return sum / static_cast<double>(size.z * (size.y - 1) * (size.x - 1));
}

}  // namespace

std::optional<NoiseModel> noise_of_counts(const NoiseBricks& bricks, double step, const std::vector<bool>& object,
                                          double middle) {
  constexpr std::size_t fewest = 90, classes = 3;
  constexpr double fewest_counts = 16;        // of a part
  constexpr double least_range = 1.5;         // of means, from the darkest class to the brightest
  constexpr double few_counts = 3;            // of a voxel
  constexpr double fewest_values = 3;         // besides 0: masks and labels may have fewer
  constexpr double least = 0.8, most = 1.12;  // of few squares, most dispersions are below 1
  const Extent& size = bricks.size();
  if (!(step > 0) || bricks.lowest() < 0 || size.x < 2 || size.y < 2) return std::nullopt;
  struct Part {
    double mean, dispersion;
  };
  std::vector<Part> parts;
  std::vector<double> means, besides;
  double largest = 0;
  const auto voxels = static_cast<double>(bricks.voxels());
  for (std::int64_t i = 0; i < bricks.count(); ++i) {
    const float* const brick = bricks.brick(i);
    double sum = 0, squares = 0;
    for (std::int64_t j = 0; j < bricks.voxels(); ++j) {
      const auto voxel = static_cast<double>(brick[j]);
      sum += voxel;
      squares += voxel * voxel;
      largest = std::max(largest, voxel);
    }
    if (!(sum >= fewest_counts * step)) continue;  // nor where some are missing
    const double mean = sum / voxels;
    parts.push_back({mean, variance_of_squares(brick, size) / (mean * step)});
    besides.push_back(squares / voxels - mean * mean - step * mean);
    if (object[static_cast<std::size_t>(i)]) means.push_back(mean);
  }
  if (parts.size() < fewest || largest < fewest_values * step) return std::nullopt;
  std::ranges::sort(parts, {}, &Part::mean);
  if (means.empty()) {
    for (const Part& part : parts) {
      if (part.mean > middle) means.push_back(part.mean);
    }
  }
  if (means.empty()) return std::nullopt;
  const std::size_t in_class = parts.size() / classes;
  const double dark = parts[in_class / 2].mean, bright = parts[parts.size() - 1 - in_class / 2].mean;
  if (dark * least_range > bright && bright > few_counts * step) return std::nullopt;
  for (std::size_t c = 0; c < classes; ++c) {
    std::vector<double> dispersions;
    for (std::size_t i = c * in_class; i < (c + 1) * in_class; ++i) dispersions.push_back(parts[i].dispersion);
    const double usual = shortest_half(dispersions).mean;
    if (usual < least || usual > most) return std::nullopt;
  }
  const double mean = std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(means.size());
  NoiseModel model;
  model.sigma = std::sqrt(step * mean);
  model.distribution = NoiseDistribution::poisson;
  model.poisson.gain = step;
  model.speckle = {step / (2 * mean), step * mean / 2, 2};  // that touches it there
  model.contrast = std::sqrt(std::max(median_of<double>(besides), 0.0));
  model.step = step;
  model.places = std::ssize(parts);
  lower_confidence_in_few(model, model.places);
  return model;
}

}  // namespace quietvox
