// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/filters/bm4d/groups.cuh"

/// The noise of coefficients.
namespace quietvox::cuda::bm4d {

using bm4d_kernel::least_variance, bm4d_kernel::variance_grid;

constexpr int variance_pitch = 68;  ///< of a block's variances

/// Covariances of each coefficient in two blocks, two coefficients a lane. Blocks at least `size` apart along an axis
/// have none.
struct CovarianceTable {
  const int2* values;
  int3 size;
};

/// Wavelet m of the transform along a group of `count` blocks is not zero for 2^stack_power(m, count) of them.
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

/// Fills `room` with the variances of a group's coefficients, times the number of blocks that their wavelets take, for
/// noise of sigma 1. Pairs of blocks are summed by the length of the halves that a wavelet compares: 8, 4, 2, 1 blocks.
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
    places[word] = ((z * table.size.y + y) * table.size.x + x) * (block_room / 2);
    const bool shares = b < count && x < table.size.x && y < table.size.y && z < table.size.z;
    pairs[word] = __ballot_sync(all_lanes, shares);
  }

  const int2 own = __ldg(table.values + lane);
  int2 sums[most_blocks];  // of all pairs within so many blocks from here
  const auto store = [&](int m, int2 variance) {
    const int least = static_cast<int>(least_variance / variance_grid) << stack_power(m, count);
    *reinterpret_cast<int2*>(room + m * variance_pitch + 2 * lane) =
        int2{max(variance.x, least), max(variance.y, least)};
  };
#pragma unroll
  for (int i = 0; i < most_blocks; ++i) sums[i] = own;
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

}  // namespace quietvox::cuda::bm4d
