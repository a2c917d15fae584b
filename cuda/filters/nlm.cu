// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/nlm.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cuda/filters/box.cuh"
#include "cuda/resources.hpp"

namespace quietvox {
namespace {

using namespace cuda;

/// What kernels need to know about the filter. Voxels are scaled so that the sum over a patch of their squared
/// differences is -log2 of the weight. Spatial weights are 2^(spatial.x o_x^2 + ...).
struct Nlm {
  int3 patch, search;  ///< half widths
  bool whole_slice;
  bool squares;  ///< squares of voxels are averaged
  float scale, bias;
  float3 spatial;
  float intensity_rate;
  double unscale, rician_bias;
  Border border;
};

Nlm make_nlm(const NlmParams& params, const Spacing& spacing) {
  const Radius3 f = params.patch_radius, v = params.search_radius.value_or(Radius3{});
  const double voxels = static_cast<double>((2 * f.x + 1) * (2 * f.y + 1) * (2 * f.z + 1));
  const double scale = std::sqrt(std::numbers::log2e / voxels) / params.h();
  const auto spatial = [&](int axis) {
    const double steps = params.spatial_sigma > 0 ? spacing[axis] / params.spatial_sigma : 0;
    return static_cast<float>(-0.5 * std::numbers::log2e * steps * steps);
  };
  double intensity_rate = 0;
  if (params.intensity_sigma > 0) {
    const double sigma = params.intensity_sigma * scale;
    intensity_rate = std::min(0.5 * std::numbers::log2e / (sigma * sigma), 1e38);
  }
  Nlm nlm{};
  nlm.patch = {f.x, f.y, f.z};
  nlm.search = {v.x, v.y, v.z};
  nlm.whole_slice = !params.search_radius;
  nlm.squares = params.noise_model == NoiseModel::rician;
  nlm.scale = static_cast<float>(std::min<double>(scale, 3e38));
  nlm.bias = static_cast<float>(std::numbers::log2e * params.noise_bias / (params.strength * params.strength));
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
  return is_present(voxel) ? fminf(fmaxf(voxel * nlm.scale, -largest), largest) : NAN;
}

/// A row of the input, or what stands for it beyond the border.
__device__ const float* row_of(const Box<const float>& in, const Nlm& nlm, int y, int z) {
  return in.row(device_border_index(nlm.border, y, in.y), device_border_index(nlm.border, z, in.z));
}

/// The scaled voxel at a place of the input or beyond its border.
__device__ float scaled_voxel(const Box<const float>& in, const Nlm& nlm, int x, int y, int z) {
  return scaled(row_of(in, nlm, y, z)[device_border_index(nlm.border, x, in.x)], nlm);
}

__device__ float exp2_fast(float exponent) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
  return power;
}

/// The weight of a neighbour, from the sum over the patch and the difference of the voxels themselves.
__device__ float weight_of(const Nlm& nlm, float sum, float difference, float log2_spatial) {
  const float exponent = fminf(nlm.bias - sum, 0.0F) + log2_spatial;
  return exp2_fast(fmaf(-nlm.intensity_rate * difference, difference, exponent));
}

/// What is averaged, less that of the voxel itself: u_q - u_p, or of squares, where difference = u_p - u_q.
__device__ float change_of(const Nlm& nlm, float voxel, float difference) {
  return nlm.squares ? difference * fmaf(-2.0F, voxel, difference) : -difference;
}

/// Writes an output, which lies at (x, y, z) of the input.
__device__ void write(const Box<const float>& in, const Nlm& nlm, int3 at, float sum, float weight, float* result) {
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
    *result = static_cast<float>(sqrt(fmax(u * u + change - nlm.rician_bias, 0.0)));
  } else {
    *result = static_cast<float>(original + static_cast<double>(sum) / weight * nlm.unscale) + 0.0F;
  }
}

// Patches with a kernel of their own. A lane owns a column of voxels at one x; of its Y x Z outputs it keeps all voxels
// that their patches reach in registers. Squared differences are summed along z and y within a lane, along x across the
// lanes. A block stages the neighbours for many offsets of a slice in shared memory.

constexpr int warps = 4;

template <int F, int Fz>
struct Shape {
  static constexpr int outputs_x = 32 - 2 * F;
  static constexpr int outputs_y = Fz == 0 ? 8 : 4, outputs_z = Fz == 0 ? 1 : 4;  ///< of a lane
  static constexpr int rows = outputs_y + 2 * F, slices = outputs_z + 2 * Fz;     ///< that a lane reads
  static constexpr int block_y = warps * outputs_y;
  static constexpr int offsets_x = Fz == 0 ? 33 : 17, offsets_y = Fz == 0 ? 21 : 11;  ///< staged together, at most
  static constexpr int pitch = 32 + offsets_x - 1, plane = (block_y + 2 * F + offsets_y - 1) * pitch;
  static constexpr std::size_t staged_bytes = sizeof(float) * plane * slices;
};

