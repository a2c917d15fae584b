// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/nlm.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "cuda/filters/common/copy.hpp"
#include "cuda/filters/common/device_noise_map.hpp"
#include "cuda/filters/nlm/patch_kernels.cuh"
#include "cuda/launch.cuh"

namespace quietvox {
namespace {

using namespace cuda;
using namespace cuda::nlm;

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

/// Any patch: a thread makes one output, and compares patches voxel by voxel.
__global__ void nlm_directly(DeviceView<const float> in, DeviceView<float> out, int3 offset,
                             const __grid_constant__ Nlm nlm) {
  const int out_x = blockIdx.x * blockDim.x + threadIdx.x, out_y = blockIdx.y * blockDim.y + threadIdx.y;
  const int out_z = blockIdx.z;
  if (out_x >= out.x || out_y >= out.y) return;
  const int3 p{out_x + offset.x, out_y + offset.y, out_z + offset.z}, f = nlm.patch;
  int3 low{-nlm.search.x, -nlm.search.y, -nlm.search.z}, high = nlm.search;
  if (nlm.whole_slice) {
    low = {-p.x, nlm.first_row - p.y, 0};
    high = {in.x - 1 - p.x, nlm.last_row - 1 - p.y, 0};
  }
  const Noise& noise = nlm.noise;
  const float* const variance = noise.variances ? noise.variances + noise.place(p.x, p.y, p.z) : nullptr;
  const float voxel = scaled_voxel(in, nlm, p.x, p.y, p.z);
  const float all = static_cast<float>((2 * f.x + 1) * (2 * f.y + 1) * (2 * f.z + 1));
  float sum = 0, weight = nlm.first_row == 0 ? 1 : 0;  // the voxel's own
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

}  // namespace

void nlm_cuda(VolumeView<const float> in, VolumeView<float> out, const NlmParams& params,
              const LaunchContext& context) {
  if (params.h() < 0x1p-140) {  // no two floats are that near and not equal
    copy_voxels(in, out, context);
    return;
  }
  const int3 offset = offset_within(in, out);
  const dim3 block(32, 4), grid(ceil_div(out.extent.x, block.x), ceil_div(out.extent.y, block.y), out.extent.z);
  Nlm nlm = make_nlm(params, in.spacing);
  std::optional<NoiseOfVoxels> noise;
  if (params.map.varies()) nlm.noise = noise.emplace(in, params, context).noise();
  const auto rows = static_cast<int>(in.extent.y);
  constexpr std::int64_t sums_hold = 1 << 18;  // neighbours, of which sums in float stay accurate
  constexpr int fewest_rows = 64;              // a block of outputs looks at up to 47 more
  const int at_once =
      nlm.whole_slice
          ? static_cast<int>(std::clamp<std::int64_t>(sums_hold / in.extent.x, std::min(fewest_rows, rows), rows))
          : rows;
  DeviceBuffer<Sums> sums;
  if (at_once < rows) sums = DeviceBuffer<Sums>(static_cast<std::size_t>(out.extent.voxels()), context);
  nlm.sums = sums.get();
  nlm.results = out.data;
  for (int first = 0; first < rows; first += at_once) {
    nlm.first_row = first;
    nlm.last_row = std::min(first + at_once, rows);
    if (run_in_slices(in, out, offset, nlm, context) || run_in_boxes(in, out, offset, nlm, context)) continue;
    launch(nlm_directly, grid, block, 0, context, in, out, offset, nlm);
  }
}

}  // namespace quietvox
