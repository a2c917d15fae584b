// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "filters/bm4d/kernel.hpp"

/// What matching and shrinking share: where references lie, and how the blocks of a group are written down.
namespace quietvox::cuda::bm4d {

using bm4d_kernel::block_room, bm4d_kernel::most_blocks;

constexpr unsigned all_lanes = ~0U;

/// Places of references within the box that is compared: one step apart, except that the last one may be nearer.
struct ReferenceGrid {
  int3 count, first, step, last;

  __device__ std::int64_t index(int3 i) const {
    return (static_cast<std::int64_t>(i.z) * count.y + i.y) * count.x + i.x;
  }

  __device__ int3 place(int x, int y, int z) const {
    return {min(first.x + x * step.x, last.x), min(first.y + y * step.y, last.y), min(first.z + z * step.z, last.z)};
  }
};

constexpr unsigned no_block = ~0U;  ///< instead of a block's place in the window: x, y, z, a byte each

}  // namespace quietvox::cuda::bm4d
