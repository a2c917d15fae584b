// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/quadratic.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cuda/filters/common/canonical_zero.cuh"
#include "cuda/filters/common/device_view.cuh"
#include "cuda/filters/common/programmatic_launch.cuh"
#include "cuda/resources.hpp"

namespace quietvox {
namespace {

using namespace cuda;

template <int Radius>
struct Window {
  static constexpr int size = 2 * Radius + 1, neighbours = size * size - 1, pairs = neighbours * (neighbours + 1) / 2;
};

/// What the kernel needs to know about the filter, and no more: a launch takes longer the more parameters it has. Its
/// numbers are operands of the multiplications, once the loops are unrolled. Changes are made in intensities, and x_0
/// is left in them too, so that its scale is a factor of coefficients. Where those could be beyond all floats, voxels
/// are multiplied by a power of two, which is exact.
template <int Radius>
struct Job {
  /// Those of QuadraticForm; of_centre, of_pair and square times the scale of x_0, constant times its inverse.
  std::array<float, Window<Radius>::neighbours> of_difference, of_centre;
  std::array<float, Window<Radius>::pairs> of_pair;
  float constant, linear, square;
  float origin;  ///< x_0 = voxel - origin; one operation with a scale would lose digits far from 0
  float power;   ///< of two, that all intensities are multiplied by
  bool changes;  ///< false: lowest = highest
  bool bends;    ///< changes flat areas
  Border border;
  int reach_x, reach_y;
};

template <int Radius>
Job<Radius> make_job(const QuadraticParams& params) {
  Job<Radius> job{};
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
  const QuadraticForm& form = params.form;
  const auto fill = [](auto& numbers, const auto& from, double by) {
    std::transform(from.begin(), from.begin() + numbers.size(), numbers.begin(),
                   [by](float number) { return static_cast<float>(number * by); });
  };
  fill(job.of_difference, form.of_difference, 1);
  fill(job.of_centre, form.of_centre, 1 / unscale);
  fill(job.of_pair, form.of_pair, 1 / unscale);
  job.constant = static_cast<float>(form.constant * unscale);
  job.linear = form.linear;
  job.square = static_cast<float>(form.square / unscale);
  job.bends = form.constant != 0 || form.linear != 0 || form.square != 0;
  job.origin = static_cast<float>(params.origin() * job.power);
  return job;
}

/// Differences of the voxels in the windows of outputs that lie below each other to their centres.
template <int Radius, bool Missing, int Outputs>
__device__ __forceinline__ void find_differences(const float (&seen)[Outputs + 2 * Radius][1 + 2 * Radius],
                                                 float (&difference)[Window<Radius>::neighbours][Outputs]) {
  constexpr int size = Window<Radius>::size, neighbours = Window<Radius>::neighbours;
#pragma unroll
  for (int i = neighbours - 1; i >= 0; --i) {
    const int place = i < neighbours / 2 ? i : i + 1, dx = place % size - Radius, dy = place / size - Radius;
#pragma unroll
    for (int t = 0; t < Outputs; ++t) {
      const float voxel = seen[t + dy + Radius][dx + Radius];
      const float d = voxel - seen[t + Radius][Radius];
      difference[i][t] = !Missing || is_present(voxel) ? d : 0.0F;
    }
  }
}

/// What outputs are more than their voxels, each coefficient read once for all of them.
template <int Radius, int Outputs>
__device__ __forceinline__ void find_changes(const float (&voxel)[Outputs],
                                             const float (&difference)[Window<Radius>::neighbours][Outputs],
                                             const Job<Radius>& job, float (&change)[Outputs]) {
  constexpr int neighbours = Window<Radius>::neighbours;
  float x0[Outputs];
#pragma unroll
  for (int t = 0; t < Outputs; ++t) {
    x0[t] = voxel[t] - job.origin;
    change[t] = 0;
  }
#pragma unroll
  for (int i = 0; i < neighbours; ++i) {
    float factor[Outputs];
#pragma unroll
    for (int t = 0; t < Outputs; ++t) factor[t] = fmaf(job.of_centre[i], x0[t], job.of_difference[i]);
#pragma unroll
    for (int j = i; j < neighbours; ++j) {
      const float of_pair = job.of_pair[i * neighbours - i * (i - 1) / 2 + j - i];
#pragma unroll
      for (int t = 0; t < Outputs; ++t) factor[t] = fmaf(of_pair, difference[j][t], factor[t]);
    }
#pragma unroll
    for (int t = 0; t < Outputs; ++t) change[t] = fmaf(factor[t], difference[i][t], change[t]);
  }
  if (job.bends) {
#pragma unroll
    for (int t = 0; t < Outputs; ++t) {
      change[t] += fmaf(fmaf(job.square, x0[t], job.linear), x0[t], job.constant);
    }
  }
}

/// Whether the window leaves the volume, along an axis that is longer than a voxel.
template <int Radius>
__device__ bool is_in_rim(const DeviceView<const float>& in, int3 at, const Job<Radius>& job) {
  return at.x < job.reach_x || at.x + job.reach_x >= in.x || at.y < job.reach_y || at.y + job.reach_y >= in.y;
}

/// The output at `at`, a place of the input: anywhere, voxels missing or not.
template <int Radius>
__device__ __noinline__ float output_at(const DeviceView<const float>& in, int3 at, const Job<Radius>& job) {
  constexpr int size = Window<Radius>::size;
  const float original = in.row(at.y, at.z)[at.x];
  if (!is_present(original) || !job.changes || (job.border == Border::copy && is_in_rim(in, at, job))) {
    return canonical_zero(original);
  }
  float seen[size][size], difference[Window<Radius>::neighbours][1], change[1];
#pragma unroll
  for (int row = 0; row < size; ++row) {
    const float* from = in.row(device_border_index(job.border, at.y + row - Radius, in.y), at.z);
#pragma unroll
    for (int column = 0; column < size; ++column) {
      seen[row][column] = from[device_border_index(job.border, at.x + column - Radius, in.x)] * job.power;
    }
  }
  find_differences<Radius, true, 1>(seen, difference);
  const float voxel[1] = {seen[Radius][Radius]};
  find_changes<Radius>(voxel, difference, job, change);
  return (voxel[0] + change[0]) / job.power;
}

/// Makes the outputs [first_x, last_x) x [first_y, last_y) one by one.
template <int Radius>
__device__ void make_anew(const DeviceView<const float>& in, const DeviceView<float>& out, int3 offset, int first_x,
                          int last_x, int first_y, int last_y, const Job<Radius>& job) {
  const int z = blockIdx.z;
  for (int y = first_y; y < min(last_y, out.y); ++y) {
    for (int x = first_x; x < min(last_x, out.x); ++x) {
      out.row(y, z)[x] = output_at<Radius>(in, {x + offset.x, y + offset.y, z + offset.z}, job);
    }
  }
}

/// How a warp makes a strip of outputs, from top to bottom.
namespace strip {
constexpr int lanes = 32, width = 4;      ///< threads of a warp, outputs of each in a row
constexpr int columns = width + 2;        ///< that a thread sees
constexpr int turn = 2;                   ///< rows until registers have the same roles again
constexpr int warps = 20;                 ///< of a multiprocessor
constexpr int pitch = lanes * width + 8;  ///< of a row in shared memory, whose outputs begin at `first`
constexpr int first = 4;
}  // namespace strip

/// Differences between a row and the one below it: of the voxel below, right below and left below to one.
struct RowGap {
  float down[strip::columns], right[strip::columns], left[strip::columns];

