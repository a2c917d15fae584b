// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bm4d.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "cuda/filters/box.cuh"
#include "cuda/filters/copy.hpp"
#include "cuda/filters/cosines.cuh"
#include "cuda/resources.hpp"
#include "filters/bm4d_stage.hpp"

namespace quietvox {
namespace {

using namespace cuda;
using bm4d_kernel::Basis;
using bm4d_kernel::Covariances;
using bm4d_kernel::kBlockRoom;
using bm4d_kernel::kLeastVariance;
using bm4d_kernel::kMostBlocks;
using bm4d_kernel::kVarianceGrid;
using bm4d_kernel::Places;
using bm4d_kernel::reference_places;
using bm4d_kernel::Stage;

// A stage finds the groups of some layers of references, then shrinks them, layers after layers; in the end it divides
// the sums that groups added to. A warp makes a group. Sums are whole numbers, so that their order does not show. The
// first stage rounds nothing but what the CPU rounds, in the same way: the second would group other blocks else.

constexpr unsigned all_lanes = ~0U;

/// Places of references within the box that is compared: one step apart, but the last one.
struct References {
  int3 count, first, step, last;

  __device__ std::int64_t number(int3 i) const {
    return (static_cast<std::int64_t>(i.z) * count.y + i.y) * count.x + i.x;
  }

  __device__ int3 place(int x, int y, int z) const {
    return {min(first.x + x * step.x, last.x), min(first.y + y * step.y, last.y), min(first.z + z * step.z, last.z)};
  }
};

/// Divides whole numbers below 2^16.
struct Divider {
  unsigned long long factor;

  explicit Divider(int divisor) : factor(((1ULL << 32) + static_cast<unsigned>(divisor) - 1) / divisor) {}
  __device__ int operator()(int number) const { return static_cast<int>(static_cast<unsigned>(number) * factor >> 32); }
};

/// Whole numbers to be compared; NaN where no block may have a voxel, and around the box.
__global__ void make_compared(Box<const float> pilot, Box<float> compared, int3 margin, double per_voxel) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= compared.x || y >= compared.y) return;
  const int3 p{x - margin.x, y - margin.y, z - margin.z};
  const bool inside = p.x >= 0 && p.x < pilot.x && p.y >= 0 && p.y < pilot.y && p.z >= 0 && p.z < pilot.z;
  const float value = inside ? pilot.row(p.y, p.z)[p.x] : NAN;
  compared.row(y, z)[x] = is_present(value) ? static_cast<float>(rint(value * per_voxel)) : NAN;
}

// Matching. A strip is a few blocks of a window side by side; each lane compares one strip at a time. Strips count row
// by row, as blocks do. Voxels around the references of a tile are staged in shared memory; strips below each other
// begin in banks next to each other.

constexpr int match_warps = 8, queued = 64;
constexpr unsigned no_block = ~0U;  ///< instead of a block's place in the window: x, y, z, a byte each

struct Matching {
  const float* compared;
  std::int64_t row, slice;  ///< of what is compared, and how far that goes
  int width;
  References references;
  int3 window;  ///< places of blocks
  int length_y, length_z;
  int chunks, strips;  ///< of a row of the window, of all
  Divider by_chunks, by_rows;
  int3 tile;         ///< references
  int pitch, plane;  ///< of what is staged
  unsigned* groups;
};

/// What a warp has in shared memory.
struct alignas(16) MatchRoom {
  float own[kBlockRoom];
  float2 queue[queued];         ///< distances, and which blocks
  float2 nearest[kMostBlocks];  ///< the same
};

/// Of shared memory; four and eight values lie as vectors do.
template <int N>
__device__ __forceinline__ void load(const float* from, float (&to)[N]) {
  if constexpr (N % 4 == 0) {
#pragma unroll
    for (int n = 0; n < N; n += 4) {
      const float4 four = *reinterpret_cast<const float4*>(from + n);
      to[n] = four.x;
      to[n + 1] = four.y;
      to[n + 2] = four.z;
      to[n + 3] = four.w;
    }
  } else {
#pragma unroll
    for (int n = 0; n < N; ++n) to[n] = from[n];
  }
}

/// The 16th smallest of the lanes' values.
__device__ float middle_of_lanes(float value, int lane) {
#pragma unroll
  for (int size = 2; size <= 32; size *= 2) {
#pragma unroll
    for (int apart = size / 2; apart > 0; apart /= 2) {
      const float other = __shfl_xor_sync(all_lanes, value, apart);
      const bool smaller = ((lane & size) == 0) == ((lane & apart) == 0);
      value = smaller ? fminf(value, other) : fmaxf(value, other);
    }
  }
  return __shfl_sync(all_lanes, value, 15);
}

/// The nearest blocks so far, in order, one in each of 16 lanes.
struct Nearest {
  float distance;  ///< infinite: none
  int block;

  /// Takes those of the first `count` lanes' blocks that are nearer. They count after all that are there.
  __device__ void take(float other_distance, int other_block, int count, int lane, MatchRoom& room) {
    const unsigned alike = __match_any_sync(all_lanes, __float_as_int(other_distance));
    int rank = lane, other_rank = __popc(alike & ((1U << lane) - 1));
    for (int i = 0; i < count; ++i) {
      const float d = __shfl_sync(all_lanes, other_distance, i);
      rank += d < distance;
      other_rank += d < other_distance;
    }
#pragma unroll
    for (int i = 0; i < kMostBlocks; ++i) other_rank += __shfl_sync(all_lanes, distance, i) <= other_distance;
    if (lane < kMostBlocks && rank < kMostBlocks) {
      room.nearest[rank] = {distance, __int_as_float(block)};
    }
    if (other_distance < INFINITY && other_rank < kMostBlocks) {
      room.nearest[other_rank] = {other_distance, __int_as_float(other_block)};
    }
    __syncwarp();
    if (lane < kMostBlocks) {
      distance = room.nearest[lane].x;
      block = __float_as_int(room.nearest[lane].y);
    }
    __syncwarp();
  }

