// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/filters/bilateral.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numbers>

#include "cuda/filters/box.cuh"

namespace quietvox::cuda {
namespace {

constexpr int max_radius = BilateralParams::largest_radius;

/// What a kernel needs to know about the filter. Exponents are powers of two: w = 2^(exponents - d^2), d scaled by
/// sqrt(log2(e) / 2) / range_sigma.
struct Weights {
  float x[max_radius + 1], y[max_radius + 1], z[max_radius + 1];  ///< exponent of the spatial weight by |offset|
  signed char reach[max_radius + 1][max_radius + 1];              ///< of a row: |x| <= reach[|z|][|y|]; -1: no voxel
  int3 radius;
  float scale, unscale;
  float cut;  ///< smallest difference that has no weight
  Border border;
};

Weights make_weights(const BilateralParams& params, const Spacing& spacing) {
  Weights weights{};
  const Radius3 r = params.halo();
  for (int i = 0; i <= max_radius; ++i) {
    weights.x[i] = static_cast<float>(log2_domain_weight(params, spacing, {i, 0, 0}));
    weights.y[i] = static_cast<float>(log2_domain_weight(params, spacing, {0, i, 0}));
    weights.z[i] = static_cast<float>(log2_domain_weight(params, spacing, {0, 0, i}));
  }
  for (int z = 0; z <= r.z; ++z) {
    for (int y = 0; y <= r.y; ++y) {
      int reach = r.x;
      while (reach >= 0 && !in_window(params, {reach, y, z})) --reach;
      weights.reach[z][y] = static_cast<signed char>(reach);
    }
  }
  weights.radius = {r.x, r.y, r.z};
  const double scale = std::sqrt(0.5 * std::numbers::log2e) / *params.range_sigma;
  weights.scale = static_cast<float>(std::min<double>(scale, FLT_MAX));
  weights.unscale = static_cast<float>(1 / scale);
  const double cut = params.range_cut * *params.range_sigma;
  weights.cut = static_cast<float>(cut);
  if (weights.cut < cut) weights.cut = std::nextafter(weights.cut, INFINITY);
  weights.border = params.border;
  return weights;
}

/// Scaled intensities are kept below this: two different floats above it are more than any range sigma apart, so that
/// all that matters of such a voxel, that none but its equals counts for it, is kept.
constexpr float largest = 1e17F;
/// What stands for a missing voxel: so far from all others that its weight is 0.
constexpr float nowhere = 1e18F;

__device__ bool is_present(float value) { return fabsf(value) < INFINITY; }

/// What a tap loop reads of a voxel. With a cut, differences are compared with it before they are scaled, so that those
/// at the cut itself fall on the same side everywhere.
template <bool Cut>
__device__ float prepared(float value, float scale) {
  if (!is_present(value)) return Cut ? INFINITY : nowhere;
  return Cut ? value : fminf(fmaxf(value * scale, -largest), largest);
}

__device__ float exp2_fast(float exponent) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
  return power;
}

/// Row length of the tile in shared memory: enough for the reads of the last strip, and 4 more than a multiple of the
/// 32 banks.
constexpr int tile_pitch(int radius) { return radius <= 16 ? 68 : 100; }

// A block of 4 warps filters a tile of 32 x 32 voxels of one slice. A lane owns a strip of 8 voxels along x; the 8 rows
// and 4 strips of a warp lie so that its 16-byte reads from shared memory touch every bank once.
constexpr int strip = 8, tile = 32, warps = 4;

/// Adds the taps [first, first + Taps) of a row to the sums of a strip. `row` points to the first of them for the
/// strip's first voxel and is 16-byte aligned.
template <int Taps, bool Cut, class Exponent>
__device__ __forceinline__ void add_taps(const float* row, const float (&centre)[strip], float (&sum)[strip],
                                         float (&weight)[strip], const Weights& weights, Exponent exponent) {
  constexpr int vectors = (strip + Taps - 1 + 3) / 4;
  float value[4 * vectors];
#pragma unroll
  for (int i = 0; i < vectors; ++i) {
    const float4 four = reinterpret_cast<const float4*>(row)[i];
    value[4 * i] = four.x, value[4 * i + 1] = four.y, value[4 * i + 2] = four.z, value[4 * i + 3] = four.w;
  }
#pragma unroll
  for (int tap = 0; tap < Taps; ++tap) {
    const float spatial = exponent(tap);
#pragma unroll
    for (int i = 0; i < strip; ++i) {
      float difference = value[tap + i] - centre[i];
      bool counts = true;
      if constexpr (Cut) {
        counts = fabsf(difference) < weights.cut;
        difference = counts ? difference * weights.scale : 0.0F;
      }
      const float w = counts ? exp2_fast(fmaf(-difference, difference, spatial)) : 0.0F;
      sum[i] = fmaf(w, difference, sum[i]);
      weight[i] += w;
    }
  }
}

/// Radius < 0: the radius along x is that of `weights`, and rows are taken in groups of 8 taps.
template <int Radius, bool Cut>
__global__ void __launch_bounds__(32 * warps)
    bilateral(Box<const float> in, Box<float> out, int3 offset, const __grid_constant__ Weights weights) {
  constexpr int group = 8;
  constexpr int pitch = tile_pitch(Radius < 0 ? max_radius : Radius);
  extern __shared__ __align__(16) float slice[];  // rows of `pitch`
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int rx = Radius < 0 ? weights.radius.x : Radius, ry = weights.radius.y, rz = weights.radius.z;
  const int width = tile + 2 * rx, rows = tile + 2 * ry;
  const int columns_read = Radius < 0 ? width + group : tile - strip + (strip + 2 * Radius + 3) / 4 * 4;

  const int left = blockIdx.x * tile + offset.x - rx, top = blockIdx.y * tile + offset.y - ry;
  const int y = 8 * warp + lane % 8, x = strip * (lane / 8);
  const int centre_y = min(top + ry + y, in.y - 1), centre_z = blockIdx.z + offset.z;
  const float* centre_row = in.row(centre_y, centre_z);
  float centre[strip], sum[strip] = {}, weight[strip] = {};
#pragma unroll
  for (int i = 0; i < strip; ++i) {
    centre[i] = prepared<Cut>(centre_row[min(left + rx + x + i, in.x - 1)], weights.scale);
  }

  for (int dz = -rz; dz <= rz; ++dz) {
    const int z = device_border_index(weights.border, centre_z + dz, in.z);
    __syncthreads();
    const auto fill = [&](int first_row, int row_step, int first_column, int last_column, int column_step) {
      for (int column = first_column; column < last_column; column += column_step) {
        const int from_x = device_border_index(weights.border, left + column, in.x);
#pragma unroll 4
        for (int row = first_row; row < rows; row += row_step) {
          const int from_y = device_border_index(weights.border, top + row, in.y);
          slice[row * pitch + column] =
              column < width ? prepared<Cut>(in.row(from_y, z)[from_x], weights.scale) : nowhere;
        }
      }
    };
    fill(warp, warps, lane, tile, 32);
    fill(threadIdx.x / 8, 4 * warps, tile + threadIdx.x % 8, columns_read, 8);
    __syncthreads();
    float plane_sum[strip] = {}, plane_weight[strip] = {};
    for (int dy = -ry; dy <= ry; ++dy) {
      const int reach = weights.reach[abs(dz)][abs(dy)];
      if (reach < 0) continue;
      const float row_exponent = weights.z[abs(dz)] + weights.y[abs(dy)];
      const float* row = slice + (y + ry + dy) * pitch + x;
      const auto exponent = [&](int dx) { return abs(dx) <= reach ? row_exponent + weights.x[abs(dx)] : -INFINITY; };
      if constexpr (Radius < 0) {
        for (int first = 0; first < 2 * rx + 1; first += group) {
          add_taps<group, Cut>(row + first, centre, plane_sum, plane_weight, weights,
                               [&](int tap) { return exponent(min(first + tap, 2 * rx + 1) - rx); });
        }
      } else {
        add_taps<2 * Radius + 1, Cut>(row, centre, plane_sum, plane_weight, weights,
                                      [&](int tap) { return exponent(tap - Radius); });
      }
    }
#pragma unroll
    for (int i = 0; i < strip; ++i) sum[i] += plane_sum[i], weight[i] += plane_weight[i];
  }

  const int out_y = blockIdx.y * tile + y;
  if (out_y >= out.y) return;
#pragma unroll
  for (int i = 0; i < strip; ++i) {
    const int out_x = blockIdx.x * tile + x + i;
    if (out_x >= out.x) return;
    const int at_x = out_x + offset.x, at_y = out_y + offset.y;
    const float original = centre_row[at_x];
    const bool leaves =
        at_x < rx || at_y < ry || centre_z < rz || at_x + rx >= in.x || at_y + ry >= in.y || centre_z + rz >= in.z;
    const float change = weights.border == Border::copy && leaves ? 0.0F : sum[i] / weight[i] * weights.unscale;
    out.row(out_y, blockIdx.z)[out_x] = is_present(original) ? original + change + 0.0F : original;
  }
}

__global__ void copy_voxels(Box<const float> in, Box<float> out, int3 offset) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= out.x) return;
  const float value = in.row(blockIdx.y + offset.y, blockIdx.z + offset.z)[x + offset.x];
  out.row(blockIdx.y, blockIdx.z)[x] = is_present(value) ? value + 0.0F : value;
}

