// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/median.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <type_traits>

#include "cuda/filters/median/bisection.cuh"
#include "cuda/filters/median/direct.cuh"
#include "cuda/filters/median/network_job.cuh"
#include "cuda/filters/median/small_median.cuh"
#include "cuda/filters/median/sorted_tile.cuh"
#include "cuda/resources.hpp"

namespace quietvox {
namespace {

using namespace cuda;

bool holds(int3 count, int3 least) { return count.x >= least.x && count.y >= least.y && count.z >= least.z; }

/// Boxes that may reach beyond the edges of the input, to be filled with what windows see there.
template <class T>
struct PadJob {
  struct Piece {
    DeviceView<T> padded;
    int3 origin;  ///< in the input: where the piece starts
  };
  int count = 0;
  std::array<Piece, NetworkJob<T>::most_parts> pieces{};
};

constexpr unsigned pad_voxels = 4;                            ///< of a row, for each thread that works on it
constexpr unsigned most_pad_threads = 1024, pad_block = 256;  ///< of a row; of a block

/// Row i of the grid, of at least most_pad_threads threads, fills piece i. Also empties the list of groups to
/// recompute. It must be launched even if there is nothing to fill: a network relies on it to wait for all earlier
/// kernels.
template <class T>
__global__ void pad(DeviceView<const T> in, const __grid_constant__ PadJob<T> job, Border border,
                    RecomputeList recompute) {
  wait_for_previous();
  let_next_start();
  if (blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x == 0) *recompute.count = 0;
  if (job.count == 0) return;
  const auto [padded, origin] = job.pieces[blockIdx.y];
  unsigned threads = 1;
  while (threads < most_pad_threads && threads * pad_voxels < padded.x) threads *= 2;
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, rows = static_cast<unsigned>(padded.y) * padded.z;
  for (unsigned row = thread / threads; row < rows; row += gridDim.x * blockDim.x / threads) {
    const int y = static_cast<int>(row % padded.y), z = static_cast<int>(row / padded.y);
    const T* from =
        in.row(device_border_index(border, origin.y + y, in.y), device_border_index(border, origin.z + z, in.z));
    T* to = padded.row(y, z);
#pragma unroll 4
    for (int x = static_cast<int>(thread % threads); x < padded.x; x += static_cast<int>(threads)) {
      to[x] = from[device_border_index(border, origin.x + x, in.x)];
    }
  }
}

/// Block and grid for one thread per voxel.
struct Launch {
  dim3 block, grid;
  explicit Launch(int3 count) : block(count.x < 16 ? dim3(4, 32) : dim3(32, 4)) {
    grid = dim3(ceil_div(count.x, block.x), ceil_div(count.y, block.y), count.z);
  }
};

template <class T>
class Median {
 public:
  Median(const VolumeView<const T>& in, const VolumeView<T>& out, const MedianParams& params,
         const LaunchContext& context)
      : in_(in), out_(out), offset_(offset_within(in, out)), context_(context) {
    const Radius3 r = params.halo();
    size_ = {2 * r.x + 1, 2 * r.y + 1, 2 * r.z + 1};
    window_ = {{r.x, r.y, r.z}, params.shape == MedianShape::cross, params.border, false, T{}};
    if constexpr (!std::is_floating_point_v<T>) {
      window_.has_missing = in.missing.has_value();
      window_.missing = in.missing.value_or(T{});
    }
  }

  void run() {
    const Part whole{{0, 0, 0}, {out_.x, out_.y, out_.z}};
    if (!is_box()) return anywhere(whole);
    if constexpr (std::is_same_v<T, float>) {
      if (const SmallMedian* small = find_small()) return small->run(in_, out_, offset_, window_, context_.stream);
    }
    const auto fits = [&](const MedianNetwork& network) { return holds(whole.count, network.group<T>()); };
    if (const std::optional<MedianNetwork> network = find_network(); network && fits(*network)) {
      return by_network(*network, whole);
    }
    if (voxels() >= least_to_rank && median_by_rank(in_, out_, offset_, window_, context_.stream)) return;
    const MedianNetwork counting = median_bisection(size_);
    if (size_.x > counting_outputs && fits(counting)) return by_network(counting, whole);
    anywhere(whole);
  }

 private:
  static constexpr bool pairs = sizeof(T) == 2;  ///< networks read voxels two by two
  static constexpr int least_to_rank = 128;      ///< voxels of a window; below, counting is faster than sorting

