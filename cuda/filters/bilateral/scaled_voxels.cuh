// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numbers>

#include "cuda/filters/common/device_view.cuh"

/// What the kernels of the bilateral filter share.
namespace quietvox::cuda {

/// Intensities are scaled so that a range weight is 2^-d^2 for a difference d.
struct RangeScale {
  float to, from;
  explicit RangeScale(double range_sigma) {
    const double scale = std::sqrt(0.5 * std::numbers::log2e) / range_sigma;
    to = static_cast<float>(std::min<double>(scale, FLT_MAX));
    from = static_cast<float>(1 / scale);
  }
};

/// Scaled intensities are clamped to this. Different floats above it are so far apart that they have no weight for each
/// other. Once clamped they are equal, and equal voxels do not change each other, so results stay the same.
inline constexpr float largest = 1e17F;
/// Stands for a missing voxel: so far from all others that its weight is 0.
inline constexpr float scaled_missing = 1e18F;

__device__ inline float scaled_voxel(float value, float scale) {
  const float scaled = fminf(fmaxf(value * scale, -largest), largest);
  return fminf(fmaf(value, 0.0F, scaled),
               scaled_missing);  // 0 times a missing voxel is NaN, which fminf takes for none
}

/// Reads all of `values` from 16-byte aligned shared memory, where vectors of four lie `step` vectors apart.
template <int Count>
__device__ __forceinline__ void read_vectors(const float* from, float (&values)[Count], int step = 1) {
#pragma unroll
  for (int i = 0; i < Count / 4; ++i) {
    const float4 four = reinterpret_cast<const float4*>(from)[i * step];
    values[4 * i] = four.x, values[4 * i + 1] = four.y, values[4 * i + 2] = four.z, values[4 * i + 3] = four.w;
  }
}

}  // namespace quietvox::cuda
