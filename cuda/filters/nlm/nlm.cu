// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/nlm.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <type_traits>

#include "cuda/filters/common/copy.hpp"
#include "cuda/filters/common/device_noise_map.hpp"
#include "cuda/filters/common/device_view.cuh"
#include "cuda/filters/common/exp2.cuh"
#include "cuda/filters/common/lane_and_warp.cuh"
#include "cuda/launch.cuh"

namespace quietvox {
namespace {

using namespace cuda;

/// Noise that varies. There are variances, over sigma^2, of the voxels of the input, and of what stands around it, as
/// far as any lane looks, including lanes without outputs.
struct Noise {
  const float* variances;     ///< from that of the input's first voxel on; null where the noise does not vary
  std::int64_t pitch, plane;  ///< from row to row, from slice to slice
  CoarseFieldView map;
  Index3 origin;  ///< of the input, in the volume

  __device__ std::int64_t place(int x, int y, int z) const { return z * plane + y * pitch + x; }
};

/// What kernels need to know about the filter. Voxels are scaled so that the sum over a patch of their squared
/// differences is -log2 of the weight. Spatial weights are 2^(spatial.x o_x^2 + ...).
struct Nlm {
  int3 patch, search;  ///< half widths
  bool whole_slice;
  bool squares;  ///< squares of voxels are averaged
  float scale, bias;
  float bias_weight;  ///< 2^bias
  float3 spatial;
  float intensity_rate;
  double unscale, rician_bias;
  Border border;
  Noise noise;
};

Nlm make_nlm(const NlmParams& params, const Spacing& spacing) {
  const Radius3 f = *params.patch_radius, v = params.search_window().value_or(Radius3{});
  const double voxels = static_cast<double>((2 * f.x + 1) * (2 * f.y + 1) * (2 * f.z + 1));
  const double scale = std::sqrt(std::numbers::log2e / voxels) / params.h();
  const auto spatial = [&](int axis) {
    const double steps = params.spatial_sigma > 0 ? spacing[axis] / params.spatial_sigma : 0;
    return static_cast<float>(std::max(-0.5 * std::numbers::log2e * steps * steps, -1e30));  // times 0, still 0
  };
  double intensity_rate = 0;
  if (params.intensity_sigma > 0) {
    const double sigma = params.intensity_sigma * scale;
    intensity_rate = std::min(0.5 * std::numbers::log2e / (sigma * sigma), 1e38);
  }
  Nlm nlm{};
  nlm.patch = {f.x, f.y, f.z};
  nlm.search = {v.x, v.y, v.z};
  nlm.whole_slice = !params.search_window();
  nlm.squares = params.noise_model == NlmNoise::rician;
  nlm.scale = static_cast<float>(std::min<double>(scale, 3e38));
  nlm.bias = static_cast<float>(std::numbers::log2e * params.noise_bias / (*params.strength * *params.strength));
  nlm.bias_weight = std::exp2(nlm.bias);
  nlm.spatial = {spatial(0), spatial(1), spatial(2)};
  nlm.intensity_rate = static_cast<float>(intensity_rate);
  nlm.unscale = 1 / static_cast<double>(nlm.scale);
  nlm.rician_bias = 2 * *params.sigma * *params.sigma;
  nlm.border = params.border;
  return nlm;
}

/// NaN where the voxel is missing.
__device__ float scaled(float voxel, const Nlm& nlm) {
  constexpr float largest = 1e17F;  // sums of squared differences stay finite
  const float value = fminf(fmaxf(voxel * nlm.scale, -largest), largest);
  return is_present(voxel) ? value : NAN;
}

/// A row of the input; beyond the border, the one that stands for it.
__device__ const float* row_of(const DeviceView<const float>& in, const Nlm& nlm, int y, int z) {
  return in.row(device_border_index(nlm.border, y, in.y), device_border_index(nlm.border, z, in.z));
}

/// The scaled voxel at a place of the input or beyond its border.
__device__ float scaled_voxel(const DeviceView<const float>& in, const Nlm& nlm, int x, int y, int z) {
  return scaled(row_of(in, nlm, y, z)[device_border_index(nlm.border, x, in.x)], nlm);
}

/// The weight of a neighbour, from the sum over the patch and the difference of the voxels themselves.
__device__ float weight_of(const Nlm& nlm, float sum, float difference, float log2_spatial) {
  const float exponent = fminf(nlm.bias - sum, 0.0F) + log2_spatial;
  return exp2_fast(fmaf(-nlm.intensity_rate * difference, difference, exponent));
}

/// Divides the sum over the patches of a pair by the mean variance of the noise of its two voxels; that of the second
/// is `step` further on. Rounded alike in every version of this code.
__device__ __forceinline__ float over_noise(float sum, const float* variance, std::int64_t step) {
  return __fmul_rn(sum, __fdividef(2.0F, __ldg(variance) + __ldg(variance + step)));
}

/// What a neighbour adds to the mean: u_q - u_p, or u_q^2 - u_p^2 if squares are averaged, given the voxel u_p and
/// difference = u_p - u_q.
__device__ float change_of(const Nlm& nlm, float voxel, float difference) {
  return nlm.squares ? difference * fmaf(-2.0F, voxel, difference) : -difference;
}

__device__ float log2_spatial_of(const Nlm& nlm, int ox, int oy, int oz) {
  const float x = ox, y = oy, z = oz;  // squares of integers overflow from 46341 on
  return nlm.spatial.x * (x * x) + nlm.spatial.y * (y * y) + nlm.spatial.z * (z * z);
}

/// What the weights of a kernel are made of; the less, the faster.
enum class Weights {
  patches,       ///< the patches alone, without a noise bias, and all neighbours count
  biased,        ///< the patches with a noise bias, and all neighbours count
  of_all_kinds,  ///< all that there is
};

constexpr bool is_general(Weights weights) { return weights == Weights::of_all_kinds; }

__device__ unsigned bit_if_within(int place, int count) { return place >= 0 && place < count ? 1 : 0; }

/// Scales a sum over the `count` present voxels of a patch to all of its voxels. If all are present, its bits stay.
template <int F, int Fz>
__device__ __forceinline__ float over_present(float sum, float count) {
  constexpr float all = (2 * F + 1) * (2 * F + 1) * (2 * Fz + 1);
  const float factor = __fdividef(all, fmaxf(count, 1.0F));
  return count < all ? sum * factor : sum;
}

/// Adds a neighbour to the sums of an output: `difference` is NaN where it is missing, and `inside` tells whether it
/// counts.
template <Weights W, bool Missing>
__device__ __forceinline__ void add_neighbour(const Nlm& nlm, float voxel, float difference, float distance,
                                              float log2_spatial, bool inside, float& sum, float& weight) {
  constexpr bool General = is_general(W);
  bool counts = !General || inside;
  if (Missing) {
    counts = counts && difference == difference;
    difference = difference == difference ? difference : 0.0F;
  }
  float w = General ? weight_of(nlm, distance, difference, log2_spatial) : exp2_fast(-distance);
  if (W == Weights::biased) w = __saturatef(w * nlm.bias_weight);
  if (General || Missing) w = counts ? w : 0.0F;
  sum = fmaf(w, General ? change_of(nlm, voxel, difference) : -difference, sum);
  weight += w;
}

/// True if a condition holds in any lane of the warp, in a form that shows the compiler that all lanes take the same
/// branch. Otherwise it keeps code and registers for shuffles between lanes that have diverged.
__device__ __forceinline__ bool is_any(bool condition) { return __reduce_or_sync(~0U, condition) != 0; }

/// Of squares of voxels, by the noise model `rician`. Not inlined: kernels that need all registers call it in the end.
__device__ __noinline__ double local_rician_bias(const Nlm& nlm, int3 at) {
  const Index3& origin = nlm.noise.origin;
  const double noise = nlm.noise.map.at(origin.x + at.x, origin.y + at.y, origin.z + at.z);
  return nlm.rician_bias * noise * noise;
}

/// Writes an output, which lies at (x, y, z) of the input.
template <bool General>
__device__ void write(const DeviceView<const float>& in, const Nlm& nlm, int3 at, float sum, float weight,
                      float* result) {
  const float original = in.row(at.y, at.z)[at.x];
  const int3 f = nlm.patch, v = nlm.search;
  const int3 reach{f.x + v.x, f.y + v.y, f.z + v.z};
  const bool leaves = at.x < reach.x || at.y < reach.y || at.z < reach.z || at.x + reach.x >= in.x ||
                      at.y + reach.y >= in.y || at.z + reach.z >= in.z;
  if (!is_present(original)) {
    *result = original;
  } else if (nlm.border == Border::copy && leaves) {
    *result = original + 0.0F;
  } else if (nlm.squares) {
    const double change = static_cast<double>(sum) / weight * nlm.unscale * nlm.unscale, u = original;
    const double bias = General && nlm.noise.variances ? local_rician_bias(nlm, at) : nlm.rician_bias;
    *result = static_cast<float>(sqrt(fmax(u * u + change - bias, 0.0)));
  } else {
    *result = static_cast<float>(original + static_cast<double>(sum) / weight * nlm.unscale) + 0.0F;
  }
}

// Patches of one slice. A lane owns a column of voxels at one x; of its outputs it keeps all voxels that their patches
// reach in registers. Squared differences are summed along y within a lane, along x across the lanes. A block stages
// the neighbours for many offsets in shared memory.

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
    mine.weight[y] = 1;  // the voxel's own
  }

