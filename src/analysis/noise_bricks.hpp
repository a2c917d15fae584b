// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/pipeline.hpp"

namespace quietvox {

/// Bricks of one size from all over a volume, their voxels in the order x, y, z. Bricks with much background (one
/// value) are known by their means only. Single voxels far from all others count as missing.
class NoiseBricks {
 public:
  /// Reads bricks from all over `source`. Within a slice a brick takes every `apart`-th voxel. Where there is a
  /// `neighbour`, bricks hold the difference to it.
  NoiseBricks(VolumeSource& source, VolumeSource* neighbour, std::int64_t apart);

  std::int64_t count() const { return std::ssize(places_); }
  const Extent& size() const { return size_; }
  std::int64_t voxels() const { return size_.voxels(); }
  bool are_of_neighbours() const { return apart_ == 1; }
  float* brick(std::int64_t i) { return voxels_.data() + i * voxels(); }
  const float* brick(std::int64_t i) const { return voxels_.data() + i * voxels(); }
  /// Mean of the volume at the brick's place; the brick's own mean is another one if it holds a difference.
  double mean(std::int64_t i) const { return means_[static_cast<std::size_t>(i)]; }
  /// Median variance within bricks.
  double median_variance() const;
  /// Of the brick's centre: -1 at the first voxel of an axis, 1 at the last.
  Triple<double> place(std::int64_t i) const;
  const Extent& extent() const { return extent_; }

  struct Background {
    double mean;
    bool constant;
    std::uint32_t hash;
  };
  const std::vector<Background>& background() const { return background_; }
  float lowest() const { return lowest_; }
  float highest() const { return highest_; }
  /// Share of the voxels that lie far from all others.
  double extremes() const { return static_cast<double>(extremes_) / static_cast<double>(looked_at_); }

  /// If squares of the values do not fit into 32-bit floats, scales all by a power of 2. Returns the factor, which may
  /// be 1.
  double normalise();

  /// Some of the bricks, in ascending order.
  NoiseBricks some(std::span<const std::int64_t> chosen) const;
  /// Multiplies the energies that bricks hold as if their noise, whose variance is `variance_of(i)`, had the mean
  /// variance of all. Returns that.
  template <class VarianceOf>
  double make_even(const VarianceOf& variance_of);
  /// Keeps the bricks for which `wanted(i)` is true.
  template <class Wanted>
  void keep(const Wanted& wanted);

 private:
  NoiseBricks() = default;

  /// Bricks that begin at the same slice.
  struct Layer {
    std::int64_t z;
    std::vector<Index3> places;
    std::vector<std::uint32_t> hashes;
    std::vector<float> voxels;
  };
  Layer make_layer(std::int64_t index) const;
  void add(Layer&);
  void thin();
  void subtract(VolumeSource& neighbour);

  Extent extent_, size_, grid_;
  std::int64_t apart_ = 1;
  std::uint64_t limit_ = 0;  ///< only bricks with a lower hash are taken
  std::vector<Index3> places_;
  std::vector<std::uint32_t> hashes_;
  std::vector<float> voxels_;
  std::vector<double> means_;
  std::vector<Background> background_;
  float lowest_ = std::numeric_limits<float>::infinity(), highest_ = -lowest_;
  std::int64_t extremes_ = 0, looked_at_ = 0;
};

template <class VarianceOf>
double NoiseBricks::make_even(const VarianceOf& variance_of) {
  double mean = 0;
  for (std::int64_t i = 0; i < count(); ++i) mean += variance_of(i);
  mean /= static_cast<double>(count());
  for (std::int64_t i = 0; i < count(); ++i) {
    const auto factor = static_cast<float>(mean / variance_of(i));
    for (std::int64_t j = 0; j < voxels(); ++j) brick(i)[j] *= factor;
  }
  return mean;
}

template <class Wanted>
void NoiseBricks::keep(const Wanted& wanted) {
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < count(); ++i) {
    if (!wanted(i)) continue;
    if (kept != i) {
      std::copy(brick(i), brick(i) + voxels(), brick(kept));
      places_[static_cast<std::size_t>(kept)] = places_[static_cast<std::size_t>(i)];
      hashes_[static_cast<std::size_t>(kept)] = hashes_[static_cast<std::size_t>(i)];
      means_[static_cast<std::size_t>(kept)] = means_[static_cast<std::size_t>(i)];
    }
    ++kept;
  }
  places_.resize(static_cast<std::size_t>(kept));
  hashes_.resize(static_cast<std::size_t>(kept));
  means_.resize(static_cast<std::size_t>(kept));
  voxels_.resize(static_cast<std::size_t>(kept * voxels()));
}

}  // namespace quietvox
