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

/// rate = 1 / clamp(kappa s, lowest, 1)^2, with intensities scaled to a largest range sigma of 1.
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

__global__ void rates_of_variance(Box<const float> in, Box<float> rates, int3 offset,
                                  const __grid_constant__ VarianceRule rule) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= rates.x || y >= rates.y) return;
  const int3 p{x + offset.x, y + offset.y, z + offset.z};
  const float voxel = in.row(p.y, p.z)[p.x], centre = is_present(voxel) ? voxel : 0;
  float sum = 0, count = 0, squares = 0;
  for_box(in, rule, p, centre, [&](float difference) {
    sum += difference;
    count += 1;
  });
  const float mean = sum / fmaxf(count, 1);
  for_box(in, rule, p, centre,
          [&](float difference) { squares = fmaf(difference - mean, difference - mean, squares); });
  const float deviation = sqrtf(squares / fmaxf(count - 1, 1));
  const float sigma = fmaxf(rule.lowest, fminf(rule.kappa * deviation, 1));
  rates.row(y, z)[x] = fminf(1 / (sigma * sigma), FLT_MAX);
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
  const VarianceRule rule{static_cast<float>(1 / scale),
                          static_cast<float>(params.kappa),
                          static_cast<float>(*params.lowest_range_sigma / scale),
                          {r.x, r.y, r.z},
                          params.border};
  const Extent e = rates.extent;
  const dim3 block(32, 4), grid(ceil_div(e.x, block.x), ceil_div(e.y, block.y), e.z);
  rates_of_variance<<<grid, block, 0, queue.stream>>>(in, rates, offset_within(in, rates), rule);
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
