// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/filters/nlm/patch_kernels.cuh"

#include "cuda/launch.cuh"

namespace quietvox::cuda::nlm {
namespace {

// Patches of one slice. A lane owns a column of voxels at one x; it keeps in registers all voxels that the patches of
// its outputs reach. Squared differences are summed along y within a lane, along x across the lanes. A block stages the
// neighbours for many offsets in shared memory.

template <int F>
struct SliceShape {
  static constexpr int warps = 4;
  static constexpr int outputs_x = 32 - 2 * F, outputs_y = 8, rows = outputs_y + 2 * F;  ///< of a lane
  static constexpr int block_y = warps * outputs_y;
  static constexpr int offsets_x = 33, offsets_y = 21;  ///< staged together, at most
  static constexpr int pitch = 32 + offsets_x - 1;
  static constexpr std::size_t shared_bytes = sizeof(float) * (block_y + 2 * F + offsets_y - 1) * pitch;
};

/// Sums over patches of a value per voxel: `value_of(y)` is that of row y of a lane. Two outputs one below the other
/// share the sum of what both see.
template <int F, class ValueOf>
__device__ __forceinline__ void sum_patches(float (&sums)[SliceShape<F>::outputs_y], const ValueOf& value_of) {
  using S = SliceShape<F>;
#pragma unroll
  for (int y = 0; y < S::rows; ++y) {
    const float value = value_of(y);
#pragma unroll
    for (int upper = 0; upper < S::outputs_y; upper += 2) {
      const int seen = y - upper;  // row 0 by the upper one alone, the last by the lower one
      float &above = sums[upper], &shared = sums[upper + 1];
      if (seen == 0) above = value;
      if (seen == 1) shared = value;
      if (seen > 1 && seen <= 2 * F) shared += value;
      if (seen == 2 * F) above += shared;
      if (seen == 2 * F + 1) shared += value;
    }
  }
#pragma unroll
  for (int y = 0; y < S::outputs_y; ++y) {
    const float own = sums[y];
    if constexpr (F == 2) {  // by pairs
      const float pair = own + __shfl_down_sync(~0U, own, 1);
      sums[y] = own + (__shfl_up_sync(~0U, pair, 2) + __shfl_down_sync(~0U, pair, 1));
    } else {
#pragma unroll
      for (int k = 1; k <= F; ++k) sums[y] += __shfl_up_sync(~0U, own, k) + __shfl_down_sync(~0U, own, k);
    }
  }
}

/// The outputs of a lane.
template <int F>
struct SliceLane {
  using S = SliceShape<F>;
  float voxel[S::rows], sum[S::outputs_y], weight[S::outputs_y];

