// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "core/volume.hpp"

namespace quietvox::selection {

/// Outputs: where a box of them begins within the output volume, and its size.
struct OutputBox {
  Index3 first;
  Extent size;
};

/// The output volume in boxes of equal size, except at its far ends.
struct Boxes {
  Extent whole, size;

  std::int64_t along(int axis) const { return (whole[axis] + size[axis] - 1) / size[axis]; }
  std::int64_t count() const { return along(0) * along(1) * along(2); }
  OutputBox operator[](std::int64_t number) const {
    const Index3 place{number % along(0), number / along(0) % along(1), number / (along(0) * along(1))};
    OutputBox box;
    for (int axis = 0; axis < 3; ++axis) {
      box.first[axis] = place[axis] * size[axis];
      box.size[axis] = std::min(size[axis], whole[axis] - box.first[axis]);
    }
    return box;
  }
};

/// A size for boxes with rows of at most `longest_row`: grown tile by tile in y and z, where it saves most halo, as
/// long as what its windows see stays below `most_seen` voxels and it has at most `most_outputs`.
inline Extent box_size(Extent whole, Radius3 radius, Triple<int> tile, std::int64_t longest_row, std::int64_t most_seen,
                       std::int64_t most_outputs) {
  Extent size{{std::min(whole.x, longest_row), std::min<std::int64_t>(whole.y, tile.y),
               std::min<std::int64_t>(whole.z, tile.z)}};
  for (;;) {
    int axis = size.z * radius.y < size.y * radius.z ? 2 : 1;
    if (size[axis] >= whole[axis]) axis = 3 - axis;
    Extent larger = size;
    larger[axis] += tile[axis];
    const std::int64_t seen = (larger.x + 2 * radius.x) * (larger.y + 2 * radius.y) * (larger.z + 2 * radius.z);
    if (size[axis] >= whole[axis] || larger.voxels() > most_outputs || seen > most_seen) return size;
    size = larger;
  }
}

}  // namespace quietvox::selection
