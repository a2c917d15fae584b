// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/axis_map.hpp"

#include <cmath>

namespace quietvox::io {
namespace {

/// The cosine of the angle between an axis of each.
double cosine(const Geometry& a, int axis_of_a, const Geometry& b, int axis_of_b) {
  double sum = 0;
  for (std::size_t i = 0; i < 9; i += 3) {
    sum += a.direction[i + static_cast<std::size_t>(axis_of_a)] * b.direction[i + static_cast<std::size_t>(axis_of_b)];
  }
  return sum;
}

}  // namespace

AxisMap map_onto(const Geometry& grid, const Geometry& other) {
  if (!grid.is_placed || !other.is_placed) return {};
  AxisMap map;
  Triple<bool> taken;
  for (int i = 0; i < 3; ++i) {
    int& best = map.from[i] = 0;
    for (int axis = 1; axis < 3; ++axis) {
      if (std::abs(cosine(grid, axis, other, i)) > std::abs(cosine(grid, best, other, i))) best = axis;
    }
    if (taken[best]) return {};
    taken[best] = true;
    map.is_reversed[i] = cosine(grid, best, other, i) < 0;
  }
  return map;
}

Geometry reordered(const Geometry& grid, const AxisMap& map) {
  Geometry result = grid;
  for (int i = 0; i < 3; ++i) {
    const int from = map.from[i];
    result.extent[i] = grid.extent[from];
    result.spacing[i] = grid.spacing[from];
    const double length = static_cast<double>(grid.extent[from] - 1) * grid.spacing[from];
    for (std::size_t row = 0; row < 3; ++row) {
      const double component = grid.direction[3 * row + static_cast<std::size_t>(from)];
      result.direction[3 * row + static_cast<std::size_t>(i)] = map.is_reversed[i] ? -component : component;
      if (map.is_reversed[i]) result.origin[row] += length * component;
    }
  }
  return result;
}

ReorderedVoxels::ReorderedVoxels(const Extent& grid, const AxisMap& map) {
  const Triple<std::int64_t> strides{1, grid.x, grid.slice()};
  for (int i = 0; i < 3; ++i) {
    const int from = map.from[i];
    step[i] = strides[from] * (map.is_reversed[i] ? -1 : 1);
    if (map.is_reversed[i]) first += strides[from] * (grid[from] - 1);
  }
}

}  // namespace quietvox::io
