// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "core/execution.hpp"
#include "core/volume_view.hpp"

namespace quietvox {

/// Outputs [first, last), in places of the whole volume.
struct Tile {
  Index3 first, last;
};

/// Calls `body(worker, tile)` for tiles that make up an output, none larger than `largest`, with workers as those of
/// parallel_for_with_scratch().
template <class Make, class Body>
void for_each_tile(const VolumeView<float>& out, const Extent& largest, const Execution& execution, const Make& make,
                   const Body& body) {
  Extent count;
  for (int axis = 0; axis < 3; ++axis) count[axis] = (out.extent[axis] + largest[axis] - 1) / largest[axis];
  parallel_for_with_scratch(execution, count.voxels(), make, [&](auto& worker, std::int64_t i) {
    const Index3 index{i % count.x, i / count.x % count.y, i / count.slice()};
    Tile tile;
    for (int axis = 0; axis < 3; ++axis) {
      tile.first[axis] = out.origin[axis] + index[axis] * largest[axis];
      tile.last[axis] = std::min(tile.first[axis] + largest[axis], out.origin[axis] + out.extent[axis]);
    }
    body(worker, tile);
  });
}

}  // namespace quietvox