  __device__ float farthest() const { return __shfl_sync(all_lanes, distance, kMostBlocks - 1); }
};

/// Rows: of blocks, along y; 0: as many as there are.
template <int Length, int Rows, int Width, bool Staged>
__global__ void __launch_bounds__(32 * match_warps, 2) find_groups(const __grid_constant__ Matching m) {
  extern __shared__ float4 shared[];
  using Offset = std::conditional_t<Staged, int, std::int64_t>;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, length_y = Rows > 0 ? Rows : m.length_y;
  MatchRoom* const rooms = reinterpret_cast<MatchRoom*>(shared);
  MatchRoom& room = rooms[warp];
  float* const staged = reinterpret_cast<float*>(rooms + match_warps);

  const int3 first{static_cast<int>(blockIdx.x) * m.tile.x, static_cast<int>(blockIdx.y) * m.tile.y,
                   static_cast<int>(blockIdx.z) * m.tile.z};
  const References& references = m.references;
  const int3 count{min(m.tile.x, references.count.x - first.x), min(m.tile.y, references.count.y - first.y),
                   min(m.tile.z, references.count.z - first.z)};
  const int3 corner = references.place(first.x, first.y, first.z);
  if (Staged) {
    const int3 end = references.place(first.x + count.x - 1, first.y + count.y - 1, first.z + count.z - 1);
    const int width = end.x - corner.x + m.chunks * Width + Length - 1;
    const int height = end.y - corner.y + m.window.y + length_y - 1;
    const int depth = end.z - corner.z + m.window.z + m.length_z - 1;
    for (int i = warp; i < height * depth; i += match_warps) {
      const int y = i % height, z = i / height;
      const float* const from = m.compared + (corner.z + z) * m.slice + (corner.y + y) * m.row + corner.x;
      float* const to = staged + z * m.plane + y * m.pitch;
      for (int x = lane; x < width; x += 32) to[x] = corner.x + x < m.width ? from[x] : NAN;
    }
    __syncthreads();
  }
  const Offset row = Staged ? m.pitch : static_cast<Offset>(m.row);
  const Offset slice = Staged ? m.plane : static_cast<Offset>(m.slice);
  const int3 middle{m.window.x / 2, m.window.y / 2, m.window.z / 2};
  const int own_block = ((middle.z * m.window.y + middle.y) * m.chunks + middle.x / Width) * Width + middle.x % Width;
  const int voxels = Length * length_y * m.length_z;
  const auto own_voxel = [&](int i) {
    const int line = i / Length;
    return (middle.z + line / length_y) * slice + (middle.y + line % length_y) * row + middle.x + i % Length;
  };
  const Offset own_voxels[2] = {own_voxel(lane), own_voxel(lane + 32)};

  for (int i = warp; i < count.x * count.y * count.z; i += match_warps) {
    const int3 index{first.x + i % count.x, first.y + i / count.x % count.y, first.z + i / (count.x * count.y)};
    const int3 place = references.place(index.x, index.y, index.z);
    const float* const window =
        Staged ? staged + (place.z - corner.z) * slice + (place.y - corner.y) * row + place.x - corner.x
               : m.compared + place.z * slice + place.y * row + place.x;
    bool missing = false;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      if (lane + 32 * k >= voxels) continue;
      const float value = window[own_voxels[k]];
      room.own[lane + 32 * k] = value;
      missing = missing || value != value;
    }
    missing = __any_sync(all_lanes, missing);
    __syncwarp();

    Nearest nearest{lane == 0 ? -1.0F : INFINITY, own_block};  // the reference comes before all
    float farthest = INFINITY;
    for (int from_strip = 0; from_strip < m.strips && !missing; from_strip += 32) {
      const int strip = min(from_strip + lane, m.strips - 1);
      const int line = m.by_chunks(strip), z = m.by_rows(line), y = line - z * m.window.y;
      const int x = (strip - line * m.chunks) * Width;
      float distances[Width];
#pragma unroll
      for (int n = 0; n < Width; ++n) distances[n] = 0;
      const float* from = window + z * slice + y * row + x;
      const float* own = room.own;
      for (int k = 0; k < m.length_z; ++k, from += slice - length_y * row) {
#pragma unroll
        for (int j = 0; j < length_y; ++j, from += row, own += Length) {
          float others[Width + Length - 1], voxel[Length];
          load(own, voxel);
#pragma unroll
          for (int n = 0; n < Width + Length - 1; ++n) others[n] = from[n];
#pragma unroll
          for (int l = 0; l < Length; ++l) {
#pragma unroll
            for (int n = 0; n < Width; ++n) {
              const float difference = others[n + l] - voxel[l];
              distances[n] = fmaf(difference, difference, distances[n]);
            }
          }
        }
      }

      const int blocks = from_strip + lane < m.strips ? min(m.window.x - x, Width) : 0;
      float least = INFINITY;
#pragma unroll
      for (int n = 0; n < Width; ++n) {
        if (n >= blocks) distances[n] = INFINITY;
        least = fminf(least, distances[n]);
      }
      if (from_strip == 0) {  // 15 others are no farther than that
        const float bound = middle_of_lanes(least, lane);
        if (bound < INFINITY) farthest = __int_as_float(__float_as_int(bound) + 1);
      }
      int nearer = 0;
#pragma unroll
      for (int n = 0; n < Width; ++n) nearer += distances[n] < farthest;
      int before = nearer;  // of the lanes up to this one
#pragma unroll
      for (int apart = 1; apart < 32; apart *= 2) {
        const int others = __shfl_up_sync(all_lanes, before, apart);
        if (lane >= apart) before += others;
      }
      const int total = __shfl_sync(all_lanes, before, 31);
      const float limit = farthest;
      for (int from_queue = 0; from_queue < total; from_queue += queued) {
        unsigned at = before - nearer - from_queue;
#pragma unroll
        for (int n = 0; n < Width; ++n) {
          const bool passes = distances[n] < limit;
          if (passes && at < queued) room.queue[at] = {distances[n], __int_as_float(strip * Width + n)};
          at += passes;
        }
        __syncwarp();
        for (int i = 0; i < min(total - from_queue, queued); i += 32) {
          const int left = total - from_queue - i;
          const float2 next = lane < left ? room.queue[i + lane] : float2{INFINITY, 0};
          float distance = next.x;
          const int block = __float_as_int(next.y);
          if (block == own_block || !(distance < farthest)) distance = INFINITY;
          if (!__any_sync(all_lanes, distance < INFINITY)) continue;
          nearest.take(distance, block, min(left, 32), lane, room);
          farthest = nearest.farthest();
        }
        __syncwarp();
      }
    }

    const int found = __popc(__ballot_sync(all_lanes, lane < kMostBlocks && nearest.distance < INFINITY));
    const int taken = missing ? 0 : 1 << (31 - __clz(found));
    if (lane < kMostBlocks) {
      const int strip = nearest.block / Width, line = m.by_chunks(strip), z = m.by_rows(line);
      const int x = (strip - line * m.chunks) * Width + nearest.block % Width, y = line - z * m.window.y;
      m.groups[references.number(index) * kMostBlocks + lane] =
          lane < taken ? static_cast<unsigned>(x | y << 8 | z << 16) : no_block;
    }
  }
}

