// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "cuda/filters/bm4d/groups.cuh"
#include "cuda/filters/common/dct.cuh"

/// Transforms of groups: wavelets in double, which is exact, for the first stage, cosines in float for the second.
namespace quietvox::cuda::bm4d {

constexpr int half_pitch = 33;  ///< of halves of blocks

enum class Direction { forward, back };

/// Wavelets of a few values: sums and differences.
template <Direction D, int N>
__device__ __forceinline__ void transform_line(double (&v)[N]) {
  if constexpr (N > 1) {
    double low[N / 2], high[N / 2];
    if constexpr (D == Direction::forward) {
#pragma unroll
      for (int i = 0; i < N / 2; ++i) {
        low[i] = v[2 * i] + v[2 * i + 1];
        high[i] = v[2 * i] - v[2 * i + 1];
      }
      transform_line<D>(low);
#pragma unroll
      for (int i = 0; i < N / 2; ++i) {
        v[i] = low[i];
        v[N / 2 + i] = high[i];
      }
    } else {
#pragma unroll
      for (int i = 0; i < N / 2; ++i) {
        low[i] = v[i];
        high[i] = v[N / 2 + i];
      }
      transform_line<D>(low);
#pragma unroll
      for (int i = 0; i < N / 2; ++i) {
        v[2 * i] = low[i] + high[i];
        v[2 * i + 1] = low[i] - high[i];
      }
    }
  }
}

/// Cosines.
template <Direction D, int N>
__device__ __forceinline__ void transform_line(float (&v)[N]) {
  if constexpr (D == Direction::forward) {
    transform<N>(v);
  } else {
    inverse_transform<N>(v);
  }
}

/// Transforms `Lines` lines of values, `Along` apart in a line and `Across` from line to line.
template <Direction D, int N, int Lines, int Along, int Across, int From, class T, int M>
__device__ __forceinline__ void transform_lines(T (&values)[M]) {
#pragma unroll
  for (int line = 0; line < Lines; ++line) {
    T v[N];
#pragma unroll
    for (int n = 0; n < N; ++n) v[n] = values[From + line * Across + n * Along];
    transform_line<D>(v);
#pragma unroll
    for (int n = 0; n < N; ++n) values[From + line * Across + n * Along] = v[n];
  }
}

/// The sum of what two lanes have, in the first one, and the difference, in the second.
template <class T>
__device__ __forceinline__ T sum_or_difference(T value, int half) {
  const T other = __shfl_xor_sync(all_lanes, value, 1);
  return other + (half == 0 ? value : -value);
}

/// Blocks of 4x4x4 voxels, two slices a lane.
struct Cubes {
  static constexpr bool any = false;
  static constexpr int x = 4, y = 4;

  /// Which coefficient a lane has in its value i.
  template <class T>
  static constexpr __device__ int coefficient(int i, int half) {
    return (i < 16 ? half : 2 + half) * 16 + i % 16;
  }

  template <Direction D, class T>
  static __device__ __forceinline__ void along_rows(T (&v)[32]) {
    if constexpr (D == Direction::forward) transform_lines<D, 4, 8, 1, 4, 0>(v);
    transform_lines<D, 4, 4, 4, 1, 0>(v);
    transform_lines<D, 4, 4, 4, 1, 16>(v);
    if constexpr (D == Direction::back) transform_lines<D, 4, 8, 1, 4, 0>(v);
  }

  template <Direction D>
  static __device__ __forceinline__ void transform(double (&v)[32], int half) {
    if constexpr (D == Direction::forward) along_rows<D>(v);
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      if constexpr (D == Direction::forward) {
        const double sum = v[i] + v[16 + i];
        v[16 + i] = v[i] - v[16 + i];
        v[i] = sum_or_difference(sum, half);
      } else {
        const double sum = sum_or_difference(v[i], half);
        v[i] = sum + v[16 + i];
        v[16 + i] = sum - v[16 + i];
      }
    }
    if constexpr (D == Direction::back) along_rows<D>(v);
  }

  /// Along z one lane has the even coefficients, the other the odd ones.
  template <Direction D>
  static __device__ __forceinline__ void transform(float (&v)[32], int half) {
    if constexpr (D == Direction::forward) along_rows<D>(v);
    const float major = half == 0 ? 0.5F : cosine_major, minor = half == 0 ? 0.5F : cosine_minor;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      float &first = v[i], &second = v[16 + i];
      if constexpr (D == Direction::forward) {
        const float other_first = __shfl_xor_sync(all_lanes, first, 1);
        const float other_second = __shfl_xor_sync(all_lanes, second, 1);
        const float outer = half == 0 ? first + other_second : other_first - second;
        const float inner = half == 0 ? second + other_first : other_second - first;
        first = fmaf(outer, major, __fmul_rn(inner, minor));
        second = fmaf(outer, minor, -__fmul_rn(inner, major));
      } else {
        const float outer = fmaf(first, major, __fmul_rn(second, minor));
        const float inner = fmaf(first, minor, -__fmul_rn(second, major));
        const float other_outer = __shfl_xor_sync(all_lanes, outer, 1);
        const float other_inner = __shfl_xor_sync(all_lanes, inner, 1);
        first = half == 0 ? outer + other_outer : other_inner - inner;
        second = half == 0 ? inner + other_inner : other_outer - outer;
      }
    }
    if constexpr (D == Direction::back) along_rows<D>(v);
  }
};

/// Blocks of 8x8 voxels, four rows a lane.
struct Squares {
  static constexpr bool any = false;
  static constexpr int x = 8, y = 8;

