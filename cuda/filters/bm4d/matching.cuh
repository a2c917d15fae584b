// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <type_traits>

#include "cuda/filters/bm4d/groups.cuh"
#include "cuda/filters/common/device_view.cuh"
#include "cuda/launch.cuh"

/// Finds the groups. A strip is a few blocks of a window side by side; each lane compares one strip at a time. Strips
/// count row by row, as blocks do. Voxels around the references of a tile are staged in shared memory; strips below
/// each other begin in banks next to each other.
namespace quietvox::cuda::bm4d {

/// Divides whole numbers below 2^16.
struct Divider {
  unsigned long long factor;

  explicit Divider(int divisor) : factor(((1ULL << 32) + static_cast<unsigned>(divisor) - 1) / divisor) {}
  __device__ int operator()(int number) const { return static_cast<int>(static_cast<unsigned>(number) * factor >> 32); }
};

constexpr int match_warps = 8, queued = 64;

struct Matching {
  const float* compared;
  std::int64_t row, slice;  ///< from row to row, from slice to slice of `compared`
  int width;
  ReferenceGrid references;
  int3 window;  ///< places of blocks
  int length_y, length_z;
  int strips_of_row, strips;  ///< strips of a row of the window, of all its rows
  Divider by_strips_of_row, by_rows;
  int3 tile;         ///< references
  int pitch, plane;  ///< of what is staged
  unsigned* groups;
};

/// What a warp has in shared memory.
struct alignas(16) MatchRoom {
  float own[block_room];
  float2 queue[queued];         ///< distances, and which blocks
  float2 nearest[most_blocks];  ///< the same
};

/// Loads from shared memory. Four or eight values are aligned for vectors.
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
__device__ inline float middle_of_lanes(float value, int lane) {
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

  /// Takes in the blocks of the first `count` lanes if they are nearer. Among equal distances, blocks that are here
  /// already come first.
  __device__ void take(float other_distance, int other_block, int count, int lane, MatchRoom& room) {
    const unsigned alike = __match_any_sync(all_lanes, __float_as_int(other_distance));
    int rank = lane, other_rank = __popc(alike & ((1U << lane) - 1));
    for (int i = 0; i < count; ++i) {
      const float d = __shfl_sync(all_lanes, other_distance, i);
      rank += d < distance;
      other_rank += d < other_distance;
    }
#pragma unroll
    for (int i = 0; i < most_blocks; ++i) other_rank += __shfl_sync(all_lanes, distance, i) <= other_distance;
    if (lane < most_blocks && rank < most_blocks) {
      room.nearest[rank] = {distance, __int_as_float(block)};
    }
    if (other_distance < INFINITY && other_rank < most_blocks) {
      room.nearest[other_rank] = {other_distance, __int_as_float(other_block)};
    }
    __syncwarp();
    if (lane < most_blocks) {
      distance = room.nearest[lane].x;
      block = __float_as_int(room.nearest[lane].y);
    }
    __syncwarp();
  }

  __device__ float farthest() const { return __shfl_sync(all_lanes, distance, most_blocks - 1); }
};

/// Rows: rows of a block along y; 0: m.length_y.
template <int Length, int Rows, int Width, bool Staged>
__global__ void __launch_bounds__(32 * match_warps, 2) find_groups(const __grid_constant__ Matching m) {
  using Offset = std::conditional_t<Staged, int, std::int64_t>;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, length_y = Rows > 0 ? Rows : m.length_y;
  MatchRoom* const rooms = reinterpret_cast<MatchRoom*>(launched_shared());
  MatchRoom& room = rooms[warp];
  float* const staged = reinterpret_cast<float*>(rooms + match_warps);

  const int3 first{static_cast<int>(blockIdx.x) * m.tile.x, static_cast<int>(blockIdx.y) * m.tile.y,
                   static_cast<int>(blockIdx.z) * m.tile.z};
  const ReferenceGrid& references = m.references;
  const int3 count{min(m.tile.x, references.count.x - first.x), min(m.tile.y, references.count.y - first.y),
                   min(m.tile.z, references.count.z - first.z)};
  const int3 corner = references.place(first.x, first.y, first.z);
  if (Staged) {
    const int3 end = references.place(first.x + count.x - 1, first.y + count.y - 1, first.z + count.z - 1);
    const int width = end.x - corner.x + m.strips_of_row * Width + Length - 1;
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
  const int own_block =
      ((middle.z * m.window.y + middle.y) * m.strips_of_row + middle.x / Width) * Width + middle.x % Width;
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
      const int line = m.by_strips_of_row(strip), z = m.by_rows(line), y = line - z * m.window.y;
      const int x = (strip - line * m.strips_of_row) * Width;
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

    const int found = __popc(__ballot_sync(all_lanes, lane < most_blocks && nearest.distance < INFINITY));
    const int taken = missing ? 0 : 1 << (31 - __clz(found));
    if (lane < most_blocks) {
      const int strip = nearest.block / Width, line = m.by_strips_of_row(strip), z = m.by_rows(line);
      const int x = (strip - line * m.strips_of_row) * Width + nearest.block % Width, y = line - z * m.window.y;
      m.groups[references.index(index) * most_blocks + lane] =
          lane < taken ? static_cast<unsigned>(x | y << 8 | z << 16) : no_block;
    }
  }
}

/// Chooses a tile whose staged voxels fit into shared memory. Returns the bytes, or 0 if not even one reference fits.
template <int Length, int Width>
std::size_t plan_tile(Matching& m) {
  const std::size_t most = most_shared_bytes(), wanted = most / 3 - 1024;  // three blocks, and what each has anyway
  const auto along = [](int references, int step, int window, int length) {
    return (references - 1) * step + window + length - 1;
  };
  const auto bytes = [&] {
    const int width = along(m.tile.x, m.references.step.x, m.strips_of_row * Width, Length);
    const int height = along(m.tile.y, m.references.step.y, m.window.y, m.length_y);
    const int depth = along(m.tile.z, m.references.step.z, m.window.z, m.length_z);
    const auto at_least = [](int count, int remainder) { return count + ((remainder - count) % 32 + 32) % 32; };
    m.pitch = at_least(width, m.strips_of_row);
    m.plane = at_least(m.pitch * height, m.strips_of_row * m.window.y);
    return match_warps * sizeof(MatchRoom) + sizeof(float) * static_cast<std::size_t>(m.plane) * depth;
  };
  const int widest = along(1, m.references.step.x, m.strips_of_row * Width, Length);
  m.tile = {1, 4, 2};
  for (int room = 33; m.tile.x < 4; room += 32) m.tile.x = std::max((room - widest) / m.references.step.x + 1, 1);
  while (bytes() > wanted && (m.tile.x > 1 || m.tile.y > 1 || m.tile.z > 1)) {
    int& most_of = m.tile.x >= 2 * m.tile.y ? m.tile.x : m.tile.y >= m.tile.z ? m.tile.y : m.tile.z;
    most_of = (most_of + 1) / 2;
  }
  return bytes() <= most ? bytes() : 0;
}

template <int Length, int Rows, int Width, bool Staged>
void launch_matching(const Matching& m, std::size_t bytes, const LaunchContext& context) {
  const int3 count = m.references.count;
  const dim3 tiles(ceil_div(count.x, m.tile.x), ceil_div(count.y, m.tile.y), ceil_div(count.z, m.tile.z));
  launch(find_groups<Length, Rows, Width, Staged>, tiles, 32 * match_warps, bytes, context, m);
}

/// Divides the rows of the window into strips.
inline Matching in_strips(Matching m, int width) {
  m.strips_of_row = static_cast<int>(ceil_div(m.window.x, width));
  m.strips = m.strips_of_row * m.window.y * m.window.z;
  m.by_strips_of_row = Divider(m.strips_of_row);
  return m;
}

/// Matches in shared memory, with the strips that fit best. Returns false if shared memory is too small.
template <int Length, int Rows, int... Widths>
bool match_staged(const Matching& m, const LaunchContext& context) {
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
    if (done) launch_matching<Length, Rows, Width, true>(strips, bytes, context);
  };
  (run_if_best(std::integral_constant<int, Widths>()), ...);
  return done;
}

inline void match(const Matching& m, Radius3 lengths, const LaunchContext& context) {
  if (lengths == Radius3{4, 4, 4} && match_staged<4, 4, 7, 11, 15>(m, context)) return;
  if (lengths == Radius3{8, 8, 1} && match_staged<8, 8, 11, 15, 19>(m, context)) return;
  constexpr int width = 8;
  Matching strips = in_strips(m, width);
  strips.tile = {8, 4, 2};
  constexpr std::size_t bytes = match_warps * sizeof(MatchRoom);
  switch (lengths.x) {
    case 1: return launch_matching<1, 0, width, false>(strips, bytes, context);
    case 2: return launch_matching<2, 0, width, false>(strips, bytes, context);
    case 4: return launch_matching<4, 0, width, false>(strips, bytes, context);
    default: return launch_matching<8, 0, width, false>(strips, bytes, context);
  }
}

}  // namespace quietvox::cuda::bm4d