// Shrinking. A lane has two voxels of every block while the blocks are transformed across the group, and half a block
// while it is transformed along its axes. Between, values go through shared memory.

constexpr int shrink_warps = 4;
constexpr int half_pitch = 33;      ///< of halves of blocks
constexpr int variance_pitch = 68;  ///< of a block's variances

/// Noise that varies; values are null where it does not.
struct NoiseMap {
  const float* values;
  int3 size, volume, origin;  ///< origin: of the box that is compared, in the volume

  /// As CoarseField::at has it, to the bit.
  __device__ double at(int3 p) const {
    int node[3];
    double weight[3];
    const int sizes[3] = {size.x, size.y, size.z}, extents[3] = {volume.x, volume.y, volume.z};
    const int voxel[3] = {origin.x + p.x, origin.y + p.y, origin.z + p.z};
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      node[axis] = 0;
      weight[axis] = 0;
      if (sizes[axis] == 1 || extents[axis] == 1) continue;
      const double place = __ddiv_rn(static_cast<double>(static_cast<std::int64_t>(voxel[axis]) * (sizes[axis] - 1)),
                                     static_cast<double>(extents[axis] - 1));
      node[axis] = min(static_cast<int>(place), sizes[axis] - 2);
      weight[axis] = place - node[axis];
    }
    double sum = 0;
    for (int corner = 0; corner < 8; ++corner) {
      double share = 1;
      int n[3];
#pragma unroll
      for (int axis = 0; axis < 3; ++axis) {
        const bool next = corner >> axis & 1;
        share = __dmul_rn(share, next ? weight[axis] : 1 - weight[axis]);
        n[axis] = node[axis] + next;
      }
      if (!(share > 0)) continue;
      const double value = values[(static_cast<std::int64_t>(n[2]) * size.y + n[1]) * size.x + n[0]];
      sum = __dadd_rn(sum, __dmul_rn(share, value));
    }
    return sum;
  }
};

/// Covariances of the coefficients of blocks, two a lane; none of blocks so far apart as `size`.
struct CovarianceTable {
  const int2* values;
  int3 size;
};

struct Shrinking {
  Box<const float> noisy, pilot;
  int3 noisy_offset;         ///< of the first voxel of what is compared
  unsigned long long* sums;  ///< for each voxel of the pilot: of changes, of weights
  References references;
  const unsigned* groups;
  int3 search, lengths;
  int voxels;  ///< of a block
  CovarianceTable covariances;
  NoiseMap map;
  double threshold, rate, ratio, per_change, per_weight;
  double window[kBlockRoom], shares[kBlockRoom];
};