  __device__ __forceinline__ void find(const float (&row)[strip::columns], const float (&below)[strip::columns]) {
#pragma unroll
    for (int c = 1; c < strip::columns - 1; ++c) down[c] = below[c] - row[c];
#pragma unroll
    for (int c = 0; c < strip::columns - 1; ++c) {
      right[c] = below[c + 1] - row[c];
      left[c + 1] = below[c] - row[c + 1];
    }
  }
};

/// A row of outputs. The difference of two adjacent voxels is computed once, and shared by the outputs that use it.
__device__ __forceinline__ void make_row(const float (&row)[strip::columns], const RowGap& above, const RowGap& below,
                                         const Job<1>& job, float (&output)[strip::width]) {
  using strip::width;
  float beside[width + 1], difference[Window<1>::neighbours][width], change[width];
#pragma unroll
  for (int c = 0; c <= width; ++c) beside[c] = row[c + 1] - row[c];
#pragma unroll
  for (int t = 0; t < width; ++t) {
    const int c = t + 1;
    output[t] = row[c];
    difference[0][t] = -above.right[c - 1];
    difference[1][t] = -above.down[c];
    difference[2][t] = -above.left[c + 1];
    difference[3][t] = -beside[c - 1];
    difference[4][t] = beside[c];
    difference[5][t] = below.left[c];
    difference[6][t] = below.down[c];
    difference[7][t] = below.right[c];
  }
  find_changes<1>(output, difference, job, change);
#pragma unroll
  for (int t = 0; t < width; ++t) output[t] += change[t];
}

/// Copies `Count` floats, aligned to as many, from global memory to a place in shared memory, in the background.
template <int Count>
__device__ __forceinline__ void start_copy(unsigned place, const float* from) {
  static_assert(Count == 4 || Count == 1);
  if constexpr (Count == 4) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(from) : "memory");
  }
}

