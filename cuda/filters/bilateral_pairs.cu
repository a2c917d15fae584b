// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/filters/bilateral_pairs.hpp"

#include "cuda/filters/bilateral_taps.cuh"

namespace quietvox::cuda {
namespace {

constexpr int max_rx = 7;

/// What a kernel needs to know about the filter.
template <int Radius>
struct PairWeights {
  float exponent[max_rx + 1][Radius + 1];  ///< log2 of the spatial weight by |dx|, |dy|; -inf outside the window
  int rx;
  float scale, unscale;
  Border border;
};

// A block filters a tile of a slice: two strips, one below the other, for each of 64 lanes side by side. A lane weighs
// the pairs of its strip, a few voxels along y, with the strips up to rx ahead, and adds each to the sums of both
// strips: its own are in registers, those of the others in shared memory. Pairs that reach beyond the ends of a strip
// are weighed once for each voxel. All strips add in the same order, by dx, then by dy, so that a sum does not depend
// on where a strip begins or how long it is.

template <int Radius, int Strip>
struct Shape {
  static constexpr int lanes = 64, strips = 2, threads = lanes * strips;
  static constexpr int height = strips * Strip;
  /// In narrow windows each column has a lane. In wide ones those ahead of the last outputs have none, and are read in
  /// a second turn, which takes less than the lanes would.
  static constexpr bool lane_for_each = Radius < 4;
  static constexpr int pitch = lanes + (lane_for_each ? 0 : max_rx);                           ///< columns, at most
  static constexpr int most_outputs(int rx) { return lanes - (lane_for_each ? 2 * rx : rx); }  ///< columns of them
  static constexpr int planes = (height + 2 * Radius + 3) / 4;      ///< voxels of a column in vectors of 4
  static constexpr int seen = (Strip + 2 * Radius + 3) / 4 * 4;     ///< voxels of a column that a strip reads
  static constexpr int blocks = Strip == 16 ? (Radius < 4 ? 4 : 3)  ///< of a multiprocessor
                                            : (Radius < 5 ? 5 : 4);
};

/// Sums of a strip; 4 of a lane lie together in shared memory, the next 4 `pitch` vectors further on.
template <int Strip>
struct Sums {
  float change[Strip], weight[Strip];