template <class T>
__device__ T sum_of_lanes(T value) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) value += __shfl_xor_sync(all_lanes, value, apart);
  return value;
}

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
    turn_back<N>(v);
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
      turn_back_odd(from, to);
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
  for (int i = lane; i < kMostBlocks * lines; i += 32) {
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
__device__ __forceinline__ void transform_stack(T (&v)[kMostBlocks], int count) {
#pragma unroll
  for (int level = 0; level < 4; ++level) {
    const int apart = D == Direction::forward ? 1 << level : 8 >> level;
    if (apart >= count) continue;
#pragma unroll
    for (int i = 0; i < kMostBlocks; i += 2 * apart) {
      const T sum = v[i] + v[i + apart], difference = v[i] - v[i + apart];
      v[i] = std::is_same_v<T, float> ? sum * static_cast<T>(root_of_half) : sum;
      v[i + apart] = std::is_same_v<T, float> ? difference * static_cast<T>(root_of_half) : difference;
    }
  }
}

/// Blocks that wavelet m across the blocks of a group takes, a power of two: so many is this.
__device__ __forceinline__ int stack_power(int m, int count) { return __ffs(m == 0 ? count : 2 * m) - 1; }

/// Sums of covariances of the pairs of blocks whose bits are set, two coefficients a lane. `place` is where those of
/// the lane's own pair begin.
__device__ __forceinline__ int2 sum_of_pairs(const int2* values, int place, unsigned pairs, int lane) {
  int2 sum{0, 0};
  while (pairs != 0) {
    const int first = __ffs(pairs) - 1;
    pairs &= pairs - 1;
    const bool two = pairs != 0;
    const int second = two ? __ffs(pairs) - 1 : first;
    pairs &= pairs - 1;
    const int2 a = __ldg(values + __shfl_sync(all_lanes, place, first) + lane);
    const int2 b = __ldg(values + __shfl_sync(all_lanes, place, second) + lane);
    sum.x += a.x + (two ? b.x : 0);
    sum.y += a.y + (two ? b.y : 0);
  }
  return sum;
}

/// Fills `room` with the variances of a group's coefficients, times the blocks that their wavelets take, for noise of
/// sigma 1. Pairs of blocks count by how far apart the halves are that wavelets compare: 8, 4, 2, 1 blocks.
__device__ __forceinline__ void find_variances(const CovarianceTable& table, unsigned block, int count, int lane,
                                               int* room) {
  int places[4];
  unsigned pairs[4];
#pragma unroll
  for (int word = 0; word < 4; ++word) {
    const int i = word * 32 + lane;
    const int power = word < 2 ? 3 : word == 2 ? 2 : lane < 16 ? 1 : 0;  // halves of 2^power blocks
    const int pair = word < 2 ? i : word == 2 ? lane : lane & 15, apart = 1 << power;
    const int of_node = pair & ((1 << 2 * power) - 1), node = pair >> 2 * power;
    const int a = 2 * node * apart + (of_node >> power), b = (2 * node + 1) * apart + (of_node & (apart - 1));
    const unsigned from = __shfl_sync(all_lanes, block, a), to = __shfl_sync(all_lanes, block, b & 15);
    const auto distance = [&](int shift) {
      return abs(static_cast<int>(to >> shift & 255U) - static_cast<int>(from >> shift & 255U));
    };
    const int x = distance(0), y = distance(8), z = distance(16);
    places[word] = ((z * table.size.y + y) * table.size.x + x) * (kBlockRoom / 2);
    const bool shares = b < count && x < table.size.x && y < table.size.y && z < table.size.z;
    pairs[word] = __ballot_sync(all_lanes, shares);
  }

  const int2 own = __ldg(table.values + lane);
  int2 sums[kMostBlocks];  // of all pairs within so many blocks from here
  const auto store = [&](int m, int2 variance) {
    const int least = static_cast<int>(kLeastVariance / kVarianceGrid) << stack_power(m, count);
    *reinterpret_cast<int2*>(room + m * variance_pitch + 2 * lane) =
        int2{max(variance.x, least), max(variance.y, least)};
  };
#pragma unroll
  for (int i = 0; i < kMostBlocks; ++i) sums[i] = own;
#pragma unroll
  for (int power = 0; power < 4; ++power) {
    const int apart = 1 << power;
    if (apart >= count) continue;
#pragma unroll
    for (int node = 0; node < 8 >> power; ++node) {
      const int first = 2 * node * apart;
      int2 across;
      if (power == 3) {
        across = sum_of_pairs(table.values, places[0], pairs[0], lane);
        const int2 others = sum_of_pairs(table.values, places[1], pairs[1], lane);
        across = {across.x + others.x, across.y + others.y};
      } else {
        const int word = power == 2 ? 2 : 3, bits = 1 << 2 * power;
        const int shift = power == 0 ? 16 + node : node * bits;
        across = sum_of_pairs(table.values, places[word], pairs[word] & ((1U << bits) - 1) << shift, lane);
      }
      const int2 a = sums[first], b = sums[first + apart], within{a.x + b.x, a.y + b.y};
      sums[first] = {within.x + 2 * across.x, within.y + 2 * across.y};
      store(first + apart, {within.x - 2 * across.x, within.y - 2 * across.y});
    }
  }
  store(0, sums[0]);
}

/// The first stage: turns coefficients into changes by the threshold; returns the sum of g^2 variance.
template <class S>
__device__ __forceinline__ double shrink(const Shrinking& s, double sigma, int count, int lane, const int* variances,
                                         double (&v)[32], const float (&)[32]) {
  const int m = lane / 2, half = lane % 2;
  const double threshold = s.threshold * sigma, limit = threshold * threshold * kVarianceGrid;
  const double share = 1.0 / (1 << stack_power(m, count));
  double kept = 0;
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    const int k = S::template coefficient<double>(i, half);
    const double variance = variances[m * variance_pitch + k];
    const double part = v[i] * s.shares[S::any ? k : S::template coefficient<double>(i, 0)];
    const bool drops = __dmul_rn(v[i], part) < __dmul_rn(variance, limit) && (i > 0 || lane > 0);
    v[i] = drops ? -part * share : 0;
    kept += drops ? 0 : variance;
  }
  return sum_of_lanes(m < count ? kept * share : 0) * kVarianceGrid;
}