/// The copies that a thread has started since it last called this form a batch.
__device__ __forceinline__ void end_batch() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Waits, for all threads of the warp, until all batches but the latest of each thread have arrived.
__device__ __forceinline__ void wait_for_all_but_last_batch() {
  asm volatile("cp.async.wait_group 1;" ::: "memory");
  __syncwarp();
}

/// What a thread sees of a row in shared memory; its own first voxel is at `place`.
__device__ __forceinline__ void read_row(unsigned place, float (&voxels)[strip::columns]) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(voxels[1]), "=f"(voxels[2]), "=f"(voxels[3]), "=f"(voxels[4])
               : "r"(place)
               : "memory");
  asm volatile("ld.shared.f32 %0, [%1 + -4];" : "=f"(voxels[0]) : "r"(place) : "memory");
  asm volatile("ld.shared.f32 %0, [%1 + 16];" : "=f"(voxels[5]) : "r"(place) : "memory");
}

/// What a thread of a strip copies: columns of rows of the input, and their places in a row in shared memory.
template <bool Aligned>
struct Copies {
  static constexpr int count = Aligned ? 2 : strip::width + 1;
  const float* slice;           ///< of the input, from the first column on
  int other[count - 1];         ///< the other columns, counted from the first one
  unsigned first, other_place;  ///< places of the first column and, where rows are aligned, of the other one
  bool does_first, does_last;   ///< whether this thread copies the first column and the last one

  __device__ Copies(const DeviceView<const float>& in, const DeviceView<float>& out, int3 offset, Border border,
                    float* staged) {
    using namespace strip;
    const int lane = static_cast<int>(threadIdx.x), first_x = width * lanes * blockIdx.x;
    const auto place_of = [&](int column) {
      return static_cast<unsigned>(__cvta_generic_to_shared(staged + strip::first + column));
    };
    slice = in.row(0, blockIdx.z + offset.z);
    if constexpr (Aligned) {
      // A thread copies the columns of its outputs, and the first and the last one those beside them. What is right of
      // the last output is copied by the next thread, if there is one.
      const int x = first_x + width * lane, aside = x >= out.x ? 0 : lane == 0 ? -1 : width;
      does_first = x < out.x;
      does_last = lane == 0 || lane == lanes - 1 || (x >= out.x && x - width < out.x);
      slice += x + offset.x;
      other[0] = device_border_index(border, x + offset.x + aside, in.x) - (x + offset.x);
      first = place_of(width * lane);
      other_place = place_of(width * lane + aside);
    } else {
      const auto column = [&](int i) {
        return device_border_index(border, first_x + offset.x + lane + i * lanes - 1, in.x);
      };
      slice += column(0);
#pragma unroll
      for (int i = 1; i < count; ++i) other[i - 1] = column(i) - column(0);
      first = place_of(lane - 1);
      does_first = true;
      does_last = lane < 2;
    }
  }

  /// Starts copying two rows to shared memory, from byte offset `to` on.
  __device__ __forceinline__ void copy(const float* row, const float* next_row, unsigned to) const {
    constexpr unsigned next = strip::pitch * sizeof(float);
    if constexpr (Aligned) {
      if (does_first) {
        start_copy<4>(first + to, row);
        start_copy<4>(first + to + next, next_row);
      }
      if (does_last) {
        start_copy<1>(other_place + to, row + other[0]);
        start_copy<1>(other_place + to + next, next_row + other[0]);
      }
    } else {
      start_copy<1>(first + to, row);
      start_copy<1>(first + to + next, next_row);
#pragma unroll
      for (int i = 1; i < count; ++i) {
        if (i == count - 1 && !does_last) continue;
        const unsigned place = first + to + i * strip::lanes * static_cast<unsigned>(sizeof(float));
        start_copy<1>(place, row + other[i - 1]);
        start_copy<1>(place + next, next_row + other[i - 1]);
      }
    }
    end_batch();
  }
};