/// Sums over patches of a value per voxel: `row(y, values)` gives those of row y of a lane, for all its slices. Outputs
/// below each other share what both see, two by two.
template <int F, int Fz, class Row>
__device__ __forceinline__ void sum_patches(float (&sums)[Shape<F, Fz>::outputs_y][Shape<F, Fz>::outputs_z],
                                            const Row& row) {
  using S = Shape<F, Fz>;
#pragma unroll
  for (int y = 0; y < S::rows; ++y) {
    float values[S::outputs_z];
    row(y, values);
#pragma unroll
    for (int upper = 0; upper < S::outputs_y; upper += 2) {
      const int seen = y - upper;  // row 0 by the upper one alone, the last by the lower one
#pragma unroll
      for (int z = 0; z < S::outputs_z; ++z) {
        float &above = sums[upper][z], &shared = sums[upper + 1][z];
        if (seen == 0) above = values[z];
        if (seen == 1) shared = values[z];
        if (seen > 1 && seen <= 2 * F) shared += values[z];
        if (seen == 2 * F) above += shared;
        if (seen == 2 * F + 1) shared += values[z];
      }
    }
  }
#pragma unroll
  for (int y = 0; y < S::outputs_y; ++y) {
#pragma unroll
    for (int z = 0; z < S::outputs_z; ++z) {
      const float own = sums[y][z];
      if constexpr (F == 2) {  // by pairs
        const float pair = own + __shfl_down_sync(~0U, own, 1);
        sums[y][z] = own + (__shfl_up_sync(~0U, pair, 2) + __shfl_down_sync(~0U, pair, 1));
      } else {
#pragma unroll
        for (int k = 1; k <= F; ++k) {
          sums[y][z] += __shfl_up_sync(~0U, own, k) + __shfl_down_sync(~0U, own, k);
        }
      }
    }
  }
}

/// The outputs of a lane.
template <int F, int Fz>
struct Lane {
  using S = Shape<F, Fz>;
  float voxel[S::rows][S::slices];
  float sum[S::outputs_y][S::outputs_z], weight[S::outputs_y][S::outputs_z];

  /// Adds one offset. `staged` is the neighbour of voxel[0][0]. `inside_x` and `rows_inside` (one bit per output) tell
  /// whether neighbours lie in the slice.
  template <bool General, bool Missing>
  __device__ __forceinline__ void add(const float* staged, const Nlm& nlm, float log2_spatial, bool inside_x,
                                      unsigned rows_inside) {
    float distance[S::outputs_y][S::outputs_z], difference[S::outputs_y][S::outputs_z];
    sum_patches<F, Fz>(distance, [&](int y, float(&values)[S::outputs_z]) {
      float d[S::slices];
#pragma unroll
      for (int z = 0; z < S::slices; ++z) {
        d[z] = voxel[y][z] - staged[z * S::plane + y * S::pitch];
        const bool is_output = y >= F && y < F + S::outputs_y && z >= Fz && z < Fz + S::outputs_z;
        if (is_output) difference[y - F][z - Fz] = d[z];
        if (Missing) d[z] = d[z] == d[z] ? d[z] : 0.0F;
      }
      // Two by two here too. Rounded alike in every version of this code.
      if constexpr (Fz == 0) {
        values[0] = __fmul_rn(d[0], d[0]);
      } else {
#pragma unroll
        for (int z = 0; z < S::outputs_z; z += 2) {
          float shared = __fmul_rn(d[z + 1], d[z + 1]);
#pragma unroll
          for (int k = 2; k <= 2 * Fz; ++k) shared = fmaf(d[z + k], d[z + k], shared);
          values[z] = fmaf(d[z], d[z], shared);
          values[z + 1] = fmaf(d[z + 1 + 2 * Fz], d[z + 1 + 2 * Fz], shared);
        }
      }
    });
    if constexpr (Missing) {
      float count[S::outputs_y][S::outputs_z];
      sum_patches<F, Fz>(count, [&](int y, float(&values)[S::outputs_z]) {
        float present[S::slices];
#pragma unroll
        for (int z = 0; z < S::slices; ++z) {
          const float d = voxel[y][z] - staged[z * S::plane + y * S::pitch];
          present[z] = d == d ? 1.0F : 0.0F;
        }
#pragma unroll
        for (int z = 0; z < S::outputs_z; ++z) {
          values[z] = present[z];
#pragma unroll
          for (int k = 1; k <= 2 * Fz; ++k) values[z] += present[z + k];
        }
      });
      constexpr float all = (2 * F + 1) * (2 * F + 1) * (2 * Fz + 1);
#pragma unroll
      for (int y = 0; y < S::outputs_y; ++y) {
#pragma unroll
        for (int z = 0; z < S::outputs_z; ++z) {
          // Where all are present, the factor is exactly 1: the same bits as without missing voxels.
          distance[y][z] = __fmul_rn(distance[y][z], __fdiv_rn(all, fmaxf(count[y][z], 1.0F)));
        }
      }
    }
#pragma unroll
    for (int y = 0; y < S::outputs_y; ++y) {
#pragma unroll
      for (int z = 0; z < S::outputs_z; ++z) {
        float d = difference[y][z];
        bool counts = true;
        if (Missing) {
          counts = d == d;
          d = counts ? d : 0.0F;
        }
        if (General) counts = counts && inside_x && (rows_inside >> y & 1U);
        float w = General ? weight_of(nlm, distance[y][z], d, log2_spatial) : exp2_fast(-distance[y][z]);
        if (General || Missing) w = counts ? w : 0.0F;
        sum[y][z] = fmaf(w, General ? change_of(nlm, voxel[y + F][z + Fz], d) : -d, sum[y][z]);
        weight[y][z] += w;
      }
    }
  }
};

