// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/filters/median/bisection.cuh"

#include <cfloat>
#include <type_traits>

#include "cuda/filters/median/direct.cuh"
#include "cuda/filters/median/network.cuh"

namespace quietvox::cuda {
namespace {

constexpr int outputs = counting_outputs;

/// Voxels as floats of the same order, and back. 16-bit ones become the last bits of 2^23 and more.
__device__ float key_of(float value) { return value; }
__device__ float key_of(std::uint16_t value) { return __uint_as_float(0x4b000000U | value); }
__device__ float key_of(std::int16_t value) { return key_of(static_cast<std::uint16_t>(value ^ 0x8000)); }
__device__ void set_from_key(float key, float& value) { value = key + 0.0F; }
__device__ void set_from_key(float key, std::uint16_t& value) {
  value = static_cast<std::uint16_t>(__float_as_uint(key));
}
__device__ void set_from_key(float key, std::int16_t& value) {
  value = static_cast<std::int16_t>(__float_as_uint(key) ^ 0x8000U);
}

/// Calls each(voxel) once for each voxel that any of the windows sees, and visit(i, key) for each voxel of window i.
template <class T, class Each, class Visit>
__device__ __forceinline__ void sweep(const T* source, const DeviceView<const T>& in, int3 radius, Each each,
                                      Visit visit) {
  const int width = 2 * radius.x + 1;
  const std::int64_t slice = static_cast<std::int64_t>(in.y) * in.x;
  for (int z = 0; z <= 2 * radius.z; ++z) {
    for (int y = 0; y <= 2 * radius.y; ++y) {
      const T* row = source + z * slice + static_cast<std::int64_t>(y) * in.x;
#pragma unroll
      for (int x = 0; x < outputs - 1; ++x) {  // the voxels at the ends belong to some of the windows only
        const T first = __ldg(row + x), last = __ldg(row + width + x);
        each(first);
        each(last);
#pragma unroll
        for (int i = 0; i < outputs; ++i) visit(i, key_of(i <= x ? first : last));
      }
#pragma unroll 4
      for (int x = outputs - 1; x < width; ++x) {
        const T value = __ldg(row + x);
        each(value);
#pragma unroll
        for (int i = 0; i < outputs; ++i) visit(i, key_of(value));
      }
    }
  }
}

/// The interval that is left of one search. `below` voxels lie below it, `up_to_high` voxels up to its upper end. An
/// end is either a voxel or a place between voxels.
struct Search {
  float low, high, below, up_to_high;

