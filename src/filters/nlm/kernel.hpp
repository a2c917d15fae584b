// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/volume_view.hpp"

/// The inner loops of the CPU's non-local means, in the widest vectors that the machine has.
///
/// For one offset o at a time, the weights w(x, x + o) of a box of voxels x are worked out: squared differences, their
/// sums over the patch one axis after the other, and the exponential. What is done for a voxel depends on nothing but
/// its surroundings, so that tiles may be cut anywhere.
namespace quietvox::nlm_kernel {

/// Floats that vectors may read or write past the end of a row or buffer.
constexpr std::int64_t slack = 128;

/// Scaled voxels, borders and all; missing ones are NaN. `origin` is the voxel of the first output of a tile.
struct Region {
  const float* origin;
  std::int64_t pitch, plane;  ///< from row to row, from slice to slice
  bool has_missing;
  const float* variances;  ///< of the noise, over sigma^2, lying as the voxels do; null: all are 1

  const float* at(const Index3& p) const { return origin + place(p); }
  const float* variance_at(const Index3& p) const { return variances + place(p); }

 private:
  std::int64_t place(const Index3& p) const { return p.z * plane + p.y * pitch + p.x; }
};

/// Another voxel, seen from the one that is filtered.
struct Offset {
  Index3 step;
  float log2_weight;  ///< of the spatial weight
};

/// log2 w = min(bias - rate sum / variance, 0) + offset.log2_weight - intensity_rate (u_q - u_p)^2, where sum is that
/// of the squared differences over the patch, and variance the mean of those of p and q.
struct Weighting {
  Radius3 patch;
  float rate, bias;
  float intensity_rate;  ///< 0: without this factor
  bool squares;          ///< squares of voxels are averaged
};

/// Voxels [first, last), counted from the first output of a tile.
struct Box {
  Index3 first, last;

  Extent size() const { return {{last.x - first.x, last.y - first.y, last.z - first.z}}; }
};

/// sum w (u_q - u_p), or of squares, and sum w for the outputs of a tile.
struct TileSums {
  Extent size;
  std::int64_t pitch;
  std::vector<float> difference, weight;

  void reset(const Extent& tile);
  std::int64_t row(std::int64_t y, std::int64_t z) const { return (z * size.y + y) * pitch; }
};

/// What the sums over patches are made in.
struct Scratch {
  std::vector<float> plane;                   ///< squared differences of one slice
  std::array<std::vector<float>, 3> partial;  ///< sums of 2 and of 4 of them, and along y
  std::array<std::vector<float>, 3> slices;   ///< a ring of slices summed along x and y; of 2 and 4 of those
  std::vector<float> weights, factors;        ///< weights of a box; factors for the sums over its patches
};

/// Adds p + o for the outputs p in `box`.
void add_forward(const Region&, const Box& box, const Offset&, const Weighting&, Scratch&, TileSums&);

/// Adds p + o, then p - o for every output p of the tile: both ends of a pair have one weight.
void add_both(const Region&, const Offset&, const Weighting&, Scratch&, TileSums&);

}  // namespace quietvox::nlm_kernel