template <int F, int Fz, bool General>
__global__ void __launch_bounds__(32 * warps)
    nlm_in_registers(Box<const float> in, Box<float> out, int3 offset, int3 start, const __grid_constant__ Nlm nlm) {
  using S = Shape<F, Fz>;
  extern __shared__ float staged[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  // Places of the input: of the block's first output, and of what the lane reads first.
  const int3 first{static_cast<int>(blockIdx.x) * S::outputs_x + start.x,
                   static_cast<int>(blockIdx.y) * S::block_y + start.y,
                   static_cast<int>(blockIdx.z) * S::outputs_z + start.z};
  const int column = first.x - F + lane, row = first.y - F + warp * S::outputs_y, slice = first.z - Fz;

  Lane<F, Fz> mine;
  bool missing_here = false;
#pragma unroll
  for (int y = 0; y < S::rows; ++y) {
#pragma unroll
    for (int z = 0; z < S::slices; ++z) {
      mine.voxel[y][z] = scaled_voxel(in, nlm, column, row + y, slice + z);
      missing_here = missing_here || mine.voxel[y][z] != mine.voxel[y][z];
    }
  }
#pragma unroll
  for (int y = 0; y < S::outputs_y; ++y) {
#pragma unroll
    for (int z = 0; z < S::outputs_z; ++z) {
      mine.sum[y][z] = 0;
      mine.weight[y][z] = 1;  // the voxel's own
    }
  }

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
        for (int line = warp; line < S::slices * rows; line += warps) {
          const int y = line % rows, z = line / rows;
          const float* from = row_of(in, nlm, first.y - F + from_y + y, slice + oz + z);
          for (int x = lane; x < width; x += 32) {
            const float value = scaled(from[device_border_index(nlm.border, first.x - F + from_x + x, in.x)], nlm);
            staged[z * S::plane + y * S::pitch + x] = value;
            missing = missing || value != value;
          }
        }
        missing = __syncthreads_or(missing);
        for (int oy = from_y; oy <= to_y; ++oy) {
          unsigned rows_inside = ~0U;
          if (General && nlm.whole_slice) {
            rows_inside = 0;
            for (int y = 0; y < S::outputs_y; ++y) {
              const int q = row + F + y + oy;
              rows_inside |= (q >= 0 && q < in.y ? 1U : 0U) << y;
            }
          }
          const float* neighbour = staged + (warp * S::outputs_y + oy - from_y) * S::pitch + lane;
          for (int ox = from_x; ox <= to_x; ++ox, ++neighbour) {
            if (ox == 0 && oy == 0 && oz == 0) continue;
            float log2_spatial = 0;
            bool inside_x = true;
            if (General) {
              log2_spatial = nlm.spatial.x * (ox * ox) + nlm.spatial.y * (oy * oy) + nlm.spatial.z * (oz * oz);
              inside_x = !nlm.whole_slice || (column + ox >= 0 && column + ox < in.x);
            }
            if (missing) {
              mine.template add<General, true>(neighbour, nlm, log2_spatial, inside_x, rows_inside);
            } else {
              mine.template add<General, false>(neighbour, nlm, log2_spatial, inside_x, rows_inside);
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
#pragma unroll
    for (int z = 0; z < S::outputs_z; ++z) {
      const int out_z = first.z + z - offset.z;
      if (out_z < 0 || out_z >= out.z) continue;
      write(in, nlm, {column, row + F + y, first.z + z}, mine.sum[y][z], mine.weight[y][z],
            out.row(out_y, out_z) + out_x);
    }
  }
}

/// Any patch: a thread makes one output, and compares patches voxel by voxel.
__global__ void nlm_directly(Box<const float> in, Box<float> out, int3 offset, const __grid_constant__ Nlm nlm) {
  const int out_x = blockIdx.x * blockDim.x + threadIdx.x, out_y = blockIdx.y * blockDim.y + threadIdx.y;
  const int out_z = blockIdx.z;
  if (out_x >= out.x || out_y >= out.y) return;
  const int3 p{out_x + offset.x, out_y + offset.y, out_z + offset.z}, f = nlm.patch;
  int3 low{-nlm.search.x, -nlm.search.y, -nlm.search.z}, high = nlm.search;
  if (nlm.whole_slice) {
    low = {-p.x, -p.y, 0};
    high = {in.x - 1 - p.x, in.y - 1 - p.y, 0};
  }
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
        const float spatial = nlm.spatial.x * (ox * ox) + nlm.spatial.y * (oy * oy) + nlm.spatial.z * (oz * oz);
        const float w = weight_of(nlm, distance * (all / count), difference, spatial);
        sum = fmaf(w, change_of(nlm, voxel, difference), sum);
        weight += w;
      }
    }
  }
  write(in, nlm, p, sum, weight, out.row(out_y, out_z) + out_x);
}