  template <class T>
  static constexpr __device__ int coefficient(int i, int half) {
    const int y = i / 8;
    if (std::is_same_v<T, float>) return (2 * y + half) * 8 + i % 8;
    return (y < 2 ? 2 * y + half : 2 + 2 * half + y) * 8 + i % 8;
  }

  template <Direction D>
  static __device__ __forceinline__ void transform(double (&v)[32], int half) {
    if constexpr (D == Direction::forward) {
      transform_lines<D, 8, 4, 1, 8, 0>(v);
      transform_lines<D, 4, 8, 8, 1, 0>(v);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = sum_or_difference(v[i], half);
    if constexpr (D == Direction::back) {
      transform_lines<D, 4, 8, 8, 1, 0>(v);
      transform_lines<D, 8, 4, 1, 8, 0>(v);
    }
  }

  /// Along y one lane has the even coefficients, the other the odd ones.
  template <Direction D>
  static __device__ __forceinline__ void transform(float (&v)[32], int half) {
    if constexpr (D == Direction::forward) {
      transform_lines<D, 8, 4, 1, 8, 0>(v);
#pragma unroll
      for (int x = 0; x < 8; ++x) {
        float own[4], other[4];
#pragma unroll
        for (int y = 0; y < 4; ++y) {
          own[y] = v[8 * y + x];
          other[y] = __shfl_xor_sync(all_lanes, own[y], 1);
        }
#pragma unroll
        for (int y = 0; y < 4; ++y) {
          v[8 * y + x] = half == 0 ? __fmul_rn(own[y] + other[3 - y], root_of_half) : other[y] - own[3 - y];
        }
      }
    }
    if (half == 0) {
#pragma unroll
      for (int x = 0; x < 8; ++x) along_column<D, true>(v, x);
    } else {
#pragma unroll
      for (int x = 0; x < 8; ++x) along_column<D, false>(v, x);
    }
    __syncwarp();
    if constexpr (D == Direction::back) {
#pragma unroll
      for (int x = 0; x < 8; ++x) {
        float own[4], other[4];
#pragma unroll
        for (int y = 0; y < 4; ++y) {
          own[y] = v[8 * y + x];
          other[y] = __shfl_xor_sync(all_lanes, own[y], 1);
        }
#pragma unroll
        for (int y = 0; y < 4; ++y) v[8 * y + x] = half == 0 ? own[y] + other[y] : other[3 - y] - own[3 - y];
      }
      transform_lines<D, 8, 4, 1, 8, 0>(v);
    }
  }

  template <Direction D, bool Even>
  static __device__ __forceinline__ void along_column(float (&v)[32], int x) {
    float from[4], to[4];
#pragma unroll
    for (int y = 0; y < 4; ++y) from[y] = v[8 * y + x];
    if constexpr (Even) {
#pragma unroll
      for (int y = 0; y < 4; ++y) to[y] = D == Direction::back ? __fmul_rn(from[y], root_of_half) : from[y];
      transform_line<D>(to);
    } else if constexpr (D == Direction::forward) {
      transform_odd(from, to);
    } else {
      inverse_transform_odd(from, to);
    }
#pragma unroll
    for (int y = 0; y < 4; ++y) v[8 * y + x] = to[y];
  }
};

/// Blocks of other lengths are transformed in shared memory.
struct Any {
  static constexpr bool any = true;
  static constexpr int x = 0, y = 0;

  template <class T>
  static constexpr __device__ int coefficient(int i, int half) {
    return half * 32 + i;
  }
  template <Direction D, class T>
  static __device__ void transform(T (&)[32], int) {}
};

template <Direction D, int N, class T>
__device__ void transform_lines_in_room(T* room, int stride, int voxels, int lane) {
  const int lines = voxels / N;
  for (int i = lane; i < most_blocks * lines; i += 32) {
    const int line = i % lines, first = line / stride * stride * N + line % stride;
    T* const block = room + i / lines * 2 * half_pitch;
    T v[N];
#pragma unroll
    for (int n = 0; n < N; ++n) v[n] = block[first + n * stride + (first + n * stride) / 32 * (half_pitch - 32)];
    transform_line<D>(v);
#pragma unroll
    for (int n = 0; n < N; ++n) block[first + n * stride + (first + n * stride) / 32 * (half_pitch - 32)] = v[n];
  }
  __syncwarp();
}

/// Transforms all blocks along their axes.
template <Direction D, class T>
__device__ void transform_in_room(T* room, int3 lengths, int voxels, int lane) {
  int stride = 1;
  for (const int length : {lengths.x, lengths.y, lengths.z}) {
    if (length == 2) transform_lines_in_room<D, 2>(room, stride, voxels, lane);
    if (length == 4) transform_lines_in_room<D, 4>(room, stride, voxels, lane);
    if (length == 8) transform_lines_in_room<D, 8>(room, stride, voxels, lane);
    stride *= length;
  }
}

/// Wavelets across the blocks of a group, in place: pairs of blocks, pairs of pairs, ... Of floats orthonormal ones.
template <Direction D, class T>
__device__ __forceinline__ void transform_stack(T (&v)[most_blocks], int count) {
#pragma unroll
  for (int level = 0; level < 4; ++level) {
    const int apart = D == Direction::forward ? 1 << level : 8 >> level;
    if (apart >= count) continue;
#pragma unroll
    for (int i = 0; i < most_blocks; i += 2 * apart) {
      const T sum = v[i] + v[i + apart], difference = v[i] - v[i + apart];
      v[i] = std::is_same_v<T, float> ? sum * static_cast<T>(root_of_half) : sum;
      v[i + apart] = std::is_same_v<T, float> ? difference * static_cast<T>(root_of_half) : difference;
    }
  }
}

}  // namespace quietvox::cuda::bm4d