  const Noise& noise = nlm.noise;
  const float* const variance =
      General && noise.variances ? noise.variances + noise.place(column, row + F, first.z) : nullptr;
  int3 low{-nlm.search.x, -nlm.search.y, -nlm.search.z}, high = nlm.search;
  if (nlm.whole_slice) {  // every offset that takes an output of the block to a voxel of the slice
    low = {-first.x - S::outputs_x + 1, -first.y - S::block_y + 1, 0};
    high = {in.x - 1 - first.x, in.y - 1 - first.y, 0};
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
            for (int y = 0; y < S::outputs_y; ++y) rows_inside |= bit_if_within(row + F + y + oy, in.y) << y;
          }
          const float* neighbour = staged + (warp * S::outputs_y + oy - from_y) * S::pitch + lane;
          for (int ox = from_x; ox <= to_x; ++ox, ++neighbour) {
            if (ox == 0 && oy == 0 && oz == 0) continue;
            const float log2_spatial = General ? log2_spatial_of(nlm, ox, oy, oz) : 0;
            const bool inside_x = !General || !nlm.whole_slice || bit_if_within(column + ox, in.x);
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

// Patches of several slices. A block computes a box of 64 columns; its warps lie one below the other. A lane keeps a
// few rows of two neighbouring columns, and their neighbours, in registers, so that one step of the offset along y
// loads one row more. Squared differences are summed along z within a lane, along x across lanes, and along y with the
// sums of the warps above and below, through shared memory. The outermost voxels of a box only serve these sums.

template <int Patch, int PatchZ, int Rows>
struct BoxShape {
  static constexpr int F = Patch, Fz = PatchZ;
  static constexpr int rows = Rows, outputs_z = 2, slices = outputs_z + 2 * Fz;  ///< of a lane
  static constexpr int together = Fz == 2 ? 2 : rows;  ///< rows weighed together, as it ran fastest
  static constexpr int block_x = 64, block_y = 48, warps = block_y / rows;
  static constexpr int outputs_x = block_x - 2 * F, outputs_y = block_y - 2 * F;
  static constexpr int offsets = 11;  ///< staged together, at most, along x and y
  // Even columns and odd ones lie apart, the slices of one side by side.
  static constexpr int staged_x = block_x + offsets - 1, staged_y = block_y + offsets - 1;
  static constexpr int plane = staged_x / 2 * slices, pitch = 2 * plane, staged = staged_y * pitch;
  static constexpr int sent = 2 * F * 32, letters = (warps + 2) * sent;  ///< of a warp, of a block, in float4
  static constexpr std::size_t shared_bytes = sizeof(float) * staged + sizeof(float4) * 2 * letters;

  static_assert(rows % 2 == 0 && block_y % rows == 0, "pairs of rows lie in one lane, and lanes share a block evenly");
  static_assert(outputs_x % 2 == 0 && outputs_y % 2 == 0, "blocks begin at even places");
  static_assert(plane % (slices % 4 == 0 ? 4 : 2) == 0, "slices are read as vectors");
  static_assert(staged % 4 == 0, "float4 follow what is staged");
};

/// Values of a lane in one row: those of its two columns in the first slice, then in the second.
using RowValues = float[4];

__device__ __forceinline__ float4 packed(const RowValues& values) {
  return make_float4(values[0], values[1], values[2], values[3]);
}

__device__ __forceinline__ void unpack(float4 from, RowValues& values) {
  values[0] = from.x;
  values[1] = from.y;
  values[2] = from.z;
  values[3] = from.w;
}

/// Sums along x, across lanes.
template <int F>
__device__ __forceinline__ void sum_along_x(RowValues& values) {
#pragma unroll
  for (int z = 0; z < 2; ++z) {
    float &even = values[2 * z], &odd = values[2 * z + 1];
    const float pair = even + odd;
    if constexpr (F == 1) {
      const float before = __shfl_up_sync(~0U, odd, 1), after = __shfl_down_sync(~0U, even, 1);
      even = before + pair;
      odd = pair + after;
    } else {
      const float both = pair + __shfl_down_sync(~0U, pair, 1);
      odd = both + __shfl_up_sync(~0U, odd, 1);
      even = __shfl_up_sync(~0U, both, 1) + __shfl_down_sync(~0U, even, 1);
    }
  }
}

/// A value of each voxel of a lane in its rows, and what is known of the rows above and below.
template <class S>
struct Rows {
  RowValues row[S::rows], pair[S::rows / 2];       ///< two rows side by side, the first at an even place
  RowValues before, two_before, after, two_after;  ///< the next row above, the sum of the next two, the same below

  /// Sums along y over the windows of row y, which is even, and of the one after it.
  __device__ __forceinline__ void sum_along_y(int y, RowValues& even, RowValues& odd) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float own = pair[y / 2][i];
      const float above = y > 0 ? row[y - 1][i] : before[i], below = y + 2 < S::rows ? row[y + 2][i] : after[i];
      if constexpr (S::F == 1) {
        even[i] = above + own;
        odd[i] = own + below;
      } else {
        even[i] = ((y > 0 ? pair[y / 2 - 1][i] : two_before[i]) + own) + below;
        odd[i] = above + (own + (y + 2 < S::rows ? pair[y / 2 + 1][i] : two_after[i]));
      }
    }
  }
};

