// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/quadratic.hpp"

#include <cmath>

#include "cuda/filters/box.cuh"
#include "cuda/resources.hpp"

namespace quietvox {
namespace {

using namespace cuda;

/// What the kernel needs to know about the filter. As a parameter of the kernel its numbers are operands of the
/// multiplications, once the loops are unrolled.
struct Job {
  QuadraticForm form;
  float origin, scale, unscale;
  bool changes;  ///< false: lowest = highest
  Border border;
  int reach_x, reach_y;
};

constexpr int strip = 4;  ///< outputs of a thread, one below the other

/// The output of the window whose rows start at `window`.
template <int Radius>
__device__ __forceinline__ float filtered(const float (*window)[2 * Radius + 1], const Job& job) {
  constexpr int size = 2 * Radius + 1, neighbours = size * size - 1;
  const float voxel = window[Radius][Radius], x0 = (voxel - job.origin) * job.scale;
  float difference[neighbours];
#pragma unroll
  for (int i = 0; i < neighbours; ++i) {
    const int place = i < neighbours / 2 ? i : i + 1;
    const float neighbour = window[place / size][place % size];
    difference[i] = is_present(neighbour) ? (neighbour - voxel) * job.scale : 0.0F;
  }
  float sum = (job.form.square * x0 + job.form.linear) * x0 + job.form.constant;
#pragma unroll
  for (int i = 0; i < neighbours; ++i) {
    float factor = fmaf(job.form.of_centre[i], x0, job.form.of_difference[i]);
#pragma unroll
    for (int j = i; j < neighbours; ++j) {
      const int pair = i * neighbours - i * (i - 1) / 2 + j - i;
      factor = fmaf(job.form.of_pair[pair], difference[j], factor);
    }
    sum = fmaf(factor, difference[i], sum);
  }
  return fmaf(sum, job.unscale, voxel) + 0.0F;
}

template <int Radius>
__global__ void __launch_bounds__(128)
    quadratic(Box<const float> in, Box<float> out, int3 offset, const __grid_constant__ Job job) {
  constexpr int size = 2 * Radius + 1;
  const int x = blockIdx.x * blockDim.x + threadIdx.x, z = blockIdx.z;
  const int y = strip * (blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= out.x || y >= out.y) return;
  const int in_x = x + offset.x, in_y = y + offset.y;
  float window[strip + size - 1][size];
#pragma unroll
  for (int row = 0; row < strip + size - 1; ++row) {
    const float* voxels = in.row(device_border_index(job.border, in_y + row - Radius, in.y), z + offset.z);
#pragma unroll
    for (int column = 0; column < size; ++column) {
      window[row][column] = voxels[device_border_index(job.border, in_x + column - Radius, in.x)];
    }
  }
  const bool copies = job.border == Border::copy;
  const bool in_rim = copies && (in_x < job.reach_x || in_x + job.reach_x >= in.x);
#pragma unroll
  for (int i = 0; i < strip; ++i) {
    if (y + i >= out.y) return;
    const float voxel = window[i + Radius][Radius];
    const bool keeps = in_rim || (copies && (in_y + i < job.reach_y || in_y + i + job.reach_y >= in.y));
    out.row(y + i, z)[x] = !is_present(voxel)      ? voxel
                           : keeps || !job.changes ? voxel + 0.0F
                                                   : filtered<Radius>(window + i, job);
  }
}

}  // namespace

void quadratic_cuda(VolumeView<const float> in, VolumeView<float> out, const QuadraticParams& params,
                    const Queue& queue) {
  const double unscale = params.unscale();
  const auto scale = static_cast<float>(1 / unscale);
  const Job job{params.form,
                static_cast<float>(params.origin()),
                scale,
                static_cast<float>(unscale),
                std::isfinite(scale),
                params.border,
                params.reach.x,
                params.reach.y};
  const dim3 block(32, 4);
  const dim3 grid(static_cast<unsigned>(ceil_div(out.extent.x, block.x)),
                  static_cast<unsigned>(ceil_div(out.extent.y, strip * block.y)), static_cast<unsigned>(out.extent.z));
  const int3 offset = offset_within(in, out);
  if (params.form.radius() == 1) {
    quadratic<1><<<grid, block, 0, queue.stream>>>(in, out, offset, job);
  } else {
    quadratic<2><<<grid, block, 0, queue.stream>>>(in, out, offset, job);
  }
  QV_CUDA(cudaGetLastError());
}

}  // namespace quietvox
