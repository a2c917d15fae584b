// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "cuda/filters/gaussian/convolution_tile.cuh"

namespace quietvox::gaussian {
namespace {

// The sampled Gaussian, summed in doubles, a few taps at a time.

constexpr int strip = 8, tile = strip * warps;
constexpr int most_taps = 64;  ///< at a time

/// Weights of a short window, followed by zeros. They are parameters of the kernel at fixed places, and so cost no
/// loads.
struct ShortWindow {
  static constexpr bool in_parts = false;
  int radius;
  double of_tap[most_taps];
};

/// Weights of a window of any size, by offset.
struct LongWindow {
  static constexpr bool in_parts = true;
  int radius;
  double of_offset[static_cast<int>(5 * GaussianParams::largest_sigma + 0.5) + 1];

  __device__ double of_tap(int tap) const {
    const int offset = abs(tap - radius);
    return offset <= radius ? of_offset[offset] : 0.0;
  }
};

/// Adds taps to the 8 outputs of a strip, in order. `from` is the voxel under the first tap of the first output; the
/// others follow at distances of `Step`. Reads 8 voxels beyond the last tap.
template <int Step, int Taps, bool Unroll>
__device__ __forceinline__ void add_taps(const double* from, const double* weight, double (&sum)[strip]) {
  double window[strip];
#pragma unroll
  for (int i = 0; i < strip; ++i) window[i] = from[i * Step];
#pragma unroll(Unroll ? Taps / strip : 1)
  for (int tap = 0; tap < Taps; tap += strip) {
#pragma unroll
    for (int j = 0; j < strip; ++j) {
      const double w = weight[tap + j];
#pragma unroll
      for (int i = 0; i < strip; ++i) sum[i] = fma(w, window[(i + j) % strip], sum[i]);
      window[j] = from[(tap + strip + j) * Step];
    }
  }
}

/// Taps: how many are added at a time.
template <bool AlongX, int Taps, class Window>
__global__ void __launch_bounds__(lanes* warps, AlongX || Taps > 32 ? 4 : 5)
    convolve(const __grid_constant__ AxisPass pass, const __grid_constant__ Window window) {
  constexpr int staged_places = tile + Taps;
  __shared__ double staged[AlongX ? lanes * line_pitch(staged_places) : lanes * staged_places];
  __shared__ double weight[Window::in_parts ? Taps : 1];
  if (pass.is_idle()) return;
  const int lane = threadIdx.x, warp = threadIdx.y, thread = warp * lanes + lane;
  const int first_line = lanes * static_cast<int>(AlongX ? blockIdx.y : blockIdx.x);
  const int first = tile * static_cast<int>(AlongX ? blockIdx.x : blockIdx.y);
  const double* from =
      staged + (AlongX ? lane * line_pitch(staged_places) + warp * strip : warp * strip * lanes + lane);
  for (int plane = blockIdx.z; plane < pass.planes; plane += gridDim.z) {
    double sum[strip] = {};
    for (int tap = 0; tap <= 2 * window.radius; tap += Taps) {
      __syncthreads();
      if constexpr (Window::in_parts) {
        if (thread < Taps) weight[thread] = window.of_tap(tap + thread);
      }
      stage<AlongX, staged_places>(pass, first_line, plane, pass.begin + first - window.radius + tap, staged);
      __syncthreads();
      constexpr int step = AlongX ? 1 : lanes;
      if constexpr (Window::in_parts) {
        add_taps<step, Taps, false>(from, weight, sum);
      } else {
        add_taps<step, Taps, true>(from, window.of_tap, sum);
        break;
      }
    }
    write_strips<AlongX>(pass, first_line, plane, first, sum, staged);
  }
}

template <int Taps, class Window>
void launch(const AxisPass& pass, const Window& window, const LaunchContext& context) {
  const dim3 block(lanes, warps);
  const auto tiles = static_cast<unsigned>(ceil_div(pass.length, tile));
  const auto groups = static_cast<unsigned>(ceil_div(pass.lines, lanes));
  if (pass.axis == 0) {
    convolve<true, Taps><<<dim3(tiles, groups, pass.layers()), block, 0, context.stream>>>(pass, window);
  } else {
    convolve<false, Taps><<<dim3(groups, tiles, pass.layers()), block, 0, context.stream>>>(pass, window);
  }
}

}  // namespace

void convolve(const AxisPass& pass, const std::vector<double>& of_offset, const LaunchContext& context) {
  const int radius = static_cast<int>(of_offset.size()) - 1, taps = 2 * radius + 1;
  if (taps > most_taps) {
    LongWindow window;
    window.radius = radius;
    std::copy(of_offset.begin(), of_offset.end(), window.of_offset);
    return launch<most_taps>(pass, window, context);
  }
  ShortWindow window{.radius = radius, .of_tap = {}};
  for (int tap = 0; tap < taps; ++tap) window.of_tap[tap] = of_offset[std::abs(tap - radius)];
  if (taps <= 8) return launch<8>(pass, window, context);
  if (taps <= 16) return launch<16>(pass, window, context);
  if (taps <= 24) return launch<24>(pass, window, context);
  if (taps <= 32) return launch<32>(pass, window, context);
  if (taps <= 48) return launch<48>(pass, window, context);
  launch<most_taps>(pass, window, context);
}

}  // namespace quietvox::gaussian
