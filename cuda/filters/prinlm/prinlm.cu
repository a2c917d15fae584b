// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/prinlm.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cuda/filters/common/copy.hpp"
#include "cuda/filters/common/device_view.cuh"
#include "cuda/filters/common/exp2.cuh"
#include "cuda/resources.hpp"

namespace quietvox {
namespace {

using namespace cuda;

constexpr int outputs_z = 8, tile_x = 32, tile_y = 8;  ///< of a thread, of a block

struct Prinlm {
  int3 search;
  float of_centre, of_mean;  ///< scales by which w = 2^-(a^2 + b^2)
};

/// A number by which voxels are compared; finite.
__device__ float feature(float value, float scale) {
  constexpr float limit = 3e38F;
  return fminf(fmaxf(value * scale, -limit), limit);
}

/// a and b of every voxel of a box, which lies in the guide at `offset`.
__global__ void make_features(DeviceView<const float> guide, DeviceView<float2> features, int3 offset, Prinlm params) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= features.x || y >= features.y) return;
  const int3 p{x + offset.x, y + offset.y, z + offset.z};
  const float centre = guide.row(p.y, p.z)[p.x];
  const auto neighbour = [&](int i, int j, int k) {
    if (i < 0 || i >= guide.x || j < 0 || j >= guide.y || k < 0 || k >= guide.z) return centre;
    const float value = guide.row(j, k)[i];
    return is_present(value) ? value : centre;
  };
  const int3 r = params.search;
  const float along_x = r.x > 0 ? neighbour(p.x - 1, p.y, p.z) + neighbour(p.x + 1, p.y, p.z) : 2 * centre;
  const float along_y = r.y > 0 ? neighbour(p.x, p.y - 1, p.z) + neighbour(p.x, p.y + 1, p.z) : 2 * centre;
  const float along_z = r.z > 0 ? neighbour(p.x, p.y, p.z - 1) + neighbour(p.x, p.y, p.z + 1) : 2 * centre;
  const float mean = 0.125F * (((2 * centre + along_x) + along_y) + along_z);
  const float2 missing{INFINITY, INFINITY};  // differs from all others by more than any weight outlasts
  const float2 present{feature(centre, params.of_centre), feature(mean, params.of_mean)};
  features.row(y, z)[x] = is_present(centre) ? present : missing;
}

/// A thread makes the outputs above each other of a column of the tile. Slices of voxels are staged one after another.
__global__ void __launch_bounds__(tile_x* tile_y)
    average_alike(DeviceView<const float> in, DeviceView<const float2> features, DeviceView<float> out, int3 in_offset,
                  int3 features_offset, const __grid_constant__ Prinlm params) {
  extern __shared__ float4 shared[];
  const int3 r = params.search;
  const int width = tile_x + 2 * r.x, height = tile_y + 2 * r.y;
  float2* const staged_features = reinterpret_cast<float2*>(shared);
  float* const staged = reinterpret_cast<float*>(staged_features + width * height);
  const int3 first{static_cast<int>(blockIdx.x) * tile_x, static_cast<int>(blockIdx.y) * tile_y,
                   static_cast<int>(blockIdx.z) * outputs_z};
  const int column = threadIdx.x % tile_x, row = threadIdx.x / tile_x;
  const int x = first.x + column, y = first.y + row, count = min(outputs_z, out.z - first.z);
  const bool inside = x < out.x && y < out.y;

  float value[outputs_z], sum[outputs_z], weights[outputs_z];
  float2 own[outputs_z];
#pragma unroll
  for (int k = 0; k < outputs_z; ++k) {
    const bool is_output = inside && k < count;
    const int3 p{x + in_offset.x, y + in_offset.y, first.z + k + in_offset.z};
    value[k] = is_output ? in.row(p.y, p.z)[p.x] : 0.0F;
    const int3 f{x + features_offset.x, y + features_offset.y, first.z + k + features_offset.z};
    own[k] = is_output ? features.row(f.y, f.z)[f.x] : float2{0, 0};
    sum[k] = weights[k] = 0;
  }

  for (int slice = -r.z; slice < count + r.z; ++slice) {
    const int in_z = first.z + slice + in_offset.z, features_z = first.z + slice + features_offset.z;
    if (in_z < 0 || in_z >= in.z) continue;
    __syncthreads();
    for (int i = threadIdx.x; i < width * height; i += tile_x * tile_y) {
      const int dx = first.x + i % width - r.x, dy = first.y + i / width - r.y;
      const int in_x = dx + in_offset.x, in_y = dy + in_offset.y;
      // Beyond the outputs lie voxels that no window of theirs sees, and that have no features.
      const bool seen = in_x >= 0 && in_x < in.x && in_y >= 0 && in_y < in.y && dx < out.x + r.x && dy < out.y + r.y;
      const float voxel = seen ? in.row(in_y, in_z)[in_x] : 0.0F;
      const bool counts = seen && is_present(voxel);
      staged[i] = counts ? voxel : 0.0F;
      staged_features[i] = counts ? features.row(dy + features_offset.y, features_z)[dx + features_offset.x]
                                  : float2{INFINITY, INFINITY};
    }
    __syncthreads();
    unsigned within = 0;  // the outputs whose windows hold this slice
#pragma unroll
    for (int k = 0; k < outputs_z; ++k) within |= abs(slice - k) <= r.z && k < count ? 1U << k : 0U;
    for (int j = 0; j <= 2 * r.y; ++j) {
      const int from = (row + j) * width + column;
#pragma unroll 2
      for (int i = 0; i <= 2 * r.x; ++i) {
        const float voxel = staged[from + i];
        const float2 feature = staged_features[from + i];
#pragma unroll
        for (int k = 0; k < outputs_z; ++k) {
          if (!(within >> k & 1U)) continue;
          const float a = feature.x - own[k].x, b = feature.y - own[k].y;
          const float weight = exp2_fast(fmaf(-a, a, -(b * b)));
          sum[k] = fmaf(weight, voxel - value[k], sum[k]);
          weights[k] += weight;
        }
      }
    }
  }

  if (!inside) return;
#pragma unroll
  for (int k = 0; k < outputs_z; ++k) {
    if (k >= count) break;
    const float result = value[k] + sum[k] / weights[k] + 0.0F;
    out.row(y, first.z + k)[x] = is_present(value[k]) ? result : value[k];
  }
}

}  // namespace

