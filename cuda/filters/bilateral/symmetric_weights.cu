// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include "cuda/filters/bilateral/scaled_voxels.cuh"
#include "cuda/filters/bilateral/window_kernels.cuh"
#include "cuda/filters/common/exp2.cuh"
#include "cuda/filters/common/reciprocal.cuh"
#include "cuda/launch.cuh"

namespace quietvox::cuda::bilateral {
namespace {

constexpr int max_rx = FlatWindow::most_rx;

/// A window of so many voxels to either side along y.
template <int Radius>
struct PairWeights {
  float exponent[max_rx + 1][Radius + 1];
  int rx;
  float scale, unscale;
  Border border;
};

// A block filters a tile of a slice: strips one below the other, with lanes side by side. A lane weighs the pairs of
// its strip, a few voxels along y, with the strips up to rx ahead, and adds each to the sums of both strips: its own
// are in registers, those of the others in shared memory. Pairs that reach beyond the ends of a strip are weighed once
// for each voxel. All strips add in the same order, so that a sum does not depend on where a strip begins or how long
// it is.

/// How many vectors of 4 voxels of a column the windows of a strip reach.
constexpr int vectors_reached(int strip, int radius) { return (strip + 2 * radius + 3) / 4; }

/// Weighted differences and weights of a strip's windows. In shared memory, vectors of differences, then of weights.
template <int Strip>
struct Sums {
  float change[Strip], weight[Strip];

