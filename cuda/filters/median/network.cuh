// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <type_traits>

#include "core/host_device.hpp"
#include "cuda/filters/median/network.hpp"

/// Selection networks as kernels: each thread holds the windows of a tile of outputs in registers.
namespace quietvox::cuda {

template <class T>
struct Lanes;

/// Notices missing voxels among those loaded, at half an instruction each: the sum of the products of pairs stops being
/// finite. Voxels so large that a product overflows are taken for missing too, which costs time, but no exactness.
struct Probe {
  float sum = 0, first = 0;
  bool second = false;  // known to the compiler, since a network has no branches

  __device__ void add(float value) {
    if (second) {
      sum = fmaf(first, value, sum);
    } else {
      first = value;
    }
    second = !second;
  }
  __device__ bool found() const { return !(fabsf(second ? fmaf(first, first, sum) : sum) < INFINITY); }
};

/// A float per register.
template <>
struct Lanes<float> {
  using Value = float;
  static constexpr int tiles = 1;  // per thread
  static __device__ float min(float a, float b) { return fminf(a, b); }
  static __device__ float max(float a, float b) { return fmaxf(a, b); }
  static __device__ float load(const float* place, std::int64_t, Probe& probe) {
    const float value = __ldg(place);
    probe.add(value);
    return value;
  }
  static __device__ void store(float* place, std::int64_t, float value) { *place = value + 0.0F; }
  static __device__ void store_pair(float* place, std::int64_t, float first, float second) {
    *reinterpret_cast<float2*>(place) = {first + 0.0F, second + 0.0F};
  }
};

/// Two 16-bit voxels per register, of two tiles of the same row that lie `apart`.
template <class T>
struct PackedLanes {
  using Value = unsigned;
  static constexpr int tiles = 2;
  static __device__ unsigned load(const T* place, std::int64_t apart, Probe&) {
    const unsigned low = static_cast<std::uint16_t>(__ldg(place));
    const unsigned high = static_cast<std::uint16_t>(__ldg(place + apart));
    return high * 65536U + low;
  }
  static __device__ void store(T* place, std::int64_t apart, unsigned value) {
    place[0] = static_cast<T>(value & 0xffffU);
    place[apart] = static_cast<T>(value >> 16);
  }
  static __device__ void store_pair(T* place, std::int64_t apart, unsigned first, unsigned second) {
    *reinterpret_cast<unsigned*>(place) = __byte_perm(first, second, 0x5410);
    *reinterpret_cast<unsigned*>(place + apart) = __byte_perm(first, second, 0x7632);
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

/// The two tiles of a thread lie side by side; with small windows, where loading counts for more than arithmetic, half
/// a row apart, so that the loads of a warp lie closer together.
template <class Network, class T>
constexpr Triple<int> group_of() {
  constexpr Triple<int> window = Network::window, tile = Network::tile;
  constexpr bool side_by_side = window.x * window.y * window.z > 25;
  return {side_by_side ? tile.x * Lanes<T>::tiles : tile.x, tile.y, tile.z};
}

/// How the blocks of a launch are dealt to the parts of a job. The last part has the grid, but for the first
/// `edge_rows` rows of each layer; those the other parts share, part i from block first[i] to first[i + 1].
struct Deal {
  struct Blocks {
    int width;  ///< threads of a block along x, a power of two; narrow parts take narrow blocks
    int x, y;   ///< blocks per axis; z follows
  };
  std::array<Blocks, NetworkJob<float>::most_parts> blocks{};
  std::array<unsigned, NetworkJob<float>::most_parts + 1> first{};
  unsigned edge_rows = 0;
};

/// The launch of a job whose threads make `outputs` each.
struct DealtGrid {
  Deal deal;
  dim3 grid;

  template <class T>
  DealtGrid(const NetworkJob<T>& job, const Triple<int>& outputs) {
    for (int i = 0; i < job.count; ++i) {
      const int3 count = job.parts[i].part.count;
      const auto x = static_cast<int>(ceil_div(count.x, outputs.x));
      int width = 32;
      while (i < job.count - 1 && width > 1 && width / 2 >= x) width /= 2;
      grid = dim3(static_cast<unsigned>(ceil_div(x, width)),
                  static_cast<unsigned>(ceil_div(ceil_div(count.y, outputs.y), network_threads / width)),
                  static_cast<unsigned>(ceil_div(count.z, outputs.z)));
      deal.blocks[i] = {width, static_cast<int>(grid.x), static_cast<int>(grid.y)};
      deal.first[i + 1] = deal.first[i] + grid.x * grid.y * grid.z;
    }
    deal.edge_rows = static_cast<unsigned>(ceil_div(deal.first[job.count - 1], grid.x * grid.z));
    grid.y += deal.edge_rows;
  }
};

/// Which part of a job a thread works for, and which tile of it.
struct Place {
  int part;
  unsigned x, y, z;
};

__device__ inline Place find_place(const Deal& deal, int parts) {
  if (blockIdx.y >= deal.edge_rows) {
    return {parts - 1, blockIdx.x * 32 + threadIdx.x % 32,
            (blockIdx.y - deal.edge_rows) * (network_threads / 32) + threadIdx.x / 32, blockIdx.z};
  }
  const unsigned block = (blockIdx.z * deal.edge_rows + blockIdx.y) * gridDim.x + blockIdx.x;
  int part = 0;
  while (part < parts - 1 && block >= deal.first[part + 1]) ++part;
  if (part == parts - 1) return {-1, 0, 0, 0};
  const Deal::Blocks blocks = deal.blocks[part];
  const unsigned inside = block - deal.first[part], row = inside / blocks.x;
  return {part, inside % blocks.x * blocks.width + threadIdx.x % blocks.width,
          row % blocks.y * (network_threads / blocks.width) + threadIdx.x / blocks.width, row / blocks.y};
}

/// Network: Triple<int> window, tile; run<Ops>(load, store).
template <class Network, class T>
__global__ void __launch_bounds__(network_threads)
    median_by_network(const __grid_constant__ NetworkJob<T> job, const __grid_constant__ Deal deal) {
  using Ops = Lanes<T>;
  constexpr Triple<int> tile = Network::tile, window = Network::window;
  constexpr Triple<int> group = group_of<Network, T>();
  const auto [at, number_x, number_y, number_z] = find_place(deal, job.count);
  if (at < 0) return;
  const int3 first = job.parts[at].part.first, count = job.parts[at].part.count, corner = job.parts[at].corner;
  // The last group of an axis overlaps its neighbour instead of leaving the part: it makes the same outputs once more.
  const auto start = [](unsigned number, int size, int outputs) {
    return min(static_cast<int>(number) * size, outputs - size);
  };
  const unsigned groups = (count.x + group.x - 1) / group.x;
  const unsigned threads = group.x == tile.x ? (groups + Ops::tiles - 1) / Ops::tiles : groups;
  if (number_x >= threads || number_y * tile.y >= count.y) return;
  const int x = start(number_x, group.x, count.x), y = start(number_y, tile.y, count.y),
            z = start(number_z, tile.z, count.z);
  const std::int64_t apart = Ops::tiles == 1     ? 0
                             : group.x != tile.x ? tile.x
                                                 : start(min(number_x + threads, groups - 1), tile.x, count.x) - x;

  const Box<const T> in = job.parts[at].in;
  const T* source = in.row(corner.y + y, corner.z + z) + corner.x + x;
  T* target = job.out.row(first.y + y, first.z + z) + first.x + x;
  const int in_row = in.x, out_row = job.out.x;
  const std::int64_t in_slice = static_cast<std::int64_t>(in.y) * in_row;
  const std::int64_t out_slice = static_cast<std::int64_t>(job.out.y) * out_row;

  bool missing = false;
  if constexpr (!std::is_floating_point_v<T>) {
    if (job.has_missing) {
      for (int k = 0; k < window.z + tile.z - 1; ++k) {
        for (int j = 0; j < window.y + tile.y - 1; ++j) {
#pragma unroll
          for (int i = 0; i < window.x + tile.x - 1; ++i) {
            const T* place = source + k * in_slice + j * in_row + i;
            missing |= __ldg(place) == job.missing || __ldg(place + apart) == job.missing;
          }
        }
      }
    }
  }
  Probe probe;
  typename Ops::Value held{};
  const bool pairs = (reinterpret_cast<std::uintptr_t>(target) | reinterpret_cast<std::uintptr_t>(target + apart) |
                      sizeof(T) * out_row) %
                         (2 * sizeof(T)) ==
                     0;
  Network::template run<Ops>(
      [&](int k, int j, int i) { return Ops::load(source + k * in_slice + j * in_row + i, apart, probe); },
      [&](int k, int j, int i, typename Ops::Value value) {
        T* place = target + k * out_slice + j * out_row + i;
        if (tile.x % 2 != 0) {
          Ops::store(place, apart, value);
        } else if (i % 2 == 0) {  // networks make the outputs of a row two by two
          held = value;
        } else if (pairs) {
          Ops::store_pair(place - 1, apart, held, value);
        } else {
          Ops::store(place - 1, apart, held);
          Ops::store(place, apart, value);
        }
      });
  if (missing || probe.found()) {
    const unsigned place = static_cast<unsigned>(target - job.out.data);
    job.mend.starts[atomicAdd(job.mend.count, 1U)] = place;
    if (Ops::tiles == 2 && group.x == tile.x) {
      job.mend.starts[atomicAdd(job.mend.count, 1U)] = place + static_cast<unsigned>(apart);
    }
  }
}

template <class Network, class T>
void launch_network(const NetworkJob<T>& job, cudaStream_t stream) {
  constexpr Triple<int> tile = Network::tile;
  const DealtGrid dealt(job, {tile.x * Lanes<T>::tiles, tile.y, tile.z});
  median_by_network<Network, T><<<dealt.grid, network_threads, 0, stream>>>(job, dealt.deal);
}

template <class Network>
MedianNetwork make_median_network() {
  return {Network::window,
          group_of<Network, float>(),
          group_of<Network, std::int16_t>(),
          launch_network<Network, float>,
          launch_network<Network, std::int16_t>,
          launch_network<Network, std::uint16_t>};
}

}  // namespace quietvox::cuda
