// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/adaptive_bilateral.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cuda/filters/bilateral/rates.cuh"
#include "cuda/filters/bilateral/varying_sigma.hpp"
#include "cuda/filters/common/device_view.cuh"
#include "cuda/launch.cuh"

namespace quietvox {
namespace {

using namespace cuda;

/// What a kernel needs to know about the rates of boxes.
struct VarianceRule {
  float scale;
  RateOfVariance rate;
  int3 radius;
  Border border;
};

/// Calls body(difference from the centre, scaled) for the voxels present in the box about p.
template <class Body>
__device__ void for_box(const DeviceView<const float>& in, const VarianceRule& rule, int3 p, float centre,
                        const Body& body) {
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

/// The rate at any p: at borders and among missing voxels too.
__device__ __noinline__ float rate_at(const DeviceView<const float>& in, const VarianceRule& rule, int3 p) {
  const float voxel = in.row(p.y, p.z)[p.x], centre = is_present(voxel) ? voxel : 0;
  float sum = 0, count = 0, squares = 0;
  for_box(in, rule, p, centre, [&](float difference) {
    sum += difference;
    squares = fmaf(difference, difference, squares);
    count += 1;
  });
  return rule.rate(sum, squares, count);
}

constexpr int tile_y = 4;  ///< outputs of a thread, along y

/// Boxes of 3x3x3. Each thread reads its voxels once. Sums that are not finite mean missing voxels and are
/// redone, so that results are those of rate_at() to the bit.
__global__ void __launch_bounds__(128, 5) rates_of_tiles(DeviceView<const float> in, DeviceView<float> rates,
                                                         int3 offset, const __grid_constant__ VarianceRule rule) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = tile_y * (blockIdx.y * blockDim.y + threadIdx.y);
  const int z = blockIdx.z;
  if (x >= rates.x || y >= rates.y) return;
  const int3 p{x + offset.x, y + offset.y, z + offset.z};
  const bool inside = p.x >= 1 && p.x + 1 < in.x && p.y >= 1 && p.y + tile_y < in.y && p.z >= 1 && p.z + 1 < in.z;
  float seen[3][tile_y + 2][3];
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    if (inside) {
      const float* from = in.row(p.y - 1, p.z + k - 1) + p.x - 1;
#pragma unroll
      for (int j = 0; j < tile_y + 2; ++j, from += in.x) {
#pragma unroll
        for (int i = 0; i < 3; ++i) seen[k][j][i] = __ldg(from + i) * rule.scale;
      }
    } else {
      const int at_z = device_border_index(rule.border, p.z + k - 1, in.z);
#pragma unroll
      for (int j = 0; j < tile_y + 2; ++j) {
        const float* from = in.row(device_border_index(rule.border, p.y + j - 1, in.y), at_z);
#pragma unroll
        for (int i = 0; i < 3; ++i) {
          seen[k][j][i] = __ldg(from + device_border_index(rule.border, p.x + i - 1, in.x)) * rule.scale;
        }
      }
    }
  }
  float result[tile_y];
  bool finite = true;
#pragma unroll
  for (int j = 0; j < tile_y; ++j) {
    const float centre = seen[1][j + 1][1];
    float sum = 0, squares = 0;
#pragma unroll
    for (int n = 0; n < 27; ++n) {
      if (n == 13) continue;
      const float difference = seen[n / 9][j + n / 3 % 3][n % 3] - centre;
      sum += difference;
      squares = fmaf(difference, difference, squares);
    }
    result[j] = is_present(squares) ? rule.rate(sum, squares, 27) : NAN;
    finite = finite && is_present(squares);
  }
  float* to = rates.row(y, z) + x;
#pragma unroll
  for (int j = 0; j < tile_y && y + j < rates.y; ++j, to += rates.x) *to = result[j];
  if (finite) return;
  for (int j = 0; j < tile_y && y + j < rates.y; ++j) {
    float& rate = rates.row(y + j, z)[x];
    if (!is_present(rate)) rate = rate_at(in, rule, {p.x, p.y + j, p.z});
  }
}

__global__ void rates_of_boxes(DeviceView<const float> in, DeviceView<float> rates, int3 offset,
                               const __grid_constant__ VarianceRule rule) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= rates.x || y >= rates.y) return;
  rates.row(y, z)[x] = rate_at(in, rule, {x + offset.x, y + offset.y, z + offset.z});
}

