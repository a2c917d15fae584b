// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/filters/median.hpp"

#include <algorithm>
#include <type_traits>

#include "cuda/filters/median/network.hpp"

namespace quietvox::cuda {
namespace {

/// What the general path needs to know about the filter.
template <class T>
struct Window {
  int3 radius;
  MedianShape shape;
  Border border;
  bool has_missing;  ///< integers only
  T missing;
};

template <class T>
__device__ bool is_missing_value(const Window<T>& window, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return !(fabsf(value) < INFINITY);
  } else {
    return window.has_missing && value == window.missing;
  }
}

/// Voxels as integers of the same order.
__device__ int key_of(float value) {
  const int bits = __float_as_int(value + 0.0F);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}
__device__ int key_of(std::int16_t value) { return value; }
__device__ int key_of(std::uint16_t value) { return value; }
__device__ void set_from_key(float& value, int key) { value = __int_as_float(key ^ ((key >> 31) & 0x7fffffff)); }
__device__ void set_from_key(std::int16_t& value, int key) { value = static_cast<std::int16_t>(key); }
__device__ void set_from_key(std::uint16_t& value, int key) { value = static_cast<std::uint16_t>(key); }

/// Calls `visit` with the key of every voxel under the window that is not missing.
template <class T, class Visit>
__device__ void for_each_key(const Box<const T>& in, const Window<T>& window, int3 at, Visit visit) {
  const int3 r = window.radius;
  const bool cross = window.shape == MedianShape::cross;
  for (int dz = -r.z; dz <= r.z; ++dz) {
    const int z = device_border_index(window.border, at.z + dz, in.z);
    for (int dy = -r.y; dy <= r.y; ++dy) {
      const int off_centre = (dz != 0) + (dy != 0);
      if (cross && off_centre == 2) continue;
      const T* row = in.row(device_border_index(window.border, at.y + dy, in.y), z);
      const int reach = cross && off_centre == 1 ? 0 : r.x;
      for (int dx = -reach; dx <= reach; ++dx) {
        const T value = __ldg(row + device_border_index(window.border, at.x + dx, in.x));
        if (!is_missing_value(window, value)) visit(key_of(value));
      }
    }
  }
}

/// The median under any window, by halving the interval that holds it. Both ends of the interval are voxels of the
/// window, so that the halvings are about as many as the logarithm of the number of voxels, and never more than 32.
template <class T>
__device__ T median_at(const Box<const T>& in, const Window<T>& window, int3 at) {
  const T centre = in.row(at.y, at.z)[at.x];
  const int3 r = window.radius;
  const bool leaves =
      at.x < r.x || at.y < r.y || at.z < r.z || at.x + r.x >= in.x || at.y + r.y >= in.y || at.z + r.z >= in.z;
  if (is_missing_value(window, centre)) return centre;
  if (window.border == Border::copy && leaves) return centre + T{0};

  int count = 0, low = INT_MAX, high = INT_MIN;
  for_each_key(in, window, at, [&](int key) {
    ++count;
    low = min(low, key);
    high = max(high, key);
  });
  const int middle = (count - 1) / 2;
  while (low < high) {
    const int pivot = low + static_cast<int>((static_cast<unsigned>(high) - static_cast<unsigned>(low)) / 2);
    int up_to_pivot = 0, next_low = high, next_high = low;
    for_each_key(in, window, at, [&](int key) {
      if (key <= pivot) {
        ++up_to_pivot;
        next_high = max(next_high, key);
      } else {
        next_low = min(next_low, key);
      }
    });
    if (up_to_pivot > middle) {
      high = next_high;
    } else {
      low = next_low;
    }
  }
  T result;
  set_from_key(result, low);
  return result;
}

__device__ int3 operator+(int3 a, int3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }

/// All outputs of the part of `out` that starts at `first`.
template <class T>
__global__ void median_anywhere(Box<const T> in, Box<T> out, int3 offset, int3 first, int3 count, Window<T> window) {
  const int3 place{static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x),
                   static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y), static_cast<int>(blockIdx.z)};
  if (place.x >= count.x || place.y >= count.y) return;
  const int3 at = first + place;
  out.row(at.y, at.z)[at.x] = median_at(in, window, at + offset);
}

/// The outputs that a network left.
template <class T>
__global__ void median_of_groups(Box<const T> in, Box<T> out, int3 offset, Groups groups, MendList mend,
                                 Window<T> window) {
  const auto place = [](unsigned index, int3 extent) {
    return int3{static_cast<int>(index % extent.x), static_cast<int>(index / extent.x % extent.y),
                static_cast<int>(index / extent.x / extent.y)};
  };
  const int3 number = groups.number();
  const std::int64_t size = groups.size.x * groups.size.y * groups.size.z;
  const std::int64_t total = *mend.count * size;
  for (std::int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
    const int3 start = groups.start(place(mend.groups[i / size], number));
    const int3 at = groups.first + start + place(static_cast<unsigned>(i % size), groups.size);
    out.row(at.y, at.z)[at.x] = median_at(in, window, at + offset);
  }
}

struct Part {
  int3 first, count;
};

template <class T>
void launch_anywhere(const Box<const T>& in, const Box<T>& out, int3 offset, const Part& part, const Window<T>& window,
                     const Queue& queue) {
  if (part.count.x <= 0 || part.count.y <= 0 || part.count.z <= 0) return;
  const dim3 block = part.count.x < 16 ? dim3(4, 32) : dim3(32, 4);
  const dim3 grid(ceil_div(part.count.x, block.x), ceil_div(part.count.y, block.y), part.count.z);
  median_anywhere<<<grid, block, 0, queue.stream>>>(in, out, offset, part.first, part.count, window);
}

