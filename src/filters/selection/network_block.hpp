// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/border.hpp"
#include "filters/selection/boxes.hpp"
#include "filters/selection/lanes.hpp"

namespace quietvox::selection {

/// A network laid over a window.
struct NetworkPlan {
  const RowNetwork* network;
  Triple<int> axis{0, 1, 2};         ///< along x, y, z: the network's axis that lies there
  std::vector<Triple<int>> shape{};  ///< where given, not a box: the place of each input of a network of one output

  Triple<int> tile() const {
    return shape.empty() ? Triple<int>{network->tile[axis.x], network->tile[axis.y], network->tile[axis.z]}
                         : Triple<int>{1, 1, 1};
  }
};

/// The network for a window whose voxels are `places`, counted from its centre; for a box, that of its size.
inline std::optional<NetworkPlan> plan_network(const Lanes& lanes, Radius3 radius,
                                               const std::vector<Triple<int>>& places) {
  const Triple<int> window{2 * radius.x + 1, 2 * radius.y + 1, 2 * radius.z + 1};
  if (static_cast<std::size_t>(window.x) * window.y * window.z == places.size()) {
    if (const RowNetwork* network = lanes.find(window, false)) {
      NetworkPlan plan{network};
      for (int i = 0; i < 3; ++i) {  // the longer sides take the network's first axes
        plan.axis[i] = 0;
        for (int j = 0; j < 3; ++j) plan.axis[i] += window[j] > window[i] || (window[j] == window[i] && j < i);
      }
      return plan;
    }
  }
  if (const RowNetwork* network = lanes.find({static_cast<int>(places.size()), 1, 1}, true)) {
    return NetworkPlan{network, {0, 1, 2}, places};
  }
  return std::nullopt;
}

/// A box of outputs together with the keys of everything that their windows see, borders included. It is small enough
/// for a cache, belongs to one thread, and is used for one box after another.
template <class T>
class NetworkBlock {
 public:
  NetworkBlock(const NetworkPlan& plan, const RowCodec<T>& codec, VolumeView<const T> in, VolumeView<T> out,
               Radius3 radius, Border border, Extent largest)
      : network_(*plan.network),
        codec_(codec),
        in_(in),
        out_(out),
        radius_(radius),
        border_(border),
        tile_(plan.tile()) {
    count_ = vectors(largest.x) * vector_keys<K>;
    phase_pitch_ = vectors(largest.x + 2 * radius.x + tile_.x * vector_keys<K>) * vector_keys<K>;
    rows_ = largest.y + tile_.y - 1 + 2 * radius.y;
    keys_.resize(static_cast<std::size_t>(tile_.x * phase_pitch_ * rows_ * (largest.z + tile_.z - 1 + 2 * radius.z)));
    results_.resize(static_cast<std::size_t>(tile_.x * count_ * tile_.y * tile_.z));
    row_.resize(static_cast<std::size_t>(tile_.x * phase_pitch_));
    set_offsets(plan);
  }

  /// Filters the outputs of a box no larger than the constructor's. True where a voxel in sight is missing: outputs
  /// whose windows hold one are then meaningless.
  bool run(const OutputBox& box) {
    const bool any_missing = read(box);
    for (std::int64_t z = 0; z < box.size.z; z += tile_.z) {
      for (std::int64_t y = 0; y < box.size.y; y += tile_.y) {
        const TileRow<K> row{keys_.data() + (z * rows_ + y) * tile_.x * phase_pitch_, pointers(in_offsets_),
                             results_.data(), pointers(out_offsets_), count_};
        if constexpr (sizeof(K) == 4) {
          network_.run32(row);
        } else {
          network_.run16(row);
        }
        for (std::int64_t k = z; k < std::min(z + tile_.z, box.size.z); ++k) {
          for (std::int64_t j = y; j < std::min(y + tile_.y, box.size.y); ++j) {
            T* to = out_.row(box.first.y + j, box.first.z + k) + box.first.x;
            write(results_.data() + ((k - z) * tile_.y + (j - y)) * tile_.x * count_, to, box.size.x);
          }
        }
      }
    }
    return any_missing;
  }

 private:
  using K = Key<T>;
  using Offsets = Triple<std::vector<std::ptrdiff_t>>;

  /// Vectors per phase that hold `voxels`.
  std::int64_t vectors(std::int64_t voxels) const {
    const std::int64_t together = tile_.x * vector_keys<K>;
    return (voxels + together - 1) / together;
  }

