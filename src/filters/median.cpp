// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/median.hpp"

#include <algorithm>
#include <vector>

namespace quietvox {
namespace {

bool in_window(MedianShape shape, std::int64_t x, std::int64_t y, std::int64_t z) {
  return shape != MedianShape::cross || (x != 0) + (y != 0) + (z != 0) <= 1;
}

/// The value that the contract defines, gathered and selected voxel by voxel.
template <class T>
T median_at(VolumeView<const T> in, const MedianParams& params, std::int64_t x, std::int64_t y, std::int64_t z,
            std::vector<T>& window) {
  const T centre = in.at(x, y, z);
  if (is_missing(in, centre)) return centre;
  const Radius3 r = params.halo();
  if (params.border == Border::copy && (x < r.x || y < r.y || z < r.z || x + r.x >= in.extent.x ||
                                        y + r.y >= in.extent.y || z + r.z >= in.extent.z)) {
    return centre;
  }
  window.clear();
  for (std::int64_t dz = -r.z; dz <= r.z; ++dz) {
    for (std::int64_t dy = -r.y; dy <= r.y; ++dy) {
      const T* row = in.row(border_index(params.border, y + dy, in.extent.y),
                            border_index(params.border, z + dz, in.extent.z));
      for (std::int64_t dx = -r.x; dx <= r.x; ++dx) {
        const T value = row[border_index(params.border, x + dx, in.extent.x)];
        if (in_window(params.shape, dx, dy, dz) && !is_missing(in, value)) window.push_back(value);
      }
    }
  }
  const auto middle = window.begin() + static_cast<std::ptrdiff_t>((window.size() - 1) / 2);
  std::nth_element(window.begin(), middle, window.end());
  return *middle;
}

template <class T>
void median(VolumeView<const T> in, VolumeView<T> out, const MedianParams& params, const Execution& execution) {
  const Index3 shift{out.origin.x - in.origin.x, out.origin.y - in.origin.y, out.origin.z - in.origin.z};
  parallel_for(execution, out.extent.y * out.extent.z, 4, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> window;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t y = row % out.extent.y, z = row / out.extent.y;
      for (std::int64_t x = 0; x < out.extent.x; ++x) {
        out.at(x, y, z) = median_at(in, params, x + shift.x, y + shift.y, z + shift.z, window) + T{0};
      }
    }
  });
}

}  // namespace

void median_cpu(VolumeView<const float> in, VolumeView<float> out, const MedianParams& params, const Execution& e) {
  median(in, out, params, e);
}
void median_cpu(VolumeView<const std::int16_t> in, VolumeView<std::int16_t> out, const MedianParams& params,
                const Execution& e) {
  median(in, out, params, e);
}
void median_cpu(VolumeView<const std::uint16_t> in, VolumeView<std::uint16_t> out, const MedianParams& params,
                const Execution& e) {
  median(in, out, params, e);
}

}  // namespace quietvox