  int voxels() const { return size_.x * size_.y * size_.z; }
  /// A cross along one axis is a box.
  bool is_box() const { return !window_.is_cross || (size_.x > 1) + (size_.y > 1) + (size_.z > 1) < 2; }

  std::optional<MedianNetwork> find_network() const {
    for (const MedianNetwork& network : median_networks()) {
      if (network.window == size_) return network;
    }
    return std::nullopt;
  }

  /// The kernel for small volumes, where it is faster than the three launches that large ones take, if there is one.
  const SmallMedian* find_small() const {
    constexpr std::int64_t most_seen = 240'000;  // voxels, by the windows of all outputs, for each multiprocessor
    if (static_cast<std::int64_t>(in_.x) * in_.y * in_.z * voxels() > most_seen * context_.multiprocessors)
      return nullptr;
    for (const SmallMedian& small : small_medians()) {
      const auto [x, y, z] = small.group;
      if (small.window == size_ && holds({out_.x, out_.y, out_.z}, {x, y, z})) return &small;
    }
    return nullptr;
  }

  void by_network(const MedianNetwork& network, const Part& whole) {
    const int3 group = network.group<T>();
    const Part inner = inner_part(group);
    // An odd width would split every face in two, and there would be more parts than a job has room for.
    const bool aligned = !pairs || (in_.x % 2 == 0 && out_.x % 2 == 0 &&
                                    reinterpret_cast<std::uintptr_t>(in_.data) % (2 * sizeof(T)) == 0);
    const bool has_inner = aligned && holds(inner.count, group);
    std::vector<Part> edges;
    for (const Part& part : has_inner ? around(inner) : std::vector{whole}) {
      if (!holds(part.count, {1, 1, 1})) continue;
      if (window_.border == Border::copy) {
        anywhere(part);
      } else {
        const Part wide = widened(part, group);
        const int odd =
            pairs ? wide.count.x % 2 : 0;  // as wide as the output: its last columns are a part of their own
        if (odd) {
          edges.push_back({{out_.x - group.x, wide.first.y, wide.first.z}, {group.x, wide.count.y, wide.count.z}});
        }
        // Last, since the last part shapes the grid, which for those few columns would be too high in a large image.
        edges.push_back({wide.first, {wide.count.x - odd, wide.count.y, wide.count.z}});
      }
    }
    // The parts of `around` share no more than a group per axis. The voxels of the edges stand in front of the list.
    const std::size_t groups = static_cast<std::size_t>(ceil_div(out_.x, group.x) + 2) *
                               (ceil_div(out_.y, group.y) + 2) * (ceil_div(out_.z, group.z) + 2);
    std::size_t padded_bytes = 0;
    for (const Part& part : edges) padded_bytes += buffer_bytes(part);
    const DeviceBuffer<std::byte> memory(padded_bytes + (groups + 1) * sizeof(unsigned), context_);
    auto* list = reinterpret_cast<unsigned*>(memory.get() + padded_bytes);
    NetworkJob<T> job{out_, window_.radius, window_.has_missing, window_.missing, {list + 1, list}};
    PadJob<T> to_pad;
    std::int64_t largest = 0;
    std::byte* place = memory.get();
    for (const Part& part : edges) {
      const VolumeView<T> padded{reinterpret_cast<T*>(place), padded_extent(part)};
      int3 corner = window_corner(part);
      corner.x -= lead();
      to_pad.pieces[to_pad.count++] = {padded, corner};
      job.parts[job.count++] = {VolumeView<const T>(padded), {lead(), 0, 0}, part};
      place += buffer_bytes(part);
      largest = std::max(largest, padded.extent.voxels());
    }
    job.padded = job.count;
    if (has_inner) job.parts[job.count++] = {in_, window_corner(inner), inner};
    const auto pad_blocks = static_cast<unsigned>(std::clamp<std::int64_t>(
        ceil_div(largest, pad_voxels * pad_block), most_pad_threads / pad_block, context_.multiprocessors));
    launch_overlapping(pad<T>, dim3(pad_blocks, std::max(to_pad.count, 1)), pad_block, context_.stream, in_, to_pad,
                       window_.border, job.recompute);
    if (job.count > 0) network.run(job, context_.stream);
    if (pairs && !window_.has_missing) return;  // nothing to recompute
    launch_overlapping(median_of_groups<T>, dim3(2 * context_.multiprocessors), 256, context_.stream, in_, out_,
                       offset_, group, job.recompute, window_);
  }

  /// Where the window of the part's first output starts in the input.
  int3 window_corner(const Part& part) const {
    const int3 f = part.first, r = window_.radius;
    return {f.x + offset_.x - r.x, f.y + offset_.y - r.y, f.z + offset_.z - r.z};
  }

