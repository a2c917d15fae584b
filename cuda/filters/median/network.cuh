// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <type_traits>

#include "core/host_device_macro.hpp"
#include "cuda/filters/common/programmatic_launch.cuh"
#include "cuda/filters/median/network_job.cuh"

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
  static __device__ float load(const float* place, Probe& probe) {
    const float value = __ldg(place);
    look(value, probe);
    return value;
  }
  static __device__ void look(float value, Probe& probe) { probe.add(value); }
  template <int>
  static __device__ void store(float* place, float value) {
    *place = value + 0.0F;
  }
  template <int>
  static __device__ void store_pair(float* place, float first, float second) {
    *reinterpret_cast<float2*>(place) = {first + 0.0F, second + 0.0F};
  }
};

/// Two 16-bit voxels per register, of two tiles that lie side by side, `Apart` columns from each other, an even
/// number. Rows are read by aligned pairs of voxels.
template <class T>
struct PackedLanes {
  using Value = unsigned;
  static constexpr int tiles = 2;
  template <int Apart>
  static __device__ unsigned load(const T* row, int column) {
    const auto* pairs = reinterpret_cast<const unsigned*>(row);
    return __byte_perm(__ldg(pairs + column / 2), __ldg(pairs + (column + Apart) / 2),
                       column % 2 == 0 ? 0x5410 : 0x7632);
  }
  static __device__ void look(unsigned, Probe&) {}
  template <int Apart>
  static __device__ void store(T* place, unsigned value) {
    place[0] = static_cast<T>(value & 0xffffU);
    place[Apart] = static_cast<T>(value >> 16);
  }
  template <int Apart>
  static __device__ void store_pair(T* place, unsigned first, unsigned second) {
    *reinterpret_cast<unsigned*>(place) = __byte_perm(first, second, 0x5410);
    *reinterpret_cast<unsigned*>(place + Apart) = __byte_perm(first, second, 0x7632);
  }
};
template <>
struct Lanes<std::int16_t> : PackedLanes<std::int16_t> {
  static __device__ unsigned min(unsigned a, unsigned b) { return __vmins2(a, b); }
  static __device__ unsigned max(unsigned a, unsigned b) { return __vmaxs2(a, b); }
  static __device__ unsigned min3(unsigned a, unsigned b, unsigned c) { return __vimin3_s16x2(a, b, c); }
  static __device__ unsigned max3(unsigned a, unsigned b, unsigned c) { return __vimax3_s16x2(a, b, c); }
};
template <>
struct Lanes<std::uint16_t> : PackedLanes<std::uint16_t> {
  static __device__ unsigned min(unsigned a, unsigned b) { return __vminu2(a, b); }
  static __device__ unsigned max(unsigned a, unsigned b) { return __vmaxu2(a, b); }
  static __device__ unsigned min3(unsigned a, unsigned b, unsigned c) { return __vimin3_u16x2(a, b, c); }
  static __device__ unsigned max3(unsigned a, unsigned b, unsigned c) { return __vimax3_u16x2(a, b, c); }
};

/// Never changed. But the compiler must not know, or it would turn multiplications by it into subtractions.
static __constant__ unsigned minus_one = ~0U;

/// -1 for lanes of T. For packed voxels it is derived from blockDim, because the compiler would reload the constant
/// every few sums; nor does it know that blocks are flat.
template <class T>
__device__ __forceinline__ unsigned minus_one_for() {
  return sizeof(T) == 2 ? (blockDim.y >> 31) - 1 : minus_one;
}

/// If the minimum of a and b is known, their maximum is a + b - min(a, b); these lanes compute `percent` of such maxima
/// so. In integers, that is exact whatever the bits mean (except NaN, whose windows are recomputed), for packed voxels
/// too, because no half carries. It uses the multiply-add unit, which would be idle while minima and maxima queue.
///
/// Long networks run `in_step`: now and then the warps of a block wait for each other, since the instructions stay in
/// the cache only while all need the same ones.
template <class T, int percent, bool in_step>
struct BalancedLanes : Lanes<T> {
  using Value = typename Lanes<T>::Value;
  /// `number` is known to the compiler; as a template argument it took the compiler three times as long.
  static __device__ __forceinline__ Value larger(int number, Value a, Value b, Value smaller) {
    if (in_step && number % 200 == 199) asm volatile("bar.sync 0;");
    if ((number + 1) * percent / 100 == number * percent / 100) return Lanes<T>::max(a, b);
    const unsigned sum = std::bit_cast<unsigned>(a) + std::bit_cast<unsigned>(b);
    unsigned result;
    asm("mad.lo.u32 %0, %1, %2, %3;"
        : "=r"(result)
        : "r"(std::bit_cast<unsigned>(smaller)), "r"(minus_one_for<T>()), "r"(sum));
    return std::bit_cast<Value>(result);
  }
};

