// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/backend.hpp"

#include <algorithm>

namespace quietvox {

Radius3 total_halo(std::span<const Settings> chain) {
  Radius3 sum{};
  for (const Settings& step : chain) {
    const Radius3 halo = step.halo();
    for (int axis = 0; axis < 3; ++axis) sum[axis] += halo[axis];
  }
  return sum;
}

VolumeView<float> grown(const VolumeView<float>& box, Radius3 halo, const VolumeView<const float>& whole) {
  VolumeView<float> result = box;
  result.data = nullptr;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t first = std::max(box.origin[axis] - halo[axis], whole.origin[axis]);
    const std::int64_t last =
        std::min(box.origin[axis] + box.extent[axis] + halo[axis], whole.origin[axis] + whole.extent[axis]);
    result.origin[axis] = first;
    result.extent[axis] = last - first;
  }
  return result;
}

}  // namespace quietvox
