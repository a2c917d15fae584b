// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/adaptive_bilateral.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cuda/filters/bilateral_rates.hpp"
#include "cuda/filters/box.cuh"

namespace quietvox {
namespace {

using namespace cuda;

/// rate = 1 / clamp(kappa s, lowest, 1), where s is a standard deviation of voxels scaled by a power of two.
struct VarianceRule {
  float scale, kappa, highest_rate;
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

/// From the sums of the differences to the centre and of their squares. The centre is one of the voxels, so that it
/// lies within a few standard deviations of their mean, and little is lost by subtraction. Rounded alike wherever it is
/// inlined. Squares beyond all floats give the rate 1.
__device__ float rate_of(const VarianceRule& rule, float sum, float squares, float count) {
  const float about_mean = fmaf(__fmul_rn(sum, -1.0F / fmaxf(count, 1)), sum, squares);
  const float variance = about_mean < 0 ? 0.0F : about_mean * (1.0F / fmaxf(count - 1, 1));
  return fminf(fmaxf(rsqrtf(rule.kappa * rule.kappa * variance), 1), rule.highest_rate);
}

/// The rate at p, anywhere, voxels missing or not.
__device__ __noinline__ float rate_at(const Box<const float>& in, const VarianceRule& rule, int3 p) {
  const float voxel = in.row(p.y, p.z)[p.x], centre = is_present(voxel) ? voxel : 0;
  float sum = 0, count = 0, squares = 0;
  for_box(in, rule, p, centre, [&](float difference) {
    sum += difference;
    squares = fmaf(difference, difference, squares);
    count += 1;
  });
  return rate_of(rule, sum, squares, count);
}

/// Outputs of a thread, along y.
constexpr int tile_height(int depth) { return depth == 1 ? 8 : 4; }

/// Boxes of 3 x 3 x Depth. What a thread sees is read once. Sums that are not finite tell of missing voxels, and are
/// made anew, so that results are those of rate_at() to the bit.
template <int Depth>
__global__ void __launch_bounds__(128, Depth == 1 ? 8 : 5)
    rates_of_tiles(Box<const float> in, Box<float> rates, int3 offset, const __grid_constant__ VarianceRule rule) {
  constexpr int count = 9 * Depth, deep = Depth / 2, tile_y = tile_height(Depth);
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = tile_y * (blockIdx.y * blockDim.y + threadIdx.y);
  const int z = blockIdx.z;
  if (x >= rates.x || y >= rates.y) return;
  const int3 p{x + offset.x, y + offset.y, z + offset.z};
  const bool inside = p.x >= 1 && p.x + 1 < in.x && p.y >= 1 && p.y + tile_y < in.y && p.z >= deep && p.z + deep < in.z;
  float seen[Depth][tile_y + 2][3];
#pragma unroll
  for (int k = 0; k < Depth; ++k) {
    if (inside) {
      const float* from = in.row(p.y - 1, p.z + k - deep) + p.x - 1;
#pragma unroll
      for (int j = 0; j < tile_y + 2; ++j, from += in.x) {
#pragma unroll
        for (int i = 0; i < 3; ++i) seen[k][j][i] = __ldg(from + i) * rule.scale;
      }
    } else {
      const int at_z = device_border_index(rule.border, p.z + k - deep, in.z);
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
    const float centre = seen[deep][j + 1][1];
    float sum = 0, squares = 0;
#pragma unroll
    for (int n = 0; n < count; ++n) {
      if (n == count / 2) continue;
      const float difference = seen[n / 9][j + n / 3 % 3][n % 3] - centre;
      sum += difference;
      squares = fmaf(difference, difference, squares);
    }
    result[j] = is_present(squares) ? rate_of(rule, sum, squares, count) : NAN;
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
    // rate = scale / (0.5 sqrt(v + regularisation)), v = mean squared difference
    const double first = *params.range_sigma, ratio = first / scale;
    const RateOfSquares rate{static_cast<float>(0.5 * ratio * ratio / std::numbers::log2e),
                             static_cast<float>(0.25 * *params.regularisation / (scale * scale))};
    rates_of_squares(in, rates, params.with_range_sigma(first), rate, queue);
    return;
  }
  const Radius3 r = params.statistics_radius();
  int exponent = 0;
  const double factor = std::frexp(1 / scale, &exponent);
  const VarianceRule rule{static_cast<float>(std::ldexp(1.0, exponent)),
                          static_cast<float>(params.kappa * factor),
                          static_cast<float>(std::min<double>(scale / *params.lowest_range_sigma, largest_rate)),
                          {r.x, r.y, r.z},
                          params.border};
  const Extent e = rates.extent;
  const int3 offset = offset_within(in, rates);
  const bool by_tiles = r.x == 1 && r.y == 1;
  const dim3 block(32, 4);
  const dim3 grid(ceil_div(e.x, block.x), ceil_div(e.y, block.y * (by_tiles ? tile_height(2 * r.z + 1) : 1)), e.z);
  const auto kernel = !by_tiles ? rates_of_boxes : r.z == 0 ? rates_of_tiles<1> : rates_of_tiles<3>;
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