/// 3x3. A warp makes a strip of `height` rows, an even number; the last strip ends where the output does. It copies the
/// rows that it sees into shared memory two by two, the next two while it makes two rows; what a row differs from the
/// one below stays in registers for that one. That all threads are at the same row lets the compiler keep the
/// coefficients in uniform registers. Results that are not finite tell of missing voxels, and are made anew. Together:
/// voxels of a row that are written at once; where they are 4, as many are also read at once.
template <int Together>
__global__ void __launch_bounds__(strip::lanes, strip::warps)
    quadratic_by_strips(DeviceView<const float> in, DeviceView<float> out, int3 offset, int height,
                        const __grid_constant__ Job<1> job) {
  using namespace strip;
  __shared__ __align__(16) float staged[2 * turn * pitch];
  wait_for_previous();
  let_next_start();
  const int z = blockIdx.z, x = width * (lanes * blockIdx.x + threadIdx.x), last_x = min(x + width, out.x);
  int y = height * blockIdx.y;
  if (!job.changes || job.power != 1 || out.y < height) {
    make_anew<1>(in, out, offset, x, last_x, y, y + height, job);
    return;
  }
  y = min(y, out.y - height);
  const int end = y + height;

  const Copies<Together == width> copies(in, out, offset, job.border, staged);
  const auto row_at = [&](int at_y) {
    return copies.slice + static_cast<std::int64_t>(device_border_index(job.border, at_y + offset.y, in.y)) * in.x;
  };
  const auto own = static_cast<unsigned>(__cvta_generic_to_shared(staged + first + width * threadIdx.x));
  constexpr unsigned half = turn * pitch * sizeof(float);
  copies.copy(row_at(y - 1), row_at(y), half);
  copies.copy(row_at(y + 1), row_at(y + 2), 0);
  const float* next = row_at(y + 3);
  const int plain_end = in.y - offset.y - 2 * turn;  // from there on the next two rows are not both within the input

  float row[2][columns];
  RowGap gap[2];
  wait_for_all_but_last_batch();
  read_row(own + half, row[1]);
  read_row(own + half + pitch * sizeof(float), row[0]);
  gap[0].find(row[1], row[0]);

  float* to = out.row(y, z) + x;
  unsigned missed = 0, mark = 1;  // turns that met missing voxels, a bit each
  unsigned ready = 0;             // where in shared memory the next rows are; those after them go to the other half
#pragma unroll 1
  for (; y < end; y += turn, ready = half - ready) {
    __syncwarp();
    if (y < plain_end) {
      copies.copy(next, next + in.x, half - ready);
      next += turn * in.x;
    } else {
      copies.copy(row_at(y + 3), row_at(y + 4), half - ready);
    }
    wait_for_all_but_last_batch();
    float probe = 0;
#pragma unroll
    for (int i = 0; i < turn; ++i) {
      read_row(own + ready + i * pitch * sizeof(float), row[1 - i]);
      gap[1 - i].find(row[i], row[1 - i]);
      float output[width];
      make_row(row[i], gap[i], gap[1 - i], job, output);
      probe = fmaf(output[0], output[1], probe);
      probe = fmaf(output[2], output[3], probe);
      if constexpr (Together == 4) {
        if (x < out.x) *reinterpret_cast<float4*>(to) = {output[0], output[1], output[2], output[3]};
      } else {
#pragma unroll
        for (int t = 0; t < width; t += Together) {
          if (x + t >= out.x) continue;
          if constexpr (Together == 2) {
            *reinterpret_cast<float2*>(to + t) = {output[t], output[t + 1]};
          } else {
            to[t] = output[t];
          }
        }
      }
      to += out.x;
    }
    if (!is_present(probe)) missed |= mark;
    mark <<= 1;
  }

  // What is left is shared by all threads of the warp, once each sees what the others have written: outputs whose
  // windows leave the volume, which keep their value, and outputs that are computed anew.
  __syncwarp();
  const int lane = static_cast<int>(threadIdx.x);
  const auto put = [&](int at_x, int at_y) {
    out.row(at_y, z)[at_x] = output_at<1>(in, {at_x + offset.x, at_y + offset.y, z + offset.z}, job);
  };
  if (job.border == Border::copy) {
    const int first_x = width * lanes * blockIdx.x, end_x = min(first_x + width * lanes, out.x), first_y = end - height;
    for (const int at_x : {-offset.x, in.x - 1 - offset.x}) {
      if (job.reach_x == 0 || at_x < first_x || at_x >= end_x) continue;
      for (int at_y = first_y + lane; at_y < end; at_y += lanes) put(at_x, at_y);
    }
    for (const int at_y : {-offset.y, in.y - 1 - offset.y}) {
      if (job.reach_y == 0 || at_y < first_y || at_y >= end) continue;
      for (int at_x = first_x + lane; at_x < end_x; at_x += lanes) put(at_x, at_y);
    }
  }
  for (unsigned finders = __ballot_sync(~0U, missed != 0 && x < out.x); finders != 0; finders &= finders - 1) {
    const int finder = __ffs(static_cast<int>(finders)) - 1;
    const int its_x = __shfl_sync(~0U, x, finder) + lane % width;
    const unsigned its_missed = __shfl_sync(~0U, missed, finder);
    for (int row = lane / width; row < height; row += lanes / width) {
      if ((its_missed >> row / turn & 1) != 0 && its_x < out.x) put(its_x, end - height + row);
    }
  }
}