/// By the rule variance, where the noise does not vary, of params.scale() as 1 / rated_scale().
RateOfVariance rate_of_variance(const AdaptiveBilateralParams& params) {
  // rate = sqrt(log2(e) / 2) / (scale clamp(kappa s, lowest, highest)), of standard deviations s scaled alike
  const double numerator = std::sqrt(0.5 * std::numbers::log2e), scale = params.scale();
  return {static_cast<float>(params.kappa * params.kappa / (numerator * numerator)),
          static_cast<float>(rate_of(*params.highest_range_sigma, scale)),
          static_cast<float>(std::min<double>(rate_of(*params.lowest_range_sigma, scale), largest_rate))};
}

void fill_rates_of_boxes(VolumeView<const float> in, VolumeView<float> rates, const AdaptiveBilateralParams& params,
                         const LaunchContext& context) {
  const Radius3 r = params.statistics_radius();
  const RateOfVariance bounded = rate_of_variance(params);
  const bool varies = params.map.varies();
  const VarianceRule rule{rated_scale(params.scale()),
                          varies ? RateOfVariance{bounded.gain, 0, largest_rate} : bounded,
                          {r.x, r.y, r.z},
                          params.border};
  const Extent e = rates.extent;
  const int3 offset = offset_within(in, rates);
  const bool by_tiles = r == Radius3{1, 1, 1};
  const dim3 block(32, 4);
  const dim3 grid(ceil_div(e.x, block.x), ceil_div(e.y, block.y * (by_tiles ? tile_y : 1)), e.z);
  const auto kernel = by_tiles ? rates_of_tiles : rates_of_boxes;
  launch(kernel, grid, block, 0, context, in, rates, offset, rule);
  if (varies) bound_rates(rates, bounded.lowest_rate, bounded.highest_rate, params.map, params.volume, context);
}

void fill_rates_of_squares(VolumeView<const float> in, VolumeView<float> rates, const AdaptiveBilateralParams& params,
                           const LaunchContext& context) {
  // rate = sqrt(log2(e) / 2) / (0.5 scale sqrt(v + regularisation)), v = mean squared difference
  const double first = *params.range_sigma, scale = rated_scale(params.scale()), ratio = first * scale;
  const RateOfSquares rate{static_cast<float>(ratio * ratio / (std::numbers::log2e * std::numbers::log2e)),
                           static_cast<float>(0.5 * *params.regularisation * scale * scale / std::numbers::log2e)};
  rates_of_squares(in, rates, params.with_range_sigma(first), rate, context);
}

}  // namespace

void adaptive_bilateral_cuda(VolumeView<const float> in, VolumeView<float> out, const AdaptiveBilateralParams& params,
                             const LaunchContext& context) {
  const bool first_pass_copies = params.rule == RangeRule::two_pass && *params.range_sigma == 0;
  if (params.scale() == 0 || first_pass_copies) {  // one range sigma for all
    bilateral_cuda(in, out, params.with_range_sigma(params.scale()), context);
    return;
  }
  const BilateralParams weights = params.with_range_sigma(params.scale());
  const bool variance = params.rule == RangeRule::variance;
  if (variance && !params.map.varies() && params.statistics_radius() == Radius3{1, 1, 0}) {
    bilateral_with_rates(in, out, weights, rate_of_variance(params), context);
    return;
  }
  const DeviceBuffer<float> buffer(static_cast<std::size_t>(out.extent.voxels()), context);
  VolumeView<float> rates = out;
  rates.data = buffer.get();
  (variance ? fill_rates_of_boxes : fill_rates_of_squares)(in, rates, params, context);
  bilateral_with_rates(in, out, weights, buffer.get(), context);
}

}  // namespace quietvox
