// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/border.hpp"
#include "filters/median/output_tiles.hpp"
#include "filters/median/simd_rows.hpp"

namespace quietvox::selection {

/// A network laid over a window.
struct NetworkPlan {
  const RowNetwork* network;
  Triple<int> axis{0, 1, 2};  ///< along x, y, z: the network's axis that lies there
  std::vector<Triple<int>>
      input_places{};  ///< where given, not a box: the place of each input of a network of one output

  Triple<int> tile() const {
    return input_places.empty() ? Triple<int>{network->tile[axis.x], network->tile[axis.y], network->tile[axis.z]}
                                : Triple<int>{1, 1, 1};
  }
};

/// The network for a window whose voxels are `places`, counted from its centre; for a box, that of its size.
inline std::optional<NetworkPlan> plan_network(const SimdFunctions& simd, Radius3 radius,
                                               const std::vector<Triple<int>>& places) {
  const Triple<int> window{2 * radius.x + 1, 2 * radius.y + 1, 2 * radius.z + 1};
  if (static_cast<std::size_t>(window.x) * window.y * window.z == places.size()) {
    if (const RowNetwork* network = simd.find(window, false)) {
      NetworkPlan plan{network};
      for (int i = 0; i < 3; ++i) {  // the longer sides take the network's first axes
        plan.axis[i] = 0;
        for (int j = 0; j < 3; ++j) plan.axis[i] += window[j] > window[i] || (window[j] == window[i] && j < i);
      }
      return plan;
    }
  }
  if (const RowNetwork* network = simd.find({static_cast<int>(places.size()), 1, 1}, true)) {
    return NetworkPlan{network, {0, 1, 2}, places};
  }
  return std::nullopt;
}

/// Filters boxes of outputs: reads the keys of what their windows see, borders included, slice by slice into a ring
/// that stays in a cache, and runs the network on them; what the next slices need is fetched meanwhile. Serves one
/// thread.
template <class T, class K = Key<T>>
class NetworkBlock {
 public:
  NetworkBlock(const NetworkPlan& plan, const RowCodec<T, K>& codec, VolumeView<const T> in, VolumeView<T> out,
               Radius3 radius, Border border, Extent largest)
      : plan_(plan),
        codec_(codec),
        in_(in),
        out_(out),
        radius_(radius),
        border_(border),
        tile_(plan.tile()),
        streams_(is_worth_streaming(out.extent)) {
    count_ = vectors(largest.x) * vector_keys<K>;
    lead_ =
        radius.x + (offset_in_cache_line(in.data) + cache_line_voxels * (radius.x / cache_line_voxels + 1) - radius.x) %
                       cache_line_voxels;
    phase_pitch_ = vectors(lead_ + largest.x + radius.x + tile_.x * vector_keys<K>) * vector_keys<K>;
    slice_pitch_ = tile_.x * phase_pitch_ * (largest.y + tile_.y - 1 + 2 * radius.y);
    slices_ = tile_.z + 2 * radius.z;
    keys_.resize(static_cast<std::size_t>(slice_pitch_ * slices_));
    results_.resize(static_cast<std::size_t>(tile_.x * count_ * tile_.y * tile_.z));
    row_.resize(static_cast<std::size_t>(tile_.x * phase_pitch_));
    set_out_offsets();
  }

  /// The size of boxes whose ring fills about a third of a common second-level cache. They are long in z, where they
  /// cost no halo, and hold about `most_outputs`, unless that would be mostly halo.
  static Extent box_size(const NetworkPlan& plan, Radius3 radius, Extent whole, std::int64_t most_outputs) {
    constexpr std::int64_t keys = (384 << 10) / static_cast<std::int64_t>(sizeof(K)), longest_row = 512;
    const Triple<int> tile = plan.tile();
    const std::int64_t slices = tile.z + 2 * radius.z, shortest = std::min(whole.z, radius.z > 0 ? 4 * slices : 1);
    Extent size{{std::min(whole.x, longest_row), whole.y, whole.z}};
    const std::int64_t rows = keys / (slices * (size.x + 2 * radius.x)) - 2 * radius.y;
    size.y = std::min({whole.y, rows, most_outputs / (size.x * shortest)});
    size.y = std::clamp<std::int64_t>(size.y / tile.y * tile.y, std::min<std::int64_t>(tile.y, whole.y), whole.y);
    size.z = std::clamp(most_outputs / (size.x * size.y) / tile.z * tile.z, shortest, whole.z);
    return size;
  }