/// The second: by the basic estimate.
template <class S>
__device__ __forceinline__ double shrink(const Shrinking& s, double sigma, int count, int lane, const int* variances,
                                         float (&v)[32], const float (&basic)[32]) {
  const int m = lane / 2, half = lane % 2;
  const double grid = kVarianceGrid / (1 << stack_power(m, count));
  const auto ratio = static_cast<float>(s.ratio * grid);
  const auto rate = static_cast<float>(fmin(s.rate / sigma, static_cast<double>(std::numeric_limits<float>::max())));
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    const auto variance = static_cast<float>(variances[m * variance_pitch + S::template coefficient<float>(i, half)]);
    const float noise = ratio * variance, b = basic[i] * rate;
    const bool stays = i == 0 && lane == 0;
    const float loss = stays ? 0.0F : __fdividef(noise, fmaf(b, b, noise)), g = 1 - loss;
    sum = fmaf(g * g, variance, sum);
    v[i] = stays ? 0.0F : -loss * v[i];
  }
  return sum_of_lanes(m < count ? sum * static_cast<float>(grid) : 0.0F);
}

/// Where a block begins.
struct BlockPlace {
  std::int64_t in_noisy, in_pilot;
};

/// The first stage works in double, the second in float.
template <class S, class T>
__global__ void __launch_bounds__(32 * shrink_warps, 4) shrink_groups(const __grid_constant__ Shrinking s) {
  constexpr bool second = std::is_same_v<T, float>;
  constexpr int room_values = kMostBlocks * 2 * half_pitch;
  constexpr int room_bytes = room_values * sizeof(double);
  alignas(16) __shared__ unsigned char rooms[shrink_warps * room_bytes];
  const int lane = threadIdx.x % 32, m = lane / 2, half = lane % 2;
  unsigned char* const bytes = rooms + threadIdx.x / 32 * room_bytes;
  T* const room = reinterpret_cast<T*>(bytes);
  float* const basic_room = reinterpret_cast<float*>(bytes) + room_values;
  int* const variances = reinterpret_cast<int*>(bytes);
  static_assert(kMostBlocks * variance_pitch * sizeof(int) <= room_bytes);

  __shared__ BlockPlace places[shrink_warps][kMostBlocks];
  BlockPlace* const begins = places[threadIdx.x / 32];

  const unsigned blocks_x = (s.references.count.x + shrink_warps - 1) / shrink_warps;
  const int3 index{static_cast<int>(blockIdx.x % blocks_x * shrink_warps + threadIdx.x / 32),
                   static_cast<int>(blockIdx.x / blocks_x), static_cast<int>(blockIdx.y)};
  if (index.x >= s.references.count.x) return;
  const unsigned block = lane < kMostBlocks ? s.groups[s.references.number(index) * kMostBlocks + lane] : no_block;
  const int count = __popc(__ballot_sync(all_lanes, block != no_block));
  if (count == 0) return;
  const int3 place = s.references.place(index.x, index.y, index.z);
  const auto index_in = [](const auto& box, int x, int y, int z) {
    return (static_cast<std::int64_t>(z) * box.y + y) * box.x + x;
  };
  const int3 begin{place.x - s.search.x + static_cast<int>(block & 255U),
                   place.y - s.search.y + static_cast<int>(block >> 8 & 255U),
                   place.z - s.search.z + static_cast<int>(block >> 16 & 255U)};
  const int3 o = s.noisy_offset;
  if (lane < kMostBlocks) {
    begins[lane] = {index_in(s.noisy, begin.x + o.x, begin.y + o.y, begin.z + o.z),
                    index_in(s.pilot, begin.x, begin.y, begin.z)};
  }
  __syncwarp();
  const int own = half * 16 + m;  // a voxel of each half: two lanes side by side have one of two rows or slices
  const int length_x = S::any ? s.lengths.x : S::x, length_y = S::any ? s.lengths.y : S::y;
  const auto voxel_in = [&](const auto& box, int i) {
    const int line = i / length_x;
    return index_in(box, i % length_x, line % length_y, line / length_y);
  };

#pragma unroll 1
  for (int h = 0; h < 2; ++h) {
    const int i = h * 32 + own;
    const bool there = !S::any || i < s.voxels;
    const float* const noisy = s.noisy.data + voxel_in(s.noisy, i);
    const float* const pilot = s.pilot.data + voxel_in(s.pilot, i);
    T v[kMostBlocks];
    float basic[kMostBlocks];
#pragma unroll
    for (int b = 0; b < kMostBlocks; ++b) {
      v[b] = b < count && there ? static_cast<T>(__ldg(noisy + begins[b].in_noisy)) : T{0};
    }
    if (second) {
#pragma unroll
      for (int b = 0; b < kMostBlocks; ++b) {
        basic[b] = b < count && there ? __ldg(pilot + begins[b].in_pilot) : 0.0F;
      }
    }
    transform_stack<Direction::forward>(v, count);
    if (second) transform_stack<Direction::forward>(basic, count);
#pragma unroll
    for (int b = 0; b < kMostBlocks; ++b) {
      room[(2 * b + h) * half_pitch + own] = v[b];
      if (second) basic_room[(2 * b + h) * half_pitch + own] = basic[b];
    }
  }
  __syncwarp();
  if (S::any) {
    transform_in_room<Direction::forward>(room, s.lengths, s.voxels, lane);
    if (second) transform_in_room<Direction::forward>(basic_room, s.lengths, s.voxels, lane);
  }
  T v[32];
  float basic[32];
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    v[i] = room[lane * half_pitch + i];
    if (second) basic[i] = basic_room[lane * half_pitch + i];
  }
  __syncwarp();
  S::template transform<Direction::forward>(v, half);
  if constexpr (second) S::template transform<Direction::forward>(basic, half);

  find_variances(s.covariances, block, count, lane, variances);
  __syncwarp();
  constexpr double least_sigma = 1e-3;
  const int3 middle{place.x + s.lengths.x / 2, place.y + s.lengths.y / 2, place.z + s.lengths.z / 2};
  const double sigma = s.map.values ? fmax(s.map.at(middle), least_sigma) : 1;
  const double squares = sigma * sigma * shrink<S>(s, sigma, count, lane, variances, v, basic);
  S::template transform<Direction::back>(v, half);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 32; ++i) room[lane * half_pitch + i] = v[i];
  __syncwarp();
  if (S::any) transform_in_room<Direction::back>(room, s.lengths, s.voxels, lane);

    // Of two lanes, one adds changes and the other weights, so that what is added at once lies side by side.
