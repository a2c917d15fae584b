// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/volume_view.hpp"
#include "filters/bm4d/noise.hpp"

/// The inner loops of the CPU's block matching filter, in the widest vectors that the machine has.
///
/// A tile is a box of references. Matching goes row by row of them: for one offset after another, squared differences
/// of whole rows of voxels are added up and then those of each reference picked. What is compared are whole numbers,
/// small enough for their sums of squares to be exact as floats, so that no instruction set, tile or backend matches
/// differently. The first stage adds and subtracts in double, which is exact, and scales by powers of two: whether a
/// coefficient is above the threshold hangs on no rounding either, and its result is the same bits on all of them.
/// Groups are turned back to what they change in each voxel, not to its value, which keeps large values exact.
namespace quietvox::bm4d_kernel {

constexpr int most_blocks = 16;  ///< of a group

/// One stage over a volume. What lies in none of `noisy` lies outside the volume.
struct Stage {
  VolumeView<const float> noisy;
  VolumeView<const float> pilot;  ///< what is compared: `noisy`, or the basic estimate
  bool second;                    ///< the second stage
  Radius3 lengths, search;
  const Covariances* covariances;  ///< of the noise in two blocks, by their distance
  const CoarseField* map;          ///< of the noise, over that of the whole `volume`; null: it is 1
  Extent volume;
  double threshold;                 ///< first stage: of coefficients of variance 1
  double rate, ratio;               ///< second stage: g = r^2 / (r^2 + ratio variance), r = rate b
  double per_voxel;                 ///< whole numbers that are compared are round(value per_voxel)
  double change_grid, weight_grid;  ///< sums are multiples of these
  double most_change;               ///< of a voxel
};

/// Sums of what groups say about the voxels of a box: of weight x change, and of weights.
struct Sums {
  Index3 origin;
  Extent extent;
  std::int64_t pitch = 0;
  std::vector<double> changes, weights;

  std::int64_t row(std::int64_t y, std::int64_t z) const { return (z * extent.y + y) * pitch; }
};

/// Places of references along each axis, ascending.
struct Tile {
  std::span<const std::int64_t> x, y, z;
};

/// What a thread works in.
struct Scratch {
  Sums sums;                        ///< of the tile's groups
  std::vector<float> noisy, basic;  ///< the same box of voxels
  std::vector<float> compared;      ///< whole numbers for matching; NaN where no block may lie
  std::vector<float> row_sums;      ///< squared differences of columns of blocks
  std::vector<float> distances;     ///< of each reference of a row to each block of its window
  std::array<double, block_room> shares;
  std::vector<std::int32_t> variances;  ///< of a group's coefficients, times the blocks that each takes
  std::vector<double> first[2];         ///< groups of the first stage
  std::vector<float> second[3];         ///< groups of the second: noisy, basic
};

std::size_t scratch_bytes(Radius3 lengths, Radius3 search, const Extent& tile_span);

/// 1 over the squared lengths of the first stage's wavelets of a block; 1 where it has none.
std::array<double, block_room> shares_of(Radius3 lengths);

/// By which the voxels of a block are weighed, x fastest.
std::vector<double> window_of(Radius3 lengths);

/// Fills scratch.sums with what the groups of a tile say.
void filter_tile(const Stage&, const Tile&, Scratch&);

}  // namespace quietvox::bm4d_kernel
