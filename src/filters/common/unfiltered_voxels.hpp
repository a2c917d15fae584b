// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "core/volume_view.hpp"

namespace quietvox {

/// A voxel that is left as it is, missing or not; only -0 becomes +0.
template <class T>
constexpr T canonical_zero(T value) {
  return value == T{0} ? T{0} : value;
}

/// Copies the voxels of `in` that lie where `out` does, for a filter that changes nothing.
inline void copy_unfiltered(const VolumeView<const float>& in, const VolumeView<float>& out) {
  const Index3 shift{out.origin.x - in.origin.x, out.origin.y - in.origin.y, out.origin.z - in.origin.z};
  for (std::int64_t z = 0; z < out.extent.z; ++z) {
    for (std::int64_t y = 0; y < out.extent.y; ++y) {
      const float* const row = in.row(y + shift.y, z + shift.z) + shift.x;
      std::transform(row, row + out.extent.x, out.row(y, z), canonical_zero<float>);
    }
  }
}

}  // namespace quietvox