  /// The extent of what the windows of a part see.
  Extent padded_extent(const Part& part) const {
    const int3 n = part.count, r = window_.radius;
    return {n.x + 2 * r.x + 2 * lead(), n.y + 2 * r.y, n.z + 2 * r.z};
  }
  int lead() const { return pair_lead<T>(window_.radius.x); }
  std::size_t buffer_bytes(const Part& part) const {
    constexpr std::size_t alignment = 256;
    const std::size_t bytes = static_cast<std::size_t>(padded_extent(part).voxels()) * sizeof(T);
    return (bytes + alignment - 1) / alignment * alignment;
  }

  void anywhere(const Part& part) {
    const Launch launch(part.count);
    median_direct<<<launch.grid, launch.block, 0, context_.stream>>>(in_, out_, offset_, part, window_);
  }

  /// The outputs whose windows stay within the input. Along x it starts where voxels can be written in pairs (16-bit
  /// ones: read in pairs), and has an even length. Along y and z it is cut so that the edges are whole groups, if
  /// possible.
  Part inner_part(int3 group) const {
    const auto first = [](int offset, int r) { return std::max(0, r - offset); };
    const auto last = [](int offset, int r, int in, int out) { return std::min(out, in - r - offset); };
    const auto cut = [&](int offset, int r, int in, int out, int size) {
      const int begin = static_cast<int>(ceil_div(first(offset, r), size)) * size, end = last(offset, r, in, out);
      return std::pair(begin, end == out ? end - begin : (end - begin) / size * size);
    };
    const int3 o = offset_, r = window_.radius;
    const int x = first(o.x, r.x) + (first(o.x, r.x) + (pairs ? o.x : 0)) % 2;
    const auto [y, count_y] = cut(o.y, r.y, in_.y, out_.y, group.y);
    const auto [z, count_z] = cut(o.z, r.z, in_.z, out_.z, group.z);
    return {{x, y, z}, {(last(o.x, r.x, in_.x, out_.x) - x) / 2 * 2, count_y, count_z}};
  }

  /// The parts of the output around the inner part.
  std::vector<Part> around(const Part& inner) const {
    const int3 a = inner.first, n = inner.count, b{a.x + n.x, a.y + n.y, a.z + n.z};
    return {{{0, 0, 0}, {out_.x, out_.y, a.z}}, {{0, 0, b.z}, {out_.x, out_.y, out_.z - b.z}},
            {{0, 0, a.z}, {out_.x, a.y, n.z}},  {{0, b.y, a.z}, {out_.x, out_.y - b.y, n.z}},
            {{0, a.y, a.z}, {a.x, n.y, n.z}},   {{b.x, a.y, a.z}, {out_.x - b.x, n.y, n.z}}};
  }

  /// The part, widened to at least a group and, for 16-bit voxels, to an even width if there is room. What it gains is
  /// made twice, with the same result.
  Part widened(Part part, int3 group) const {
    const auto widen = [](int& first, int& count, int least, int limit) {
      count = std::max(count, least);
      first = std::min(first, limit - count);
    };
    const int even = pairs ? part.count.x % 2 : 0;
    widen(part.first.x, part.count.x, std::max(group.x, std::min(part.count.x + even, out_.x)), out_.x);
    widen(part.first.y, part.count.y, group.y, out_.y);
    widen(part.first.z, part.count.z, group.z, out_.z);
    return part;
  }

  DeviceView<const T> in_;
  DeviceView<T> out_;
  int3 offset_;
  Triple<int> size_;  ///< of the window
  Window<T> window_{};
  LaunchContext context_;
};

template <class T>
void median(const VolumeView<const T>& in, const VolumeView<T>& out, const MedianParams& params,
            const LaunchContext& context) {
  Median<T>(in, out, params, context).run();
  QV_CUDA(cudaGetLastError());
}

}  // namespace

void median_cuda(VolumeView<const float> in, VolumeView<float> out, const MedianParams& params,
                 const LaunchContext& context) {
  median(in, out, params, context);
}
void median_cuda(VolumeView<const std::int16_t> in, VolumeView<std::int16_t> out, const MedianParams& params,
                 const LaunchContext& context) {
  median(in, out, params, context);
}
void median_cuda(VolumeView<const std::uint16_t> in, VolumeView<std::uint16_t> out, const MedianParams& params,
                 const LaunchContext& context) {
  median(in, out, params, context);
}

}  // namespace quietvox
