// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <type_traits>

#include "core/coarse_field_view.hpp"
#include "cuda/filters/bm4d/transforms.cuh"
#include "cuda/filters/bm4d/variances.cuh"
#include "cuda/filters/common/device_view.cuh"
#include "cuda/launch.cuh"

/// Shrinks groups and adds up the changes that they make. A lane has two voxels of every block while the blocks are
/// transformed across the group, and half a block while it is transformed along its axes. Between, values go through
/// shared memory.
namespace quietvox::cuda::bm4d {

constexpr int shrink_warps = 4;

struct Shrinking {
  DeviceView<const float> noisy, pilot;
  int3 noisy_offset;         ///< of the first voxel of what is compared
  unsigned long long* sums;  ///< for each voxel of the pilot: of changes, of weights
  ReferenceGrid references;
  const unsigned* groups;
  int3 search, lengths;
  int voxels;  ///< of a block
  CovarianceTable covariances;
  CoarseFieldView map;  ///< of the noise; values are null where it does not vary
  Index3 origin;        ///< of what is compared, in the volume
  double threshold, rate, ratio, per_change, per_weight;
  double window[block_room], shares[block_room];
};

template <class T>
__device__ T sum_of_lanes(T value) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) value += __shfl_xor_sync(all_lanes, value, apart);
  return value;
}

/// The first stage: turns coefficients into changes by the threshold; returns the sum of g^2 variance.
template <class S>
__device__ __forceinline__ double shrink(const Shrinking& s, double sigma, int count, int lane, const int* variances,
                                         double (&v)[32], const float (&)[32]) {
  const int m = lane / 2, half = lane % 2;
  const double threshold = s.threshold * sigma, limit = threshold * threshold * variance_grid;
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
  return sum_of_lanes(m < count ? kept * share : 0) * variance_grid;
}

/// The second stage: turns coefficients into changes by the basic estimate; returns the same sum.
template <class S>
__device__ __forceinline__ double shrink(const Shrinking& s, double sigma, int count, int lane, const int* variances,
                                         float (&v)[32], const float (&basic)[32]) {
  const int m = lane / 2, half = lane % 2;
  const double grid = variance_grid / (1 << stack_power(m, count));
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

/// Index of the first voxel of a block.
struct BlockPlace {
  std::int64_t in_noisy, in_pilot;
};

/// The first stage works in double, the second in float.
template <class S, class T>
__global__ void __launch_bounds__(32 * shrink_warps, 4) shrink_groups(const __grid_constant__ Shrinking s) {
  constexpr bool second = std::is_same_v<T, float>;
  constexpr int room_values = most_blocks * 2 * half_pitch;
  constexpr int room_bytes = room_values * sizeof(double);
  alignas(16) __shared__ unsigned char rooms[shrink_warps * room_bytes];
  const int lane = threadIdx.x % 32, m = lane / 2, half = lane % 2;
  unsigned char* const bytes = rooms + threadIdx.x / 32 * room_bytes;
  T* const room = reinterpret_cast<T*>(bytes);
  float* const basic_room = reinterpret_cast<float*>(bytes) + room_values;
  int* const variances = reinterpret_cast<int*>(bytes);
  static_assert(most_blocks * variance_pitch * sizeof(int) <= room_bytes);

  __shared__ BlockPlace places[shrink_warps][most_blocks];
  BlockPlace* const begins = places[threadIdx.x / 32];

  const unsigned blocks_x = (s.references.count.x + shrink_warps - 1) / shrink_warps;
  const int3 index{static_cast<int>(blockIdx.x % blocks_x * shrink_warps + threadIdx.x / 32),
                   static_cast<int>(blockIdx.x / blocks_x), static_cast<int>(blockIdx.y)};
  if (index.x >= s.references.count.x) return;
  const unsigned block = lane < most_blocks ? s.groups[s.references.index(index) * most_blocks + lane] : no_block;
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
  if (lane < most_blocks) {
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
    T v[most_blocks];
    float basic[most_blocks];
#pragma unroll
    for (int b = 0; b < most_blocks; ++b) {
      v[b] = b < count && there ? static_cast<T>(__ldg(noisy + begins[b].in_noisy)) : T{0};
    }
    if (second) {
#pragma unroll
      for (int b = 0; b < most_blocks; ++b) {
        basic[b] = b < count && there ? __ldg(pilot + begins[b].in_pilot) : 0.0F;
      }
    }
    transform_stack<Direction::forward>(v, count);
    if (second) transform_stack<Direction::forward>(basic, count);
#pragma unroll
    for (int b = 0; b < most_blocks; ++b) {
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
  const Index3 middle{s.origin.x + place.x + s.lengths.x / 2, s.origin.y + place.y + s.lengths.y / 2,
                      s.origin.z + place.z + s.lengths.z / 2};
  const double sigma = s.map.values ? s.map.at(middle.x, middle.y, middle.z) : 1;
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
    T changes[most_blocks];
#pragma unroll
    for (int b = 0; b < most_blocks; ++b) changes[b] = room[(2 * b + h) * half_pitch + own];
    transform_stack<Direction::back>(changes, count);
    const double weight = s.window[i] / squares, rate = weight * s.per_change;
    const long long own_weight = __double2ll_rn(weight * s.per_weight);
    const long long other_weight = __shfl_xor_sync(all_lanes, own_weight, 1);
    const int first_voxel = half == 0 ? i : other, second_voxel = half == 0 ? other : i;
    unsigned long long* const first = s.sums + 2 * voxel_in(s.pilot, first_voxel) + half;
    unsigned long long* const next = s.sums + 2 * voxel_in(s.pilot, second_voxel) + half;
    const bool adds_first = !S::any || first_voxel < s.voxels, adds_next = !S::any || second_voxel < s.voxels;
#pragma unroll
    for (int b = 0; b < most_blocks; ++b) {
      const long long change = __double2ll_rn(__dmul_rn(rate, changes[b]));
      const long long other_change = __shfl_xor_sync(all_lanes, change, 1);
      if (b >= count) continue;
      const std::int64_t at = 2 * begins[b].in_pilot;
      if (adds_first) atomicAdd(first + at, static_cast<unsigned long long>(half == 0 ? change : other_weight));
      if (adds_next) atomicAdd(next + at, static_cast<unsigned long long>(half == 0 ? other_change : own_weight));
    }
  }
}

template <class S>
void shrink_all(const Shrinking& s, bool second, const LaunchContext& context) {
  const int3 count = s.references.count;
  const dim3 groups(ceil_div(count.x, shrink_warps) * count.y, count.z);
  launch(second ? shrink_groups<S, float> : shrink_groups<S, double>, groups, 32 * shrink_warps, 0, context, s);
}

}  // namespace quietvox::cuda::bm4d