#pragma unroll 1
  for (int h = 0; h < 2; ++h) {
    const int i = h * 32 + own, other = i ^ 16;
    T changes[kMostBlocks];
#pragma unroll
    for (int b = 0; b < kMostBlocks; ++b) changes[b] = room[(2 * b + h) * half_pitch + own];
    transform_stack<Direction::back>(changes, count);
    const double weight = s.window[i] / squares, rate = weight * s.per_change;
    const long long own_weight = __double2ll_rn(weight * s.per_weight);
    const long long other_weight = __shfl_xor_sync(all_lanes, own_weight, 1);
    const int first_voxel = half == 0 ? i : other, second_voxel = half == 0 ? other : i;
    unsigned long long* const first = s.sums + 2 * voxel_in(s.pilot, first_voxel) + half;
    unsigned long long* const next = s.sums + 2 * voxel_in(s.pilot, second_voxel) + half;
    const bool adds_first = !S::any || first_voxel < s.voxels, adds_next = !S::any || second_voxel < s.voxels;
#pragma unroll
    for (int b = 0; b < kMostBlocks; ++b) {
      const long long change = __double2ll_rn(__dmul_rn(rate, changes[b]));
      const long long other_change = __shfl_xor_sync(all_lanes, change, 1);
      if (b >= count) continue;
      const std::int64_t at = 2 * begins[b].in_pilot;
      if (adds_first) atomicAdd(first + at, static_cast<unsigned long long>(half == 0 ? change : other_weight));
      if (adds_next) atomicAdd(next + at, static_cast<unsigned long long>(half == 0 ? other_change : own_weight));
    }
  }
}

/// Divides the sums.
__global__ void add_changes(Box<const float> noisy, Box<const ulonglong2> sums, Box<float> out, int3 noisy_offset,
                            int3 sums_offset, double change_grid, double weight_grid) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= out.x || y >= out.y) return;
  const float voxel = noisy.row(y + noisy_offset.y, z + noisy_offset.z)[x + noisy_offset.x];
  const ulonglong2 sum = sums.row(y + sums_offset.y, z + sums_offset.z)[x + sums_offset.x];
  const double change = static_cast<double>(static_cast<long long>(sum.x)) * change_grid;
  const double weight = static_cast<double>(static_cast<long long>(sum.y)) * weight_grid;
  const bool changes = sum.y > 0 && is_present(voxel);
  out.row(y, z)[x] = (changes ? static_cast<float>(voxel + change / weight) : voxel) + 0.0F;
}

template <class T>
DeviceBuffer<T> upload(const T* from, std::size_t count, const Queue& queue) {
  DeviceBuffer<T> buffer(count, queue);
  QV_CUDA(cudaMemcpyAsync(buffer.get(), from, count * sizeof(T), cudaMemcpyHostToDevice, queue.stream));
  return buffer;
}

template <class T>
int3 triple(const Triple<T>& t) {
  return {static_cast<int>(t.x), static_cast<int>(t.y), static_cast<int>(t.z)};
}

dim3 grid_of(const Extent& extent, dim3 block) {
  return dim3(ceil_div(extent.x, block.x), ceil_div(extent.y, block.y), extent.z);
}

/// Leaves out distances at and beyond which blocks share no noise.
Covariances without_zeros(const Covariances& all) {
  Covariances some;
  some.size = {{1, 1, 1}};
  for (std::int64_t i = 0; i < all.size.voxels(); ++i) {
    const Index3 distance{i % all.size.x, i / all.size.x % all.size.y, i / all.size.slice()};
    const std::int32_t* const values = all.of(distance.x, distance.y, distance.z);
    if (std::all_of(values, values + kBlockRoom, [](std::int32_t value) { return value == 0; })) continue;
    for (int axis = 0; axis < 3; ++axis) some.size[axis] = std::max(some.size[axis], distance[axis] + 1);
  }
  for (std::int64_t i = 0; i < some.size.voxels(); ++i) {
    const std::int32_t* const values = all.of(i % some.size.x, i / some.size.x % some.size.y, i / some.size.slice());
    some.values.insert(some.values.end(), values, values + kBlockRoom);
  }
  return some;
}

