// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "analysis/noise_bricks.hpp"

namespace quietvox {

struct Impulses {
  double share = 0;
  std::vector<float> atoms;  ///< values that many of them have
  bool all_are_atoms = false;
};

/// Replaces voxels that are missing, that are atoms, or that stand out from their neighbours in the slice more than
/// noise does, by the mean of those neighbours that are none of these.
class ImpulseRepair {
 public:
  explicit ImpulseRepair(const Extent& size) : size_(size), slice_(static_cast<std::size_t>(size.slice())) {}

  /// Share of the voxels of a brick, without missing ones, that stand out. The four neighbours of such a voxel that are
  /// nearest in value are on average more than eight times as far away as is usual in the brick (rank-ordered absolute
  /// differences, Garnett et al. 2005), and four times as far as is usual around it, so that edges and lines do not
  /// count.
  double standing_out(const float* brick) {
    flag(brick, {});
    return usual_ > 0 ? share_of_impulses() : 0;
  }
  /// Share of the voxels of a brick, without missing ones, that are atoms, lie beyond three standard deviations of the
  /// others, have few neighbours of the same value, and are more frequent than values close to theirs: impulses may lie
  /// within strong noise, but are scattered, and no end at which noise is cut off. Counts the brick for each such atom.
  double scattered(const float* brick, std::map<float, int>& atoms);
  /// Repairs a brick in place. Returns the share of voxels that were replaced, missing ones included.
  double repair_brick(float* brick, const Impulses& impulses);
  /// The share of impulses among the voxels of the last brick that were not missing.
  double share_of_impulses() const;
  /// Bricks with a larger share of missing voxels and impulses are useless.
  static constexpr double max_flagged_share = 0.45;

 private:
  template <class Body>
  void for_each_neighbour(std::int64_t i, const Body& body) const;
  void flag(const float* brick, const Impulses& impulses);
  bool stands_out(std::size_t i) const;
  double share() const;

  Extent size_;
  float usual_ = 0;
  std::vector<bool> flags_;  // missing voxels too
  std::int64_t missing_ = 0;
  std::vector<float> slice_, distances_, sorted_;
};

/// The impulses in some bricks, if there are many.
Impulses find_impulses(const NoiseBricks& bricks, const std::vector<std::int64_t>& chosen);

}  // namespace quietvox