template <int Radius, bool Cut>
void launch(const Box<const float>& in, const Box<float>& out, int3 offset, const Weights& weights,
            const Queue& queue) {
  const dim3 grid(ceil_div(out.x, tile), ceil_div(out.y, tile), out.z);
  const std::size_t bytes =
      sizeof(float) * tile_pitch(Radius < 0 ? max_radius : Radius) * (tile + 2 * weights.radius.y);
  bilateral<Radius, Cut><<<grid, 32 * warps, bytes, queue.stream>>>(in, out, offset, weights);
}

template <int... Radius>
void launch_for_radius(std::integer_sequence<int, Radius...>, const Box<const float>& in, const Box<float>& out,
                       int3 offset, const Weights& weights, const Queue& queue) {
  const bool found =
      ((weights.radius.x == Radius && (launch<Radius, false>(in, out, offset, weights, queue), true)) || ...);
  if (!found) launch<-1, false>(in, out, offset, weights, queue);
}

}  // namespace

void bilateral_cuda(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params,
                    const Queue& queue) {
  const int3 offset = offset_within(in, out);
  if (*params.range_sigma == 0) {
    const dim3 grid(ceil_div(out.extent.x, 128), out.extent.y, out.extent.z);
    copy_voxels<<<grid, 128, 0, queue.stream>>>(in, out, offset);
  } else {
    const Weights weights = make_weights(params, in.spacing);
    if (params.range_cut > 0) {
      launch<-1, true>(in, out, offset, weights, queue);
    } else {
      launch_for_radius(std::make_integer_sequence<int, 10>{}, in, out, offset, weights, queue);
    }
  }
  QV_CUDA(cudaGetLastError());
}

}  // namespace quietvox::cuda
