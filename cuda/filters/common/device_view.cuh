// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/border.hpp"
#include "core/volume_view.hpp"

namespace quietvox::cuda {

/// Voxels of a box on the device, as a kernel takes it.
template <class T>
struct DeviceView {
  T* data;
  int x, y, z;  ///< voxels per axis

  DeviceView() = default;
  DeviceView(const VolumeView<T>& view)
      : data(view.data),
        x(static_cast<int>(view.extent.x)),
        y(static_cast<int>(view.extent.y)),
        z(static_cast<int>(view.extent.z)) {}

  __device__ T* row(int at_y, int at_z) const { return data + (static_cast<std::int64_t>(at_z) * y + at_y) * x; }
};

/// Missing floats are all that are not finite.
__device__ inline bool is_present(float value) { return fabsf(value) < INFINITY; }

/// border_index for kernels; `copy` never asks for what lies outside, and is given something that can be read.
__device__ inline int device_border_index(Border border, int index, int count) {
  if (border == Border::reflect) index = index < 0 ? -index : index >= count ? 2 * (count - 1) - index : index;
  return min(max(index, 0), count - 1);
}

/// Where the first voxel of `out` lies in `in`.
template <class In, class Out>
int3 offset_within(const In& in, const Out& out) {
  return {static_cast<int>(out.origin.x - in.origin.x), static_cast<int>(out.origin.y - in.origin.y),
          static_cast<int>(out.origin.z - in.origin.z)};
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace quietvox::cuda
