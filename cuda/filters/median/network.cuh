// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "core/host_device.hpp"
#include "cuda/filters/median/network.hpp"

/// Selection networks as kernels: each thread holds the windows of a tile of outputs in registers.
namespace quietvox::cuda {

template <class T>
struct Lanes;

/// A float per register. The probe turns NaN as soon as a missing voxel is loaded: 0 times NaN or infinity.
template <>
struct Lanes<float> {
  using Value = float;
  static constexpr int tiles = 1;  // per thread, side by side along x
  static __device__ float min(float a, float b) { return fminf(a, b); }
  static __device__ float max(float a, float b) { return fmaxf(a, b); }
  static __device__ float load(const float* place, int, float& probe) {
    const float value = __ldg(place);
    probe = fmaf(value, 0.0F, probe);
    return value;
  }
  static __device__ void store(float* place, int, float value) { *place = value + 0.0F; }
};

/// Two 16-bit voxels per register, of two tiles side by side.
template <class T>
struct PackedLanes {
  using Value = unsigned;
  static constexpr int tiles = 2;
  static __device__ unsigned load(const T* place, int apart, float&) {
    const unsigned low = static_cast<std::uint16_t>(__ldg(place));
    const unsigned high = static_cast<std::uint16_t>(__ldg(place + apart));
    return high * 65536U + low;
  }
  static __device__ void store(T* place, int apart, unsigned value) {
    place[0] = static_cast<T>(value & 0xffffU);
    place[apart] = static_cast<T>(value >> 16);
  }
};
template <>
struct Lanes<std::int16_t> : PackedLanes<std::int16_t> {
  static __device__ unsigned min(unsigned a, unsigned b) { return __vmins2(a, b); }
  static __device__ unsigned max(unsigned a, unsigned b) { return __vmaxs2(a, b); }
};
template <>
struct Lanes<std::uint16_t> : PackedLanes<std::uint16_t> {
  static __device__ unsigned min(unsigned a, unsigned b) { return __vminu2(a, b); }
  static __device__ unsigned max(unsigned a, unsigned b) { return __vmaxu2(a, b); }
};

constexpr int network_threads = 128;

/// Network: Triple<int> window, tile; run<Ops>(load, store).
template <class Network, class T>
__global__ void __launch_bounds__(network_threads) median_by_network(const __grid_constant__ NetworkJob<T> job) {
  using Ops = Lanes<T>;
  constexpr Triple<int> tile = Network::tile, window = Network::window;
  const int3 group{static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x),
                   static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y), static_cast<int>(blockIdx.z)};
  const int3 number = job.groups.number();
  if (group.x >= number.x || group.y >= number.y) return;
  const int3 start = job.groups.start(group), first = job.groups.first;

  const T* source = job.in.row(job.corner.y + start.y, job.corner.z + start.z) + job.corner.x + start.x;
  T* target = job.out.row(first.y + start.y, first.z + start.z) + first.x + start.x;
  const int in_row = job.in.x, out_row = job.out.x;
  const std::int64_t in_slice = static_cast<std::int64_t>(job.in.y) * in_row;
  const std::int64_t out_slice = static_cast<std::int64_t>(job.out.y) * out_row;

  bool missing = false;
  if constexpr (!std::is_floating_point_v<T>) {
    if (job.has_missing) {
      for (int k = 0; k < window.z + tile.z - 1; ++k) {
        for (int j = 0; j < window.y + tile.y - 1; ++j) {
#pragma unroll
          for (int i = 0; i < window.x + tile.x * Ops::tiles - 1; ++i) {
            missing |= __ldg(source + k * in_slice + j * in_row + i) == job.missing;
          }
        }
      }
    }
  }
  float probe = 0;
  Network::template run<Ops>(
      [&](int k, int j, int i) { return Ops::load(source + k * in_slice + j * in_row + i, tile.x, probe); },
      [&](int k, int j, int i, typename Ops::Value value) {
        Ops::store(target + k * out_slice + j * out_row + i, tile.x, value);
      });
  if (missing || probe != probe) {
    job.mend.groups[atomicAdd(job.mend.count, 1U)] = (group.z * number.y + group.y) * number.x + group.x;
  }
}

template <class Network, class T>
void launch_network(const NetworkJob<T>& job, cudaStream_t stream) {
  const int3 number = job.groups.number();
  const dim3 block(32, network_threads / 32);
  const dim3 grid(ceil_div(number.x, block.x), ceil_div(number.y, block.y), number.z);
  median_by_network<Network, T><<<grid, block, 0, stream>>>(job);
}

template <class Network>
MedianNetwork make_median_network() {
  constexpr Triple<int> tile = Network::tile;
  return {Network::window,
          tile,
          {tile.x * Lanes<std::int16_t>::tiles, tile.y, tile.z},
          launch_network<Network, float>,
          launch_network<Network, std::int16_t>,
          launch_network<Network, std::uint16_t>};
}

}  // namespace quietvox::cuda
