// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "cuda/filters/gaussian/pass.cuh"

namespace quietvox::gaussian {
namespace {

// The sampled Gaussian: a block stages what 64 outputs of 32 lines see in shared memory, for some taps at a time; a
// thread makes a strip of 8.

constexpr int strip = 8, warps = 8, tile = strip * warps;
constexpr int most_taps = 64;  ///< at a time

/// Weights of a short window from its first voxel on, followed by zeros. As numbers that the compiler finds in the
/// parameters of a kernel they cost no loads.
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

/// Distance of lines in shared memory, where the voxels of a line lie side by side: odd, against bank conflicts.
constexpr int line_pitch(int staged) { return staged + 1; }

/// Writes voxels of 32 lines, `Count` from place `start` on, to shared memory: along x line by line, else place by
/// place.
template <bool AlongX, int Count>
__device__ __forceinline__ void stage(const Pass& pass, int first_line, int plane, int start, double* staged) {
  const int lane = threadIdx.x, warp = threadIdx.y, last_line = pass.lines() - 1;
  const bool inside = pass.holds(start) && pass.holds(start + Count - 1);
  if constexpr (AlongX) {
    constexpr int own_lines = lanes / warps, chunks = (Count + lanes - 1) / lanes;
    const float* first_source = pass.source(first_line, plane);
    float voxels[own_lines * chunks];
#pragma unroll
    for (int i = 0; i < own_lines; ++i) {
      const float* from =
          first_source + static_cast<std::int64_t>(min(warp + i * warps, last_line - first_line)) * pass.in.x;
      if (inside) {
        from += start;
#pragma unroll
        for (int j = 0; j < chunks; ++j) voxels[i * chunks + j] = __ldg(from + min(lane + j * lanes, Count - 1));
      } else {
#pragma unroll 1
        for (int j = 0; j < chunks; ++j) {
          const float voxel = __ldg(from + pass.place(start + min(lane + j * lanes, Count - 1)));
#pragma unroll
          for (int k = 0; k < chunks; ++k) voxels[i * chunks + k] = k == j ? voxel : voxels[i * chunks + k];
        }
      }
    }
    pass.interpret(voxels);
#pragma unroll
    for (int i = 0; i < own_lines; ++i) {
#pragma unroll
      for (int j = 0; j < chunks; ++j) {
        const int n = lane + j * lanes;
        if (n < Count) staged[(warp + i * warps) * line_pitch(Count) + n] = voxels[i * chunks + j];
      }
    }
  } else {
    constexpr int rows = Count / warps;
    float voxels[rows];
    const float* from = pass.source(min(first_line + lane, last_line), plane);
    const std::int64_t step = pass.source_step();
    if (inside) {
      from += (start + warp) * step;
#pragma unroll
      for (int i = 0; i < rows; ++i, from += warps * step) voxels[i] = __ldg(from);
    } else {
#pragma unroll 1
      for (int i = 0; i < rows; ++i) {
        const float voxel = __ldg(from + pass.place(start + warp + i * warps) * step);
#pragma unroll
        for (int k = 0; k < rows; ++k) voxels[k] = k == i ? voxel : voxels[k];
      }
    }
    pass.interpret(voxels);
#pragma unroll
    for (int i = 0; i < rows; ++i) staged[(warp + i * warps) * lanes + lane] = voxels[i];
  }
}

/// Adds taps to the 8 outputs of a strip, in their order. `from` is what the first tap of the first output sees; the
/// next voxels lie `Step` apart. Reads 8 voxels more than the taps see.
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

/// Taps: at a time.
template <bool AlongX, int Taps, class Window>
__global__ void __launch_bounds__(lanes* warps, AlongX || Taps > 32 ? 4 : 5)
    convolve(const __grid_constant__ Pass pass, const __grid_constant__ Window window) {
  constexpr int staged_places = tile + Taps;
  __shared__ double staged[AlongX ? lanes * line_pitch(staged_places) : lanes * staged_places];
  __shared__ double weight[Window::in_parts ? Taps : 1];
  if (pass.is_idle()) return;
  const int lane = threadIdx.x, warp = threadIdx.y, thread = warp * lanes + lane;
  const int first_line = lanes * static_cast<int>(AlongX ? blockIdx.y : blockIdx.x);
  const int first = tile * static_cast<int>(AlongX ? blockIdx.x : blockIdx.y), mine = first + warp * strip;
  const double* from =
      staged + (AlongX ? lane * line_pitch(staged_places) + warp * strip : warp * strip * lanes + lane);
  for (int plane = blockIdx.z; plane < pass.planes(); plane += gridDim.z) {
    double sum[strip] = {};
    for (int tap = 0; tap <= 2 * window.radius; tap += Taps) {
      __syncthreads();
      if constexpr (Window::in_parts) {
        if (thread < Taps) weight[thread] = window.of_tap(tap + thread);
      }
      stage<AlongX, staged_places>(pass, first_line, plane, pass.begin() + first - window.radius + tap, staged);
      __syncthreads();
      constexpr int step = AlongX ? 1 : lanes;
      if constexpr (Window::in_parts) {
        add_taps<step, Taps, false>(from, weight, sum);
      } else {
        add_taps<step, Taps, true>(from, window.of_tap, sum);
        break;
      }
    }
    if constexpr (AlongX) {
      auto* results = reinterpret_cast<float(*)[tile + 1]>(staged);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < strip; ++i) results[lane][warp * strip + i] = written(sum[i]);
      __syncthreads();
      float* to = pass.target(first_line + warp, plane) + first;
#pragma unroll
      for (int i = 0; i < lanes / warps; ++i, to += warps * static_cast<std::int64_t>(pass.out.x)) {
        const int line = warp + i * warps;
        if (first_line + line >= pass.lines()) break;
#pragma unroll
        for (int n = lane; n < tile; n += lanes) {
          if (first + n < pass.length()) to[n] = results[line][n];
        }
      }
    } else if (first_line + lane < pass.lines()) {
      const std::int64_t step = pass.target_step();
      float* to = pass.target(first_line + lane, plane) + mine * step;
      if (mine + strip <= pass.length()) {
#pragma unroll
        for (int i = 0; i < strip; ++i, to += step) *to = written(sum[i]);
      } else {
#pragma unroll
        for (int i = 0; i < strip; ++i, to += step) {
          if (mine + i < pass.length()) *to = written(sum[i]);
        }
      }
    }
  }
}

template <int Taps, class Window>
void launch(const Pass& pass, const Window& window, const Queue& queue) {
  const dim3 block(lanes, warps);
  const auto tiles = static_cast<unsigned>(ceil_div(pass.length(), tile));
  const auto groups = static_cast<unsigned>(ceil_div(pass.lines(), lanes));
  if (pass.axis == 0) {
    convolve<true, Taps><<<dim3(tiles, groups, pass.layers()), block, 0, queue.stream>>>(pass, window);
  } else {
    convolve<false, Taps><<<dim3(groups, tiles, pass.layers()), block, 0, queue.stream>>>(pass, window);
  }
}

}  // namespace

void convolve(const Pass& pass, const std::vector<double>& of_offset, const Queue& queue) {
  const int radius = static_cast<int>(of_offset.size()) - 1, taps = 2 * radius + 1;
  if (taps > most_taps) {
    LongWindow window;
    window.radius = radius;
    std::copy(of_offset.begin(), of_offset.end(), window.of_offset);
    return launch<most_taps>(pass, window, queue);
  }
  ShortWindow window{.radius = radius, .of_tap = {}};
  for (int tap = 0; tap < taps; ++tap) window.of_tap[tap] = of_offset[std::abs(tap - radius)];
  if (taps <= 8) return launch<8>(pass, window, queue);
  if (taps <= 16) return launch<16>(pass, window, queue);
  if (taps <= 24) return launch<24>(pass, window, queue);
  if (taps <= 32) return launch<32>(pass, window, queue);
  if (taps <= 48) return launch<48>(pass, window, queue);
  launch<most_taps>(pass, window, queue);
}

}  // namespace quietvox::gaussian