/// The outputs whose windows stay within the input.
template <class T>
Part inner_part(const Box<const T>& in, const Box<T>& out, int3 offset, int3 radius) {
  const auto first = [](int start, int r) { return std::max(0, r - start); };
  const auto last = [](int start, int r, int in_count, int out_count) {
    return std::min(out_count, in_count - r - start);
  };
  Part part;
  part.first = {first(offset.x, radius.x), first(offset.y, radius.y), first(offset.z, radius.z)};
  part.count = {last(offset.x, radius.x, in.x, out.x) - part.first.x,
                last(offset.y, radius.y, in.y, out.y) - part.first.y,
                last(offset.z, radius.z, in.z, out.z) - part.first.z};
  return part;
}

/// Everything of `out` around the inner part.
template <class T>
void launch_around(const Box<const T>& in, const Box<T>& out, int3 offset, const Part& inner, const Window<T>& window,
                   const Queue& queue) {
  const int3 a = inner.first, n = inner.count, b{a.x + n.x, a.y + n.y, a.z + n.z};
  const Part parts[] = {
      {{0, 0, 0}, {out.x, out.y, a.z}}, {{0, 0, b.z}, {out.x, out.y, out.z - b.z}},
      {{0, 0, a.z}, {out.x, a.y, n.z}}, {{0, b.y, a.z}, {out.x, out.y - b.y, n.z}},
      {{0, a.y, a.z}, {a.x, n.y, n.z}}, {{b.x, a.y, a.z}, {out.x - b.x, n.y, n.z}},
  };
  for (const Part& part : parts) launch_anywhere(in, out, offset, part, window, queue);
}

template <class T>
const MedianNetwork* find_network(const MedianParams& params) {
  const Radius3 r = params.halo();
  if (params.shape == MedianShape::cross && (r.x != 0) + (r.y != 0) + (r.z != 0) > 1) return nullptr;
  const auto& networks = median_networks();
  const auto found = std::find_if(networks.begin(), networks.end(), [&](const MedianNetwork& network) {
    return network.window == Triple<int>{2 * r.x + 1, 2 * r.y + 1, 2 * r.z + 1};
  });
  return found == networks.end() ? nullptr : &*found;
}

template <class T>
void run_network(const MedianNetwork& network, const NetworkJob<T>& job, cudaStream_t stream) {
  if constexpr (std::is_same_v<T, float>) {
    network.f32(job, stream);
  } else if constexpr (std::is_same_v<T, std::int16_t>) {
    network.i16(job, stream);
  } else {
    network.u16(job, stream);
  }
}

template <class T>
void median(VolumeView<const T> in_view, VolumeView<T> out_view, const MedianParams& params, const Queue& queue) {
  const Box<const T> in(in_view);
  const Box<T> out(out_view);
  const Radius3 r = params.halo();
  const int3 offset = offset_within(in_view, out_view), radius{r.x, r.y, r.z};
  Window<T> window{radius, params.shape, params.border, false, T{}};
  if constexpr (!std::is_floating_point_v<T>) {
    window.has_missing = in_view.missing.has_value();
    window.missing = in_view.missing.value_or(T{});
  }

  const MedianNetwork* network = find_network<T>(params);
  const Part inner = inner_part(in, out, offset, radius);
  const Triple<int> size = !network ? Triple<int>{} : std::is_same_v<T, float> ? network->group_f32 : network->group_16;
  if (!network || inner.count.x < size.x || inner.count.y < size.y || inner.count.z < size.z) {
    launch_anywhere(in, out, offset, {{0, 0, 0}, {out.x, out.y, out.z}}, window, queue);
    QV_CUDA(cudaGetLastError());
    return;
  }
  const Groups groups{inner.first, inner.count, {size.x, size.y, size.z}};
  const int3 number = groups.number();
  const DeviceBuffer<unsigned> list(static_cast<std::size_t>(number.x) * number.y * number.z + 1, queue);
  const MendList mend{list.get() + 1, list.get()};
  QV_CUDA(cudaMemsetAsync(mend.count, 0, sizeof(unsigned), queue.stream));
  const int3 corner{inner.first.x + offset.x - r.x, inner.first.y + offset.y - r.y, inner.first.z + offset.z - r.z};
  run_network<T>(*network, {in, out, corner, groups, window.has_missing, window.missing, mend}, queue.stream);
  launch_around(in, out, offset, inner, window, queue);
  median_of_groups<<<8 * queue.multiprocessors, 128, 0, queue.stream>>>(in, out, offset, groups, mend, window);
  QV_CUDA(cudaGetLastError());
}

}  // namespace

void median_cuda(VolumeView<const float> in, VolumeView<float> out, const MedianParams& params, const Queue& queue) {
  median(in, out, params, queue);
}
void median_cuda(VolumeView<const std::int16_t> in, VolumeView<std::int16_t> out, const MedianParams& params,
                 const Queue& queue) {
  median(in, out, params, queue);
}
void median_cuda(VolumeView<const std::uint16_t> in, VolumeView<std::uint16_t> out, const MedianParams& params,
                 const Queue& queue) {
  median(in, out, params, queue);
}

}  // namespace quietvox::cuda
