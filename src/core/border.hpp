// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace quietvox {

/// What a window sees beyond the edge of the volume.
enum class Border {
  replicate,  ///< the nearest voxel of the volume (ITK's zero-flux Neumann)
  reflect,    ///< the volume mirrored about its outermost voxel (reflect-101: c b | a b c)
  copy,       ///< nothing: voxels whose window leaves the volume keep their value
};
constexpr std::array<std::string_view, 3> choices(Border) { return {"replicate", "reflect", "copy"}; }

/// The voxel that stands at `index`, which may lie anywhere, of an axis of `count` voxels.
constexpr std::int64_t border_index(Border border, std::int64_t index, std::int64_t count) {
  if (index >= 0 && index < count) return index;
  if (border == Border::reflect && count > 1) {
    const std::int64_t period = 2 * (count - 1), place = (index < 0 ? -index : index) % period;
    return place < count ? place : period - place;
  }
  return index < 0 ? 0 : count - 1;
}

}  // namespace quietvox