/// The outputs of a thread in one go.
template <class Network, class T>
constexpr Triple<int> group_of() {
  constexpr Triple<int> tile = Network::tile;
  return {tile.x * Lanes<T>::tiles, tile.y, tile.z};
}

/// Whether blocks of so many threads run in step; a multiprocessor holds one of them.
constexpr bool runs_in_step(int threads) { return threads > 128; }

/// How the blocks of a launch are dealt to the parts of a job. All parts but the last share the first `edge_rows` rows
/// of each layer of the grid: part i has the blocks from first[i] to first[i + 1]. The last part has the rest of the
/// grid.
///
/// Where runs_in_step(), consecutive threads take consecutive groups of a part, across its rows and layers, so that
/// none is idle even if the part is thin.
struct Deal {
  struct Blocks {
    int width;  ///< threads of a block along x, a power of two; narrow parts take narrow blocks, flat ones wide ones
    int x, y;   ///< blocks per axis, or groups where blocks go through all layers; z follows
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
  DealtGrid(const NetworkJob<T>& job, int threads, const Triple<int>& outputs) {
    for (int i = 0; i < job.count; ++i) {
      const int3 count = job.parts[i].part.count;
      const std::int64_t x = ceil_div(count.x, outputs.x), y = ceil_div(count.y, outputs.y);
      int width = 32;
      if (i < job.count - 1 && runs_in_step(threads)) {
        deal.blocks[i] = {1, static_cast<int>(x), static_cast<int>(y)};
        deal.first[i + 1] =
            deal.first[i] + static_cast<unsigned>(ceil_div(x * y * ceil_div(count.z, outputs.z), threads));
        continue;
      }
      if (i < job.count - 1) {
        while (width > 1 && width / 2 >= x) width /= 2;
        while (width < threads && threads / width / 2 >= y) width *= 2;
      }
      grid = dim3(static_cast<unsigned>(ceil_div(x, width)), static_cast<unsigned>(ceil_div(y, threads / width)),
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

template <int threads>
__device__ Place find_place(const Deal& deal, int parts) {
  if (blockIdx.y >= deal.edge_rows) {
    return {parts - 1, blockIdx.x * 32 + threadIdx.x % 32,
            (blockIdx.y - deal.edge_rows) * (threads / 32) + threadIdx.x / 32, blockIdx.z};
  }
  const unsigned block = (blockIdx.z * deal.edge_rows + blockIdx.y) * gridDim.x + blockIdx.x;
  int part = 0;
  while (part < parts - 1 && block >= deal.first[part + 1]) ++part;
  if (part == parts - 1) return {-1, 0, 0, 0};
  const Deal::Blocks blocks = deal.blocks[part];
  if constexpr (runs_in_step(threads)) {
    const unsigned group = (block - deal.first[part]) * threads + threadIdx.x, x = blocks.x, y = blocks.y;
    return {part, group % x, group / x % y, group / x / y};
  }
  const unsigned inside = block - deal.first[part], row = inside / blocks.x;
  return {part, inside % blocks.x * blocks.width + threadIdx.x % blocks.width,
          row % blocks.y * (threads / blocks.width) + threadIdx.x / blocks.width, row / blocks.y};
}

/// How many vertically adjacent tiles a thread makes. If loads cost more than arithmetic, several: it moves down the
/// rows and loads each once.
template <class Network>
constexpr int steps_of() {
  constexpr Triple<int> window = Network::window;
  return window.x * window.y * window.z <= 9 ? 2 : 1;
}

/// Network: Triple<int> window, tile; int sums, the percentage of BalancedLanes; int threads of a block; int blocks
/// that a multiprocessor holds at least; run<Ops>(load, store).
template <class Network, class T>
__global__ void __launch_bounds__(Network::threads, Network::blocks)
    median_by_network(const __grid_constant__ NetworkJob<T> job, const __grid_constant__ Deal deal) {
  using Ops = BalancedLanes<T, Network::sums, runs_in_step(Network::threads)>;
  using Value = typename Ops::Value;
  constexpr Triple<int> tile = Network::tile, window = Network::window;
  constexpr Triple<int> group = group_of<Network, T>();
  constexpr Triple<int> seen{window.x + tile.x - 1, window.y + tile.y - 1, window.z + tile.z - 1};
  constexpr int steps = steps_of<Network>();
  constexpr int lead = pair_lead<T>(window.x / 2);
  const auto [at, number_x, number_y, number_z] = find_place<Network::threads>(deal, job.count);
  let_next_start();
  if (at < 0) return;
  if (at < job.padded) wait_for_previous();
  const int3 first = job.parts[at].part.first, count = job.parts[at].part.count, corner = job.parts[at].corner;
  // The last group of an axis overlaps its neighbour instead of leaving the part: it makes the same outputs once more.
  const auto start = [](unsigned number, int size, int outputs) {
    return min(static_cast<int>(number) * size, outputs - size);
  };
  if (number_x * group.x >= count.x || number_y * steps * tile.y >= count.y) return;
  if (runs_in_step(Network::threads) && number_z * tile.z >= count.z) return;
  const int x = start(number_x, group.x, count.x), z = start(number_z, tile.z, count.z);

  const DeviceView<const T> in = job.parts[at].in;
  const int in_row = in.x, out_row = job.out.x;
  const std::int64_t in_slice = static_cast<std::int64_t>(in.y) * in_row;
  const std::int64_t out_slice = static_cast<std::int64_t>(job.out.y) * out_row;

  Value rows[steps > 1 ? seen.z : 1][steps > 1 ? seen.y : 1][steps > 1 ? seen.x : 1];
  int below = -1;  // where a tile starts whose upper rows are in `rows` already
  for (int step = 0; step < steps; ++step) {
    const unsigned number = number_y * steps + step;
    if (number * tile.y >= count.y) break;
    const int y = start(number, tile.y, count.y);
    const T* source = in.row(corner.y + y, corner.z + z) + corner.x + x - lead;
    T* target = job.out.row(first.y + y, first.z + z) + first.x + x;

    bool missing = false;
    if constexpr (!std::is_floating_point_v<T>) {
      if (job.has_missing) {
        for (int k = 0; k < seen.z; ++k) {
          for (int j = 0; j < seen.y; ++j) {
#pragma unroll
            for (int i = 0; i < seen.x + group.x - tile.x; ++i) {
              missing |= __ldg(source + k * in_slice + j * in_row + lead + i) == job.missing;
            }
          }
        }
      }
    }
    Probe probe;
    Value held{};
    const bool pairs = (reinterpret_cast<std::uintptr_t>(target) | sizeof(T) * out_row) % (2 * sizeof(T)) == 0;
    const auto load = [&](int k, int j, int i) {
      if constexpr (Ops::tiles == 1) {
        return Ops::load(source + k * in_slice + j * in_row + i, probe);
      } else {
        return Ops::template load<tile.x>(source + k * in_slice + j * in_row, lead + i);
      }
    };
    const auto store = [&](int k, int j, int i, Value value) {
      T* place = target + k * out_slice + j * out_row + i;
      if (tile.x % 2 != 0) {
        Ops::template store<tile.x>(place, value);
      } else if (i % 2 == 0) {  // networks make the outputs of a row two by two
        held = value;
      } else if (pairs) {
        Ops::template store_pair<tile.x>(place - 1, held, value);
      } else {
        Ops::template store<tile.x>(place - 1, held);
        Ops::template store<tile.x>(place, value);
      }
    };
    if constexpr (steps == 1) {
      Network::template run<Ops>(load, store);
    } else {
      const auto for_each = [&](int first_row, int last_row, auto each) {
#pragma unroll
        for (int k = 0; k < seen.z; ++k) {
#pragma unroll
          for (int j = first_row; j < last_row; ++j) {
#pragma unroll
            for (int i = 0; i < seen.x; ++i) each(k, j, i);
          }
        }
      };
      const auto fetch = [&](int k, int j, int i) { rows[k][j][i] = load(k, j, i); };
      if (y == below) {
        for_each(0, seen.y - tile.y, [&](int k, int j, int i) {
          rows[k][j][i] = rows[k][j + tile.y][i];
          Ops::look(rows[k][j][i], probe);
        });
        for_each(seen.y - tile.y, seen.y, fetch);
      } else {
        for_each(0, seen.y, fetch);
      }
      below = y + tile.y;
      Network::template run<Ops>([&](int k, int j, int i) { return rows[k][j][i]; }, store);
    }
    wait_for_previous();
    if (missing || probe.found()) {
      job.recompute.starts[atomicAdd(job.recompute.count, 1U)] = static_cast<unsigned>(target - job.out.data);
    }
  }
}

template <class Network, class T>
void launch_network(const NetworkJob<T>& job, cudaStream_t stream) {
  constexpr Triple<int> group = group_of<Network, T>();
  const DealtGrid dealt(job, Network::threads, {group.x, group.y * steps_of<Network>(), group.z});
  launch_overlapping(median_by_network<Network, T>, dealt.grid, Network::threads, stream, job, dealt.deal);
}

template <class NetworkF32, class Network16>
MedianNetwork make_median_network() {
  return {NetworkF32::window,
          group_of<NetworkF32, float>(),
          group_of<Network16, std::int16_t>(),
          launch_network<NetworkF32, float>,
          launch_network<Network16, std::int16_t>,
          launch_network<Network16, std::uint16_t>};
}

}  // namespace quietvox::cuda
