// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/adaptive_bilateral.hpp"

#include <cfloat>
#include <cmath>
#include <numbers>

#include "cuda/filters/bilateral_rates.hpp"
#include "cuda/filters/box.cuh"

namespace quietvox {
namespace {

using namespace cuda;

/// rate = 1 / clamp(kappa s, lowest, 1)^2, where s is a standard deviation of voxels scaled by a power of two.
struct VarianceRule {
  float scale, kappa, lowest;
  int3 radius;
  Border border;
};

/// Calls body(difference from the centre, scaled) for the voxels present in the box about p.
template <class Body>
__device__ void for_box(const Box<const float>& in, const VarianceRule& rule, int3 p, float centre, const Body& body) {
  const int3 r = rule.radius;
  for (int z = p.z - r.z; z <= p.z + r.z; ++z) {
    for (int y = p.y - r.y; y <= p.y + r.y; ++y) {
      const float* row = in.row(device_border_index(rule.border, y, in.y), device_border_index(rule.border, z, in.z));
      for (int x = p.x - r.x; x <= p.x + r.x; ++x) {
        const float voxel = row[device_border_index(rule.border, x, in.x)];
        if (is_present(voxel)) body((voxel - centre) * rule.scale);
      }
    }
  }
}

__device__ float rate_of(const VarianceRule& rule, float squares, float count) {
  const float deviation = sqrtf(squares / fmaxf(count - 1, 1));
  const float sigma = fmaxf(rule.lowest, fminf(rule.kappa * deviation, 1));
  return fminf(1 / (sigma * sigma), FLT_MAX);
}

/// The rate at p, anywhere, voxels missing or not.
__device__ float rate_at(const Box<const float>& in, const VarianceRule& rule, int3 p) {
  const float voxel = in.row(p.y, p.z)[p.x], centre = is_present(voxel) ? voxel : 0;
  float sum = 0, count = 0, squares = 0;
  for_box(in, rule, p, centre, [&](float difference) {
    sum += difference;
    count += 1;
  });
  const float mean = sum / fmaxf(count, 1);
  for_box(in, rule, p, centre,
          [&](float difference) { squares = fmaf(difference - mean, difference - mean, squares); });
  return rate_of(rule, squares, count);
}

constexpr int strip = 4;  ///< outputs of a thread, one below the other

/// Boxes of 3 x 3 x Depth. Where all that a strip sees is inside and present, it is read once.
template <int Depth>
__global__ void __launch_bounds__(128)
    rates_of_strips(Box<const float> in, Box<float> rates, int3 offset, const __grid_constant__ VarianceRule rule) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = strip * (blockIdx.y * blockDim.y + threadIdx.y);
  const int z = blockIdx.z;
  if (x >= rates.x || y >= rates.y) return;
  const int3 p{x + offset.x, y + offset.y, z + offset.z};
  bool simple =
      p.x >= 1 && p.x + 1 < in.x && p.y >= 1 && p.y + strip < in.y && p.z >= Depth / 2 && p.z + Depth / 2 < in.z;
  float seen[Depth][strip + 2][3];
  if (simple) {
    float probe = 0;
#pragma unroll
    for (int k = 0; k < Depth; ++k) {
#pragma unroll
      for (int j = 0; j < strip + 2; ++j) {
        const float* from = in.row(p.y + j - 1, p.z + k - Depth / 2) + p.x - 1;
#pragma unroll
        for (int i = 0; i < 3; ++i) {
          seen[k][j][i] = __ldg(from + i) * rule.scale;
          probe = fmaf(seen[k][j][i], 0.0F, probe);
        }
      }
    }
    simple = probe == 0;  // else NaN: one is not finite
  }
#pragma unroll
  for (int row = 0; row < strip; ++row) {
    if (y + row >= rates.y) return;
    float rate;
    if (simple) {
      constexpr int count = 9 * Depth;
      const float centre = seen[Depth / 2][row + 1][1];
      float difference[count], sum = 0, squares = 0;
#pragma unroll
      for (int i = 0; i < count; ++i) {
        difference[i] = seen[i / 9][row + i / 3 % 3][i % 3] - centre;
        sum += difference[i];
      }
      const float mean = sum * (1.0F / count);
#pragma unroll
      for (int i = 0; i < count; ++i) squares = fmaf(difference[i] - mean, difference[i] - mean, squares);
      rate = rate_of(rule, squares, count);
    } else {
      rate = rate_at(in, rule, {p.x, p.y + row, p.z});
    }
    rates.row(y + row, z)[x] = rate;
  }
}

__global__ void rates_of_boxes(Box<const float> in, Box<float> rates, int3 offset,
                               const __grid_constant__ VarianceRule rule) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= rates.x || y >= rates.y) return;
  rates.row(y, z)[x] = rate_at(in, rule, {x + offset.x, y + offset.y, z + offset.z});
}

void fill_rates(VolumeView<const float> in, VolumeView<float> rates, const AdaptiveBilateralParams& params,
                const Queue& queue) {
  const double scale = params.scale();
  if (params.rule == RangeRule::two_pass) {
    // rate = scale^2 / (0.25 (v + regularisation)), v = mean squared difference
    const double first = *params.range_sigma, log2e = std::numbers::log2e, ratio = first / scale;
    const RateOfSquares rate{static_cast<float>(2 * log2e), static_cast<float>(ratio * ratio),
                             static_cast<float>(0.5 * log2e * *params.regularisation / (scale * scale))};
    rates_of_squares(in, rates, params.with_range_sigma(first), rate, queue);
    return;
  }
  const Radius3 r = params.statistics_radius();
  int exponent = 0;
  const double factor = std::frexp(1 / scale, &exponent);
  const VarianceRule rule{static_cast<float>(std::ldexp(1.0, exponent)),
                          static_cast<float>(params.kappa * factor),
                          static_cast<float>(*params.lowest_range_sigma / scale),
                          {r.x, r.y, r.z},
                          params.border};
  const Extent e = rates.extent;
  const int3 offset = offset_within(in, rates);
  const bool by_strips = r.x == 1 && r.y == 1;
  const dim3 block(32, 4), grid(ceil_div(e.x, block.x), ceil_div(e.y, block.y * (by_strips ? strip : 1)), e.z);
  const auto kernel = !by_strips ? rates_of_boxes : r.z == 0 ? rates_of_strips<1> : rates_of_strips<3>;
  kernel<<<grid, block, 0, queue.stream>>>(in, rates, offset, rule);
  QV_CUDA(cudaGetLastError());
}

}  // namespace

void adaptive_bilateral_cuda(VolumeView<const float> in, VolumeView<float> out, const AdaptiveBilateralParams& params,
                             const Queue& queue) {
  const bool first_pass_copies = params.rule == RangeRule::two_pass && *params.range_sigma == 0;
  if (params.scale() == 0 || first_pass_copies) {  // one range sigma for all
    bilateral_cuda(in, out, params.with_range_sigma(params.scale()), queue);
    return;
  }
  const DeviceBuffer<float> buffer(static_cast<std::size_t>(out.extent.voxels()), queue);
  VolumeView<float> rates = out;
  rates.data = buffer.get();
  fill_rates(in, rates, params, queue);
  bilateral_with_rates(in, out, params.with_range_sigma(params.scale()), buffer.get(), queue);
}

}  // namespace quietvox
