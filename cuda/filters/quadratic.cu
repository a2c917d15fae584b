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
/// multiplications, once the loops are unrolled. Differences are scaled by a power of two, which is exact and so may be
/// done to the voxels beforehand; the rest of the scale is a factor of the coefficients.
struct Job {
  QuadraticForm form;
  float origin, scale, unscale, power;
  bool changes;  ///< false: lowest = highest
  Border border;
  int reach_x, reach_y;
};

Job make_job(const QuadraticParams& params) {
  const double unscale = params.unscale(), scale = 1 / unscale;
  Job job{params.form,
          static_cast<float>(params.origin()),
          static_cast<float>(scale),
          static_cast<float>(unscale),
          1,
          std::isfinite(static_cast<float>(scale)),
          params.border,
          params.reach.x,
          params.reach.y};
  if (!job.changes) return job;
  int exponent = 0;
  const double factor = std::frexp(scale, &exponent);
  job.power = static_cast<float>(std::ldexp(1.0, exponent));
  const auto multiply = [](auto& numbers, double by) {
    for (float& number : numbers) number = static_cast<float>(number * by);
  };
  multiply(job.form.of_difference, factor);
  multiply(job.form.of_centre, factor);
  multiply(job.form.of_pair, factor * factor);
  return job;
}

/// The outputs that a thread makes, and how many of them, one below the other, at the same time, so that each
/// coefficient is read for all of these.
template <int Radius>
struct Tile {
  static constexpr int size = 2 * Radius + 1, neighbours = size * size - 1;
  static constexpr int x = Radius == 1 ? 2 : 1, y = 4, together = Radius == 1 ? 1 : 4;
  static constexpr int columns = x + 2 * Radius, rows = y + 2 * Radius;
};

/// Changes of the outputs in column `x` and in rows from `y` on of a tile, in scaled intensities. `seen` is what the
/// tile's windows see, times job.power; `voxel` are the voxels themselves.
template <int Radius, bool Missing, class T = Tile<Radius>>
__device__ __forceinline__ void find_changes(const float (&seen)[T::rows][T::columns], int x, int y,
                                             const float (&voxel)[T::together], const Job& job,
                                             float (&change)[T::together]) {
  float difference[T::neighbours][T::together], x0[T::together];
#pragma unroll
  for (int t = 0; t < T::together; ++t) {
    x0[t] = (voxel[t] - job.origin) * job.scale;
    change[t] = (job.form.square * x0[t] + job.form.linear) * x0[t] + job.form.constant;
#pragma unroll
    for (int i = 0; i < T::neighbours; ++i) {
      const int place = i < T::neighbours / 2 ? i : i + 1;
      const float d = seen[y + t + place / T::size][x + place % T::size] - seen[y + t + Radius][x + Radius];
      difference[i][t] = !Missing || is_present(d) ? d : 0.0F;
    }
  }
#pragma unroll
  for (int i = 0; i < T::neighbours; ++i) {
    float factor[T::together];
#pragma unroll
    for (int t = 0; t < T::together; ++t) factor[t] = fmaf(job.form.of_centre[i], x0[t], job.form.of_difference[i]);
#pragma unroll
    for (int j = i; j < T::neighbours; ++j) {
      const float of_pair = job.form.of_pair[i * T::neighbours - i * (i - 1) / 2 + j - i];
#pragma unroll
      for (int t = 0; t < T::together; ++t) factor[t] = fmaf(of_pair, difference[j][t], factor[t]);
    }
#pragma unroll
    for (int t = 0; t < T::together; ++t) change[t] = fmaf(factor[t], difference[i][t], change[t]);
  }
}

