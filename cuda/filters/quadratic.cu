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

/// The outputs that a thread makes.
template <int Radius>
struct Tile {
  static constexpr int size = 2 * Radius + 1, neighbours = size * size - 1;
  static constexpr int x = Radius == 1 ? 2 : 1, y = 4;
  static constexpr int columns = x + 2 * Radius, rows = y + 2 * Radius;
};

/// Changes of outputs, one below the other, in scaled intensities, each coefficient read once for all of them. `seen`
/// is what their windows see, from column `left` on, times job.power; `voxel` are the voxels themselves.
template <int Radius, bool Missing, int Rows, int Columns>
__device__ __forceinline__ void find_changes(const float (&seen)[Rows][Columns], int left,
                                             const float (&voxel)[Rows - 2 * Radius], const Job& job,
                                             float (&change)[Rows - 2 * Radius]) {
  constexpr int size = Tile<Radius>::size, neighbours = Tile<Radius>::neighbours, outputs = Rows - 2 * Radius;
  float difference[neighbours][outputs], x0[outputs];
#pragma unroll
  for (int t = 0; t < outputs; ++t) {
    x0[t] = (voxel[t] - job.origin) * job.scale;
    change[t] = fmaf(fmaf(job.form.square, x0[t], job.form.linear), x0[t], job.form.constant);
#pragma unroll
    for (int i = 0; i < neighbours; ++i) {
      const int place = i < neighbours / 2 ? i : i + 1;
      const float d = seen[t + place / size][left + place % size] - seen[t + Radius][left + Radius];
      difference[i][t] = !Missing || is_present(d) ? d : 0.0F;
    }
  }
#pragma unroll
  for (int i = 0; i < neighbours; ++i) {
    float factor[outputs];
#pragma unroll
    for (int t = 0; t < outputs; ++t) factor[t] = fmaf(job.form.of_centre[i], x0[t], job.form.of_difference[i]);
#pragma unroll
    for (int j = i; j < neighbours; ++j) {
      const float of_pair = job.form.of_pair[i * neighbours - i * (i - 1) / 2 + j - i];
#pragma unroll
      for (int t = 0; t < outputs; ++t) factor[t] = fmaf(of_pair, difference[j][t], factor[t]);
    }
#pragma unroll
    for (int t = 0; t < outputs; ++t) change[t] = fmaf(factor[t], difference[i][t], change[t]);
  }
}

__device__ __forceinline__ float changed(float voxel, float change, const Job& job) {
  return fmaf(change, job.unscale, voxel) + 0.0F;
}

/// The output at `at`, a place of the input: anywhere, voxels missing or not.
template <int Radius>
__device__ __noinline__ float output_at(const Box<const float>& in, int3 at, const Job& job) {
  constexpr int size = Tile<Radius>::size;
  const float voxel[1] = {in.row(at.y, at.z)[at.x]};
  if (!is_present(voxel[0])) return voxel[0];
  const bool in_rim =
      at.x < job.reach_x || at.x + job.reach_x >= in.x || at.y < job.reach_y || at.y + job.reach_y >= in.y;
  if (!job.changes || (job.border == Border::copy && in_rim)) return voxel[0] + 0.0F;
  float seen[size][size], change[1];
#pragma unroll
  for (int row = 0; row < size; ++row) {
    const float* from = in.row(device_border_index(job.border, at.y + row - Radius, in.y), at.z);
#pragma unroll
    for (int column = 0; column < size; ++column) {
      seen[row][column] = from[device_border_index(job.border, at.x + column - Radius, in.x)] * job.power;
    }
  }
  find_changes<Radius, true>(seen, 0, voxel, job, change);
  return changed(voxel[0], change[0], job);
}

/// What a thread sees is read once. Results that are not finite tell of missing voxels, and are made anew, as are those
/// near the edge where they keep their value.
template <int Radius>
__global__ void __launch_bounds__(128, Radius == 1 ? 7 : 4)
    quadratic(Box<const float> in, Box<float> out, int3 offset, const __grid_constant__ Job job) {
  using T = Tile<Radius>;
  const int x = T::x * (blockIdx.x * blockDim.x + threadIdx.x), y = T::y * (blockIdx.y * blockDim.y + threadIdx.y);
  const int z = blockIdx.z, in_x = x + offset.x, in_y = y + offset.y, in_z = z + offset.z;
  if (x >= out.x || y >= out.y) return;
  const bool inside = in_x >= Radius && in_x + T::x + Radius <= in.x && in_y >= Radius && in_y + T::y + Radius <= in.y;
  if (!job.changes) {
    for (int j = 0; j < T::y && y + j < out.y; ++j) {
      for (int i = 0; i < T::x && x + i < out.x; ++i) {
        out.row(y + j, z)[x + i] = output_at<Radius>(in, {in_x + i, in_y + j, in_z}, job);
      }
    }
    return;
  }
  float seen[T::rows][T::columns], voxel[T::x][T::y], change[T::x][T::y];
  const auto take = [&](int row, int column, float one) {
    const int at_x = column - Radius, at_y = row - Radius;
    if (at_x >= 0 && at_x < T::x && at_y >= 0 && at_y < T::y) voxel[at_x][at_y] = one;
    seen[row][column] = one * job.power;
  };
  if (inside) {
    const float* from = in.row(in_y - Radius, in_z) + in_x - Radius;
#pragma unroll
    for (int row = 0; row < T::rows; ++row, from += in.x) {
#pragma unroll
      for (int column = 0; column < T::columns; ++column) take(row, column, __ldg(from + column));
    }
  } else {
    int at_x[T::columns];
#pragma unroll
    for (int column = 0; column < T::columns; ++column) {
      at_x[column] = device_border_index(job.border, in_x + column - Radius, in.x);
    }
#pragma unroll
    for (int row = 0; row < T::rows; ++row) {
      const float* from = in.row(device_border_index(job.border, in_y + row - Radius, in.y), in_z);
#pragma unroll
      for (int column = 0; column < T::columns; ++column) take(row, column, __ldg(from + at_x[column]));
    }
  }
  bool finite = true;
#pragma unroll
  for (int i = 0; i < T::x; ++i) {
    find_changes<Radius, false>(seen, i, voxel[i], job, change[i]);
#pragma unroll
    for (int j = 0; j < T::y; ++j) {
      voxel[i][j] = changed(voxel[i][j], change[i][j], job);
      finite = finite && is_present(voxel[i][j]);
    }
  }
  const bool copies = !inside && job.border == Border::copy;
  if (!finite || copies) {
#pragma unroll
    for (int i = 0; i < T::x; ++i) {
#pragma unroll
      for (int j = 0; j < T::y; ++j) {
        const bool written = x + i < out.x && y + j < out.y;
        if (written && (copies || !is_present(voxel[i][j]))) {
          voxel[i][j] = output_at<Radius>(in, {in_x + i, in_y + j, in_z}, job);
        }
      }
    }
  }
  const bool pairs = T::x == 2 && out.x % 2 == 0 && reinterpret_cast<std::uintptr_t>(out.data) % sizeof(float2) == 0;
  float* to = out.row(y, z) + x;
#pragma unroll
  for (int j = 0; j < T::y; ++j, to += out.x) {
    if (y + j >= out.y) return;
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
