// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "core/border.hpp"
#include "core/volume_view.hpp"
#include "filters/common/unfiltered_voxels.hpp"

namespace quietvox::selection {

/// Medians of windows of any size and shape, missing voxels left out. Serves one thread.
template <class T>
class WindowMedian {
 public:
  /// `places` are the voxels of the window, counted from its centre.
  WindowMedian(VolumeView<const T> in, Border border, const std::vector<Triple<int>>& places)
      : in_(in), border_(border), places_(places) {
    window_.reserve(places.size());
  }

  /// The median of the window around a voxel of the input box that is not missing.
  T at(std::int64_t x, std::int64_t y, std::int64_t z) {
    window_.clear();
    for (const auto& place : places_) {
      const T value =
          in_.at(border_index(border_, x + place.x, in_.extent.x), border_index(border_, y + place.y, in_.extent.y),
                 border_index(border_, z + place.z, in_.extent.z));
      if (!is_missing(in_, value)) window_.push_back(value);
    }
    const auto middle = window_.begin() + static_cast<std::ptrdiff_t>((window_.size() - 1) / 2);
    std::nth_element(window_.begin(), middle, window_.end());
    return canonical_zero(*middle);
  }

 private:
  VolumeView<const T> in_;
  Border border_;
  const std::vector<Triple<int>>& places_;
  std::vector<T> window_;
};

}  // namespace quietvox::selection