  void set_offsets(const NetworkPlan& plan) {
    const std::ptrdiff_t pitch = tile_.x * phase_pitch_;
    const auto in = [&](int axis, int c) -> std::ptrdiff_t {
      return axis == 0 ? c % tile_.x * phase_pitch_ + c / tile_.x : c * (axis == 1 ? pitch : pitch * rows_);
    };
    const auto out = [&](int axis, int c) -> std::ptrdiff_t {
      return c * count_ * (axis == 0 ? 1 : axis == 1 ? tile_.x : tile_.x * tile_.y);
    };
    if (!plan.shape.empty()) {
      in_offsets_ = {{}, {0}, {0}};
      out_offsets_ = {{0}, {0}, {0}};
      for (const auto& p : plan.shape) {
        in_offsets_.x.push_back(in(0, p.x + radius_.x) + in(1, p.y + radius_.y) + in(2, p.z + radius_.z));
      }
      return;
    }
    for (int axis = 0; axis < 3; ++axis) {
      for (int c = 0; c < 2 * radius_[axis] + tile_[axis]; ++c) in_offsets_[plan.axis[axis]].push_back(in(axis, c));
      for (int c = 0; c < tile_[axis]; ++c) out_offsets_[plan.axis[axis]].push_back(out(axis, c));
    }
  }
  static Triple<const std::ptrdiff_t*> pointers(const Offsets& o) { return {o.x.data(), o.y.data(), o.z.data()}; }

  bool read(const OutputBox& box) {
    const Index3 start{box.first.x + out_.origin.x - in_.origin.x - radius_.x,
                       box.first.y + out_.origin.y - in_.origin.y - radius_.y,
                       box.first.z + out_.origin.z - in_.origin.z - radius_.z};
    bool any_missing = false;
    for (std::int64_t z = 0; z < box.size.z + 2 * radius_.z; ++z) {
      for (std::int64_t y = 0; y < box.size.y + 2 * radius_.y; ++y) {
        const std::int64_t count = box.size.x + 2 * radius_.x;
        copy_row(
            in_.row(border_index(border_, start.y + y, in_.extent.y), border_index(border_, start.z + z, in_.extent.z)),
            start.x, count);
        any_missing |= codec_.encode(row_.data(), vectors(count), tile_.x, phase_pitch_,
                                     keys_.data() + (z * rows_ + y) * tile_.x * phase_pitch_, in_.missing);
      }
    }
    return any_missing;
  }

  /// Copies `count` voxels from x on into row_, with what stands beyond the edges, and goes on with the last.
  void copy_row(const T* from, std::int64_t x, std::int64_t count) {
    const std::int64_t inside = std::clamp<std::int64_t>(-x, 0, count);
    const std::int64_t outside = std::clamp<std::int64_t>(in_.extent.x - x, inside, count);
    for (std::int64_t i = 0; i < inside; ++i) {
      row_[static_cast<std::size_t>(i)] = from[border_index(border_, x + i, in_.extent.x)];
    }
    std::copy(from + x + inside, from + x + outside, row_.begin() + inside);
    for (std::int64_t i = outside; i < count; ++i) {
      row_[static_cast<std::size_t>(i)] = from[border_index(border_, x + i, in_.extent.x)];
    }
    std::fill(row_.begin() + count, row_.end(), row_[static_cast<std::size_t>(count - 1)]);
  }

  void write(const K* results, T* to, std::int64_t count) {
    const std::int64_t whole = count / (tile_.x * vector_keys<K>), done = whole * tile_.x * vector_keys<K>;
    codec_.decode(results, whole, tile_.x, count_, to);
    if (done == count) return;
    codec_.decode(results + whole * vector_keys<K>, 1, tile_.x, count_, row_.data());
    std::copy(row_.begin(), row_.begin() + (count - done), to + done);
  }

  const RowNetwork& network_;
  const RowCodec<T>& codec_;
  VolumeView<const T> in_;
  VolumeView<T> out_;
  Radius3 radius_;
  Border border_;
  Triple<int> tile_;                ///< outputs of a tile along the volume's axes; tile_.x phases
  std::int64_t count_ = 0;          ///< results per phase of a row
  std::ptrdiff_t phase_pitch_ = 0;  ///< keys per phase of a row
  std::int64_t rows_ = 0;           ///< rows of keys per slice
  Offsets in_offsets_, out_offsets_;
  std::vector<K> keys_, results_;
  std::vector<T> row_;
};

}  // namespace quietvox::selection
