// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bilateral.hpp"

#include <cmath>

#include "cuda/filters/bilateral/scaled_voxels.cuh"
#include "cuda/filters/bilateral/varying_sigma.hpp"
#include "cuda/filters/bilateral/window_kernels.cuh"
#include "cuda/filters/common/copy.hpp"
#include "cuda/filters/common/device_noise_map.hpp"
#include "cuda/launch.cuh"

namespace quietvox {
namespace {

using namespace cuda;
using bilateral::FlatWindow, bilateral::Kind, bilateral::Window;
static_assert(BilateralParams::largest_radius == bilateral::max_radius);

Window window_of(const BilateralParams& params, const Spacing& spacing) {
  Window window{};
  const Radius3 r = params.halo();
  for (int i = 0; i <= bilateral::max_radius; ++i) {
    window.x[i] = static_cast<float>(log2_domain_weight(params, spacing, {i, 0, 0}));
    window.y[i] = static_cast<float>(log2_domain_weight(params, spacing, {0, i, 0}));
    window.z[i] = static_cast<float>(log2_domain_weight(params, spacing, {0, 0, i}));
  }
  for (int z = 0; z <= r.z; ++z) {
    for (int y = 0; y <= r.y; ++y) {
      int reach = r.x;
      while (reach >= 0 && !in_window(params, {reach, y, z})) --reach;
      window.reach[z][y] = static_cast<signed char>(reach);
    }
  }
  window.radius = {r.x, r.y, r.z};
  const RangeScale scale(*params.range_sigma);
  window.scale = scale.to;
  window.unscale = scale.from;
  const double cut = params.range_cut * *params.range_sigma;
  window.cut = static_cast<float>(cut);
  if (window.cut < cut) window.cut = std::nextafter(window.cut, INFINITY);
  window.border = params.border;
  return window;
}

Window rated_window_of(const BilateralParams& params, const Spacing& spacing) {
  Window window = window_of(params, spacing);
  window.scale = rated_scale(*params.range_sigma);
  window.unscale = 1 / window.scale;
  return window;
}

/// Does not depend on the size of the box, because sums are made in another order than for other windows.
bool has_symmetric_weights(const BilateralParams& params) {
  const Radius3 r = params.halo();
  return r.x <= FlatWindow::most_rx && r.y >= FlatWindow::least_ry && r.y <= FlatWindow::most_ry && r.z == 0 &&
         params.range_cut == 0;
}

FlatWindow flat_window_of(const BilateralParams& params, const Spacing& spacing) {
  FlatWindow window{};
  window.rx = params.halo().x;
  window.ry = params.halo().y;
  for (int x = 0; x <= window.rx; ++x) {
    for (int y = 0; y <= window.ry; ++y) {
      const double exponent = in_window(params, {x, y, 0}) ? log2_domain_weight(params, spacing, {x, y, 0}) : -INFINITY;
      window.exponent[x][y] = static_cast<float>(exponent);
    }
  }
  const RangeScale scale(*params.range_sigma);
  window.scale = scale.to;
  window.unscale = scale.from;
  window.border = params.border;
  return window;
}

__global__ void bound_each_rate(DeviceView<float> rates, Index3 origin, const __grid_constant__ CoarseFieldView map,
                                float lowest_rate, float highest_rate) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= rates.x || y >= rates.y) return;
  const float precision = 1 / static_cast<float>(map.at(origin.x + x, origin.y + y, origin.z + z));
  float& rate = rates.row(y, z)[x];
  rate = fminf(fmaxf(rate, lowest_rate * precision), fminf(highest_rate * precision, largest_rate));
}

/// Each output has the range sigma times its noise.
void bilateral_by_noise(const VolumeView<const float>& in, const VolumeView<float>& out, const BilateralParams& params,
                        const LaunchContext& context) {
  const auto voxels = static_cast<std::size_t>(out.extent.voxels());
  const DeviceBuffer<float> buffer(voxels, context);
  QV_CUDA(cudaMemsetAsync(buffer.get(), 0, voxels * sizeof(float), context.stream));
  VolumeView<float> rates = out;
  rates.data = buffer.get();
  const auto rate = static_cast<float>(rate_of(*params.range_sigma, *params.range_sigma));
  bound_rates(rates, rate, rate, params.map, params.volume, context);
  bilateral_with_rates(in, out, params, rates.data, context);
}

}  // namespace

void bilateral_cuda(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params,
                    const LaunchContext& context) {
  const int3 offset = offset_within(in, out);
  if (*params.range_sigma == 0) {
    copy_voxels(in, out, context);
  } else if (params.map.varies()) {
    bilateral_by_noise(in, out, params, context);
  } else if (has_symmetric_weights(params)) {
    run_symmetric(in, out, offset, flat_window_of(params, in.spacing), context);
  } else {
    const Kind kind = params.range_cut > 0 ? Kind::cut : Kind::plain;
    run(kind, in, out, nullptr, offset, window_of(params, in.spacing), context);
  }
}

namespace cuda {

void bound_rates(VolumeView<float> rates, float lowest_rate, float highest_rate, const CoarseField& map,
                 const Extent& volume, const LaunchContext& context) {
  const DeviceNoiseMap noise(map, volume, context);
  const dim3 block(32, 4);
  const dim3 grid(ceil_div(rates.extent.x, block.x), ceil_div(rates.extent.y, block.y), rates.extent.z);
  launch(bound_each_rate, grid, block, 0, context, rates, rates.origin, noise.view(), lowest_rate, highest_rate);
}

void bilateral_with_rates(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params,
                          const float* rates, const LaunchContext& context) {
  run(Kind::rated, in, out, rates, offset_within(in, out), rated_window_of(params, in.spacing), context);
}

void bilateral_with_rates(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params,
                          const RateOfVariance& rate, const LaunchContext& context) {
  Window window = rated_window_of(params, in.spacing);
  window.rate_of_variance = rate;
  run(Kind::rated, in, out, nullptr, offset_within(in, out), window, context);
}

void rates_of_squares(VolumeView<const float> in, VolumeView<float> rates, const BilateralParams& params,
                      const RateOfSquares& rate, const LaunchContext& context) {
  Window window = window_of(params, in.spacing);
  window.rate_of_squares = rate;
  run(Kind::squares, in, rates, nullptr, offset_within(in, rates), window, context);
}

}  // namespace cuda
}  // namespace quietvox