template <int Radius>
__global__ void __launch_bounds__(128)
    quadratic(Box<const float> in, Box<float> out, int3 offset, const __grid_constant__ Job job) {
  using T = Tile<Radius>;
  const int x = T::x * (blockIdx.x * blockDim.x + threadIdx.x), y = T::y * (blockIdx.y * blockDim.y + threadIdx.y);
  const int z = blockIdx.z, in_x = x + offset.x, in_y = y + offset.y;
  if (x >= out.x || y >= out.y) return;
  float seen[T::rows][T::columns], probe = 0;
  const bool inside = in_x >= Radius && in_x + T::x + Radius <= in.x && in_y >= Radius && in_y + T::y + Radius <= in.y;
  if (inside) {
    const float* from = in.row(in_y - Radius, z + offset.z) + in_x - Radius;
#pragma unroll
    for (int row = 0; row < T::rows; ++row, from += in.x) {
#pragma unroll
      for (int column = 0; column < T::columns; ++column) seen[row][column] = __ldg(from + column);
    }
  } else {
#pragma unroll
    for (int row = 0; row < T::rows; ++row) {
      const float* from = in.row(device_border_index(job.border, in_y + row - Radius, in.y), z + offset.z);
#pragma unroll
      for (int column = 0; column < T::columns; ++column) {
        seen[row][column] = from[device_border_index(job.border, in_x + column - Radius, in.x)];
      }
    }
  }
  float voxel[T::x][T::y];
#pragma unroll
  for (int row = 0; row < T::rows; ++row) {
#pragma unroll
    for (int column = 0; column < T::columns; ++column) {
      float& one = seen[row][column];
      const int at_x = column - Radius, at_y = row - Radius;
      if (at_x >= 0 && at_x < T::x && at_y >= 0 && at_y < T::y) voxel[at_x][at_y] = one;
      one *= job.power;
      probe = fmaf(one, 0.0F, probe);
    }
  }
  const bool missing = probe != 0, copies = job.border == Border::copy;  // NaN where one is not finite
#pragma unroll
  for (int i = 0; i < T::x; ++i) {
    const bool in_rim = copies && (in_x + i < job.reach_x || in_x + i + job.reach_x >= in.x);
#pragma unroll
    for (int j = 0; j < T::y; j += T::together) {
      float centre[T::together], change[T::together];
#pragma unroll
      for (int t = 0; t < T::together; ++t) centre[t] = voxel[i][j + t];
      if (missing) {
        find_changes<Radius, true>(seen, i, j, centre, job, change);
      } else {
        find_changes<Radius, false>(seen, i, j, centre, job, change);
      }
#pragma unroll
      for (int t = 0; t < T::together; ++t) {
        const int at_y = in_y + j + t;
        const bool keeps = !job.changes || in_rim || (copies && (at_y < job.reach_y || at_y + job.reach_y >= in.y));
        voxel[i][j + t] = missing && !is_present(centre[t]) ? centre[t]
                          : keeps                           ? centre[t] + 0.0F
                                                            : fmaf(change[t], job.unscale, centre[t]) + 0.0F;
      }
    }
  }
  const bool pairs = T::x == 2 && out.x % 2 == 0 && reinterpret_cast<std::uintptr_t>(out.data) % sizeof(float2) == 0;
#pragma unroll
  for (int j = 0; j < T::y; ++j) {
    if (y + j >= out.y) return;
    float* to = out.row(y + j, z) + x;
    if (pairs) {
      *reinterpret_cast<float2*>(to) = {voxel[0][j], voxel[T::x - 1][j]};
    } else {
#pragma unroll
      for (int i = 0; i < T::x; ++i) {
        if (x + i < out.x) to[i] = voxel[i][j];
      }
    }
  }
}

template <int Radius>
void launch(const Box<const float>& in, const Box<float>& out, int3 offset, const Job& job, const Queue& queue) {
  const dim3 block(32, 4);
  const dim3 grid(static_cast<unsigned>(ceil_div(out.x, Tile<Radius>::x * block.x)),
                  static_cast<unsigned>(ceil_div(out.y, Tile<Radius>::y * block.y)), static_cast<unsigned>(out.z));
  quadratic<Radius><<<grid, block, 0, queue.stream>>>(in, out, offset, job);
  QV_CUDA(cudaGetLastError());
}

}  // namespace

void quadratic_cuda(VolumeView<const float> in, VolumeView<float> out, const QuadraticParams& params,
                    const Queue& queue) {
  const int3 offset = offset_within(in, out);
  if (params.form.radius() == 1) {
    launch<1>(in, out, offset, make_job(params), queue);
  } else {
    launch<2>(in, out, offset, make_job(params), queue);
  }
}

}  // namespace quietvox