/// Where warps leave sums for each other: those of their first row or two, then those of their last. There are two
/// boxes in turn, so that one barrier is enough: a warp that writes into a box again knows that all have written into
/// the other one, and so are done with this one. Nobody writes what the first warp reads from above and the last one
/// from below, but it only reaches the outermost rows, which are no outputs.
template <class S>
struct Mail {
  float4* box;  ///< of this lane
  int other = S::letters;

  /// Adds pairs, and tells the warps above and below.
  __device__ __forceinline__ void exchange(Rows<S>& rows) {
    constexpr int F = S::F, pairs = S::rows / 2;
#pragma unroll
    for (int k = 0; k < pairs; ++k) {
#pragma unroll
      for (int i = 0; i < 4; ++i) rows.pair[k][i] = rows.row[2 * k][i] + rows.row[2 * k + 1][i];
    }
    box[0] = packed(rows.row[0]);
    if (F == 2) box[32] = packed(rows.pair[0]);
    box[F * 32] = packed(rows.row[S::rows - 1]);
    if (F == 2) box[F * 32 + 32] = packed(rows.pair[pairs - 1]);
    __syncthreads();
    const float4* above = box - S::sent + F * 32;
    const float4* below = box + S::sent;
    unpack(above[0], rows.before);
    unpack(below[0], rows.after);
    if (F == 2) unpack(above[32], rows.two_before);
    if (F == 2) unpack(below[32], rows.two_after);
    box += other;
    other = -other;
  }
};

