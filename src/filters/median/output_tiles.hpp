// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "core/volume_view.hpp"

namespace quietvox::selection {

/// Outputs: where a box of them begins within the output volume, and its size.
struct OutputTile {
  Index3 first;
  Extent size;
};

/// The output volume in boxes of equal size, except at its far ends.
struct OutputTiles {
  Extent whole, size;

  std::int64_t along(int axis) const { return (whole[axis] + size[axis] - 1) / size[axis]; }
  std::int64_t count() const { return along(0) * along(1) * along(2); }
  OutputTile operator[](std::int64_t number) const {
    const Index3 place{number % along(0), number / along(0) % along(1), number / (along(0) * along(1))};
    OutputTile box;
    for (int axis = 0; axis < 3; ++axis) {
      box.first[axis] = place[axis] * size[axis];
      box.size[axis] = std::min(size[axis], whole[axis] - box.first[axis]);
    }
    return box;
  }
};

}  // namespace quietvox::selection
