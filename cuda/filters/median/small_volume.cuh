// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/filters/common/canonical_zero.cuh"
#include "cuda/filters/median/network.cuh"
#include "cuda/filters/median/small_median.cuh"

/// Selection networks for small volumes, where launches take longer than the work: one kernel does all. It looks up
/// every place that a window sees, so that edges need no padding, and recomputes missing voxels at once. For large
/// volumes that would be slower.
namespace quietvox::cuda {

constexpr int small_threads = 128;  ///< of a block

/// If any thread of a warp found missing voxels in its group of outputs, the whole warp recomputes that group.
/// `first` is where the group of a thread starts.
__device__ __forceinline__ void recompute_together(const DeviceView<const float>& in, const DeviceView<float>& out,
                                                   int3 offset, int3 first, int3 group, const Window<float>& window,
                                                   bool found) {
  constexpr unsigned all = ~0U;
  const int size = group.x * group.y * group.z, at_once = 32 / size;  // groups
  const int number = static_cast<int>(threadIdx.x % 32) / size, i = static_cast<int>(threadIdx.x % 32) % size;
  __syncwarp();  // what is recomputed has been written
  unsigned finders = __ballot_sync(all, found);
  while (finders != 0) {
    int finder = -1;
    for (int k = 0; k < at_once; ++k, finders &= finders - 1) {
      if (k == number) finder = __ffs(static_cast<int>(finders)) - 1;
    }
    const int source = max(finder, 0);
    const int3 its_first{__shfl_sync(all, first.x, source), __shfl_sync(all, first.y, source),
                         __shfl_sync(all, first.z, source)};
    const int3 at = its_first + int3{i % group.x, i / group.x % group.y, i / group.x / group.y};
    if (finder >= 0) out.row(at.y, at.z)[at.x] = median_at(in, window, at + offset);
  }
}

/// Restores the input at those outputs of a group whose windows leave the volume.
__device__ __forceinline__ void keep_rim(const DeviceView<const float>& in, const DeviceView<float>& out, int3 offset,
                                         int3 first, int3 group, const int3& r) {
  for (int i = 0; i < group.x * group.y * group.z; ++i) {
    const int3 to = first + int3{i % group.x, i / group.x % group.y, i / group.x / group.y}, at = to + offset;
    const bool inside =
        at.x >= r.x && at.y >= r.y && at.z >= r.z && at.x + r.x < in.x && at.y + r.y < in.y && at.z + r.z < in.z;
    if (!inside) out.row(to.y, to.z)[to.x] = canonical_zero(in.row(at.y, at.z)[at.x]);
  }
}

template <class Network>
__global__ void __launch_bounds__(small_threads, 2)
    median_of_small(DeviceView<const float> in, DeviceView<float> out, int3 offset, Window<float> window) {
  using Ops = BalancedLanes<float, Network::sums, false>;
  constexpr Triple<int> tile = Network::tile, size = Network::window;
  constexpr Triple<int> seen{size.x + tile.x - 1, size.y + tile.y - 1, size.z + tile.z - 1};
  static_assert(tile.x * tile.y * tile.z <= 32);
  const int number_x = static_cast<int>(blockIdx.x * 32 + threadIdx.x % 32);
  const int number_y = static_cast<int>(blockIdx.y * (small_threads / 32) + threadIdx.x / 32);
  wait_for_previous();
  let_next_start();
  // Warps below the last row end here: one that did what the last does could store after the other has recomputed.
  // Threads beyond the last column do what that one does, and their warp recomputes when all have stored.
  if (number_y * tile.y >= out.y) return;
  const int3 first{min(number_x * tile.x, out.x - tile.x), min(number_y * tile.y, out.y - tile.y),
                   min(static_cast<int>(blockIdx.z) * tile.z, out.z - tile.z)};
  const int3 group{tile.x, tile.y, tile.z};
  const int3 corner = first + offset + int3{-(size.x / 2), -(size.y / 2), -(size.z / 2)};
  int column[seen.x], row[seen.y], slice[seen.z];
#pragma unroll
  for (int i = 0; i < seen.x; ++i) column[i] = device_border_index(window.border, corner.x + i, in.x);
#pragma unroll
  for (int j = 0; j < seen.y; ++j) row[j] = in.x * device_border_index(window.border, corner.y + j, in.y);
#pragma unroll
  for (int k = 0; k < seen.z; ++k) slice[k] = in.x * in.y * device_border_index(window.border, corner.z + k, in.z);
  Probe probe;
  const auto load = [&](int k, int j, int i) { return Ops::load(in.data + (slice[k] + row[j] + column[i]), probe); };
  float* target = out.row(first.y, first.z) + first.x;
  const auto store = [&](int k, int j, int i, float value) {
    Ops::template store<tile.x>(target + (k * out.y + j) * out.x + i, value);
  };
  Network::template run<Ops>(load, store);
  const bool at_edge = corner.x < 0 || corner.y < 0 || corner.z < 0 || corner.x + seen.x > in.x ||
                       corner.y + seen.y > in.y || corner.z + seen.z > in.z;
  if (at_edge && window.border == Border::copy) keep_rim(in, out, offset, first, group, window.radius);
  const bool found = probe.found() && number_x * tile.x < out.x;
  recompute_together(in, out, offset, first, group, window, found);
}

template <class Network>
void launch_small(const DeviceView<const float>& in, const DeviceView<float>& out, int3 offset,
                  const Window<float>& window, cudaStream_t stream) {
  constexpr Triple<int> tile = Network::tile;
  const dim3 grid(static_cast<unsigned>(ceil_div(out.x, 32 * tile.x)),
                  static_cast<unsigned>(ceil_div(out.y, small_threads / 32 * tile.y)),
                  static_cast<unsigned>(ceil_div(out.z, tile.z)));
  launch_overlapping(median_of_small<Network>, grid, small_threads, stream, in, out, offset, window);
}

template <class Network>
SmallMedian make_small_median() {
  return {Network::window, Network::tile, launch_small<Network>};
}

}  // namespace quietvox::cuda