/// The voxels of a lane, and its outputs.
template <class S>
struct BoxLane {
  static constexpr int Fz = S::Fz;
  float voxel[S::rows][2][S::slices], neighbour[S::rows][2][S::slices];
  RowValues sum[S::rows], weight[S::rows];
  Mail<S> mail;

  /// Reads the neighbours of a row from where those of its even and odd column are staged.
  __device__ __forceinline__ void read_row(int row, const float* even, const float* odd) {
    constexpr int vector = S::slices % 4 == 0 ? 4 : 2;
    using Vector = std::conditional_t<vector == 4, float4, float2>;
#pragma unroll
    for (int i = 0; i < S::slices / vector; ++i) {
      reinterpret_cast<Vector*>(neighbour[row][0])[i] = reinterpret_cast<const Vector*>(even)[i];
      reinterpret_cast<Vector*>(neighbour[row][1])[i] = reinterpret_cast<const Vector*>(odd)[i];
    }
  }

  /// Adds one offset. The neighbours of the first row are in row `top` of `neighbour`. The bits of `inside`, first one
  /// for each row and then one for each column, tell whether neighbours lie in the slice. `variance` and `step` as in
  /// SliceLane.
  template <Weights W, bool Missing>
  __device__ __forceinline__ void add(int top, const Nlm& nlm, float log2_spatial, unsigned inside,
                                      const float* variance, std::int64_t step) {
    const auto difference = [&](int y, int column, int z) {
      return voxel[y][column][z] - neighbour[(y + top) % S::rows][column][z];
    };
    Rows<S> distances, counts;
#pragma unroll
    for (int y = 0; y < S::rows; ++y) {
#pragma unroll
      for (int column = 0; column < 2; ++column) {
        float d[S::slices];
#pragma unroll
        for (int z = 0; z < S::slices; ++z) {
          d[z] = difference(y, column, z);
          if (Missing) d[z] = d[z] == d[z] ? d[z] : 0.0F;
        }
        // Rounded alike in every version of this code.
        float shared = __fmul_rn(d[1], d[1]);
#pragma unroll
        for (int z = 2; z <= 2 * Fz; ++z) shared = fmaf(d[z], d[z], shared);
        distances.row[y][column] = fmaf(d[0], d[0], shared);
        distances.row[y][2 + column] = fmaf(d[2 * Fz + 1], d[2 * Fz + 1], shared);
      }
    }
    mail.exchange(distances);
    if constexpr (Missing) {
#pragma unroll
      for (int y = 0; y < S::rows; ++y) {
#pragma unroll
        for (int column = 0; column < 2; ++column) {
          float present[S::slices], shared = 0;
#pragma unroll
          for (int z = 0; z < S::slices; ++z) {
            const float d = difference(y, column, z);
            present[z] = d == d ? 1.0F : 0.0F;
            if (z > 0 && z <= 2 * Fz) shared += present[z];
          }
          counts.row[y][column] = present[0] + shared;
          counts.row[y][2 + column] = shared + present[2 * Fz + 1];
        }
      }
      mail.exchange(counts);
    }
    // So long as warps wait for each other's rows, lanes do not yet exchange values.
#pragma unroll
    for (int first = 0; first < S::rows; first += S::together) {
      RowValues sums[S::together];
      sum_across(distances, first, sums);
      if constexpr (Missing) {
        RowValues present[S::together];
        sum_across(counts, first, present);
#pragma unroll
        for (int y = 0; y < S::together; ++y) {
#pragma unroll
          for (int i = 0; i < 4; ++i) sums[y][i] = over_present<S::F, Fz>(sums[y][i], present[y][i]);
        }
      }
      if (is_general(W) && variance) {
#pragma unroll
        for (int k = 0; k < S::together; ++k) {
          const float* row = variance + (first + k) * nlm.noise.pitch;
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            sums[k][i] = over_noise(sums[k][i], row + i % 2 + i / 2 * nlm.noise.plane, step);
          }
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int k = 0; k < S::together; ++k) {
          const int y = first + k;
          add_neighbour<W, Missing>(nlm, voxel[y][i % 2][Fz + i / 2], difference(y, i % 2, Fz + i / 2), sums[k][i],
                                    log2_spatial, inside >> y & inside >> (S::rows + i % 2) & 1U, sum[y][i],
                                    weight[y][i]);
        }
      }
    }
  }

  /// Sums along y and x, for some of the rows.
  __device__ __forceinline__ static void sum_across(const Rows<S>& rows, int first, RowValues (&sums)[S::together]) {
#pragma unroll
    for (int k = 0; k < S::together; k += 2) rows.sum_along_y(first + k, sums[k], sums[k + 1]);
#pragma unroll
    for (int k = 0; k < S::together; ++k) sum_along_x<S::F>(sums[k]);
  }
};

