// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cuda/filters/gaussian/convolution_tile.cuh"

namespace quietvox::gaussian {
namespace {

// The sampled Gaussian added up in floats, for volumes without missing voxels. The outputs of a strip are the voxel in
// its middle and the sums of the weighted differences to it, from the smallest weights inwards: for each output an
// error of at most 5e-7 of the range of the voxels, and none where all are equal. Quarters of the differences are
// summed up, since a pair of differences may be four times the largest float. Strips begin at multiples of their length
// in the volume, so that no slab changes what an output is compared with.

/// Outputs of a strip. All of them see the voxel in its middle.
constexpr int strip_of(int reach) { return reach <= 8 ? 8 : 16; }

/// Weights by offset, and zeros up to Reach.
template <int Reach>
struct Window {
  float of_offset[Reach + 1];
};

/// Outputs of a strip. `from` is the first voxel that its first output sees; the next ones lie `Step` apart.
template <int Step, int Reach, int Strip>
__device__ __forceinline__ void add_pairs(const float* from, const Window<Reach>& window, float (&result)[Strip]) {
  const float middle = from[(Reach + Strip / 2) * Step];
  const auto difference = [&](int place) { return fmaf(from[place * Step], 0.25F, -0.25F * middle); };
  float before[Strip], behind[Strip], sum[Strip] = {};  // both in turn
#pragma unroll
  for (int i = 0; i < Strip; ++i) before[i] = difference(i), behind[i] = difference(2 * Reach + i);
#pragma unroll
  for (int done = 0; done < Reach; ++done) {
#pragma unroll
    for (int i = 0; i < Strip; ++i) {
      const float pair = before[(i + done) % Strip] + behind[(i - done + Reach * Strip) % Strip];
      sum[i] = fmaf(window.of_offset[Reach - done], pair, sum[i]);
    }
    before[done % Strip] = difference(Strip + done);
    behind[(Strip * Reach - 1 - done) % Strip] = difference(2 * Reach - 1 - done);
  }
#pragma unroll
  for (int i = 0; i < Strip; ++i) {
    const float quarter = fmaf(window.of_offset[0], before[(i + Reach) % Strip], sum[i]);
    result[i] = clamp_to_finite(fmaf(quarter, 4, middle));
  }
}

template <bool AlongX, int Reach>
__global__ void __launch_bounds__(lanes* warps)
    convolve(const __grid_constant__ AxisPass pass, const __grid_constant__ Window<Reach> window, int first_place) {
  constexpr int strip = strip_of(Reach), tile = strip * warps;
  constexpr int staged_places = (tile + 2 * Reach + warps - 1) / warps * warps;
  constexpr int line = line_pitch(staged_places);
  __shared__ float staged[AlongX ? lanes * line : lanes * staged_places];
  const int lane = threadIdx.x, warp = threadIdx.y, plane = blockIdx.z;
  const int first_line = lanes * static_cast<int>(AlongX ? blockIdx.y : blockIdx.x);
  const int first = first_place + tile * static_cast<int>(AlongX ? blockIdx.x : blockIdx.y);
  stage<AlongX, staged_places>(pass, first_line, plane, first - Reach, staged);
  __syncthreads();
  float result[strip];
  if constexpr (AlongX) {
    add_pairs<1>(staged + lane * line + warp * strip, window, result);
  } else {
    add_pairs<lanes>(staged + warp * strip * lanes + lane, window, result);
  }
  write_strips<AlongX>(pass, first_line, plane, first - pass.begin, result, staged);
}

template <int Reach>
void launch(const AxisPass& pass, const std::vector<double>& of_offset, std::int64_t origin,
            const LaunchContext& context) {
  Window<Reach> window{};
  std::copy(of_offset.begin(), of_offset.end(), window.of_offset);
  constexpr int strip = strip_of(Reach), tile = strip * warps;
  const std::int64_t before = (origin + pass.begin) % strip;
  const int first_place = static_cast<int>(pass.begin - before);
  const dim3 block(lanes, warps);
  const auto tiles = static_cast<unsigned>(ceil_div(pass.length + before, tile));
  const auto groups = static_cast<unsigned>(ceil_div(pass.lines, lanes)), planes = static_cast<unsigned>(pass.planes);
  if (pass.axis == 0) {
    convolve<true, Reach><<<dim3(tiles, groups, planes), block, 0, context.stream>>>(pass, window, first_place);
  } else {
    convolve<false, Reach><<<dim3(groups, tiles, planes), block, 0, context.stream>>>(pass, window, first_place);
  }
}

}  // namespace

bool convolves_in_floats(const std::vector<double>& of_offset) {
  const std::size_t radius = of_offset.size() - 1;
  return radius >= strip_of(0) / 2 && radius < 32;
}

void convolve_in_floats(const AxisPass& pass, const std::vector<double>& of_offset, std::int64_t origin,
                        const LaunchContext& context) {
  const std::size_t radius = of_offset.size() - 1;
  if (radius <= 5) return launch<5>(pass, of_offset, origin, context);
  if (radius <= 8) return launch<8>(pass, of_offset, origin, context);
  if (radius <= 11) return launch<11>(pass, of_offset, origin, context);
  if (radius <= 15) return launch<15>(pass, of_offset, origin, context);
  if (radius <= 23) return launch<23>(pass, of_offset, origin, context);
  launch<31>(pass, of_offset, origin, context);
}

}  // namespace quietvox::gaussian
