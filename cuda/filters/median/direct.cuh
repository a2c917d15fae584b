// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <type_traits>

#include "cuda/filters/common/device_view.cuh"
#include "cuda/filters/common/programmatic_launch.cuh"
#include "cuda/filters/median/network_job.cuh"

/// The median under any window, anywhere, whatever is missing: one thread per output.
namespace quietvox::cuda {

template <class T>
struct Window {
  int3 radius;
  bool is_cross;  ///< only voxels on the axes through the centre count
  Border border;
  bool has_missing;  ///< integers only
  T missing;
};

template <class T>
__device__ bool is_missing_value(const Window<T>& window, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return !is_present(value);
  } else {
    return window.has_missing && value == window.missing;
  }
}

/// What voxels are compared as.
template <class T>
using Number = std::conditional_t<std::is_floating_point_v<T>, float, int>;

/// Calls `visit` with every voxel under the window that is not missing. Inside: the window lies within `in`.
template <bool Inside, class T, class Visit>
__device__ __forceinline__ void for_each_value(const DeviceView<const T>& in, const Window<T>& window, int3 at,
                                               Visit visit) {
  const int3 r = window.radius;
  for (int dz = -r.z; dz <= r.z; ++dz) {
    const int z = Inside ? at.z + dz : device_border_index(window.border, at.z + dz, in.z);
    for (int dy = -r.y; dy <= r.y; ++dy) {
      const int off_centre = (dz != 0) + (dy != 0);
      if (window.is_cross && off_centre == 2) continue;
      const int y = Inside ? at.y + dy : device_border_index(window.border, at.y + dy, in.y);
      const T* row = in.row(y, z);
      const int reach = window.is_cross && off_centre == 1 ? 0 : r.x;
#pragma unroll 4
      for (int dx = -reach; dx <= reach; ++dx) {
        const T value = __ldg(row + (Inside ? at.x + dx : device_border_index(window.border, at.x + dx, in.x)));
        if (!is_missing_value(window, value)) visit(static_cast<Number<T>>(value));
      }
    }
  }
}

/// The number halfway between two floats in the order of floats, so that halving ends after 32 steps at most.
__device__ inline float halfway(float low, float high) {
  const auto key = [](float value) {
    const int bits = __float_as_int(value + 0.0F);
    return bits ^ ((bits >> 31) & 0x7fffffff);
  };
  const unsigned a = key(low), b = key(high);
  const int middle = static_cast<int>(a + (b - a) / 2);
  return __int_as_float(middle ^ ((middle >> 31) & 0x7fffffff));
}
__device__ inline int halfway(int low, int high) { return low + (high - low) / 2; }

/// Narrows an interval that holds the median, both of whose ends are voxels of the window, down to one value. It
/// divides the interval first at the mean, then where the median would lie if values were spread evenly, and every
/// third time in the middle, so that no data can make it slow.
template <bool Inside, class T>
__device__ T search_median(const DeviceView<const T>& in, const Window<T>& window, int3 at) {
  using N = Number<T>;
  N low = std::numeric_limits<N>::max(), high = std::numeric_limits<N>::lowest();
  int count = 0;
  float sum = 0;
  for_each_value<Inside>(in, window, at, [&](N value) {
    ++count;
    sum += static_cast<float>(value);
    low = min(low, value);
    high = max(high, value);
  });
  const int middle = (count - 1) / 2;
  int below = 0, up_to_high = count;  // voxels less than `low`, and not greater than `high`
  float guess = sum / static_cast<float>(count);
  for (int turn = 0; low < high && below < middle && up_to_high > middle + 1; ++turn) {
    N pivot = static_cast<N>(guess);
    if (turn % 3 == 2) pivot = halfway(low, high);
    if (!(pivot >= low && pivot < high)) pivot = low;
    int up_to_pivot = 0;
    N next_low = high, next_high = low;
    for_each_value<Inside>(in, window, at, [&](N value) {
      if (value <= pivot) {
        ++up_to_pivot;
        next_high = max(next_high, value);
      } else {
        next_low = min(next_low, value);
      }
    });
    if (up_to_pivot > middle) {
      high = next_high;
      up_to_high = up_to_pivot;
    } else {
      low = next_low;
      below = up_to_pivot;
    }
    const float share = (static_cast<float>(middle - below) + 0.5F) / static_cast<float>(up_to_high - below);
    guess = static_cast<float>(low) + share * (static_cast<float>(high) - static_cast<float>(low));
  }
  return static_cast<T>(below == middle ? low : high);
}

template <class T>
__device__ T median_at(const DeviceView<const T>& in, const Window<T>& window, int3 at) {
  const T centre = in.row(at.y, at.z)[at.x];
  if (is_missing_value(window, centre)) return centre;
  const int3 r = window.radius;
  const bool leaves =
      at.x < r.x || at.y < r.y || at.z < r.z || at.x + r.x >= in.x || at.y + r.y >= in.y || at.z + r.z >= in.z;
  if (!leaves) return search_median<true>(in, window, at) + T{0};
  return (window.border == Border::copy ? centre : search_median<false>(in, window, at)) + T{0};
}

__device__ inline int3 operator+(int3 a, int3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }

/// All outputs of a part of `out`.
template <class T>
__global__ void median_direct(DeviceView<const T> in, DeviceView<T> out, int3 offset, Part part, Window<T> window) {
  const int3 place{static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x),
                   static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y), static_cast<int>(blockIdx.z)};
  if (place.x >= part.count.x || place.y >= part.count.y) return;
  const int3 at = part.first + place;
  out.row(at.y, at.z)[at.x] = median_at(in, window, at + offset);
}

/// The outputs that a network left.
template <class T>
__global__ void median_of_groups(DeviceView<const T> in, DeviceView<T> out, int3 offset, int3 group,
                                 RecomputeList recompute, Window<T> window) {
  const auto place = [](unsigned index, int width, int height) {
    const unsigned row = index / width;
    return int3{static_cast<int>(index % width), static_cast<int>(row % height), static_cast<int>(row / height)};
  };
  wait_for_previous();
  const std::int64_t size = group.x * group.y * group.z;
  const std::int64_t total = *recompute.count * size;
  for (std::int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
    const int3 at =
        place(recompute.starts[i / size], out.x, out.y) + place(static_cast<unsigned>(i % size), group.x, group.y);
    out.row(at.y, at.z)[at.x] = median_at(in, window, at + offset);
  }
}

}  // namespace quietvox::cuda