/// Stages rows of neighbours, the first of which lies at `corner`. Tells whether this lane saw a missing voxel.
template <class S>
__device__ __forceinline__ bool stage(const DeviceView<const float>& in, const Nlm& nlm, int3 corner, int rows,
                                      float* staged) {
  constexpr int steps = (S::staged_x + 31) / 32, together = 2;  // reading takes long
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int in_x[steps];
#pragma unroll
  for (int step = 0; step < steps; ++step) {
    in_x[step] = device_border_index(nlm.border, corner.x + min(lane + 32 * step, S::staged_x - 1), in.x);
  }
  bool missing = false;
  for (int first = warp; first < rows; first += together * S::warps) {
    float values[together][steps][S::slices];
#pragma unroll
    for (int k = 0; k < together; ++k) {
#pragma unroll
      for (int z = 0; z < S::slices; ++z) {
        const float* from = row_of(in, nlm, corner.y + min(first + k * S::warps, rows - 1), corner.z + z);
#pragma unroll
        for (int step = 0; step < steps; ++step) values[k][step][z] = from[in_x[step]];
      }
    }
#pragma unroll
    for (int k = 0; k < together; ++k) {
      const int y = first + k * S::warps;
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        const int x = lane + 32 * step;
        float* to = staged + y * S::pitch + x % 2 * S::plane + x / 2 * S::slices;
#pragma unroll
        for (int z = 0; z < S::slices; ++z) {
          const float voxel = values[k][step][z];
          missing = missing || !is_present(voxel);
          if (y < rows && x < S::staged_x) to[z] = scaled(voxel, nlm);
        }
      }
    }
  }
  return missing;
}

