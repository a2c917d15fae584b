// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/quadratic.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "cuda/filters/box.cuh"
#include "cuda/resources.hpp"

namespace quietvox {
namespace {

using namespace cuda;

/// What the kernel needs to know about the filter. As a parameter of the kernel its numbers are operands of the
/// multiplications, once the loops are unrolled. Changes are made in intensities, so that one scale is a factor of the
/// coefficients of pairs and of no others. Where that could be beyond all floats, voxels are multiplied by a power of
/// two, which is exact.
struct Job {
  QuadraticForm form;   ///< of_pair times scale, the first three numbers times its inverse
  float origin, scale;  ///< x_0 = (voxel - origin) scale; one operation with a sum would lose digits far from 0
  float power;          ///< of two, that all intensities are multiplied by
  bool changes;         ///< false: lowest = highest
  bool bends;           ///< changes flat areas
  Border border;
  int reach_x, reach_y;
};

Job make_job(const QuadraticParams& params) {
  Job job{};
  job.form = params.form;
  job.border = params.border;
  job.reach_x = params.reach.x;
  job.reach_y = params.reach.y;
  job.power = 1;
  job.changes = std::isfinite(static_cast<float>(1 / params.unscale()));
  if (!job.changes) return job;
  int exponent = 0;
  std::frexp(params.unscale(), &exponent);
  if (exponent < -60) job.power = std::ldexp(1.0F, 60);
  const double unscale = params.unscale() * job.power;
  job.scale = static_cast<float>(1 / unscale);
  job.origin = static_cast<float>(params.origin() * job.power);
  const auto multiply = [](float& number, double by) { number = static_cast<float>(number * by); };
  for (float& number : job.form.of_pair) multiply(number, 1 / unscale);
  for (float* number : {&job.form.constant, &job.form.linear, &job.form.square}) {
    job.bends = job.bends || *number != 0;
    multiply(*number, unscale);
  }
  return job;
}

template <int Radius>
struct Window {
  static constexpr int size = 2 * Radius + 1, neighbours = size * size - 1;
};

/// Differences of the voxels in the windows of X x Y outputs to their centres. In windows of 3x3, of two outputs that
/// see each other, one takes what the other has found; in windows of 5x5 that was slower.
template <int Radius, bool Missing, int X, int Y>
__device__ __forceinline__ void find_differences(const float (&seen)[Y + 2 * Radius][X + 2 * Radius],
                                                 float (&difference)[Window<Radius>::neighbours][X * Y]) {
  constexpr int size = Window<Radius>::size, neighbours = Window<Radius>::neighbours;
#pragma unroll
  for (int i = neighbours - 1; i >= 0; --i) {
    const int place = i < neighbours / 2 ? i : i + 1, dx = place % size - Radius, dy = place / size - Radius;
#pragma unroll
    for (int t = 0; t < X * Y; ++t) {
      const int x = t % X, y = t / X;
      if (Radius == 1 && i < neighbours / 2 && x + dx >= 0 && x + dx < X && y + dy >= 0) {
        difference[i][t] = -difference[neighbours - 1 - i][t + dy * X + dx];
      } else {
        const float voxel = seen[y + dy + Radius][x + dx + Radius];
        const float d = voxel - seen[y + Radius][x + Radius];
        difference[i][t] = !Missing || is_present(voxel) ? d : 0.0F;
      }
    }
  }
}

/// What outputs are more than their voxels, each coefficient read once for all of them.
template <int Radius, int Outputs>
__device__ __forceinline__ void find_changes(const float (&voxel)[Outputs],
                                             const float (&difference)[Window<Radius>::neighbours][Outputs],
                                             const Job& job, float (&change)[Outputs]) {
  constexpr int neighbours = Window<Radius>::neighbours;
  float x0[Outputs];
#pragma unroll
  for (int t = 0; t < Outputs; ++t) {
    x0[t] = (voxel[t] - job.origin) * job.scale;
    change[t] = 0;
  }
#pragma unroll
  for (int i = 0; i < neighbours; ++i) {
    float factor[Outputs];
#pragma unroll
    for (int t = 0; t < Outputs; ++t) factor[t] = fmaf(job.form.of_centre[i], x0[t], job.form.of_difference[i]);
#pragma unroll
    for (int j = i; j < neighbours; ++j) {
      const float of_pair = job.form.of_pair[i * neighbours - i * (i - 1) / 2 + j - i];
#pragma unroll
      for (int t = 0; t < Outputs; ++t) factor[t] = fmaf(of_pair, difference[j][t], factor[t]);
    }
#pragma unroll
    for (int t = 0; t < Outputs; ++t) change[t] = fmaf(factor[t], difference[i][t], change[t]);
  }
  if (job.bends) {
#pragma unroll
    for (int t = 0; t < Outputs; ++t) {
      change[t] += fmaf(fmaf(job.form.square, x0[t], job.form.linear), x0[t], job.form.constant);
    }
  }
}

/// The output at `at`, a place of the input: anywhere, voxels missing or not.
template <int Radius>
__device__ __noinline__ float output_at(const Box<const float>& in, int3 at, const Job& job) {
  constexpr int size = Window<Radius>::size;
  const float original = in.row(at.y, at.z)[at.x];
  if (!is_present(original)) return original;
  const bool in_rim =
      at.x < job.reach_x || at.x + job.reach_x >= in.x || at.y < job.reach_y || at.y + job.reach_y >= in.y;
  if (!job.changes || (job.border == Border::copy && in_rim)) return original + 0.0F;
  float seen[size][size], difference[Window<Radius>::neighbours][1], change[1];
#pragma unroll
  for (int row = 0; row < size; ++row) {
    const float* from = in.row(device_border_index(job.border, at.y + row - Radius, in.y), at.z);
#pragma unroll
    for (int column = 0; column < size; ++column) {
      seen[row][column] = from[device_border_index(job.border, at.x + column - Radius, in.x)] * job.power;
    }
  }
  find_differences<Radius, true, 1, 1>(seen, difference);
  const float voxel[1] = {seen[Radius][Radius]};
  find_changes<Radius>(voxel, difference, job, change);
  return (voxel[0] + change[0]) / job.power;
}

/// Makes the outputs [first_x, last_x) x [first_y, last_y) one by one.
template <int Radius>
__device__ void make_anew(const Box<const float>& in, const Box<float>& out, int3 offset, int first_x, int last_x,
                          int first_y, int last_y, const Job& job) {
  const int z = blockIdx.z;
  for (int y = first_y; y < min(last_y, out.y); ++y) {
    for (int x = first_x; x < min(last_x, out.x); ++x) {
      out.row(y, z)[x] = output_at<Radius>(in, {x + offset.x, y + offset.y, z + offset.z}, job);
    }
  }
}

/// What a thread makes on its way down a strip: `turn` rows of two outputs at a time, in groups of 2x2.
namespace strip {
constexpr int width = 2, group = 2, outputs = width * group;
constexpr int turn = 4;
constexpr int rows = turn + 2, columns = width + 2;  ///< that it sees
constexpr int warps = 20;                            ///< of a multiprocessor
}  // namespace strip

/// 3x3. A warp makes `height` rows of outputs, from top to bottom, and fetches the rows that it sees next before it
/// makes those of a turn. That all its threads are at the same row lets the compiler keep the coefficients in uniform
/// registers. Results that are not finite tell of missing voxels, and are made anew, as are those near the edge where
/// they keep their value.
__global__ void __launch_bounds__(32, strip::warps)
    quadratic_by_strips(Box<const float> in, Box<float> out, int3 offset, int height, const __grid_constant__ Job job) {
  using namespace strip;
  const int x = width * (blockIdx.x * 32 + threadIdx.x), z = blockIdx.z, in_x = x + offset.x, in_z = z + offset.z;
  int y = height * blockIdx.y;
  const int end = min(y + height, out.y);
  if (x >= out.x) return;
  if (!job.changes || job.power != 1 || in.x < columns) {
    make_anew<1>(in, out, offset, x, x + width, y, end, job);
    return;
  }
  // Near an edge a thread reads what the volume has there, and puts it where the border says.
  const int left = min(max(in_x - 1, 0), in.x - columns);
  const bool at_edge = left != in_x - 1;
  const float* slice = in.row(0, in_z) + left;
  const auto fetch = [&](float(&row)[columns], const float* from) {
#pragma unroll
    for (int column = 0; column < columns; ++column) row[column] = __ldg(from + column);
  };
  const auto fetch_any = [&](float(&row)[columns], int at_y) {
    fetch(row, slice + static_cast<std::int64_t>(device_border_index(job.border, at_y, in.y)) * in.x);
  };
  const auto put_in_place = [&](float(&row)[columns]) {
    float read[columns];
#pragma unroll
    for (int column = 0; column < columns; ++column) read[column] = row[column];
#pragma unroll
    for (int column = 0; column < columns; ++column) {
      const int place = device_border_index(job.border, in_x + column - 1, in.x) - left;
#pragma unroll
      for (int k = 0; k < columns; ++k) row[column] = place == k ? read[k] : row[column];
    }
  };
  float seen[rows][columns];
#pragma unroll
  for (int row = 0; row < rows; ++row) fetch_any(seen[row], y + offset.y + row - 1);
  if (at_edge) {
    put_in_place(seen[0]);
    put_in_place(seen[1]);
  }
  const float* from = slice + static_cast<std::int64_t>(y + offset.y + turn + 1) * in.x;
  float* to = out.row(y, z) + x;
  int anew_from = end, anew_to = 0;
  const auto make_turn = [&](auto is_plain) {
    constexpr bool plain = decltype(is_plain)::value;
    const int in_y = y + offset.y;
    if (at_edge) {
#pragma unroll
      for (int row = 2; row < rows; ++row) put_in_place(seen[row]);
    }
    float coming[turn][columns];
    if (in_y + 2 * turn + 1 <= in.y) {
#pragma unroll
      for (int row = 0; row < turn; ++row, from += in.x) fetch(coming[row], from);
    } else {
#pragma unroll
      for (int row = 0; row < turn; ++row) fetch_any(coming[row], in_y + turn + 1 + row);
    }
    bool finite = true;
#pragma unroll
    for (int top = 0; top < turn; top += group) {
      float window[group + 2][columns];
#pragma unroll
      for (int n = 0; n < (group + 2) * columns; ++n) {
        window[n / columns][n % columns] = seen[top + n / columns][n % columns];
      }
      float voxel[outputs], difference[Window<1>::neighbours][outputs], change[outputs];
#pragma unroll
      for (int t = 0; t < outputs; ++t) voxel[t] = window[t / width + 1][t % width + 1];
      find_differences<1, false, width, group>(window, difference);
      find_changes<1>(voxel, difference, job, change);
#pragma unroll
      for (int t = 0; t < outputs; ++t) {
        voxel[t] += change[t];
        finite = finite && is_present(voxel[t]);
      }
#pragma unroll
      for (int row = 0; row < group; ++row, to += out.x) {
        if (plain) {
          *reinterpret_cast<float2*>(to) = {voxel[row * width], voxel[row * width + 1]};
        } else {
#pragma unroll
          for (int i = 0; i < width; ++i) {
            if (x + i < out.x && y + top + row < end) to[i] = voxel[row * width + i];
          }
        }
      }
    }
#pragma unroll
    for (int row = 0; row < rows; ++row) {
#pragma unroll
      for (int column = 0; column < columns; ++column) {
        seen[row][column] = row < 2 ? seen[row + turn][column] : coming[row - 2][column];
      }
    }
    const bool copies = job.border == Border::copy && (at_edge || in_y < 1 || in_y + turn >= in.y);
    if (!finite || copies) {
      anew_from = min(anew_from, y);
      anew_to = y + turn;
    }
    y += turn;
  };
  const bool pairs = out.x % 2 == 0 && reinterpret_cast<std::uintptr_t>(out.data) % sizeof(float2) == 0;
  const int plain_end = pairs ? end : 0;
#pragma unroll 1
  while (y + turn <= plain_end) make_turn(std::true_type{});
  while (y < end) make_turn(std::false_type{});
  make_anew<1>(in, out, offset, x, x + width, anew_from, min(anew_to, end), job);
}

constexpr int tile_y = 4;  ///< outputs of a thread where the window is 5x5, along y

/// 5x5. What a thread sees is read once. Results are made anew as those of strips are.
__global__ void __launch_bounds__(128, 4)
    quadratic_by_tiles(Box<const float> in, Box<float> out, int3 offset, const __grid_constant__ Job job) {
  constexpr int rows = tile_y + 4, columns = 5;
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = tile_y * (blockIdx.y * blockDim.y + threadIdx.y);
  const int z = blockIdx.z, in_x = x + offset.x, in_y = y + offset.y, in_z = z + offset.z;
  if (x >= out.x || y >= out.y) return;
  if (!job.changes || job.power != 1) {
    make_anew<2>(in, out, offset, x, x + 1, y, y + tile_y, job);
    return;
  }
  const bool inside = in_x >= 2 && in_x + 2 < in.x && in_y >= 2 && in_y + tile_y + 2 <= in.y;
  float seen[rows][columns];
  if (inside) {
    const float* from = in.row(in_y - 2, in_z) + in_x - 2;
#pragma unroll
    for (int row = 0; row < rows; ++row, from += in.x) {
#pragma unroll
      for (int column = 0; column < columns; ++column) seen[row][column] = __ldg(from + column);
    }
  } else {
    int at_x[columns];
#pragma unroll
    for (int column = 0; column < columns; ++column) {
      at_x[column] = device_border_index(job.border, in_x + column - 2, in.x);
    }
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      const float* from = in.row(device_border_index(job.border, in_y + row - 2, in.y), in_z);
#pragma unroll
      for (int column = 0; column < columns; ++column) seen[row][column] = __ldg(from + at_x[column]);
    }
  }
  float voxel[tile_y], difference[Window<2>::neighbours][tile_y], change[tile_y];
#pragma unroll
  for (int t = 0; t < tile_y; ++t) voxel[t] = seen[t + 2][2];
  find_differences<2, false, 1, tile_y>(seen, difference);
  find_changes<2>(voxel, difference, job, change);
  float* to = out.row(y, z) + x;
  bool finite = true;
#pragma unroll
  for (int t = 0; t < tile_y; ++t, to += out.x) {
    voxel[t] += change[t];
    finite = finite && is_present(voxel[t]);
    if (y + t < out.y) *to = voxel[t];
  }
  const bool copies = !inside && job.border == Border::copy;
  if (!finite || copies) make_anew<2>(in, out, offset, x, x + 1, y, y + tile_y, job);
}

void launch_strips(const Box<const float>& in, const Box<float>& out, int3 offset, const Job& job, const Queue& queue) {
  // Long strips fetch few rows twice, but there have to be enough of them for all multiprocessors.
  const std::int64_t columns = ceil_div(out.x, 32 * strip::width);
  const std::int64_t shared = columns * out.y * out.z / (64 * queue.multiprocessors);
  const int height = static_cast<int>(ceil_div(std::clamp<std::int64_t>(shared, 1, 32), strip::turn) * strip::turn);
  const dim3 grid(static_cast<unsigned>(columns), static_cast<unsigned>(ceil_div(out.y, height)),
                  static_cast<unsigned>(out.z));
  quadratic_by_strips<<<grid, 32, 0, queue.stream>>>(in, out, offset, height, job);
  QV_CUDA(cudaGetLastError());
}

void launch_tiles(const Box<const float>& in, const Box<float>& out, int3 offset, const Job& job, const Queue& queue) {
  const dim3 block(32, 4);
  const dim3 grid(static_cast<unsigned>(ceil_div(out.x, block.x)),
                  static_cast<unsigned>(ceil_div(out.y, tile_y * block.y)), static_cast<unsigned>(out.z));
  quadratic_by_tiles<<<grid, block, 0, queue.stream>>>(in, out, offset, job);
  QV_CUDA(cudaGetLastError());
}

}  // namespace

void quadratic_cuda(VolumeView<const float> in, VolumeView<float> out, const QuadraticParams& params,
                    const Queue& queue) {
  const int3 offset = offset_within(in, out);
  if (params.form.radius() == 1) {
    launch_strips(in, out, offset, make_job(params), queue);
  } else {
    launch_tiles(in, out, offset, make_job(params), queue);
  }
}

}  // namespace quietvox
