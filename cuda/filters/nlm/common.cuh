// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/coarse_field_view.hpp"
#include "cuda/filters/common/device_view.cuh"
#include "cuda/filters/common/exp2.cuh"

/// What all kernels of the filter have in common.
namespace quietvox::cuda::nlm {

/// Noise that varies. There are variances, over sigma^2, of the voxels of the input, and of what stands around it, as
/// far as any lane looks, including lanes without outputs.
struct Noise {
  const float* variances;     ///< from that of the input's first voxel on; null where the noise does not vary
  std::int64_t pitch, plane;  ///< from row to row, from slice to slice
  CoarseFieldView map;
  Index3 origin;  ///< of the input, in the volume

  __device__ std::int64_t place(int x, int y, int z) const { return z * plane + y * pitch + x; }
};

/// What neighbours that were added before come to, for an output.
struct Sums {
  double changes, weights;
};

/// What kernels need to know about the filter. Voxels are scaled so that the sum over a patch of their squared
/// differences is -log2 of the weight. Spatial weights are 2^(spatial.x o_x^2 + ...).
struct Nlm {
  int3 patch, search;  ///< half widths
  bool whole_slice;
  int first_row, last_row;  ///< of a whole slice: of the neighbours that are added now, before the last
  Sums* sums;               ///< of those that were added before; null where all are added at once
  const float* results;     ///< that of the first output, whose sums are the first
  bool squares;             ///< squares of voxels are averaged
  float scale, bias;
  float bias_weight;  ///< 2^bias
  float3 spatial;
  float intensity_rate;
  double unscale, rician_bias;
  Border border;
  Noise noise;
};

/// NaN where the voxel is missing.
__device__ inline float scaled(float voxel, const Nlm& nlm) {
  constexpr float largest = 1e17F;  // sums of squared differences stay finite
  const float value = fminf(fmaxf(voxel * nlm.scale, -largest), largest);
  return is_present(voxel) ? value : NAN;
}

/// A row of the input; beyond the border, the one that stands for it.
__device__ inline const float* row_of(const DeviceView<const float>& in, const Nlm& nlm, int y, int z) {
  return in.row(device_border_index(nlm.border, y, in.y), device_border_index(nlm.border, z, in.z));
}

/// The scaled voxel at a place of the input or beyond its border.
__device__ inline float scaled_voxel(const DeviceView<const float>& in, const Nlm& nlm, int x, int y, int z) {
  return scaled(row_of(in, nlm, y, z)[device_border_index(nlm.border, x, in.x)], nlm);
}

/// The weight of a neighbour, from the sum over the patch and the difference of the voxels themselves.
__device__ inline float weight_of(const Nlm& nlm, float sum, float difference, float log2_spatial) {
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
__device__ inline float change_of(const Nlm& nlm, float voxel, float difference) {
  return nlm.squares ? difference * fmaf(-2.0F, voxel, difference) : -difference;
}

__device__ inline float log2_spatial_of(const Nlm& nlm, int ox, int oy, int oz) {
  const float x = ox, y = oy, z = oz;  // squares of integers overflow from 46341 on
  return nlm.spatial.x * (x * x) + nlm.spatial.y * (y * y) + nlm.spatial.z * (z * z);
}

/// True if weights are those of patches, perhaps with a noise bias, and all neighbours count.
inline bool is_plain(const Nlm& nlm) {
  constexpr float most_bias = 64;  // whose weight floats hold
  return !nlm.whole_slice && !nlm.squares && nlm.bias <= most_bias && nlm.spatial.x == 0 && nlm.spatial.y == 0 &&
         nlm.spatial.z == 0 && nlm.intensity_rate == 0 && !nlm.noise.variances;
}

/// What the weights of a kernel are made of; the less, the faster.
enum class Weights {
  patches,       ///< the patches alone, without a noise bias, and all neighbours count
  biased,        ///< the patches with a noise bias, and all neighbours count
  of_all_kinds,  ///< all that there is
};

constexpr bool is_general(Weights weights) { return weights == Weights::of_all_kinds; }

__device__ inline unsigned bit_if_within(int place, int first, int last) {
  return place >= first && place < last ? 1 : 0;
}

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
__device__ __noinline__ inline double local_rician_bias(const Nlm& nlm, int3 at) {
  const Index3& origin = nlm.noise.origin;
  const double noise = nlm.noise.map.at(origin.x + at.x, origin.y + at.y, origin.z + at.z);
  return nlm.rician_bias * noise * noise;
}

/// Writes an output, which lies at (x, y, z) of the input; its sums, where more neighbours are to come.
template <bool General>
__device__ void write(const DeviceView<const float>& in, const Nlm& nlm, int3 at, float sum, float weight,
                      float* result) {
  double all = sum, weights = weight;
  if (General && nlm.sums) {
    Sums& before = nlm.sums[result - nlm.results];
    if (nlm.first_row > 0) {
      all += before.changes;
      weights += before.weights;
    }
    if (nlm.last_row < in.y) {
      before = {all, weights};
      return;
    }
  }
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
    const double change = all / weights * nlm.unscale * nlm.unscale, u = original;
    const double bias = General && nlm.noise.variances ? local_rician_bias(nlm, at) : nlm.rician_bias;
    *result = static_cast<float>(sqrt(fmax(u * u + change - bias, 0.0)));
  } else {
    *result = static_cast<float>(original + all / weights * nlm.unscale) + 0.0F;
  }
}

/// Distance from a place back to the last multiple of `unit`. Blocks begin at multiples, so that voxels share the same
/// sums wherever a box begins.
constexpr int back_to_multiple(std::int64_t place, int unit) { return static_cast<int>((place % unit + unit) % unit); }

}  // namespace quietvox::cuda::nlm