/// `start` is the place of the input where the first block begins. A block that meets missing voxels leaves its outputs
/// to the kernel for missing voxels, and says so in `left`.
template <class S, Weights W, bool Missing>
__global__ void __launch_bounds__(32 * S::warps)
    nlm_in_boxes(DeviceView<const float> in, DeviceView<float> out, int3 offset, int3 start,
                 const __grid_constant__ Nlm nlm, bool* left) {
  constexpr bool General = is_general(W);
  constexpr int F = S::F, Fz = S::Fz;
  float4* const shared = launched_shared();
  float* const staged = reinterpret_cast<float*>(shared);
  const int3 first{static_cast<int>(blockIdx.x) * S::outputs_x + start.x,
                   static_cast<int>(blockIdx.y) * S::outputs_y + start.y,
                   static_cast<int>(blockIdx.z) * S::outputs_z + start.z};
  const int slice = first.z - Fz;
  const auto column_now = [&] { return first.x + 2 * lane_id(); };
  const auto row_now = [&] { return first.y + S::rows * warp_id(); };
  bool& is_left = left[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x];
  if (Missing && !is_any(is_left)) return;

  BoxLane<S> mine;
  mine.mail.box = shared + S::staged / 4 + (warp_id() + 1) * S::sent + lane_id();
  const int own_column = column_now(), own_row = row_now();
  const Noise& noise = nlm.noise;
  const float* const variance =
      General && noise.variances ? noise.variances + noise.place(own_column, own_row, first.z) : nullptr;
  bool missing_here = false;
#pragma unroll
  for (int y = 0; y < S::rows; ++y) {
#pragma unroll
    for (int x = 0; x < 2; ++x) {
#pragma unroll
      for (int z = 0; z < S::slices; ++z) {
        const float voxel = scaled_voxel(in, nlm, own_column + x, own_row + y, slice + z);
        mine.voxel[y][x][z] = voxel;
        missing_here = missing_here || voxel != voxel;
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      mine.sum[y][i] = 0;
      mine.weight[y][i] = 0;  // the voxel itself is one of the neighbours, and weighs 1
    }
  }

  if (!Missing && is_any(__syncthreads_or(missing_here))) {
    if (threadIdx.x == 0) is_left = true;
    return;
  }

  int3 low{-nlm.search.x, -nlm.search.y, -nlm.search.z}, high = nlm.search;
  if (nlm.whole_slice) {
    // Every offset that takes a voxel of the block to one of the slice. What is staged together begins at the same
    // offsets for all blocks, so that sums do not depend on where a box begins.
    const auto begin = [](int offset) { return offset >= 0 ? 0 : (offset - S::offsets + 1) / S::offsets * S::offsets; };
    low = {begin(-first.x - S::block_x + 1), begin(-first.y - S::block_y + 1), 0};
    high = {in.x - 1 - first.x, in.y - 1 - first.y, 0};
  }
  for (int oz = low.z; oz <= high.z; ++oz) {
    for (int from_y = low.y; from_y <= high.y; from_y += S::offsets) {
      for (int from_x = low.x; from_x <= high.x; from_x += S::offsets) {
        const int to_x = min(from_x + S::offsets - 1, high.x), to_y = min(from_y + S::offsets - 1, high.y);
        __syncthreads();
        const int3 corner{first.x + from_x, first.y + from_y, slice + oz};
        const bool missing = stage<S>(in, nlm, corner, S::block_y + to_y - from_y, staged);
        if (is_any(__syncthreads_or(missing)) && !Missing) {
          if (threadIdx.x == 0) is_left = true;
          return;
        }
        for (int ox = from_x; ox <= to_x; ++ox) {
          const int x = 2 * lane_id() + ox - from_x, warp = warp_id();
          const float* even = staged + warp * S::rows * S::pitch + x % 2 * S::plane + x / 2 * S::slices;
          const float* odd = staged + warp * S::rows * S::pitch + (x + 1) % 2 * S::plane + (x + 1) / 2 * S::slices;
          const auto read_next = [&](int to_row) {
            mine.read_row(to_row, even, odd);
            even += S::pitch;
            odd += S::pitch;
          };
#pragma unroll
          for (int y = 0; y < S::rows - 1; ++y) read_next(y);
          // The neighbours' rows take turns.
          const auto add_next = [&](int top, int oy) {
            read_next((top + S::rows - 1) % S::rows);
            const float log2_spatial = General ? log2_spatial_of(nlm, ox, oy, oz) : 0;
            unsigned inside = ~0U;
            if (General && nlm.whole_slice) {
              const int column = column_now(), row = row_now();
              inside = 0;
              for (int y = 0; y < S::rows; ++y) inside |= bit_if_within(row + oy + y, in.y) << y;
              for (int x = 0; x < 2; ++x) inside |= bit_if_within(column + ox + x, in.x) << (S::rows + x);
            }
            mine.template add<W, Missing>(top, nlm, log2_spatial, inside, variance,
                                          General ? noise.place(ox, oy, oz) : 0);
          };
          if (!General && !Missing && to_y - from_y == S::offsets - 1) {  // all, without a branch after each
            constexpr int turns = S::offsets / S::rows;
#pragma unroll 1
            for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
              for (int top = 0; top < S::rows; ++top) add_next(top, from_y + turn * S::rows + top);
            }
#pragma unroll
            for (int top = 0; top < S::offsets % S::rows; ++top) add_next(top, from_y + turns * S::rows + top);
            continue;
          }
          int oy = from_y;
          for (; oy + S::rows - 1 <= to_y; oy += S::rows) {
#pragma unroll
            for (int top = 0; top < S::rows; ++top) add_next(top, oy + top);
          }
#pragma unroll
          for (int top = 0; top < S::rows - 1; ++top) {
            if (oy + top > to_y) break;
            add_next(top, oy + top);
          }
        }
      }
    }
  }
  if (threadIdx.x == 0) is_left = false;
  const int lane = lane_id(), warp = warp_id(), column = column_now(), row = row_now();

#pragma unroll
  for (int y = 0; y < S::rows; ++y) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int3 of_block{2 * lane + i % 2 - F, S::rows * warp + y - F, i / 2};
      if (of_block.x < 0 || of_block.x >= S::outputs_x || of_block.y < 0 || of_block.y >= S::outputs_y) continue;
      const int3 at{column + i % 2, row + y, first.z + i / 2};
      const int3 to{at.x - offset.x, at.y - offset.y, at.z - offset.z};
      if (to.x < 0 || to.x >= out.x || to.y < 0 || to.y >= out.y || to.z < 0 || to.z >= out.z) continue;
      write<General>(in, nlm, at, mine.sum[y][i], mine.weight[y][i], out.row(to.y, to.z) + to.x);
    }
  }
}

