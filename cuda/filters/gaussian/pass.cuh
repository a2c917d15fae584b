// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "cuda/filters/box.cuh"
#include "cuda/resources.hpp"
#include "filters/gaussian_axis.hpp"

namespace quietvox::gaussian {

using cuda::Box, cuda::Queue, cuda::ceil_div, cuda::is_present;

/// Layers of the grid along z for kernels that have nothing to do most of the time.
inline unsigned few_layers(std::int64_t planes) { return static_cast<unsigned>(std::min<std::int64_t>(planes, 8)); }

/// One axis of a box to be filtered. Lines are the voxels along the axis; 32 lines that lie side by side, along x or,
/// where x is the axis, along y, are worked on by the lanes of a warp.
struct Pass {
  Box<const float> in;
  Box<float> out;
  int3 offset;  ///< of the output in the input
  int axis;
  Border border;
  Reading reading;   ///< of the pass
  bool of_presence;  ///< the box holds, or is made from, the presence of voxels
  int* incomplete;   ///< set where missing voxels are read; where it is not, nobody asks for their presence

  __host__ __device__ int lines() const { return axis == 0 ? out.y : out.x; }
  __host__ __device__ int planes() const { return axis == 2 ? out.y : out.z; }
  __host__ __device__ int length() const { return axis == 0 ? out.x : axis == 1 ? out.y : out.z; }
  __host__ __device__ int in_length() const { return axis == 0 ? in.x : axis == 1 ? in.y : in.z; }
  /// Place of the first output, along the axis, in the input.
  __host__ __device__ int begin() const { return axis == 0 ? offset.x : axis == 1 ? offset.y : offset.z; }
  __device__ bool is_idle() const { return of_presence && *incomplete == 0; }

  /// Layers of the grid along z.
  unsigned layers() const { return of_presence ? few_layers(planes()) : static_cast<unsigned>(planes()); }

  /// The first voxel of a line of the input, and from one voxel of a line to the next.
  __device__ const float* source(int line, int plane) const {
    if (axis == 0) return in.row(line + offset.y, plane + offset.z);
    return (axis == 1 ? in.row(0, plane + offset.z) : in.row(plane + offset.y, 0)) + line + offset.x;
  }
  __device__ std::int64_t source_step() const { return step_of(in.x, in.y); }
  /// The same of the output.
  __device__ float* target(int line, int plane) const {
    if (axis == 0) return out.row(line, plane);
    return (axis == 1 ? out.row(0, plane) : out.row(plane, 0)) + line;
  }
  __device__ std::int64_t target_step() const { return step_of(out.x, out.y); }

  /// Where the voxel that stands at place n of a line lies; any n, beyond the border too.
  __device__ int place(int n) const {
    const int count = in_length();
    if (border == Border::reflect && count > 1 && (n < 0 || n >= count)) {
      const int period = 2 * (count - 1), place = abs(n) % period;
      return place < count ? place : period - place;
    }
    return min(max(n, 0), count - 1);
  }
  __device__ bool holds(int n) const { return n >= 0 && n < in_length(); }

  /// What the pass makes of voxels of its input. Tells of missing ones once for all, since a store between two loads
  /// would keep them from running side by side.
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
    if (missing) *incomplete = 1;
  }

 private:
  __device__ std::int64_t step_of(int row, int rows) const {
    return axis == 0 ? 1 : axis == 1 ? row : static_cast<std::int64_t>(row) * rows;
  }
};

constexpr int lanes = 32;

/// An output as it is written: -0 becomes +0.
__device__ inline float written(double value) { return static_cast<float>(value) + 0.0F; }

/// Runs a pass with these weights of the offsets 0, 1, ...
void convolve(const Pass&, const std::vector<double>& of_offset, const Queue&);

/// Runs a pass by recursion; `origin` is the place of the input in the volume.
void recurse(const Pass&, double sigma, std::int64_t origin, const Queue&);

}  // namespace quietvox::gaussian