  /// Adds one offset. `staged` is the neighbour of voxel[0]. `inside_x` and `rows_inside` (one bit per output) tell
  /// whether neighbours lie in the slice. The variance of the first output is `variance`, null where the noise does not
  /// vary, and that of its neighbour lies `step` on.
  template <Weights W, bool Missing>
  __device__ __forceinline__ void add(const float* staged, const Nlm& nlm, float log2_spatial, bool inside_x,
                                      unsigned rows_inside, const float* variance, std::int64_t step) {
    float distance[S::outputs_y], difference[S::outputs_y];
    sum_patches<F>(distance, [&](int y) {
      float d = voxel[y] - staged[y * S::pitch];
      if (y >= F && y < F + S::outputs_y) difference[y - F] = d;
      if (Missing) d = d == d ? d : 0.0F;
      return __fmul_rn(d, d);  // rounded alike in every version of this code
    });
    if constexpr (Missing) {
      float count[S::outputs_y];
      sum_patches<F>(count, [&](int y) {
        const float d = voxel[y] - staged[y * S::pitch];
        return d == d ? 1.0F : 0.0F;
      });
#pragma unroll
      for (int y = 0; y < S::outputs_y; ++y) distance[y] = over_present<F, 0>(distance[y], count[y]);
    }
    if (is_general(W) && variance) {
#pragma unroll
      for (int y = 0; y < S::outputs_y; ++y) {
        distance[y] = over_noise(distance[y], variance + y * nlm.noise.pitch, step);
      }
    }
#pragma unroll
    for (int y = 0; y < S::outputs_y; ++y) {
      const bool inside = inside_x && (rows_inside >> y & 1U);
      add_neighbour<W, Missing>(nlm, voxel[y + F], difference[y], distance[y], log2_spatial, inside, sum[y], weight[y]);
    }
  }
};

template <int F, Weights W>
__global__ void __launch_bounds__(32 * SliceShape<F>::warps)
    nlm_in_slices(DeviceView<const float> in, DeviceView<float> out, int3 offset, int3 start,
                  const __grid_constant__ Nlm nlm) {
  constexpr bool General = is_general(W);
  using S = SliceShape<F>;
  float* const staged = reinterpret_cast<float*>(launched_shared());
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  // Places of the input: of the block's first output, and of what the lane reads first.
  const int3 first{static_cast<int>(blockIdx.x) * S::outputs_x + start.x,
                   static_cast<int>(blockIdx.y) * S::block_y + start.y, static_cast<int>(blockIdx.z) + start.z};
  const int column = first.x - F + lane, row = first.y - F + warp * S::outputs_y;

  SliceLane<F> mine;
  bool missing_here = false;
#pragma unroll
  for (int y = 0; y < S::rows; ++y) {
    mine.voxel[y] = scaled_voxel(in, nlm, column, row + y, first.z);
    missing_here = missing_here || mine.voxel[y] != mine.voxel[y];
  }
#pragma unroll
  for (int y = 0; y < S::outputs_y; ++y) {
    mine.sum[y] = 0;
    mine.weight[y] = nlm.first_row == 0 ? 1 : 0;  // the voxel's own
  }

  const Noise& noise = nlm.noise;
  const float* const variance =
      General && noise.variances ? noise.variances + noise.place(column, row + F, first.z) : nullptr;
  int3 low{-nlm.search.x, -nlm.search.y, -nlm.search.z}, high = nlm.search;
  if (nlm.whole_slice) {  // every offset that takes an output of the block to a voxel of the slice
    low = {-first.x - S::outputs_x + 1, nlm.first_row - first.y - S::block_y + 1, 0};
    high = {in.x - 1 - first.x, nlm.last_row - 1 - first.y, 0};
  }
  // Offsets count row by row, so that sums do not depend on where a box begins.
  const int rows_together = high.x - low.x < S::offsets_x ? S::offsets_y : 1;
  for (int oz = low.z; oz <= high.z; ++oz) {
    for (int from_y = low.y; from_y <= high.y; from_y += rows_together) {
      for (int from_x = low.x; from_x <= high.x; from_x += S::offsets_x) {
        const int to_x = min(from_x + S::offsets_x - 1, high.x), to_y = min(from_y + rows_together - 1, high.y);
        const int width = 32 + to_x - from_x, rows = S::block_y + 2 * F + to_y - from_y;
        bool missing = missing_here;
        __syncthreads();
#pragma unroll 4
        for (int y = warp; y < rows; y += S::warps) {
          const float* from = row_of(in, nlm, first.y - F + from_y + y, first.z + oz);
          for (int x = lane; x < width; x += 32) {
            const float value = scaled(from[device_border_index(nlm.border, first.x - F + from_x + x, in.x)], nlm);
            staged[y * S::pitch + x] = value;
            missing = missing || value != value;
          }
        }
        missing = __syncthreads_or(missing);
        for (int oy = from_y; oy <= to_y; ++oy) {
          unsigned rows_inside = ~0U;
          if (General && nlm.whole_slice) {
            rows_inside = 0;
            for (int y = 0; y < S::outputs_y; ++y) {
              rows_inside |= bit_if_within(row + F + y + oy, nlm.first_row, nlm.last_row) << y;
            }
          }
          const float* neighbour = staged + (warp * S::outputs_y + oy - from_y) * S::pitch + lane;
          for (int ox = from_x; ox <= to_x; ++ox, ++neighbour) {
            if (ox == 0 && oy == 0 && oz == 0) continue;
            const float log2_spatial = General ? log2_spatial_of(nlm, ox, oy, oz) : 0;
            const bool inside_x = !General || !nlm.whole_slice || bit_if_within(column + ox, 0, in.x);
            const std::int64_t step = General ? noise.place(ox, oy, oz) : 0;
            if (missing) {
              mine.template add<W, true>(neighbour, nlm, log2_spatial, inside_x, rows_inside, variance, step);
            } else {
              mine.template add<W, false>(neighbour, nlm, log2_spatial, inside_x, rows_inside, variance, step);
            }
          }
        }
      }
    }
  }

  const int out_x = column - offset.x;
  if (lane < F || lane >= 32 - F || out_x >= out.x) return;
#pragma unroll
  for (int y = 0; y < S::outputs_y; ++y) {
    const int out_y = row + F + y - offset.y;
    if (out_y < 0) continue;
    if (out_y >= out.y) return;
    write<General>(in, nlm, {column, row + F + y, first.z}, mine.sum[y], mine.weight[y],
                   out.row(out_y, first.z - offset.z) + out_x);
  }
}

template <int F>
bool run_for(const DeviceView<const float>& in, const VolumeView<float>& out, int3 offset, const Nlm& nlm,
             const LaunchContext& context) {
  if (nlm.patch.x != F || nlm.patch.y != F || nlm.patch.z != 0) return false;
  using enum Weights;
  using S = SliceShape<F>;
  const DeviceView<float> to = out;
  const int back = back_to_multiple(out.origin.y, 2);
  const int3 start{offset.x, offset.y - back, offset.z};
  const dim3 grid(ceil_div(to.x, S::outputs_x), ceil_div(to.y + back, S::block_y), to.z);
  const auto kernel = !is_plain(nlm)  ? nlm_in_slices<F, of_all_kinds>
                      : nlm.bias == 0 ? nlm_in_slices<F, patches>
                                      : nlm_in_slices<F, biased>;
  launch(kernel, grid, 32 * S::warps, S::shared_bytes, context, in, to, offset, start, nlm);
  return true;
}

}  // namespace

bool run_in_slices(const DeviceView<const float>& in, const VolumeView<float>& out, int3 offset, const Nlm& nlm,
                   const LaunchContext& context) {
  return run_for<1>(in, out, offset, nlm, context) || run_for<2>(in, out, offset, nlm, context) ||
         run_for<3>(in, out, offset, nlm, context);
}

}  // namespace quietvox::cuda::nlm