constexpr int tile_y = 4;  ///< outputs of a thread where the window is 5x5, along y

/// 5x5. What a thread sees is read once. Results are made anew as those of strips are.
__global__ void __launch_bounds__(128, 4) quadratic_by_tiles(DeviceView<const float> in, DeviceView<float> out,
                                                             int3 offset, const __grid_constant__ Job<2> job) {
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
  find_differences<2, false, tile_y>(seen, difference);
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

/// True if every row, from its voxel `first` on, is aligned for vectors of `count` floats.
template <class T>
bool aligned(const DeviceView<T>& box, int first, int count) {
  return box.x % count == 0 && first % count == 0 &&
         reinterpret_cast<std::uintptr_t>(box.data) % (count * sizeof(float)) == 0;
}

void launch_strips(const DeviceView<const float>& in, const DeviceView<float>& out, int3 offset, const Job<1>& job,
                   const LaunchContext& context) {
  // Strips of the height that takes least, were they made in rounds: long ones find few rows' differences twice, but no
  // multiprocessor should wait for the last of them.
  constexpr int most_rows = 32 * strip::turn, extra_rows = 4;  // what a strip takes beside its rows
  const std::int64_t columns = ceil_div(out.x, strip::lanes * strip::width) * out.z;
  const std::int64_t at_once = strip::warps * context.multiprocessors;
  int height = strip::turn;
  std::int64_t least = INT64_MAX;
  for (int rows = strip::turn; rows <= std::min(most_rows, out.y); rows += strip::turn) {
    const std::int64_t time = ceil_div(columns * ceil_div(out.y, rows), at_once) * (rows + extra_rows);
    if (time < least) {
      least = time;
      height = rows;
    }
  }
  const dim3 grid(static_cast<unsigned>(ceil_div(out.x, strip::lanes * strip::width)),
                  static_cast<unsigned>(ceil_div(out.y, height)), static_cast<unsigned>(out.z));
  const auto kernel = aligned(out, 0, 4) && aligned(in, offset.x, 4) ? quadratic_by_strips<4>
                      : aligned(out, 0, 2)                           ? quadratic_by_strips<2>
                                                                     : quadratic_by_strips<1>;
  launch_overlapping(kernel, grid, strip::lanes, context.stream, in, out, offset, height, job);
}

void launch_tiles(const DeviceView<const float>& in, const DeviceView<float>& out, int3 offset, const Job<2>& job,
                  const LaunchContext& context) {
  const dim3 block(32, 4);
  const dim3 grid(static_cast<unsigned>(ceil_div(out.x, block.x)),
                  static_cast<unsigned>(ceil_div(out.y, tile_y * block.y)), static_cast<unsigned>(out.z));
  quadratic_by_tiles<<<grid, block, 0, context.stream>>>(in, out, offset, job);
  QV_CUDA(cudaGetLastError());
}

}  // namespace

void quadratic_cuda(VolumeView<const float> in, VolumeView<float> out, const QuadraticParams& params,
                    const LaunchContext& context) {
  const int3 offset = offset_within(in, out);
  if (params.form.radius() == 1) {
    launch_strips(in, out, offset, make_job<1>(params), context);
  } else {
    launch_tiles(in, out, offset, make_job<2>(params), context);
  }
}

}  // namespace quietvox