  __device__ bool next_to_median(float middle) const { return below == middle || up_to_high == middle + 1; }
  __device__ float inside(float pivot) const { return pivot >= low && pivot < high ? pivot : low; }
  /// Where the median lies if voxels are spread evenly.
  __device__ float share(float middle) const {
    return low + (high - low) * ((middle - below + 0.5F) / (up_to_high - below));
  }
  __device__ void divide(float pivot, float count, float middle) {
    if (count > middle) {
      high = pivot;
      up_to_high = count;
    } else {
      low = pivot;
      below = count;
    }
  }
};

constexpr int counting_threads = 128;

/// Medians of boxes by counting the voxels that are not greater than a pivot, again and again. A pass that only counts
/// costs two instructions a voxel; the last passes also look for the voxels next to the pivot.
template <class T>
__global__ void __launch_bounds__(counting_threads)
    median_by_counting(const __grid_constant__ NetworkJob<T> job, const __grid_constant__ Deal deal) {
  const auto [at, number_x, y, z] = find_place<counting_threads>(deal, job.count);
  let_next_start();
  if (at < 0) return;
  wait_for_previous();
  const int3 first = job.parts[at].part.first, count = job.parts[at].part.count, corner = job.parts[at].corner;
  if (number_x * outputs >= count.x || y >= count.y) return;
  const int x = min(static_cast<int>(number_x) * outputs, count.x - outputs);
  const DeviceView<const T> in = job.parts[at].in;
  const T* source = in.row(corner.y + y, corner.z + z) + corner.x + x;
  T* target = job.out.row(first.y + y, first.z + z) + first.x + x;
  const int3 r = job.radius;
  const float voxels = static_cast<float>((2 * r.x + 1) * (2 * r.y + 1) * (2 * r.z + 1)), middle = (voxels - 1) / 2;

  Probe probe;
  bool missing = false;
  float low = FLT_MAX, high = -FLT_MAX, sum = 0, squares = 0, seen = 0;
  const float reference = key_of(__ldg(source));
  const auto nothing = [](auto...) {};
  const auto take_in = [&](T value) {
    if constexpr (std::is_floating_point_v<T>) {
      probe.add(value);
    } else {
      missing |= job.has_missing && value == job.missing;
    }
    const float key = key_of(value), difference = key - reference;
    low = fminf(low, key);
    high = fmaxf(high, key);
    sum += difference;
    squares = fmaf(difference, difference, squares);
    seen += 1;
  };
  sweep(source, in, r, take_in, nothing);
  if (missing || probe.found()) {
    job.recompute.starts[atomicAdd(job.recompute.count, 1U)] = static_cast<unsigned>(target - job.out.data);
    return;
  }
  const float mean = sum / seen, variance = fmaxf(squares / seen - mean * mean, 0.0F);
  const float gap = sqrtf(variance) * 2.5F / voxels;  // between neighbours in the middle of a normal distribution

  Search search[outputs];
  float pivot[outputs], counted[outputs];
#pragma unroll
  for (int i = 0; i < outputs; ++i) {
    search[i] = {low, high, 0, voxels};
    pivot[i] = reference + mean;
  }
  constexpr int most_counts = 8;
  for (int turn = 0; turn < most_counts; ++turn) {
#pragma unroll
    for (int i = 0; i < outputs; ++i) {
      pivot[i] = search[i].inside(pivot[i]);
      counted[i] = 0;
    }
    sweep(source, in, r, nothing, [&](int i, float key) { counted[i] += key <= pivot[i] ? 1.0F : 0.0F; });
    bool ready = true;
#pragma unroll
    for (int i = 0; i < outputs; ++i) {
      search[i].divide(pivot[i], counted[i], middle);
      ready &= search[i].next_to_median(middle);
      const float missed = middle + 0.5F - counted[i];
      pivot[i] = turn < 2 ? pivot[i] + gap * (1.25F * missed + copysignf(1.0F, missed)) : search[i].share(middle);
    }
    if (ready) break;
  }

  bool done[outputs] = {};
  for (int turn = 0; !(done[0] && done[1] && done[2] && done[3]); ++turn) {
    float next_low[outputs], next_high[outputs];
#pragma unroll
    for (int i = 0; i < outputs; ++i) {
      const Search& s = search[i];
      pivot[i] = turn % 3 == 2 ? halfway(s.low, s.high) : s.share(middle);
      if (s.up_to_high == middle + 1)
        pivot[i] = s.high;
      else if (s.below == middle)
        pivot[i] = s.low;
      else
        pivot[i] = s.inside(pivot[i]);
      counted[i] = 0;
      next_low[i] = FLT_MAX;
      next_high[i] = -FLT_MAX;
    }
    sweep(source, in, r, nothing, [&](int i, float key) {
      if (key <= pivot[i]) {
        counted[i] += 1;
        next_high[i] = fmaxf(next_high[i], key);
      } else {
        next_low[i] = fminf(next_low[i], key);
      }
    });
#pragma unroll
    for (int i = 0; i < outputs; ++i) {
      if (done[i]) continue;
      Search& s = search[i];
      s.divide(counted[i] > middle ? next_high[i] : next_low[i], counted[i], middle);
      done[i] = s.low == s.high || counted[i] == middle || counted[i] == middle + 1;
      if (done[i]) set_from_key(counted[i] > middle ? s.high : s.low, target[i]);
    }
  }
}

template <class T>
void launch(const NetworkJob<T>& job, cudaStream_t stream) {
  const DealtGrid dealt(job, counting_threads, {outputs, 1, 1});
  launch_overlapping(median_by_counting<T>, dealt.grid, counting_threads, stream, job, dealt.deal);
}

}  // namespace

MedianNetwork median_bisection(Triple<int> window) {
  constexpr Triple<int> group{outputs, 1, 1};
  return {window, group, group, launch<float>, launch<std::int16_t>, launch<std::uint16_t>};
}

}  // namespace quietvox::cuda