/// Any patch: a thread makes one output, and compares patches voxel by voxel.
__global__ void nlm_directly(DeviceView<const float> in, DeviceView<float> out, int3 offset,
                             const __grid_constant__ Nlm nlm) {
  const int out_x = blockIdx.x * blockDim.x + threadIdx.x, out_y = blockIdx.y * blockDim.y + threadIdx.y;
  const int out_z = blockIdx.z;
  if (out_x >= out.x || out_y >= out.y) return;
  const int3 p{out_x + offset.x, out_y + offset.y, out_z + offset.z}, f = nlm.patch;
  int3 low{-nlm.search.x, -nlm.search.y, -nlm.search.z}, high = nlm.search;
  if (nlm.whole_slice) {
    low = {-p.x, -p.y, 0};
    high = {in.x - 1 - p.x, in.y - 1 - p.y, 0};
  }
  const Noise& noise = nlm.noise;
  const float* const variance = noise.variances ? noise.variances + noise.place(p.x, p.y, p.z) : nullptr;
  const float voxel = scaled_voxel(in, nlm, p.x, p.y, p.z);
  const float all = static_cast<float>((2 * f.x + 1) * (2 * f.y + 1) * (2 * f.z + 1));
  float sum = 0, weight = 1;
  for (int oz = low.z; oz <= high.z; ++oz) {
    for (int oy = low.y; oy <= high.y; ++oy) {
      for (int ox = low.x; ox <= high.x; ++ox) {
        const float difference = voxel - scaled_voxel(in, nlm, p.x + ox, p.y + oy, p.z + oz);
        if ((ox == 0 && oy == 0 && oz == 0) || difference != difference) continue;
        float distance = 0, count = 0;
        for (int z = p.z - f.z; z <= p.z + f.z; ++z) {
          for (int y = p.y - f.y; y <= p.y + f.y; ++y) {
            for (int x = p.x - f.x; x <= p.x + f.x; ++x) {
              const float d = scaled_voxel(in, nlm, x, y, z) - scaled_voxel(in, nlm, x + ox, y + oy, z + oz);
              if (d != d) continue;
              distance = fmaf(d, d, distance);
              count += 1;
            }
          }
        }
        distance *= all / count;
        if (variance) distance = over_noise(distance, variance, noise.place(ox, oy, oz));
        const float w = weight_of(nlm, distance, difference, log2_spatial_of(nlm, ox, oy, oz));
        sum = fmaf(w, change_of(nlm, voxel, difference), sum);
        weight += w;
      }
    }
  }
  write<true>(in, nlm, p, sum, weight, out.row(out_y, out_z) + out_x);
}

__global__ void find_each_variance(DeviceView<const float> in, DeviceView<float> variances, int3 margin, Index3 origin,
                                   const __grid_constant__ CoarseFieldView map, Border border) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= variances.x || y >= variances.y) return;
  const auto noise = static_cast<float>(map.at(origin.x + device_border_index(border, x - margin.x, in.x),
                                               origin.y + device_border_index(border, y - margin.y, in.y),
                                               origin.z + device_border_index(border, z - margin.z, in.z)));
  variances.row(y, z)[x] = noise * noise;
}

/// The noise on the device, if it varies.
class NoiseOfVoxels {
 public:
  NoiseOfVoxels(const VolumeView<const float>& in, const NlmParams& params, const LaunchContext& context)
      : origin_(in.origin), map_(params.map, params.volume, context) {
    const Radius3 search = params.search_window().value_or(Radius3{});
    margin_ = {search.x + beyond.x, search.y + beyond.y, search.z + beyond.z};
    for (int axis = 0; axis < 3; ++axis) size_[axis] = in.extent[axis] + 2 * margin_[axis];
    variances_ = DeviceBuffer<float>(static_cast<std::size_t>(size_.voxels()), context);
    const dim3 block(32, 4), grid(ceil_div(size_.x, block.x), ceil_div(size_.y, block.y), size_.z);
    const int3 margin{margin_.x, margin_.y, margin_.z};
    launch(find_each_variance, grid, block, 0, context, in, VolumeView<float>{variances_.get(), size_}, margin,
           in.origin, map_.view(), params.border);
  }

  Noise noise() const {
    const std::int64_t first = (margin_.z * size_.y + margin_.y) * size_.x + margin_.x;
    return {variances_.get() + first, size_.x, size_.slice(), map_.view(), origin_};
  }

 private:
  /// How far blocks, and offsets staged together, may reach beyond the input and the search window.
  static constexpr Radius3 beyond{80, 80, 4};

  Index3 origin_;
  DeviceNoiseMap map_;
  Radius3 margin_;
  Extent size_;
  DeviceBuffer<float> variances_;
};

