// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "cuda/filters/bilateral/scaled_voxels.cuh"
#include "cuda/filters/bilateral/window_kernels.cuh"
#include "cuda/filters/common/exp2.cuh"
#include "cuda/launch.cuh"

namespace quietvox::cuda::bilateral {
namespace {

/// A voxel in the unit of the window, but with a cut as it is: differences are compared with the cut before they are
/// scaled, so that those exactly at it fall on the same side everywhere.
template <Kind kind>
__device__ float prepared(float value, float scale) {
  if constexpr (kind == Kind::cut) {
    return is_present(value) ? value : INFINITY;
  } else {
    return scaled_voxel(value, scale);
  }
}

/// Row length of the tile in shared memory: enough for the reads of the last strip, and 4 more than a multiple of the
/// 32 banks.
constexpr int tile_pitch(int radius) { return radius <= 16 ? 68 : 100; }

// A block of 4 warps filters a tile of 32 x 32 voxels of one slice. A lane owns a strip of 8 voxels along x; the 8 rows
// and 4 strips of a warp lie so that its 16-byte reads from shared memory touch every bank once.
constexpr int strip = 8, tile = 32, warps = 4;

/// Taps of a row in groups of 8; those beyond the window get the weight 0.
constexpr int group = 8;
constexpr int padded_taps(int radius) { return (2 * radius + 1 + group - 1) / group * group; }

/// The squared differences in a box of 3x3 add up to less than this if no voxel is missing, otherwise to more.
constexpr float squares_of_missing = 5e35F;

/// The rate of the box of 3x3 about `centre`, some of whose voxels may be missing.
__device__ float rate_of_box(const float* centre, int pitch, const RateOfVariance& rate_of_variance) {
  float sum = 0, squares = 0, count = 0;
  for (int n = 0; n < 9; ++n) {
    const float voxel = centre[(n / 3 - 1) * pitch + n % 3 - 1];
    if (voxel == scaled_missing) continue;
    const float difference = voxel - *centre;
    sum += difference;
    squares = fmaf(difference, difference, squares);
    count += 1;
  }
  return rate_of_variance(sum, squares, count);
}

/// Rates of a strip from the boxes of 3x3 about its voxels. `row` points to the first voxel that the strip's windows
/// see of their middle row.
template <int Radius>
__device__ __forceinline__ void find_rates(const float* row, int radius, int pitch,
                                           const RateOfVariance& rate_of_variance, float (&rate)[strip]) {
  constexpr int skipped = Radius < 0 ? 0 : (Radius - 1) % 4;  // what is read too much, from an aligned place
  float seen[3][(skipped + strip + 2 + 3) / 4 * 4];
#pragma unroll
  for (int j = 0; j < 3; ++j) {
    const float* from = row + (j - 1) * pitch + radius - 1 - skipped;
    if constexpr (Radius < 0) {
#pragma unroll
      for (int i = 0; i < strip + 2; ++i) seen[j][i] = from[i];
    } else {
      read_vectors(from, seen[j]);
    }
  }
  bool whole = true;
#pragma unroll
  for (int i = 0; i < strip; ++i) {
    const float centre = seen[1][skipped + i + 1];
    float sum = 0, squares = 0;
#pragma unroll
    for (int n = 0; n < 9; ++n) {
      if (n == 4) continue;
      const float difference = seen[n / 3][skipped + i + n % 3] - centre;
      sum += difference;
      squares = fmaf(difference, difference, squares);
    }
    rate[i] = rate_of_variance(sum, squares, 9);
    whole = whole && squares < squares_of_missing;
  }
  if (whole) return;
#pragma unroll 1
  for (int i = 0; i < strip; ++i) {
    const float again = rate_of_box(row + radius + i, pitch, rate_of_variance);
#pragma unroll
    for (int k = 0; k < strip; ++k) rate[k] = k == i ? again : rate[k];
  }
}

/// Adds the taps [first, first + Taps) of a row to the sums of a strip. `row` points to the first of them for the
/// strip's first voxel, `exponents` to their spatial weights; both are 16-byte aligned. Where there are rates, centres
/// and differences are multiplied by them.
template <int Taps, Kind kind>
__device__ __forceinline__ void add_taps(const float* row, const float (&centre)[strip], const float (&rate)[strip],
                                         float (&sum)[strip], float (&weight)[strip], const Window& window,
                                         const float* exponents) {
  float value[(strip + Taps - 1 + 3) / 4 * 4], spatial[(Taps + 3) / 4 * 4];
  read_vectors(row, value);
  read_vectors(exponents, spatial);
#pragma unroll
  for (int tap = 0; tap < Taps; ++tap) {
#pragma unroll
    for (int i = 0; i < strip; ++i) {
      float difference = kind == Kind::rated ? fmaf(rate[i], value[tap + i], -centre[i]) : value[tap + i] - centre[i];
      bool counts = true;
      if constexpr (kind == Kind::cut) {
        counts = fabsf(difference) < window.cut;
        difference = counts ? difference * window.scale : 0.0F;
      }
      const float w = counts ? exp2_fast(fmaf(-difference, difference, spatial[tap])) : 0.0F;
      sum[i] = fmaf(kind == Kind::squares ? w * difference : w, difference, sum[i]);
      weight[i] += w;
    }
  }
}

/// Radius < 0: the radius along x is that of `window`, and rows are taken in groups of 8 taps.
template <int Radius, Kind kind>
__global__ void __launch_bounds__(32 * warps, kind == Kind::rated ? 6 : 7)
    filter(DeviceView<const float> in, DeviceView<float> out, const float* rates, int3 offset,
           const __grid_constant__ Window window) {
  constexpr int pitch = tile_pitch(Radius < 0 ? max_radius : Radius);
  // Rows of `pitch`, then the spatial weights of half a slice.
  float* const slice = reinterpret_cast<float*>(launched_shared());
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int rx = Radius < 0 ? window.radius.x : Radius, ry = window.radius.y, rz = window.radius.z;
  const int width = tile + 2 * rx, rows = tile + 2 * ry;
  const int taps = 2 * rx + 1, taps_pitch = padded_taps(rx);
  float* exponents = slice + rows * pitch;
  const int columns_read = Radius < 0 ? tile + taps_pitch : tile - strip + (strip + 2 * Radius + 3) / 4 * 4;

  const int left = blockIdx.x * tile + offset.x - rx, top = blockIdx.y * tile + offset.y - ry;
  const bool inside = left >= 0 && top >= 0 && left + width <= in.x && top + rows <= in.y;
  const int y = 8 * warp + lane % 8, x = strip * (lane / 8);
  const int centre_z = blockIdx.z + offset.z;
  float centre[strip], rate[strip] = {}, sum[strip] = {}, weight[strip] = {};
  if (kind == Kind::rated && rates) {
    const int first_x = blockIdx.x * tile + x, out_y = min(static_cast<int>(blockIdx.y * tile + y), out.y - 1);
    const float* row = rates + (static_cast<std::int64_t>(blockIdx.z) * out.y + out_y) * out.x;
    if (out.x % 4 == 0 && first_x + strip <= out.x) {
      read_vectors(row + first_x, rate);
    } else {
#pragma unroll
      for (int i = 0; i < strip; ++i) rate[i] = row[min(first_x + i, out.x - 1)];
    }
  }

  for (int turn = 0; turn < 2 * rz + 1; ++turn) {
    const int dz = turn == 0 ? 0 : turn - rz - (turn <= rz ? 1 : 0);  // the slice of the centres first
    const int z = device_border_index(window.border, centre_z + dz, in.z);
    const auto fill = [&](int first_row, int row_step, int column) {
      float* to = slice + first_row * pitch + column;
      if (column >= width) {
        for (int row = first_row; row < rows; row += row_step, to += row_step * pitch) *to = scaled_missing;
      } else if (inside) {
        const float* from = in.row(top + first_row, z) + left + column;
#pragma unroll 4
        for (int row = first_row; row < rows; row += row_step, to += row_step * pitch, from += row_step * in.x) {
          *to = prepared<kind>(*from, window.scale);
        }
      } else {
        const int from_x = device_border_index(window.border, left + column, in.x);
        for (int row = first_row; row < rows; row += row_step, to += row_step * pitch) {
          const int from_y = device_border_index(window.border, top + row, in.y);
          *to = prepared<kind>(in.row(from_y, z)[from_x], window.scale);
        }
      }
    };
    __syncthreads();
    fill(warp, warps, lane);
    for (int column = tile + lane % 8; column < columns_read; column += 8) fill(threadIdx.x / 8, 4 * warps, column);
    for (int i = threadIdx.x; i < (ry + 1) * taps_pitch; i += 32 * warps) {
      const int row = i / taps_pitch, tap = i % taps_pitch, dx = abs(tap - rx);
      const bool counts = tap < taps && dx <= window.reach[abs(dz)][row];
      exponents[i] = counts ? window.z[abs(dz)] + window.y[row] + window.x[dx] : -INFINITY;
    }
    __syncthreads();
    if (turn == 0) {
      if constexpr (kind == Kind::rated && Radius != 0) {
        if (!rates) find_rates<Radius>(slice + (y + ry) * pitch + x, rx, pitch, window.rate_of_variance, rate);
      }
#pragma unroll
      for (int i = 0; i < strip; ++i) {
        centre[i] = slice[(y + ry) * pitch + x + rx + i];
        if (kind == Kind::rated) centre[i] *= rate[i];
      }
    }
    float plane_sum[strip] = {}, plane_weight[strip] = {};
    for (int dy = -ry; dy <= ry; ++dy) {
      if (window.reach[abs(dz)][abs(dy)] < 0) continue;
      const float* row = slice + (y + ry + dy) * pitch + x;
      const float* row_exponents = exponents + abs(dy) * taps_pitch;
      if constexpr (Radius < 0) {
        for (int first = 0; first < taps; first += group) {
          add_taps<group, kind>(row + first, centre, rate, plane_sum, plane_weight, window, row_exponents + first);
        }
      } else {
        add_taps<2 * Radius + 1, kind>(row, centre, rate, plane_sum, plane_weight, window, row_exponents);
      }
    }
#pragma unroll
    for (int i = 0; i < strip; ++i) sum[i] += plane_sum[i], weight[i] += plane_weight[i];
  }

  float own[strip] = {};
  if (kind == Kind::rated && rz == 0) {
    const float* row = slice + (y + ry) * pitch + x + rx;
#pragma unroll
    for (int i = 0; i < strip; ++i) own[i] = row[i];
  } else if (kind == Kind::rated) {
    const int at_y = min(static_cast<int>(blockIdx.y * tile + y + offset.y), in.y - 1);
    const float* row = in.row(at_y, centre_z);
#pragma unroll
    for (int i = 0; i < strip; ++i) {
      const int at_x = min(static_cast<int>(blockIdx.x * tile + x + i + offset.x), in.x - 1);
      own[i] = prepared<kind>(row[at_x], window.scale);
    }
  }

  // Results go through shared memory, so that whole rows are written.
  __syncthreads();
#pragma unroll
  for (int i = 0; i < strip; ++i) {
    float mean = __fdividef(sum[i], weight[i]);
    if constexpr (kind == Kind::rated) {
      // Every difference, that of the centre to itself too, is too large by what rounding took from the centre.
      const float excess = fmaf(rate[i], own[i], -centre[i]);
      const float change = __fdividef(__fsub_rn(mean, excess), rate[i]);  // rounded alike for all i
      mean = weight[i] > 0 ? change : 0.0F;  // no weight: floats lie so far apart that none but equals count
    }
    slice[y * pitch + x + i] = kind == Kind::squares ? window.rate_of_squares(mean) : mean * window.unscale;
  }
  __syncthreads();
  const int out_x = blockIdx.x * tile + lane, at_x = out_x + offset.x;
  if (out_x >= out.x) return;
  const bool copies = window.border == Border::copy;
  const bool leaves = at_x < rx || centre_z < rz || at_x + rx >= in.x || centre_z + rz >= in.z;
#pragma unroll 4
  for (int row = warp; row < tile; row += warps) {
    const int out_y = blockIdx.y * tile + row, at_y = out_y + offset.y;
    if (out_y >= out.y) return;
    if (kind == Kind::squares) {
      out.row(out_y, blockIdx.z)[out_x] = slice[row * pitch + lane];
      continue;
    }
    const float original = in.row(at_y, centre_z)[at_x];
    const bool keeps = copies && (leaves || at_y < ry || at_y + ry >= in.y);
    const float change = keeps ? 0.0F : slice[row * pitch + lane];
    out.row(out_y, blockIdx.z)[out_x] = is_present(original) ? original + change + 0.0F : original;
  }
}

template <int Radius, Kind kind>
void launch(const DeviceView<const float>& in, const DeviceView<float>& out, const float* rates, int3 offset,
            const Window& window, const LaunchContext& context) {
  const dim3 grid(ceil_div(out.x, tile), ceil_div(out.y, tile), out.z);
  const int3 r = window.radius;
  const std::size_t bytes =
      sizeof(float) * (tile_pitch(Radius < 0 ? max_radius : Radius) * (tile + 2 * r.y) + padded_taps(r.x) * (r.y + 1));
  cuda::launch(filter<Radius, kind>, grid, 32 * warps, bytes, context, in, out, rates, offset, window);
}

/// Those radii along x have a kernel each.
template <Kind kind, int... Radius>
void launch_for_radius(std::integer_sequence<int, Radius...>, const DeviceView<const float>& in,
                       const DeviceView<float>& out, const float* rates, int3 offset, const Window& window,
                       const LaunchContext& context) {
  const bool found =
      ((window.radius.x == Radius && (launch<Radius, kind>(in, out, rates, offset, window, context), true)) || ...);
  if (!found) launch<-1, kind>(in, out, rates, offset, window, context);
}

}  // namespace

void run(Kind kind, const DeviceView<const float>& in, const DeviceView<float>& out, const float* rates, int3 offset,
         const Window& window, const LaunchContext& context) {
  constexpr std::make_integer_sequence<int, 10> up_to_9;
  constexpr std::make_integer_sequence<int, 6> up_to_5;
  switch (kind) {
    case Kind::plain: return launch_for_radius<Kind::plain>(up_to_9, in, out, rates, offset, window, context);
    case Kind::cut: return launch<-1, Kind::cut>(in, out, rates, offset, window, context);
    case Kind::rated: return launch_for_radius<Kind::rated>(up_to_5, in, out, rates, offset, window, context);
    case Kind::squares: return launch_for_radius<Kind::squares>(up_to_5, in, out, rates, offset, window, context);
  }
}

}  // namespace quietvox::cuda::bilateral
