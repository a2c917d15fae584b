// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace quietvox {

/// One value per axis: x (along a row), y (down a column), z (across slices).
template <class T>
struct Triple {
  T x{}, y{}, z{};

  constexpr T& operator[](int axis) { return axis == 0 ? x : axis == 1 ? y : z; }
  constexpr const T& operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
  friend constexpr bool operator==(const Triple&, const Triple&) = default;
};

using Radius3 = Triple<int>;     ///< half widths of a window, in voxels
using Spacing = Triple<double>;  ///< distance of voxel centres, in mm
using Index3 = Triple<std::int64_t>;

/// Number of voxels per axis.
struct Extent : Triple<std::int64_t> {
  constexpr std::int64_t slice() const { return x * y; }
  constexpr std::int64_t voxels() const { return x * y * z; }
};

/// A box of voxels in memory, x fastest, without gaps; it owns nothing.
///
/// `origin` is the place of its first voxel within the whole volume. A filter is given an input box and an output box
/// inside it; the input box holds every voxel that a window of the output box reaches, so wherever it ends within
/// reach of a window, the volume ends. Slabs, ITK regions and device tiles all rest on this one rule.
template <class T>
struct VolumeView {
  using Value = std::remove_const_t<T>;

  T* data = nullptr;
  Extent extent;
  Spacing spacing{1, 1, 1};
  Index3 origin{};
  /// Integer volumes: the stored value that means "no value here" (DICOM pixel padding).
  /// Float volumes mark missing voxels by NaN or infinity instead.
  std::optional<Value> missing = std::nullopt;

  T* row(std::int64_t y, std::int64_t z) const { return data + (z * extent.y + y) * extent.x; }
  T& at(std::int64_t x, std::int64_t y, std::int64_t z) const { return row(y, z)[x]; }

  /// The slices [first, first + count), counted from the start of this view.
  VolumeView slices(std::int64_t first, std::int64_t count) const {
    VolumeView part = *this;
    part.data += first * extent.slice();
    part.extent.z = count;
    part.origin.z += first;
    return part;
  }

  operator VolumeView<const T>() const requires(!std::is_const_v<T>) {
    return {data, extent, spacing, origin, missing};
  }
};

/// True where a voxel takes no part in filtering and keeps its value.
template <class T>
inline bool is_missing(const VolumeView<const T>& volume, T value) {
  if constexpr (std::floating_point<T>) {
    return !std::isfinite(value);
  } else {
    return volume.missing && *volume.missing == value;
  }
}

}  // namespace quietvox