  /// Filters the outputs of a box no larger than the constructor's, but for those whose windows hold missing voxels.
  /// False, and the outputs are whatever they are, where keys of this size cannot hold some voxel.
  bool run(const OutputTile& box) {
    const Index3 start{box.first.x + out_.origin.x - in_.origin.x - radius_.x,
                       box.first.y + out_.origin.y - in_.origin.y - radius_.y,
                       box.first.z + out_.origin.z - in_.origin.z - radius_.z};
    const std::int64_t count = vectors(box.size.x) * vector_keys<K>;
    seen_rows_ = box.size.y + 2 * radius_.y;
    missing_rows_.assign(static_cast<std::size_t>(seen_rows_ * (box.size.z + 2 * radius_.z)), 0);
    std::int64_t read = 0;
    for (std::int64_t z = 0; z < box.size.z; z += tile_.z) {
      for (; read < std::min(z + slices_, box.size.z + 2 * radius_.z); ++read) {
        if (!read_slice(start, box.size, read)) return false;
      }
      set_in_offsets(z);
      for (std::int64_t y = 0; y < box.size.y; y += tile_.y) {
        fetch_ahead(start, y, read, std::min(read + tile_.z, box.size.z + 2 * radius_.z), box.size.x);
        for_each_row(box, y, z, [&](T* to, std::int64_t) { prefetch_row_ends(to, box.size.x); });
        const TileRow<K> row{keys_.data() + y * tile_.x * phase_pitch_, pointers(in_offsets_), results_.data(),
                             pointers(out_offsets_), count};
        if constexpr (sizeof(K) == 4) {
          plan_.network->run32(row);
        } else {
          plan_.network->run16(row);
        }
        for_each_row(box, y, z, [&](T* to, std::int64_t number) {
          write(results_.data() + number * tile_.x * count_, to, box.size.x);
        });
      }
    }
    codec_.flush();
    return true;
  }

  /// Whether the windows of a row of the last box hold a missing voxel; rows are counted from the box's first.
  bool sees_missing(std::int64_t y, std::int64_t z) const {
    for (std::int64_t k = z; k <= z + 2 * radius_.z; ++k) {
      const auto row = missing_rows_.begin() + (k * seen_rows_ + y);
      if (std::find(row, row + 2 * radius_.y + 1, 1) != row + 2 * radius_.y + 1) return true;
    }
    return false;
  }

 private:
  using Offsets = Triple<std::vector<std::ptrdiff_t>>;
  static constexpr std::int64_t cache_line_voxels = 64 / static_cast<std::int64_t>(sizeof(T));