/// Distance from a place back to the last multiple of `unit`. Blocks begin at multiples, so that voxels share the same
/// sums wherever a box begins.
constexpr int back_to_multiple(std::int64_t place, int unit) { return static_cast<int>((place % unit + unit) % unit); }

/// Launches the kernel for this patch size. Returns false if it is for another one, or needs more memory than the
/// device has.
template <int F, int Fz>
bool launch_for(const DeviceView<const float>& in, const VolumeView<float>& out, int3 offset, const Nlm& nlm,
                const LaunchContext& context) {
  if (nlm.patch.x != F || nlm.patch.y != F || nlm.patch.z != Fz) return false;
  constexpr float most_bias = 64;  // whose weight floats hold
  const bool plain = !nlm.whole_slice && !nlm.squares && nlm.bias <= most_bias && nlm.spatial.x == 0 &&
                     nlm.spatial.y == 0 && nlm.spatial.z == 0 && nlm.intensity_rate == 0 && !nlm.noise.variances;
  const bool unbiased = nlm.bias == 0;
  using enum Weights;
  const DeviceView<float> to = out;
  const auto launch = [&](auto kernel, dim3 grid, int3 back, int warps, std::size_t shared_bytes, auto... more) {
    const int3 start{offset.x - back.x, offset.y - back.y, offset.z - back.z};
    cuda::launch(kernel, grid, 32 * warps, shared_bytes, context, in, to, offset, start, nlm, more...);
  };
  if constexpr (Fz == 0) {
    using S = SliceShape<F>;
    const int3 back{0, back_to_multiple(out.origin.y, 2), 0};
    const dim3 grid(ceil_div(to.x, S::outputs_x), ceil_div(to.y + back.y, S::block_y), to.z);
    launch(!plain     ? nlm_in_slices<F, of_all_kinds>
           : unbiased ? nlm_in_slices<F, patches>
                      : nlm_in_slices<F, biased>,
           grid, back, S::warps, S::shared_bytes);
  } else {
    // Both compute the same blocks and sums. Taller tiles exchange less between warps but run fewer warps, which only
    // windows with many offsets keep busy.
    using S = BoxShape<F, Fz, 4>;
    using Tall = BoxShape<F, Fz, 6>;
    static_assert(S::outputs_x == Tall::outputs_x && S::outputs_y == Tall::outputs_y);
    if (std::max(S::shared_bytes, Tall::shared_bytes) > most_shared_bytes()) return false;
    const int3 back{F + back_to_multiple(out.origin.x - F, 2), F + back_to_multiple(out.origin.y - F, 2),
                    back_to_multiple(out.origin.z, S::outputs_z)};
    const dim3 grid(ceil_div(to.x + back.x - F, S::outputs_x), ceil_div(to.y + back.y - F, S::outputs_y),
                    ceil_div(to.z + back.z, S::outputs_z));
    const DeviceBuffer<bool> left(std::size_t{grid.x} * grid.y * grid.z, context);
    if (plain && 2 * nlm.search.y + 1 >= Tall::offsets) {
      launch(unbiased ? nlm_in_boxes<Tall, patches, false> : nlm_in_boxes<Tall, biased, false>, grid, back, Tall::warps,
             Tall::shared_bytes, left.get());
    } else {
      launch(plain ? nlm_in_boxes<S, biased, false> : nlm_in_boxes<S, of_all_kinds, false>, grid, back, S::warps,
             S::shared_bytes, left.get());
    }
    launch(plain ? nlm_in_boxes<S, biased, true> : nlm_in_boxes<S, of_all_kinds, true>, grid, back, S::warps,
           S::shared_bytes, left.get());
  }
  return true;
}

}  // namespace

void nlm_cuda(VolumeView<const float> in, VolumeView<float> out, const NlmParams& params,
              const LaunchContext& context) {
  const int3 offset = offset_within(in, out);
  const dim3 block(32, 4), grid(ceil_div(out.extent.x, block.x), ceil_div(out.extent.y, block.y), out.extent.z);
  if (params.h() < 0x1p-140) {  // no two floats are that near and not equal
    copy_voxels(in, out, context);
  } else {
    Nlm nlm = make_nlm(params, in.spacing);
    std::optional<NoiseOfVoxels> noise;
    if (params.map.varies()) nlm.noise = noise.emplace(in, params, context).noise();
    const bool launched =
        launch_for<1, 0>(in, out, offset, nlm, context) || launch_for<2, 0>(in, out, offset, nlm, context) ||
        launch_for<3, 0>(in, out, offset, nlm, context) || launch_for<1, 1>(in, out, offset, nlm, context) ||
        launch_for<2, 1>(in, out, offset, nlm, context) || launch_for<2, 2>(in, out, offset, nlm, context);
    if (!launched) launch(nlm_directly, grid, block, 0, context, in, out, offset, nlm);
  }
}

}  // namespace quietvox