  __device__ __forceinline__ void read(const float4* from, int pitch) {
    read_vectors(&from->x, change, pitch);
    read_vectors(&from[Strip / 4 * pitch].x, weight, pitch);
  }
  __device__ __forceinline__ void write(float4* to, int pitch) const {
#pragma unroll
    for (int i = 0; i < Strip / 4; ++i) {
      const float *c = change + 4 * i, *w = weight + 4 * i;
      to[i * pitch] = make_float4(c[0], c[1], c[2], c[3]);
      to[(Strip / 4 + i) * pitch] = make_float4(w[0], w[1], w[2], w[3]);
    }
  }
};

/// Adds the pairs of two strips with first_dy <= dy <= Radius to the sums of both, which may be the same. Strips begin
/// at voxel[Radius].
template <int Radius, int first_dy, int Strip, int Seen>
__device__ __forceinline__ void add_pairs(const float (&own_voxel)[Seen], const float (&other_voxel)[Seen],
                                          const float (&exponent)[Radius + 1], Sums<Strip>& own, Sums<Strip>& other) {
#pragma unroll
  for (int dy = first_dy; dy <= Radius; ++dy) {
#pragma unroll
    for (int i = min(0, -dy); i < max(Strip, Strip - dy); ++i) {
      const int j = i + dy;
      const float difference = other_voxel[Radius + j] - own_voxel[Radius + i];
      const float w = exp2_fast(fmaf(-difference, difference, exponent[dy < 0 ? -dy : dy]));
      if (i >= 0 && i < Strip) own.change[i] = fmaf(w, difference, own.change[i]), own.weight[i] += w;
      if (j >= 0 && j < Strip) other.change[j] = fmaf(-w, difference, other.change[j]), other.weight[j] += w;
    }
  }
}

/// A block makes `width` columns of outputs. The first rx lanes have none: they add to those that lie ahead of them.
template <int Radius, int Strip>
__global__ void __launch_bounds__(Shape<Radius, Strip>::threads, Shape<Radius, Strip>::blocks)
    bilateral_pairs(Box<const float> in, Box<float> out, int3 offset, int width,
                    const __grid_constant__ PairWeights<Radius> weights) {
  using S = Shape<Radius, Strip>;
  __shared__ float4 voxels[S::planes * S::pitch], sums[S::strips * Strip / 2 * S::pitch];
  const int rx = weights.rx, columns = width + 2 * rx;
  const int column = threadIdx.x % S::lanes, strip = threadIdx.x / S::lanes;
  const int left = blockIdx.x * width + offset.x - rx, top = blockIdx.y * S::height + offset.y - Radius;
  const int z = blockIdx.z + offset.z;

  const auto store = [&](int plane, int x, const float(&v)[4]) {
    const auto scaled = [&](int i) { return scaled_voxel(v[i], weights.scale); };
    voxels[plane * S::pitch + x] = make_float4(scaled(0), scaled(1), scaled(2), scaled(3));
  };
  const bool inside = left >= 0 && top >= 0 && left + columns <= in.x && top + 4 * S::planes <= in.y;
  const auto read_column = [&](int x) {
    if (inside) {  // all loads before the first is used
      constexpr int count = (S::planes + S::strips - 1) / S::strips;
      const auto exists = [&](int k) { return S::planes % S::strips == 0 || k * S::strips + strip < S::planes; };
      float read[count][4];
      const float* from = in.row(top + 4 * strip, z) + left + x;
#pragma unroll
      for (int k = 0; k < count; ++k, from += 4 * (S::strips - 1) * in.x) {
#pragma unroll
        for (int i = 0; i < 4; ++i, from += in.x) {
          if (exists(k)) read[k][i] = *from;
        }
      }
#pragma unroll
      for (int k = 0; k < count; ++k) {
        if (exists(k)) store(k * S::strips + strip, x, read[k]);
      }
    } else {
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
  };
  if (column < columns) read_column(column);
  if (!S::lane_for_each && column + S::lanes < columns) read_column(column + S::lanes);
  float4* const lane_sums = sums + strip * (Strip / 2) * S::pitch + column;
  Sums<Strip>{}.write(lane_sums, S::pitch);
  __syncthreads();

  const float4* const lane_voxels = voxels + strip * (Strip / 4) * S::pitch + column;
  float own_voxel[S::seen], exponent[Radius + 1];
  const auto find_exponents = [&](int dx) {
#pragma unroll
    for (int dy = 0; dy <= Radius; ++dy) exponent[dy] = weights.exponent[dx][dy];
  };
  Sums<Strip> own{};
#pragma unroll
  for (int i = 0; i < Strip; ++i) own.weight[i] = 1;  // the voxel's own
  read_vectors(&lane_voxels->x, own_voxel, S::pitch);
  find_exponents(0);
  add_pairs<Radius, 1>(own_voxel, own_voxel, exponent, own, own);
#pragma unroll 1
  for (int dx = 1; dx <= rx; ++dx) {
    if (column < width + rx) {
      float other_voxel[S::seen];
      Sums<Strip> other;
      read_vectors(&lane_voxels[dx].x, other_voxel, S::pitch);
      find_exponents(dx);
      other.read(lane_sums + dx, S::pitch);
      add_pairs<Radius, -Radius>(own_voxel, other_voxel, exponent, own, other);
      other.write(lane_sums + dx, S::pitch);
    }
    __syncthreads();  // the next dx leads to strips that others have just added to
  }

  const int out_x = blockIdx.x * width + column - rx, out_y = blockIdx.y * S::height + strip * Strip;
  if (column < rx || column >= rx + width || out_x >= out.x || out_y >= out.y) return;
  Sums<Strip> behind;
  behind.read(lane_sums, S::pitch);
  const int at_x = out_x + offset.x, at_y = out_y + offset.y, last = min(Strip, out.y - out_y) - 1;
  const float* from = in.row(at_y, z) + at_x;
  float* to = out.row(out_y, blockIdx.z) + out_x;
  float original[Strip], mean[Strip];
#pragma unroll
  for (int i = 0; i < Strip; ++i) {
    original[i] = from[min(i, last) * in.x];  // all at once, hence no condition
    mean[i] = __fdividef(own.change[i] + behind.change[i], own.weight[i] + behind.weight[i]);
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
    if (i <= last) to[i * out.x] = is_present(original[i]) ? result : original[i];
  }
}

template <int Radius>
PairWeights<Radius> make_weights(const BilateralParams& params, const Spacing& spacing) {
  PairWeights<Radius> weights{};
  weights.rx = params.halo().x;
  for (int x = 0; x <= weights.rx; ++x) {
    for (int y = 0; y <= Radius; ++y) {
      const double exponent = in_window(params, {x, y, 0}) ? log2_domain_weight(params, spacing, {x, y, 0}) : -INFINITY;
      weights.exponent[x][y] = static_cast<float>(exponent);
    }
  }
  const RangeScale scale(*params.range_sigma);
  weights.scale = scale.to;
  weights.unscale = scale.from;
  weights.border = params.border;
  return weights;
}

/// Blocks per axis.
template <int Radius, int Strip>
dim3 grid_of(const Box<float>& out, int rx) {
  using S = Shape<Radius, Strip>;
  return dim3(ceil_div(out.x, S::most_outputs(rx)), ceil_div(out.y, S::height), out.z);
}

template <int Radius, int Strip>
void launch(const Box<const float>& in, const Box<float>& out, int3 offset, const PairWeights<Radius>& weights,
            const Queue& queue) {
  const dim3 grid = grid_of<Radius, Strip>(out, weights.rx);
  const int width = static_cast<int>(ceil_div(out.x, grid.x));
  bilateral_pairs<Radius, Strip>
      <<<grid, Shape<Radius, Strip>::threads, 0, queue.stream>>>(in, out, offset, width, weights);
  QV_CUDA(cudaGetLastError());
}

/// Long strips weigh fewer pairs twice; short ones make more blocks, where there are few.
template <int Radius>
bool launch_if(const VolumeView<const float>& in, const VolumeView<float>& out, const BilateralParams& params,
               const Queue& queue) {
  if (params.halo().y != Radius) return false;
  const PairWeights<Radius> weights = make_weights<Radius>(params, in.spacing);
  const int3 offset = offset_within(in, out);
  const dim3 grid = grid_of<Radius, 16>(out, weights.rx);
  if (std::int64_t{grid.x} * grid.y * grid.z >= 8 * queue.multiprocessors) {
    launch<Radius, 16>(in, out, offset, weights, queue);
  } else {
    launch<Radius, 8>(in, out, offset, weights, queue);
  }
  return true;
}

}  // namespace

bool bilateral_by_pairs(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params,
                        const Queue& queue) {
  const Radius3 r = params.halo();
  if (r.x > max_rx || r.z > 0 || params.range_cut > 0) return false;
  return launch_if<2>(in, out, params, queue) || launch_if<3>(in, out, params, queue) ||
         launch_if<4>(in, out, params, queue) || launch_if<5>(in, out, params, queue) ||
         launch_if<6>(in, out, params, queue) || launch_if<7>(in, out, params, queue);
}

}  // namespace quietvox::cuda
