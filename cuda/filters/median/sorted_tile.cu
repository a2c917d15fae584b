// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/filters/median/sorted_tile.cuh"

#include <array>
#include <cstddef>
#include <cub/block/block_merge_sort.cuh>
#include <optional>

#include "cuda/filters/median/bit_sliced_counters.cuh"

namespace quietvox::cuda {
namespace {

/// Voxels as numbers of the same order. After all of them come the missing ones, then what fills up the last registers.
constexpr unsigned missing_key = 0xfffffffeU, no_voxel_key = 0xffffffffU;
__device__ unsigned key_of(float value) {
  const unsigned bits = __float_as_uint(value);
  return bits ^ (static_cast<unsigned>(static_cast<int>(bits) >> 31) | 0x80000000U);
}
__device__ unsigned key_of(std::uint16_t value) { return value; }
__device__ unsigned key_of(std::int16_t value) { return static_cast<std::uint16_t>(value ^ 0x8000); }
__device__ void set_from_key(unsigned key, float& value) {
  value = __uint_as_float(key & 0x80000000U ? key ^ 0x80000000U : ~key) + 0.0F;
}
__device__ void set_from_key(unsigned key, std::uint16_t& value) { value = static_cast<std::uint16_t>(key); }
__device__ void set_from_key(unsigned key, std::int16_t& value) { value = static_cast<std::int16_t>(key ^ 0x8000U); }

/// A tile: 32 outputs along x for each of the 32 lanes of a warp, which stand for rows.
constexpr int lanes = 32;
constexpr int batch = BitCounts::batch;
constexpr int most_rows = 1024;  ///< of a region, whose places are 16 bits: 6 for the column, 10 for the row

/// How a volume is cut. The voxels that a tile's windows see are its region.
struct Tiling {
  int rows_y, rows_z;  ///< rows of a tile: rows_y * rows_z = 32
  int3 region;
  int3 radius;
  __host__ __device__ int voxels() const { return region.x * region.y * region.z; }
};

/// A voxel of the region by the outputs that see it: those whose column is set in `columns` and whose row in `rows`.
struct Seen {
  unsigned columns, rows;
};

/// What a block keeps in shared memory, sorted by value. Missing voxels stand behind the others, from a full batch on.
template <int Capacity, int Warps>
struct Sorted {
  Seen seen[Capacity + 2 * batch];
  unsigned keys[Capacity + 2 * batch];
  unsigned row_masks[most_rows];  ///< of each row of the region: the rows of outputs that see it
  BitCounts counts[Warps][lanes];
  std::uint16_t found[lanes][lanes];  ///< per output: the batch that reaches the median, and by how many it goes beyond
  int present;
};

/// Bits lo .. hi of a word, cut at its ends.
__device__ unsigned bits_between(int lo, int hi) {
  const unsigned up_to = hi >= 31 ? ~0U : (2U << hi) - 1;
  return lo <= 0 ? up_to : up_to & (~0U << lo);
}

/// Counts, for 32 outputs, the voxels of batches [first, last) that their windows hold; calls after(number) behind
/// each.
template <class After>
__device__ __forceinline__ void count(const Seen* seen, int first, int last, BitCounts& counts, After after) {
  const unsigned own = 1U << (threadIdx.x % lanes);
  for (int number = first; number < last; ++number) {
    unsigned held[batch];
#pragma unroll
    for (int i = 0; i < batch; i += 2) {
      const uint4 two = *reinterpret_cast<const uint4*>(seen + number * batch + i);
      held[i] = two.y & own ? two.x : 0;
      held[i + 1] = two.w & own ? two.z : 0;
    }
    counts.add(held);
    after(number);
  }
}

template <class T, int Threads, int Items>
__global__ void __launch_bounds__(Threads) median_of_tile(const DeviceView<const T> in, DeviceView<T> out, int3 offset,
                                                          Window<T> window, const __grid_constant__ Tiling tiling) {
  constexpr int warps = Threads / lanes, capacity = Threads * Items;
  using Sort = cub::BlockMergeSort<unsigned, Threads, Items, std::uint16_t>;
  using Shared = Sorted<capacity, warps>;
  extern __shared__ __align__(16) unsigned char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  auto& sorting = *reinterpret_cast<typename Sort::TempStorage*>(memory);
  static_assert(sizeof(typename Sort::TempStorage) <= offsetof(Shared, row_masks));

  const int3 region = tiling.region, r = tiling.radius;
  const int3 first{static_cast<int>(blockIdx.x) * lanes, static_cast<int>(blockIdx.y) * tiling.rows_y,
                   static_cast<int>(blockIdx.z) * tiling.rows_z};
  const int3 corner{first.x + offset.x - r.x, first.y + offset.y - r.y, first.z + offset.z - r.z};
  const bool inside = corner.x >= 0 && corner.y >= 0 && corner.z >= 0 && corner.x + region.x <= in.x &&
                      corner.y + region.y <= in.y && corner.z + region.z <= in.z;
  const int voxels = tiling.voxels();

  if (threadIdx.x == 0) shared.present = 0;
  for (int row = threadIdx.x; row < region.y * region.z; row += Threads) {
    const int y = row % region.y, z = row / region.y;
    unsigned mask = 0;
    for (int k = max(0, z - 2 * r.z); k <= min(z, tiling.rows_z - 1); ++k) {
      mask |= bits_between(k * tiling.rows_y + max(0, y - 2 * r.y), k * tiling.rows_y + min(y, tiling.rows_y - 1));
    }
    shared.row_masks[row] = mask;
  }

  __syncthreads();

  unsigned keys[Items];
  std::uint16_t places[Items];  // column, and row * 64
  int own_present = 0;
#pragma unroll
  for (int i = 0; i < Items; ++i) {
    const int voxel = i * Threads + static_cast<int>(threadIdx.x);
    const int row = voxel / region.x, x = voxel - row * region.x;
    keys[i] = no_voxel_key;
    places[i] = 0;
    if (voxel < voxels) {
      const int z = row / region.y, y = row - z * region.y;
      const int3 at = inside ? int3{corner.x + x, corner.y + y, corner.z + z}
                             : int3{device_border_index(window.border, corner.x + x, in.x),
                                    device_border_index(window.border, corner.y + y, in.y),
                                    device_border_index(window.border, corner.z + z, in.z)};
      const T value = __ldg(in.row(at.y, at.z) + at.x);
      places[i] = static_cast<std::uint16_t>(row * 64 + x);
      const bool missing = is_missing_value(window, value);
      keys[i] = missing ? missing_key : key_of(value);
      own_present += missing ? 0 : 1;
    }
  }
  const int in_warp = __reduce_add_sync(0xffffffffU, own_present);
  if (threadIdx.x % lanes == 0) atomicAdd(&shared.present, in_warp);

  Sort(sorting).Sort(keys, places, [](unsigned a, unsigned b) { return a < b; });
  __syncthreads();

  const int present = shared.present;
  const int present_batches = (present + batch - 1) / batch, missing_batches = (voxels - present + batch - 1) / batch;
  for (int i = threadIdx.x; i < batch; i += Threads) {
    shared.seen[present / batch * batch + i] = {0, 0};
    shared.seen[(present_batches + missing_batches) * batch - batch + i] = {0, 0};
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Items; ++i) {
    const int rank = static_cast<int>(threadIdx.x) * Items + i;
    if (rank >= voxels) continue;
    const int place = rank < present ? rank : rank - present + present_batches * batch, column = places[i] % 64;
    shared.keys[place] = keys[i];
    shared.seen[place] = {bits_between(column - 2 * r.x, column), shared.row_masks[places[i] / 64]};
  }
  __syncthreads();

  const int warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
  const auto share = [warp](int batches, int of) { return batches * of / warps; };
  const int begin = share(present_batches, warp), end = share(present_batches, warp + 1);
  const auto nothing = [](int) {};
  const auto of_warps_before = [&](int limit, const BitCounts& start) {
    BitCounts sum = start;
    for (int w = 0; w < limit; ++w) sum.add(shared.counts[w][lane]);
    return sum;
  };
  BitCounts missing{};
  if (missing_batches > 0) {
    count(shared.seen, present_batches + share(missing_batches, warp),
          present_batches + share(missing_batches, warp + 1), missing, nothing);
    shared.counts[warp][lane] = missing;
    __syncthreads();
    missing = of_warps_before(warps, {});
    __syncthreads();
  }
  BitCounts own{};
  count(shared.seen, begin, end, own, nothing);
  shared.counts[warp][lane] = own;
  __syncthreads();

  const int window_voxels = (2 * r.x + 1) * (2 * r.y + 1) * (2 * r.z + 1);
  BitCounts so_far = of_warps_before(warp, BitCounts::until_median(window_voxels, missing));
  BitCounts at_end = so_far;
  at_end.add(own);
  if (__any_sync(0xffffffffU, at_end.reached() & ~so_far.reached())) {
    count(shared.seen, begin, end, so_far, [&, before = so_far.reached()](int number) mutable {
      for (unsigned news = so_far.reached() & ~before; news; news &= news - 1) {
        const int column = __ffs(static_cast<int>(news)) - 1;
        shared.found[lane][column] = static_cast<std::uint16_t>(number * batch + so_far.low_bits(column));
      }
      before = so_far.reached();
    });
  }
  __syncthreads();

  const int out_x = first.x + lane;
  for (int row = warp; row < lanes; row += warps) {
    const int y = row % tiling.rows_y, z = row / tiling.rows_y, out_y = first.y + y, out_z = first.z + z;
    if (out_x >= out.x || out_y >= out.y || out_z >= out.z) continue;
    const int3 at{out_x + offset.x, out_y + offset.y, out_z + offset.z};
    T value = in.row(at.y, at.z)[at.x];
    const bool leaves =
        at.x < r.x || at.y < r.y || at.z < r.z || at.x + r.x >= in.x || at.y + r.y >= in.y || at.z + r.z >= in.z;
    if (!is_missing_value(window, value) && !(window.border == Border::copy && leaves)) {
      // The batch reaches the median and goes beyond it by `beyond` voxels: those at its end.
      const int found = shared.found[row][lane], start = found / batch * batch;
      int beyond = found % batch, median = start;
#pragma unroll
      for (int i = batch - 1; i >= 0; --i) {
        const Seen seen = shared.seen[start + i];
        const int held = (seen.columns >> lane) & (seen.rows >> row) & 1U;
        if (held && beyond == 0) median = start + i;
        beyond -= held;
      }
      set_from_key(shared.keys[median], value);
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!is_missing_value(window, value)) value += 0.0F;
    }
    out.row(out_y, out_z)[out_x] = value;
  }
}

/// A launch for regions of up to `capacity` voxels.
template <class T>
struct Kernel {
  int capacity, threads;
  std::size_t shared_bytes;
  void (*run)(DeviceView<const T>, DeviceView<T>, int3, Window<T>, Tiling);
};

template <class T, int Threads, int Items>
Kernel<T> kernel() {
  return {Threads * Items, Threads, sizeof(Sorted<Threads * Items, Threads / lanes>),
          median_of_tile<T, Threads, Items>};
}

/// The kernel whose region is just large enough. Items per thread are odd, so that sorted items that are written to
/// shared memory side by side do not meet in a bank.
template <class T>
std::optional<Kernel<T>> find_kernel(int voxels) {
  static const std::array all{kernel<T, 256, 9>(), kernel<T, 256, 17>(), kernel<T, 512, 11>(), kernel<T, 512, 21>()};
  for (const Kernel<T>& kernel : all) {
    if (voxels <= kernel.capacity) return kernel;
  }
  return std::nullopt;
}

/// The arrangement of 32 rows (y by z) that reads the fewest voxels per useful row.
Tiling find_tiling(const int3& extent, const int3& radius) {
  std::optional<Tiling> best;
  for (int rows_y = 1; rows_y <= lanes; rows_y *= 2) {
    const int rows_z = lanes / rows_y;
    const Tiling tiling{rows_y, rows_z, {lanes + 2 * radius.x, rows_y + 2 * radius.y, rows_z + 2 * radius.z}, radius};
    // Rows beyond the volume are wasted.
    const auto used = [](int rows, int extent) { return std::min(rows, extent); };
    const auto cost = [&](const Tiling& t) {
      return t.voxels() / static_cast<double>(used(t.rows_y, extent.y) * used(t.rows_z, extent.z));
    };
    if (!best || cost(tiling) < cost(*best)) best = tiling;
  }
  return *best;
}

template <class T>
bool run(const DeviceView<const T>& in, const DeviceView<T>& out, int3 offset, const Window<T>& window,
         cudaStream_t stream) {
  const int3 r = window.radius;
  if ((2 * r.x + 1) * (2 * r.y + 1) * (2 * r.z + 1) > BitCounts::largest_window) return false;
  const Tiling tiling = find_tiling({out.x, out.y, out.z}, r);
  const std::optional<Kernel<T>> kernel = find_kernel<T>(tiling.voxels());
  if (!kernel || tiling.region.y * tiling.region.z > most_rows) return false;
  if (kernel->shared_bytes > most_shared_bytes()) return false;
  QV_CUDA(cudaFuncSetAttribute(kernel->run, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(kernel->shared_bytes)));
  const dim3 grid(ceil_div(out.x, lanes), ceil_div(out.y, tiling.rows_y), ceil_div(out.z, tiling.rows_z));
  kernel->run<<<grid, kernel->threads, kernel->shared_bytes, stream>>>(in, out, offset, window, tiling);
  QV_CUDA(cudaGetLastError());
  return true;
}

}  // namespace

bool median_by_rank(const DeviceView<const float>& in, const DeviceView<float>& out, int3 offset,
                    const Window<float>& window, cudaStream_t stream) {
  return run(in, out, offset, window, stream);
}
bool median_by_rank(const DeviceView<const std::int16_t>& in, const DeviceView<std::int16_t>& out, int3 offset,
                    const Window<std::int16_t>& window, cudaStream_t stream) {
  return run(in, out, offset, window, stream);
}
bool median_by_rank(const DeviceView<const std::uint16_t>& in, const DeviceView<std::uint16_t>& out, int3 offset,
                    const Window<std::uint16_t>& window, cudaStream_t stream) {
  return run(in, out, offset, window, stream);
}

}  // namespace quietvox::cuda