void prinlm_cuda(VolumeView<const float> in, VolumeView<float> out, const PrinlmParams& params,
                 const LaunchContext& context) {
  if (params.h() < 0x1p-140) {  // no two floats are that near and not equal
    copy_voxels(in, out, context);
    return;
  }
  const Radius3 r = *params.search_radius;
  VolumeView<float> guide = expanded(out, params.reach(), in);
  const DeviceBuffer<float> guide_buffer(static_cast<std::size_t>(guide.extent.voxels()), context);
  guide.data = guide_buffer.get();
  if (params.guide == PrinlmGuide::dct) {
    dct_cuda(in, guide, params.dct, context);
  } else {
    bm4d_cuda(in, guide, params.bm4d, context);
  }

  VolumeView<float2> features{nullptr, guide.extent, guide.spacing, guide.origin};
  const VolumeView<float> seen = expanded(out, r, in);
  features.extent = seen.extent;
  features.origin = seen.origin;
  const DeviceBuffer<float2> features_buffer(static_cast<std::size_t>(features.extent.voxels()), context);
  features.data = features_buffer.get();
  const double scale = std::sqrt(std::numbers::log2e) / params.h();
  const Prinlm prinlm{
      {r.x, r.y, r.z}, static_cast<float>(std::min(scale / 2, 1e38)), static_cast<float>(std::min(scale, 1e38))};
  const dim3 block(32, 4);
  const dim3 grid(ceil_div(features.extent.x, block.x), ceil_div(features.extent.y, block.y), features.extent.z);
  make_features<<<grid, block, 0, context.stream>>>(VolumeView<const float>(guide), features,
                                                    offset_within(guide, features), prinlm);
  QV_CUDA(cudaGetLastError());

  const std::size_t bytes =
      static_cast<std::size_t>((tile_x + 2 * r.x) * (tile_y + 2 * r.y)) * (sizeof(float2) + sizeof(float));
  const dim3 tiles(ceil_div(out.extent.x, tile_x), ceil_div(out.extent.y, tile_y), ceil_div(out.extent.z, outputs_z));
  average_alike<<<tiles, tile_x * tile_y, bytes, context.stream>>>(
      in, VolumeView<const float2>(features), out, offset_within(in, out), offset_within(features, out), prinlm);
  QV_CUDA(cudaGetLastError());
}

}  // namespace quietvox