__global__ void copy_voxels(Box<const float> in, Box<float> out, int3 offset) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= out.x || y >= out.y) return;
  const float value = in.row(y + offset.y, z + offset.z)[x + offset.x];
  out.row(y, z)[x] = is_present(value) ? value + 0.0F : value;
}

/// Outputs share sums two by two: `odd` tells whether the first one along y and z is the second of its pair.
template <int F, int Fz, bool General>
void launch(const Box<const float>& in, const Box<float>& out, int3 offset, int3 odd, const Nlm& nlm,
            const Queue& queue) {
  using S = Shape<F, Fz>;
  const auto kernel = nlm_in_registers<F, Fz, General>;
  QV_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(S::staged_bytes)));
  const dim3 grid(ceil_div(out.x, S::outputs_x), ceil_div(out.y + odd.y, S::block_y),
                  ceil_div(out.z + odd.z, S::outputs_z));
  const int3 start{offset.x, offset.y - odd.y, offset.z - odd.z};
  kernel<<<grid, 32 * warps, S::staged_bytes, queue.stream>>>(in, out, offset, start, nlm);
}

/// Launches the kernel of this patch where there is one.
template <int F, int Fz>
bool launch_for(const Box<const float>& in, const VolumeView<float>& out, int3 offset, const Nlm& nlm,
                const Queue& queue) {
  if (nlm.patch.x != F || nlm.patch.y != F || nlm.patch.z != Fz) return false;
  const bool plain = !nlm.whole_slice && !nlm.squares && nlm.bias == 0 && nlm.spatial.x == 0 && nlm.spatial.y == 0 &&
                     nlm.spatial.z == 0 && nlm.intensity_rate == 0;
  const int3 odd{0, static_cast<int>(out.origin.y % 2), static_cast<int>(out.origin.z % 2)};
  if (plain) {
    launch<F, Fz, false>(in, out, offset, odd, nlm, queue);
  } else {
    launch<F, Fz, true>(in, out, offset, odd, nlm, queue);
  }
  return true;
}

}  // namespace

void nlm_cuda(VolumeView<const float> in, VolumeView<float> out, const NlmParams& params, const Queue& queue) {
  const int3 offset = offset_within(in, out);
  const dim3 block(32, 4), grid(ceil_div(out.extent.x, block.x), ceil_div(out.extent.y, block.y), out.extent.z);
  if (params.h() < 0x1p-140) {  // no two floats are that near and not equal
    copy_voxels<<<grid, block, 0, queue.stream>>>(in, out, offset);
  } else {
    const Nlm nlm = make_nlm(params, in.spacing);
    const bool launched =
        launch_for<1, 0>(in, out, offset, nlm, queue) || launch_for<2, 0>(in, out, offset, nlm, queue) ||
        launch_for<3, 0>(in, out, offset, nlm, queue) || launch_for<1, 1>(in, out, offset, nlm, queue) ||
        launch_for<2, 1>(in, out, offset, nlm, queue) || launch_for<2, 2>(in, out, offset, nlm, queue);
    if (!launched) nlm_directly<<<grid, block, 0, queue.stream>>>(in, out, offset, nlm);
  }
  QV_CUDA(cudaGetLastError());
}

}  // namespace quietvox
