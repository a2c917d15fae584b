// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/common/expected_error.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

namespace quietvox {
namespace {

/// 1 or -1 by chance, the same in each run: the top bit of a multiple of the golden ratio, mixed.
float sign(std::uint64_t number) {
  std::uint64_t bits = (number + 1) * 0x9E3779B97F4A7C15ULL;
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9ULL;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EBULL;
  return bits >> 63 ? 1.0F : -1.0F;
}

/// Adds up the values of a box at distances along one axis, around its ends, times the weights of 0 and of each
/// distance to either side.
std::vector<float> weighted(const std::vector<float>& values, const Extent& extent, int axis,
                            const std::vector<double>& weights) {
  const std::int64_t stride = axis == 0 ? 1 : axis == 1 ? extent.x : extent.slice(), count = extent[axis];
  std::vector<float> sums(values.size());
  for (std::int64_t i = 0; i < extent.voxels(); ++i) {
    const std::int64_t place = i / stride % count, first = i - place * stride;
    double sum = 0;
    for (std::int64_t distance = 1 - std::ssize(weights); distance < std::ssize(weights); ++distance) {
      const std::int64_t from = ((place + distance) % count + count) % count;
      sum += weights[static_cast<std::size_t>(std::abs(distance))] *
             static_cast<double>(values[static_cast<std::size_t>(first + from * stride)]);
    }
    sums[static_cast<std::size_t>(i)] = static_cast<float>(sum);
  }
  return sums;
}

/// Random numbers of variance 1 that are correlated as the noise, as far as it is along each axis by itself.
std::vector<float> random_change(const NoiseSpectrum& spectrum, const Extent& extent) {
  std::vector<float> change(static_cast<std::size_t>(extent.voxels()));
  for (std::size_t i = 0; i < change.size(); ++i) change[i] = sign(i);
  NoiseSpectrum root = spectrum;  // of the weights
  for (float& power : root.in_plane) power = std::sqrt(power);
  for (float& power : root.across) power = std::sqrt(power);
  Extent sizes = spectrum.size;
  std::swap(sizes[spectrum.across_axis], sizes.z);
  for (int axis = 0; axis < 3; ++axis) {
    if (sizes[axis] == 1) continue;
    std::vector<double> weights;
    double energy = 0;
    for (int distance = 0; distance < std::min<std::int64_t>(sizes[axis], (extent[axis] + 1) / 2); ++distance) {
      Triple<double> along{};
      along[axis] = distance;
      weights.push_back(root.correlation(along));
      energy += (distance == 0 ? 1 : 2) * weights.back() * weights.back();
    }
    for (double& weight : weights) weight /= std::sqrt(energy);
    change = weighted(change, extent, axis, weights);
  }
  return change;
}

}  // namespace

std::optional<ExpectedError> ExpectedError::of(const NoiseModel& noise, const VolumeFacts& facts,
                                               const Radius3& reach) {
  constexpr double few_impulses = 0.0005;  // which no filter of a mean takes away
  constexpr double small = 0.05;           // the change, in sigmas
  constexpr double too_far = 1.8;          // voxels of correlation, whose spectrum is not known well enough
  const Triple<double> length = noise.spectrum.length();
  if (!noise.pieces || noise.pieces->empty() || noise.sigma == 0 || noise.confidence < Confidence::medium ||
      std::max({length.x, length.y, length.z}) > too_far || noise.distribution != NoiseDistribution::gaussian ||
      noise.impulses > few_impulses) {
    return std::nullopt;
  }
  ExpectedError error;
  error.sigma_ = noise.sigma;
  error.size_ = noise.pieces->front().extent;
  for (int axis = 0; axis < 3; ++axis) {
    if (error.size_[axis] == facts.extent[axis]) continue;  // the border of the piece is that of the volume
    error.margin_[axis] = reach[axis];
    if (3 * error.margin_[axis] > error.size_[axis]) return std::nullopt;
  }
  error.spacing_ = facts.spacing;
  error.change_ = random_change(noise.spectrum, error.size_);
  for (const VolumePiece& piece : *noise.pieces) {
    Index3 middle;
    for (int axis = 0; axis < 3; ++axis) middle[axis] = piece.origin[axis] + piece.extent[axis] / 2;
    const double level = noise.map.at(middle, facts.extent);
    const double mean =
        std::accumulate(piece.voxels.begin(), piece.voxels.end(), 0.0) / static_cast<double>(piece.voxels.size());
    Piece& kept = error.pieces_.emplace_back(Piece{{}, {}, level, small * noise.sigma * level});
    for (const float voxel : piece.voxels) {
      const double value = static_cast<double>(voxel) - mean;
      const auto change = static_cast<double>(error.change_[kept.voxels.size()]);
      kept.changed.push_back(static_cast<float>(value + kept.step * change));
      kept.voxels.push_back(static_cast<float>(value));
    }
  }
  return error;
}

double ExpectedError::operator()(const Run& run) const {
  std::vector<float> result(static_cast<std::size_t>(size_.voxels())), of_changed(result.size());
  double sum = 0, count = 0;
  for (const Piece& piece : pieces_) {
    const double variance = sigma_ * sigma_ * piece.level * piece.level;
    run({piece.voxels.data(), size_, spacing_}, {result.data(), size_, spacing_}, piece.level);
    run({piece.changed.data(), size_, spacing_}, {of_changed.data(), size_, spacing_}, piece.level);
    for (std::int64_t z = margin_.z; z < size_.z - margin_.z; ++z) {
      for (std::int64_t y = margin_.y; y < size_.y - margin_.y; ++y) {
        for (std::int64_t x = margin_.x; x < size_.x - margin_.x; ++x) {
          const auto i = static_cast<std::size_t>((z * size_.y + y) * size_.x + x);
          const auto before = static_cast<double>(piece.voxels[i]), after = static_cast<double>(result[i]);
          const double moved = static_cast<double>(of_changed[i]) - after;
          sum += (after - before) * (after - before) / variance - 1 +
                 2 * static_cast<double>(change_[i]) * moved / piece.step;
          ++count;
        }
      }
    }
  }
  return sum / count;
}

}  // namespace quietvox
