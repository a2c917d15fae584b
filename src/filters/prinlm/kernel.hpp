// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/volume_view.hpp"

/// The inner loops of the CPU's guided non-local means, in the widest vectors that the machine has.
namespace quietvox::prinlm_kernel {

/// Floats that vectors may read past the end of a row.
constexpr std::int64_t slack = 32;

/// What a tile's windows see, by voxel: its value, and the two numbers by whose differences a and b it is weighed,
/// w = 2^-(a^2 + b^2). Voxels that do not count have infinite ones.
struct Region {
  Extent size;
  std::int64_t pitch = 0;
  std::vector<float> value, centre, mean;

  void reset(const Extent& extent);
  std::int64_t row(std::int64_t y, std::int64_t z) const { return (z * size.y + y) * pitch; }
};

/// What is added to the voxels of row (y, z) of a tile, whose first voxel lies `search` into the region.
void filter_row(const Region&, Radius3 search, std::int64_t y, std::int64_t z, std::int64_t count, float* changes);

}  // namespace quietvox::prinlm_kernel