  /// How many voxels of the cache line that a voxel lies in come before it.
  static std::int64_t offset_in_cache_line(const T* voxel) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(voxel) / sizeof(T)) % cache_line_voxels;
  }

  /// Vectors per phase that hold `voxels`.
  std::int64_t vectors(std::int64_t voxels) const {
    const std::int64_t together = tile_.x * vector_keys<K>;
    return (voxels + together - 1) / together;
  }

  /// Where outputs do not stay in the caches anyway.
  static bool is_worth_streaming(const Extent& outputs) {
    constexpr std::int64_t larger_than_caches = 4 << 20;
    return outputs.voxels() * static_cast<std::int64_t>(sizeof(T)) >= larger_than_caches;
  }

  void set_out_offsets() {
    if (!plan_.input_places.empty()) {
      out_offsets_ = {{0}, {0}, {0}};
      return;
    }
    const Index3 step{count_, tile_.x * count_, tile_.x * tile_.y * count_};
    for (int axis = 0; axis < 3; ++axis) {
      for (int c = 0; c < tile_[axis]; ++c) out_offsets_[plan_.axis[axis]].push_back(c * step[axis]);
    }
  }

  /// Where the keys lie that the network sees, when the first of its slices is slice z of what the box sees.
  void set_in_offsets(std::int64_t z) {
    const auto offset = [&](int axis, int c) -> std::ptrdiff_t {
      if (axis == 0) return place(lead_ - radius_.x + c);
      return axis == 1 ? c * tile_.x * phase_pitch_ : (z + c) % slices_ * slice_pitch_;
    };
    in_offsets_ = {};
    if (!plan_.input_places.empty()) {
      in_offsets_ = {{}, {0}, {0}};
      for (const auto& p : plan_.input_places) {
        in_offsets_.x.push_back(offset(0, p.x + radius_.x) + offset(1, p.y + radius_.y) + offset(2, p.z + radius_.z));
      }
      return;
    }
    for (int axis = 0; axis < 3; ++axis) {
      for (int c = 0; c < 2 * radius_[axis] + tile_[axis]; ++c)
        in_offsets_[plan_.axis[axis]].push_back(offset(axis, c));
    }
  }
  static Triple<const std::ptrdiff_t*> pointers(const Offsets& o) { return {o.x.data(), o.y.data(), o.z.data()}; }

  /// Calls body(row, number) for the rows of outputs of the tiles at y and z, numbered as in results_.
  template <class Body>
  void for_each_row(const OutputTile& box, std::int64_t y, std::int64_t z, const Body& body) const {
    for (std::int64_t k = z; k < std::min(z + tile_.z, box.size.z); ++k) {
      for (std::int64_t j = y; j < std::min(y + tile_.y, box.size.y); ++j) {
        body(out_.row(box.first.y + j, box.first.z + k) + box.first.x, (k - z) * tile_.y + (j - y));
      }
    }
  }

  /// Asks for the cache lines that a row of outputs shares with others: they are not streamed, and would be waited for.
  void prefetch_row_ends(const T* to, std::int64_t count) const {
    if (!streams_) return;
    if (offset_in_cache_line(to) > 0) codec_.prefetch_l1(to, 1);
    if (offset_in_cache_line(to + count) > 0) codec_.prefetch_l1(to + count - 1, 1);
  }

  bool read_slice(Index3 start, Extent size, std::int64_t z) {
    constexpr std::int64_t rows_ahead = 3;
    const std::int64_t in_z = border_index(border_, start.z + z, in_.extent.z);
    const auto row = [&](std::int64_t y) { return in_.row(border_index(border_, start.y + y, in_.extent.y), in_z); };
    for (std::int64_t y = 0; y < seen_rows_; ++y) {
      if (y + rows_ahead < seen_rows_) codec_.prefetch_l1(row(y + rows_ahead) + start.x + radius_.x, size.x);
      K* const keys = keys_.data() + z % slices_ * slice_pitch_ + y * tile_.x * phase_pitch_;
      const RowContent content = encode_row(row(y), start.x + radius_.x, size.x, keys);
      if (content == RowContent::unfit) return false;
      missing_rows_[static_cast<std::size_t>(z * seen_rows_ + y)] = content == RowContent::missing;
    }
    return true;
  }

  /// Asks for the rows from y on, as many as a tile has, of the slices from z to `end`.
  void fetch_ahead(Index3 start, std::int64_t y, std::int64_t z, std::int64_t end, std::int64_t count) const {
    for (; z < end; ++z) {
      const std::int64_t in_z = border_index(border_, start.z + z, in_.extent.z);
      for (std::int64_t j = start.y + y; j < start.y + y + tile_.y; ++j) {
        codec_.prefetch_l2(in_.row(border_index(border_, j, in_.extent.y), in_z) + start.x + radius_.x, count);
      }
    }
  }

  /// Where the key of the voxel stands that is so many behind the first key of a row.
  std::ptrdiff_t place(std::int64_t behind) const { return behind % tile_.x * phase_pitch_ + behind / tile_.x; }

  /// Makes keys of what the windows of `count` outputs from x on see of a row: from the cache line on in which that
  /// begins, straight from the volume, and then of what stands beyond its edges.
  RowContent encode_row(const T* row, std::int64_t x, std::int64_t count, K* keys) {
    const std::int64_t first = x - lead_, end = x + count + radius_.x, groups = vectors(end - first);
    const std::int64_t voxels = groups * tile_.x * vector_keys<K>, all = in_.extent.voxels();
    const std::int64_t offset = row - in_.data + first;
    const bool within_volume = offset >= 0 && offset + voxels <= all;
    if (!within_volume) {  // what lies outside becomes keys that nobody sees
      const std::int64_t begin = std::max<std::int64_t>(offset, 0);
      std::copy(in_.data + begin, in_.data + std::min(offset + voxels, all), row_.begin() + (begin - offset));
    }
    const RowContent content =
        codec_.encode(within_volume ? row + first : row_.data(), groups, tile_.x, phase_pitch_, keys, in_.missing);
    const auto fill_border = [&](std::int64_t i) {
      keys[place(i - first)] = keys[place(border_index(border_, i, in_.extent.x) - first)];
    };
    for (std::int64_t i = x - radius_.x; i < 0; ++i) fill_border(i);
    for (std::int64_t i = std::max(in_.extent.x, x - radius_.x); i < end; ++i) fill_border(i);
    return content;
  }

  void write(const K* results, T* to, std::int64_t count) {
    codec_.decode(results, vectors(count), tile_.x, count_, row_.data());
    if (streams_) {
      codec_.stream(row_.data(), count, to);
    } else {
      std::copy_n(row_.begin(), count, to);
    }
  }

  const NetworkPlan& plan_;
  const RowCodec<T, K>& codec_;
  VolumeView<const T> in_;
  VolumeView<T> out_;
  Radius3 radius_;
  Border border_;
  Triple<int> tile_;                // outputs of a tile along the volume's axes; tile_.x phases
  bool streams_;                    // outputs go past the caches
  std::int64_t lead_ = 0;           // keys of a row before that of its first output
  std::int64_t count_ = 0;          // results per phase of a row
  std::ptrdiff_t phase_pitch_ = 0;  // keys per phase of a row
  std::ptrdiff_t slice_pitch_ = 0;
  std::int64_t slices_ = 0;  // of the ring: those that a tile sees
  Offsets in_offsets_, out_offsets_;
  std::vector<K> keys_, results_;
  std::vector<T> row_;
  std::int64_t seen_rows_ = 0;              // rows per slice of what the box sees
  std::vector<std::uint8_t> missing_rows_;  // 1 for those that hold a missing voxel
};

}  // namespace quietvox::selection
