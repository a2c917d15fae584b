// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "filters/median.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {

/// The median by its definition, over a whole volume: slow, and plain enough to be read as the contract.
template <class T>
std::vector<T> reference_median(VolumeView<const T> in, const MedianParams& params) {
  const Radius3 r = params.halo();
  std::vector<T> result, window;
  for (std::int64_t z = 0; z < in.extent.z; ++z) {
    for (std::int64_t y = 0; y < in.extent.y; ++y) {
      for (std::int64_t x = 0; x < in.extent.x; ++x) {
        const T centre = in.at(x, y, z);
        bool leaves = false;
        window.clear();
        for (int dz = -r.z; dz <= r.z; ++dz) {
          for (int dy = -r.y; dy <= r.y; ++dy) {
            for (int dx = -r.x; dx <= r.x; ++dx) {
              if (params.shape == MedianShape::cross && (dx != 0) + (dy != 0) + (dz != 0) > 1) continue;
              const std::int64_t i = border_index(params.border, x + dx, in.extent.x);
              const std::int64_t j = border_index(params.border, y + dy, in.extent.y);
              const std::int64_t k = border_index(params.border, z + dz, in.extent.z);
              if (!is_missing(in, in.at(i, j, k))) window.push_back(in.at(i, j, k));
            }
          }
        }
        for (int axis = 0; axis < 3; ++axis) {
          const std::int64_t at = axis == 0 ? x : axis == 1 ? y : z;
          leaves = leaves || at < r[axis] || at + r[axis] >= in.extent[axis];
        }
        T median = centre;
        if (!is_missing(in, centre) && !(leaves && params.border == Border::copy)) {
          std::sort(window.begin(), window.end());
          median = window[(window.size() - 1) / 2];
        }
        result.push_back(median == T{0} ? T{0} : median);  // -0 is +0
      }
    }
  }
  return result;
}

inline Volume reference_median_of_volume(const Volume& in, const MedianParams& params) {
  Volume out(in.extent, in.spacing);
  out.voxels = reference_median(in.view(), params);
  return out;
}

}  // namespace quietvox::test
