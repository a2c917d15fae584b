// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/filters/gaussian/axis_pass.cuh"

/// What kernels of the sampled Gaussian share: a block stages what a tile of outputs of 32 lines sees in shared memory;
/// a thread makes a strip of the tile.
namespace quietvox::gaussian {

constexpr int warps = 8;

/// Distance of lines in shared memory, where the voxels of a line lie side by side: odd, against bank conflicts.
constexpr int line_pitch(int staged) { return staged + 1; }

/// Writes voxels of 32 lines, `Count` from place `start` on, to shared memory: along x line by line, else place by
/// place.
template <bool AlongX, int Count, class Number>
__device__ __forceinline__ void stage(const AxisPass& pass, int first_line, int plane, int start, Number* staged) {
  const int lane = threadIdx.x, warp = threadIdx.y, last_line = pass.lines - 1;
  const bool inside = pass.is_inside(start) && pass.is_inside(start + Count - 1);
  if constexpr (AlongX) {
    constexpr int own_lines = lanes / warps, chunks = (Count + lanes - 1) / lanes;
    const float* first_source = pass.source(first_line, plane);
    float voxels[own_lines * chunks];
    int place[chunks];
#pragma unroll
    for (int j = 0; j < chunks; ++j) {
      place[j] = start + min(lane + j * lanes, Count - 1);
      if (!inside) place[j] = pass.place(place[j]);
    }
#pragma unroll
    for (int i = 0; i < own_lines; ++i) {
      const float* from = first_source + min(warp + i * warps, last_line - first_line) * pass.in.line;
#pragma unroll
      for (int j = 0; j < chunks; ++j) voxels[i * chunks + j] = __ldg(from + place[j]);
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
    const std::int64_t step = pass.in.step;
    if (inside) {
      from += (start + warp) * step;
#pragma unroll
      for (int i = 0; i < rows; ++i, from += warps * step) voxels[i] = __ldg(from);
    } else if (pass.period == 0) {
      const int last = pass.in_length - 1;
#pragma unroll
      for (int i = 0; i < rows; ++i) voxels[i] = __ldg(from + min(max(start + warp + i * warps, 0), last) * step);
    } else {
#pragma unroll
      for (int i = 0; i < rows; ++i) voxels[i] = __ldg(from + pass.place(start + warp + i * warps) * step);
    }
    pass.interpret(voxels);
#pragma unroll
    for (int i = 0; i < rows; ++i) staged[(warp + i * warps) * lanes + lane] = voxels[i];
  }
}

/// Writes the strips of a block, the first of which starts at the output `first` of the line; what lies before output 0
/// is left out. `shared` is memory that no thread needs any more.
template <bool AlongX, class Number, int Strip>
__device__ __forceinline__ void write_strips(const AxisPass& pass, int first_line, int plane, int first,
                                             const Number (&result)[Strip], void* shared) {
  constexpr int tile = Strip * warps;
  const int lane = threadIdx.x, warp = threadIdx.y, mine = first + warp * Strip;
  if constexpr (AlongX) {
    auto* results = reinterpret_cast<float(*)[tile + 1]>(shared);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Strip; ++i) results[lane][warp * Strip + i] = to_output(result[i]);
    __syncthreads();
    float* to = pass.target(first_line + warp, plane) + first;
    const bool whole = first >= 0 && first + tile <= pass.length;
#pragma unroll
    for (int i = 0; i < lanes / warps; ++i, to += warps * pass.out.line) {
      const int line = warp + i * warps;
      if (first_line + line >= pass.lines) break;
#pragma unroll
      for (int j = 0; j < (tile + lanes - 1) / lanes; ++j) {
        const int n = lane + j * lanes;
        if (whole || (first + n >= 0 && first + n < pass.length)) to[n] = results[line][n];
      }
    }
  } else if (first_line + lane < pass.lines) {
    const std::int64_t step = pass.out.step;
    float* to = pass.target(first_line + lane, plane) + mine * step;
    if (mine >= 0 && mine + Strip <= pass.length) {
#pragma unroll
      for (int i = 0; i < Strip; ++i, to += step) *to = to_output(result[i]);
    } else {
#pragma unroll
      for (int i = 0; i < Strip; ++i, to += step) {
        if (mine + i >= 0 && mine + i < pass.length) *to = to_output(result[i]);
      }
    }
  }
}

}  // namespace quietvox::gaussian