  __device__ __forceinline__ void read(const float4* from, int pitch) {
    read_vectors(&from->x, change, pitch);
    read_vectors(&from[Strip / 4 * pitch].x, weight, pitch);
  }
};

__device__ __forceinline__ void read_four(const float4* from, float* to) {
  const float4 four = *from;
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

__device__ __forceinline__ float4 vector_of(const float* four) {
  return make_float4(four[0], four[1], four[2], four[3]);
}

/// Adds the pairs of voxel i and the voxels `first` to Radius further down another column, or the same one, to the sums
/// of both strips, which begin at voxel[Radius]. One voxel of a pair may lie beyond its strip.
template <int Radius, int first, int Strip, int Seen>
__device__ __forceinline__ void add_pairs_of(int i, const float (&own_voxel)[Seen], const float (&other_voxel)[Seen],
                                             const float (&exponent)[Radius + 1], Sums<Strip>& own,
                                             Sums<Strip>& other) {
#pragma unroll
  for (int offset = first; offset <= Radius; ++offset) {
    const int j = i + offset;
    const bool adds_to_own = i >= 0 && i < Strip, adds_to_other = j >= 0 && j < Strip;
    if (!adds_to_own && !adds_to_other) continue;
    const float difference = other_voxel[Radius + j] - own_voxel[Radius + i];
    const float w = exp2_fast(fmaf(-difference, difference, exponent[offset < 0 ? -offset : offset]));
    if (adds_to_own) own.change[i] = fmaf(w, difference, own.change[i]), own.weight[i] += w;
    if (adds_to_other) other.change[j] = fmaf(-w, difference, other.change[j]), other.weight[j] += w;
  }
}

/// Adds the pairs within a strip.
template <int Radius, int Strip, int Seen>
__device__ __forceinline__ void add_pairs_within(const float (&voxel)[Seen], const float (&exponent)[Radius + 1],
                                                 Sums<Strip>& sums) {
#pragma unroll
  for (int i = -Radius; i < Strip; ++i) add_pairs_of<Radius, 1>(i, voxel, voxel, exponent, sums, sums);
}

/// Adds the pairs of two strips of different columns to the sums of both. Goes down the strips voxel by voxel and keeps
/// only those voxels and sums that the next ones need. That takes few registers, and reads come between exponentials.
template <int Radius, int Strip>
__device__ __forceinline__ void add_pairs_between(const float4* own_column, const float4* other_column,
                                                  float4* other_sums, int pitch, const float (&exponent)[Radius + 1],
                                                  Sums<Strip>& own) {
  constexpr int seen = 4 * vectors_reached(Strip, Radius);
  float own_voxel[seen], other_voxel[seen];
  Sums<Strip> other;
#pragma unroll
  for (int at = 0; at < Radius; at += 4) read_four(other_column + at / 4 * pitch, other_voxel + at);
#pragma unroll
  for (int i = -Radius; i < Strip + Radius; ++i) {
    const int own_at = Radius + i, furthest = own_at + Radius, done = i - Radius;
    if (furthest % 4 == 0 && furthest < seen) read_four(other_column + furthest / 4 * pitch, other_voxel + furthest);
    if (own_at % 4 == 0) read_four(own_column + own_at / 4 * pitch, own_voxel + own_at);
    if (own_at % 4 == 0 && own_at < Strip) {
      read_four(other_sums + own_at / 4 * pitch, other.change + own_at);
      read_four(other_sums + (Strip + own_at) / 4 * pitch, other.weight + own_at);
    }
    add_pairs_of<Radius, -Radius>(i, own_voxel, other_voxel, exponent, own, other);
    if (done >= 0 && done % 4 == 3) {
      other_sums[done / 4 * pitch] = vector_of(other.change + done - 3);
      other_sums[(Strip + done - 3) / 4 * pitch] = vector_of(other.weight + done - 3);
    }
  }
}

/// The most columns of outputs that a row of lanes can make.
constexpr int most_outputs(int lanes, int rx) { return lanes - rx; }

template <int Radius, int Strip, int Lanes>
struct Shape {
  static constexpr int threads = 128, strips = threads / Lanes, height = strips * Strip;
  static constexpr int pitch = Lanes + max_rx;                    ///< columns, at most: the last rx have no lane
  static constexpr int planes = vectors_reached(height, Radius);  ///< voxels of a column in vectors of 4
  static constexpr int blocks = Strip == 16 ? 4 : 5;              ///< of a multiprocessor
};

/// A block makes `width` columns of outputs. The first rx lanes have none: they only add to the sums of columns ahead.
template <int Radius, int Strip, int Lanes>
__global__ void __launch_bounds__(Shape<Radius, Strip, Lanes>::threads, Shape<Radius, Strip, Lanes>::blocks)
    bilateral_symmetric(DeviceView<const float> in, DeviceView<float> out, int3 offset, int width,
                        const __grid_constant__ PairWeights<Radius> weights) {
  using S = Shape<Radius, Strip, Lanes>;
  __shared__ float4 voxels[S::planes * S::pitch], sums[S::strips * Strip / 2 * S::pitch];
  const int rx = weights.rx, columns = width + 2 * rx;
  const int column = threadIdx.x % Lanes, strip = threadIdx.x / Lanes;
  const int left = blockIdx.x * width + offset.x - rx, top = blockIdx.y * S::height + offset.y - Radius;
  const int z = blockIdx.z + offset.z;

  const auto store = [&](int plane, int x, const float(&v)[4]) {
    const auto scaled = [&](int i) { return scaled_voxel(v[i], weights.scale); };
    voxels[plane * S::pitch + x] = make_float4(scaled(0), scaled(1), scaled(2), scaled(3));
  };
  const bool inside = left >= 0 && top >= 0 && left + columns <= in.x && top + 4 * S::planes <= in.y;
  if (inside) {  // all loads before the first is used
    constexpr int count = (S::planes + S::strips - 1) / S::strips;
    const auto exists = [&](int k) { return S::planes % S::strips == 0 || k * S::strips + strip < S::planes; };
    constexpr int group = 8;  // columns without a lane: each thread reads a vector of them at most
    static_assert(group >= max_rx && group * S::planes <= S::threads);
    const int plane_beside = threadIdx.x / group, x_beside = Lanes + threadIdx.x % group;
    const bool reads_beside = x_beside < columns && plane_beside < S::planes;
    float read[count][4], read_beside[4];
    if (column < columns) {
      const float* from = in.row(top + 4 * strip, z) + left + column;
#pragma unroll
      for (int k = 0; k < count; ++k, from += 4 * (S::strips - 1) * in.x) {
#pragma unroll
        for (int i = 0; i < 4; ++i, from += in.x) {
          if (exists(k)) read[k][i] = *from;
        }
      }
    }
    if (reads_beside) {
      const float* from = in.row(top + 4 * plane_beside, z) + left + x_beside;
#pragma unroll
      for (int i = 0; i < 4; ++i, from += in.x) read_beside[i] = *from;
    }
    if (column < columns) {
#pragma unroll
      for (int k = 0; k < count; ++k) {
        if (exists(k)) store(k * S::strips + strip, column, read[k]);
      }
    }
    if (reads_beside) store(plane_beside, x_beside, read_beside);
  } else {
    for (int x = column; x < columns; x += Lanes) {
      const int from_x = device_border_index(weights.border, left + x, in.x);
#pragma unroll 1
      for (int plane = strip; plane < S::planes; plane += S::strips) {
        float read[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          read[i] = in.row(device_border_index(weights.border, top + 4 * plane + i, in.y), z)[from_x];
        }
        store(plane, x, read);
      }
    }
  }
  float4* const lane_sums = sums + strip * (Strip / 2) * S::pitch + column;
#pragma unroll
  for (int i = 0; i < Strip / 2; ++i) lane_sums[i * S::pitch] = make_float4(0, 0, 0, 0);
  __syncthreads();

  const float4* const lane_voxels = voxels + strip * (Strip / 4) * S::pitch + column;
  float exponent[Radius + 1];
  const auto find_exponents = [&](int dx) {
#pragma unroll
    for (int dy = 0; dy <= Radius; ++dy) exponent[dy] = weights.exponent[dx][dy];
  };
  Sums<Strip> own{};
#pragma unroll
  for (int i = 0; i < Strip; ++i) own.weight[i] = 1;  // the voxel's own
  find_exponents(0);
  float voxel[4 * vectors_reached(Strip, Radius)];
  read_vectors(&lane_voxels->x, voxel, S::pitch);
  add_pairs_within<Radius>(voxel, exponent, own);
  const float4* other_voxels = lane_voxels;
  float4* other_sums = lane_sums;
#pragma unroll 1
  for (int dx = 1; dx <= rx; ++dx) {
    ++other_voxels, ++other_sums;
    if (column < width + rx) {
      find_exponents(dx);
      add_pairs_between<Radius>(lane_voxels, other_voxels, other_sums, S::pitch, exponent, own);
    }
    __syncthreads();  // the next dx leads to strips that others have just added to
  }

  const int out_x = blockIdx.x * width + column - rx, out_y = blockIdx.y * S::height + strip * Strip;
  if (column < rx || column >= rx + width || out_x >= out.x) return;
  Sums<Strip> behind;
  behind.read(lane_sums, S::pitch);
  const int at_x = out_x + offset.x, at_y = out_y + offset.y;
  const float* from = in.row(at_y, z) + at_x;
  float* to = out.row(out_y, blockIdx.z) + out_x;
  const auto write = [&](auto is_whole) {
    const int count = is_whole ? Strip : out.y - out_y;
    float original[Strip], mean[Strip];
#pragma unroll
    for (int i = 0; i < Strip; ++i) {
      original[i] = i < count ? from[i * in.x] : 0.0F;
      mean[i] = (own.change[i] + behind.change[i]) * reciprocal(own.weight[i] + behind.weight[i]);
    }
    if (weights.border == Border::copy) {
      const bool leaves = at_x < rx || at_x + rx >= in.x;
#pragma unroll
      for (int i = 0; i < Strip; ++i) {
        if (leaves || at_y + i < Radius || at_y + i + Radius >= in.y) mean[i] = 0;
      }
    }
#pragma unroll
    for (int i = 0; i < Strip; ++i) {
      const float result = fmaf(mean[i], weights.unscale, original[i]) + 0.0F;
      if (i < count) to[i * out.x] = is_present(original[i]) ? result : original[i];
    }
  };
  if (out.y - out_y >= Strip) {
    write(std::true_type{});  // no conditions at reads and writes
  } else {
    write(std::false_type{});
  }
}

template <int Radius>
PairWeights<Radius> weights_of(const FlatWindow& window) {
  PairWeights<Radius> weights{
      .exponent = {}, .rx = window.rx, .scale = window.scale, .unscale = window.unscale, .border = window.border};
  for (int x = 0; x <= max_rx; ++x) std::copy_n(window.exponent[x], Radius + 1, weights.exponent[x]);
  return weights;
}

template <int Radius, int Strip, int Lanes>
void launch(const DeviceView<const float>& in, const DeviceView<float>& out, int3 offset,
            const PairWeights<Radius>& weights, const LaunchContext& context) {
  using S = Shape<Radius, Strip, Lanes>;
  const dim3 grid(ceil_div(out.x, most_outputs(Lanes, weights.rx)), ceil_div(out.y, S::height), out.z);
  const int width = static_cast<int>(ceil_div(out.x, grid.x));
  cuda::launch(bilateral_symmetric<Radius, Strip, Lanes>, grid, S::threads, 0, context, in, out, offset, width,
               weights);
}

/// Long strips weigh fewer pairs twice; short ones make more blocks, if there would be few. Wide rows have fewer lanes
/// without outputs, but narrow ones may fit the image better.
template <int Radius>
void run_as(const DeviceView<const float>& in, const DeviceView<float>& out, int3 offset, const FlatWindow& window,
            const LaunchContext& context) {
  const PairWeights<Radius> weights = weights_of<Radius>(window);
  const auto rows_of = [&](int lanes) { return ceil_div(out.x, most_outputs(lanes, weights.rx)); };
  if (rows_of(64) * ceil_div(out.y, Shape<Radius, 16, 64>::height) * out.z < 8 * context.multiprocessors) {
    launch<Radius, 8, 64>(in, out, offset, weights, context);
  } else if (128 * rows_of(128) < 64 * rows_of(64)) {
    launch<Radius, 16, 128>(in, out, offset, weights, context);
  } else {
    launch<Radius, 16, 64>(in, out, offset, weights, context);
  }
}

}  // namespace

void run_symmetric(const DeviceView<const float>& in, const DeviceView<float>& out, int3 offset,
                   const FlatWindow& window, const LaunchContext& context) {
  static_assert(FlatWindow::least_ry == 2 && FlatWindow::most_ry == 7);
  switch (window.ry) {
    case 2: return run_as<2>(in, out, offset, window, context);
    case 3: return run_as<3>(in, out, offset, window, context);
    case 4: return run_as<4>(in, out, offset, window, context);
    case 5: return run_as<5>(in, out, offset, window, context);
    case 6: return run_as<6>(in, out, offset, window, context);
    case 7: return run_as<7>(in, out, offset, window, context);
  }
}

}  // namespace quietvox::cuda::bilateral
