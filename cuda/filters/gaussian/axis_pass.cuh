// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cfloat>
#include <vector>

#include "cuda/filters/common/device_view.cuh"
#include "cuda/resources.hpp"
#include "filters/gaussian/axis.hpp"

namespace quietvox::gaussian {

using cuda::DeviceView, cuda::LaunchContext, cuda::ceil_div, cuda::is_present;

/// Layers of the grid along z for kernels that have nothing to do most of the time.
inline unsigned idle_grid_layers(std::int64_t planes) {
  return static_cast<unsigned>(std::min<std::int64_t>(planes, 8));
}

/// One axis of a box to be filtered. Lines are the voxels along the axis; 32 lines that lie side by side, along x or,
/// where x is the axis, along y, are worked on by the lanes of a warp.
struct AxisPass {
  /// Voxels as lines see them.
  template <class T>
  struct Lines {
    T* first;                        ///< place 0 of the first line that has outputs
    std::int64_t line, plane, step;  ///< distances: of lines side by side, of planes of lines, of voxels of a line
  };

  Lines<const float> in;
  Lines<float> out;
  int axis;
  int lines, planes;
  int length, in_length;
  int begin;           ///< place of the first output in the lines of the input
  int period;          ///< of the reflected input; 0: beyond the border the outermost voxel is repeated
  Reading reading;     ///< of the pass
  bool is_repair;      ///< there is nothing to do unless voxels are missing
  int* found_missing;  ///< set where missing voxels are read

  AxisPass(VolumeView<const float> from, VolumeView<float> to, int axis, Border border, Reading reading, bool is_repair,
           int* found_missing)
      : axis(axis), reading(reading), is_repair(is_repair), found_missing(found_missing) {
    const int across = axis == 0 ? 1 : 0, other = axis == 2 ? 1 : 2;
    in = lines_of(from, axis);
    out = lines_of(to, axis);
    in.first +=
        (to.origin[across] - from.origin[across]) * in.line + (to.origin[other] - from.origin[other]) * in.plane;
    lines = static_cast<int>(to.extent[across]);
    planes = static_cast<int>(to.extent[other]);
    length = static_cast<int>(to.extent[axis]);
    in_length = static_cast<int>(from.extent[axis]);
    begin = static_cast<int>(to.origin[axis] - from.origin[axis]);
    period = border == Border::reflect ? 2 * (in_length - 1) : 0;
  }

  __device__ bool is_idle() const { return is_repair && *found_missing == 0; }

  /// Layers of the grid along z.
  unsigned layers() const { return is_repair ? idle_grid_layers(planes) : static_cast<unsigned>(planes); }

  /// Place 0 of a line.
  __device__ const float* source(int line, int plane) const { return in.first + line * in.line + plane * in.plane; }
  /// The first output of a line.
  __device__ float* target(int line, int plane) const { return out.first + line * out.line + plane * out.plane; }

  /// The place in the input of place n of a line, which may lie beyond the border. Without an integer division,
  /// because this is used in unrolled loops.
  __device__ int place(int n) const {
    if (period == 0) return min(max(n, 0), in_length - 1);
    const int rest = n - period * __float2int_rd(static_cast<float>(n) * (1.0F / static_cast<float>(period)));
    const int within = rest < 0 ? rest + period : rest >= period ? rest - period : rest;  // rounding
    return min(within, period - within);
  }
  __device__ bool is_inside(int n) const { return n >= 0 && n < in_length; }

  /// Turns voxels of the input into what the pass adds up. Reports missing voxels only once for all, because a store
  /// between two loads would keep them from running side by side.
  template <int Count>
  __device__ __forceinline__ void interpret(float (&voxels)[Count]) const {
    if (reading == Reading::plain) return;
    bool missing = false;
#pragma unroll
    for (float& voxel : voxels) {
      const bool present = is_present(voxel);
      missing = missing || !present;
      voxel = !present ? 0.0F : reading == Reading::present ? voxel : 1.0F;
    }
    if (missing) *found_missing = 1;
  }

 private:
  template <class T>
  static Lines<T> lines_of(const VolumeView<T>& box, int axis) {
    const std::int64_t row = box.extent.x, slice = box.extent.slice();
    if (axis == 0) return {box.data, row, slice, 1};
    return axis == 1 ? Lines<T>{box.data, 1, slice, row} : Lines<T>{box.data, 1, row, slice};
  }
};

constexpr int lanes = 32;

/// An output as it is written: -0 becomes +0.
__device__ inline float to_output(double value) { return static_cast<float>(value) + 0.0F; }

/// Brings back values that rounding took beyond the largest float.
__device__ inline float clamp_to_finite(float value) { return fminf(fmaxf(value, -FLT_MAX), FLT_MAX); }

/// Runs a pass with these weights of the offsets 0, 1, ... in doubles.
void convolve(const AxisPass&, const std::vector<double>& of_offset, const LaunchContext&);

/// The same in floats. That needs a voxel that all outputs of a strip see, and few taps; convolves_in_floats() says
/// whether both are so. `origin` is the place of the input in the volume.
bool convolves_in_floats(const std::vector<double>& of_offset);
void convolve_in_floats(const AxisPass&, const std::vector<double>& of_offset, std::int64_t origin,
                        const LaunchContext&);

/// Runs a pass by recursion; `origin` is the place of the input in the volume.
void filter_recursively(const AxisPass&, double sigma, std::int64_t origin, const LaunchContext&);

}  // namespace quietvox::gaussian
