// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/image.hpp"

namespace quietvox::io {

/// How a grid is read along the axes of another one: axis i of the other is axis `from[i]`, run backwards where
/// `is_reversed[i]`. Programs that convert scans turn axes so; no voxel moves in the patient.
struct AxisMap {
  Triple<int> from{0, 1, 2};
  Triple<bool> is_reversed{};

  friend bool operator==(const AxisMap&, const AxisMap&) = default;
};

/// The map under which the axes of `grid` point as nearly as they can where those of `other` do. Of a grid that does
/// not say where it lies, each axis is taken to be that of the other.
AxisMap map_onto(const Geometry& grid, const Geometry& other);

/// The same voxels in the same places, with the axes of the map.
Geometry reordered(const Geometry&, const AxisMap&);

/// Where the voxels of a grid that is reordered so stand among those of the grid itself: voxel (x, y, z) is number
/// `first + x step.x + y step.y + z step.z`.
struct ReorderedVoxels {
  ReorderedVoxels(const Extent& grid, const AxisMap&);

  std::int64_t first = 0;
  Triple<std::int64_t> step;
};

}  // namespace quietvox::io