/// Those that may say something about the voxels of `out`.
References references_for(const Bm4dParams& params, const VolumeView<float>& out, const Index3& origin) {
  Index3 count, first, step, last;
  for (int axis = 0; axis < 3; ++axis) {
    const Places places = reference_places(params, axis, out.origin[axis], out.origin[axis] + out.extent[axis]);
    count[axis] = std::ssize(places);
    first[axis] = places.front() - origin[axis];
    step[axis] = params.step(axis);
    last[axis] = places.back() - origin[axis];
  }
  return {triple(count), triple(first), triple(step), triple(last)};
}

/// Fits the tile and what is staged of it into shared memory; returns the bytes, or 0 where not one reference fits.
template <int Length, int Width>
std::size_t plan_tile(Matching& m) {
  const std::size_t most = most_shared_bytes(), wanted = most / 3 - 1024;  // three blocks, and what each has anyway
  const auto along = [](int references, int step, int window, int length) {
    return (references - 1) * step + window + length - 1;
  };
  const auto bytes = [&] {
    const int width = along(m.tile.x, m.references.step.x, m.chunks * Width, Length);
    const int height = along(m.tile.y, m.references.step.y, m.window.y, m.length_y);
    const int depth = along(m.tile.z, m.references.step.z, m.window.z, m.length_z);
    const auto at_least = [](int count, int remainder) { return count + ((remainder - count) % 32 + 32) % 32; };
    m.pitch = at_least(width, m.chunks);
    m.plane = at_least(m.pitch * height, m.chunks * m.window.y);
    return match_warps * sizeof(MatchRoom) + sizeof(float) * static_cast<std::size_t>(m.plane) * depth;
  };
  const int widest = along(1, m.references.step.x, m.chunks * Width, Length);
  m.tile = {1, 4, 2};
  for (int room = 33; m.tile.x < 4; room += 32) m.tile.x = std::max((room - widest) / m.references.step.x + 1, 1);
  while (bytes() > wanted && (m.tile.x > 1 || m.tile.y > 1 || m.tile.z > 1)) {
    int& most_of = m.tile.x >= 2 * m.tile.y ? m.tile.x : m.tile.y >= m.tile.z ? m.tile.y : m.tile.z;
    most_of = (most_of + 1) / 2;
  }
  return bytes() <= most ? bytes() : 0;
}

template <int Length, int Rows, int Width, bool Staged>
void launch_matching(const Matching& m, std::size_t bytes, const Queue& queue) {
  const auto kernel = find_groups<Length, Rows, Width, Staged>;
  QV_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  const int3 count = m.references.count;
  const dim3 tiles(ceil_div(count.x, m.tile.x), ceil_div(count.y, m.tile.y), ceil_div(count.z, m.tile.z));
  kernel<<<tiles, 32 * match_warps, bytes, queue.stream>>>(m);
  QV_CUDA(cudaGetLastError());
}

/// Divides the rows of the window into strips.
Matching in_strips(Matching m, int width) {
  m.chunks = static_cast<int>(ceil_div(m.window.x, width));
  m.strips = m.chunks * m.window.y * m.window.z;
  m.by_chunks = Divider(m.chunks);
  return m;
}

/// In shared memory, by strips that fit best; false where it is too small.
template <int Length, int Rows, int... Widths>
bool match_staged(const Matching& m, const Queue& queue) {
  const auto reach = [&](int width) { return ceil_div(m.window.x, width) * width; };
  int best = 0;
  for (const int width : {Widths...}) {
    if (best == 0 || reach(width) <= reach(best)) best = width;
  }
  bool done = false;
  const auto run_if_best = [&]<int Width>(std::integral_constant<int, Width>) {
    if (Width != best) return;
    Matching strips = in_strips(m, Width);
    const std::size_t bytes = plan_tile<Length, Width>(strips);
    done = bytes > 0;
    if (done) launch_matching<Length, Rows, Width, true>(strips, bytes, queue);
  };
  (run_if_best(std::integral_constant<int, Widths>()), ...);
  return done;
}

void match(const Matching& m, Radius3 lengths, const Queue& queue) {
  if (lengths == Radius3{4, 4, 4} && match_staged<4, 4, 7, 11, 15>(m, queue)) return;
  if (lengths == Radius3{8, 8, 1} && match_staged<8, 8, 11, 15, 19>(m, queue)) return;
  constexpr int width = 8;
  Matching strips = in_strips(m, width);
  strips.tile = {8, 4, 2};
  constexpr std::size_t bytes = match_warps * sizeof(MatchRoom);
  switch (lengths.x) {
    case 1: return launch_matching<1, 0, width, false>(strips, bytes, queue);
    case 2: return launch_matching<2, 0, width, false>(strips, bytes, queue);
    case 4: return launch_matching<4, 0, width, false>(strips, bytes, queue);
    default: return launch_matching<8, 0, width, false>(strips, bytes, queue);
  }
}

template <class S>
void shrink_all(const Shrinking& s, bool second, const Queue& queue) {
  const int3 count = s.references.count;
  const dim3 groups(ceil_div(count.x, shrink_warps) * count.y, count.z);
  if (second) {
    shrink_groups<S, float><<<groups, 32 * shrink_warps, 0, queue.stream>>>(s);
  } else {
    shrink_groups<S, double><<<groups, 32 * shrink_warps, 0, queue.stream>>>(s);
  }
  QV_CUDA(cudaGetLastError());
}

/// `pilot` is what is compared, and lies where groups can be that say something about `out`.
void run_stage(const VolumeView<const float>& noisy, const VolumeView<const float>& pilot, const VolumeView<float>& out,
               const Bm4dParams& params, bool second, const Queue& queue) {
  const Radius3 r = *params.search_radius, lengths = params.lengths;
  const Covariances covariances =
      without_zeros(covariances_of(params.spectrum, second ? Basis::cosines : Basis::wavelets, lengths, r));
  const Stage stage = make_stage(params, noisy, second, covariances);
  const DeviceBuffer<std::int32_t> table = upload(covariances.values.data(), covariances.values.size(), queue);
  const auto& nodes = params.map.values;
  const DeviceBuffer<float> map = stage.map ? upload(nodes.data(), nodes.size(), queue) : DeviceBuffer<float>();

  const dim3 block(32, 4);
  const auto voxels = static_cast<std::size_t>(pilot.extent.voxels());
  VolumeView<ulonglong2> sums{nullptr, pilot.extent, pilot.spacing, pilot.origin};
  const DeviceBuffer<ulonglong2> sums_buffer(voxels, queue);
  sums.data = sums_buffer.get();
  QV_CUDA(cudaMemsetAsync(sums.data, 0, voxels * sizeof(ulonglong2), queue.stream));

  VolumeView<float> compared{nullptr, pilot.extent};
  for (int axis = 0; axis < 3; ++axis) compared.extent[axis] += 2 * r[axis];
  constexpr std::size_t slack = 64;  // strips may end beyond
  const DeviceBuffer<float> compared_buffer(static_cast<std::size_t>(compared.extent.voxels()) + slack, queue);
  compared.data = compared_buffer.get();
  make_compared<<<grid_of(compared.extent, block), block, 0, queue.stream>>>(pilot, compared, triple(r),
                                                                             stage.per_voxel);
  QV_CUDA(cudaGetLastError());

  const References all = references_for(params, out, pilot.origin);
  const int3 window{2 * r.x + 1, 2 * r.y + 1, 2 * r.z + 1};
  constexpr std::int64_t groups_together = std::int64_t{1} << 21;
  const std::int64_t of_layer = std::int64_t{all.count.x} * all.count.y;
  const int together = static_cast<int>(std::clamp<std::int64_t>(groups_together / of_layer, 1, all.count.z));
  const DeviceBuffer<unsigned> groups(static_cast<std::size_t>(together * of_layer * kMostBlocks), queue);
  Shrinking shrinking{noisy,
                      pilot,
                      offset_within(noisy, pilot),
                      reinterpret_cast<unsigned long long*>(sums.data),
                      all,
                      groups.get(),
                      triple(r),
                      triple(lengths),
                      lengths.x * lengths.y * lengths.z,
                      {reinterpret_cast<const int2*>(table.get()), triple(covariances.size)},
                      {map.get(), triple(params.map.size), triple(params.volume), triple(pilot.origin)},
                      stage.threshold,
                      stage.rate,
                      stage.ratio,
                      1 / stage.change_grid,
                      1 / stage.weight_grid,
                      {},
                      {}};
  std::ranges::copy(bm4d_kernel::window_of(lengths), shrinking.window);
  std::ranges::copy(bm4d_kernel::shares_of(lengths), shrinking.shares);
  for (int layer = 0; layer < all.count.z; layer += together) {
    References some = all;
    some.first.z += layer * all.step.z;
    some.count.z = std::min(together, all.count.z - layer);
    match({compared.data,
           compared.extent.x,
           compared.extent.slice(),
           static_cast<int>(compared.extent.x),
           some,
           window,
           lengths.y,
           lengths.z,
           0,
           0,
           Divider(1),
           Divider(window.y),
           {},
           0,
           0,
           groups.get()},
          lengths, queue);
    shrinking.references = some;
    if (lengths == Radius3{4, 4, 4}) {
      shrink_all<Cubes>(shrinking, second, queue);
    } else if (lengths == Radius3{8, 8, 1}) {
      shrink_all<Squares>(shrinking, second, queue);
    } else {
      shrink_all<Any>(shrinking, second, queue);
    }
  }
  add_changes<<<grid_of(out.extent, block), block, 0, queue.stream>>>(
      noisy, VolumeView<const ulonglong2>(sums), out, offset_within(noisy, out), offset_within(pilot, out),
      stage.change_grid, stage.weight_grid);
  QV_CUDA(cudaGetLastError());
}

}  // namespace

void bm4d_cuda(VolumeView<const float> in, VolumeView<float> out, const Bm4dParams& params, const Queue& queue) {
  if (params.h() < 0x1p-140) {  // no two floats are that near and not equal
    copy_voxels(in, out, queue);
    return;
  }
  if (params.stages == 1) {
    run_stage(in, in, out, params, false, queue);
    return;
  }
  VolumeView<float> basic = grown(out, params.reach(), in);
  const DeviceBuffer<float> buffer(static_cast<std::size_t>(basic.extent.voxels()), queue);
  basic.data = buffer.get();
  run_stage(in, in, basic, params, false, queue);
  run_stage(in, basic, out, params, true, queue);
}

}  // namespace quietvox
