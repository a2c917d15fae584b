// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/border.hpp"
#include "filters/median/output_tiles.hpp"

namespace quietvox::selection {

/// Medians of boxes of any size, missing voxels left out. The voxels that a box of outputs sees are replaced by their
/// ranks among each other; a histogram of ranks then slides along x (Huang 1979), so that each output costs one face of
/// its window instead of the whole. Serves one thread.
template <class T>
class SlidingMedian {
 public:
  SlidingMedian(VolumeView<const T> in, VolumeView<T> out, Radius3 radius, Border border)
      : in_(in), out_(out), radius_(radius), border_(border) {}

  /// The size of boxes, grown in y and z where it saves most halo, within a limit for the ranks and about
  /// `most_outputs`.
  static Extent box_size(Radius3 radius, Extent whole, std::int64_t most_outputs) {
    constexpr std::int64_t most_ranks = 1 << 19, longest_row = 128;
    Extent size{{std::min(whole.x, longest_row), 1, 1}};
    for (;;) {
      int axis = size.z * radius.y < size.y * radius.z ? 2 : 1;
      if (size[axis] == whole[axis]) axis = 3 - axis;
      Extent larger = size;
      ++larger[axis];
      const std::int64_t seen = (larger.x + 2 * radius.x) * (larger.y + 2 * radius.y) * (larger.z + 2 * radius.z);
      if (size[axis] == whole[axis] || larger.voxels() > most_outputs || seen > most_ranks) return size;
      size = larger;
    }
  }

  void run(const OutputTile& box) {
    rank(box);
    for (std::int64_t z = 0; z < box.size.z; ++z) {
      for (std::int64_t y = 0; y < box.size.y; ++y) {
        T* to = out_.row(box.first.y + y, box.first.z + z) + box.first.x;
        std::fill(count_.begin(), count_.end(), 0);
        std::fill(bucket_count_.begin(), bucket_count_.end(), 0);
        bucket_ = below_ = present_ = 0;
        for (std::int64_t x = 0; x < 2 * radius_.x; ++x) change<1>(x, y, z);
        for (std::int64_t x = 0; x < box.size.x; ++x) {
          change<1>(x + 2 * radius_.x, y, z);
          const T centre = in_.at(start_.x + radius_.x + x, start_.y + radius_.y + y, start_.z + radius_.z + z);
          to[x] = is_missing(in_, centre) ? centre : median();
          change<-1>(x, y, z);
        }
      }
    }
  }

 private:
  static constexpr std::size_t bucket_bits = 6;  // ranks are searched in buckets of 64

  /// Ranks of everything in sight, y fastest and x slowest, as the histogram takes it in.
  void rank(const OutputTile& box) {
    const Index3 shift{out_.origin.x - in_.origin.x, out_.origin.y - in_.origin.y, out_.origin.z - in_.origin.z};
    for (int axis = 0; axis < 3; ++axis) {
      start_[axis] = box.first[axis] + shift[axis] - radius_[axis];
      seen_[axis] = box.size[axis] + 2 * radius_[axis];
    }
    ranks_.assign(static_cast<std::size_t>(seen_.voxels()), missing_rank);
    order_.clear();
    std::uint32_t place = 0;
    for (std::int64_t x = 0; x < seen_.x; ++x) {
      const std::int64_t column = border_index(border_, start_.x + x, in_.extent.x);
      for (std::int64_t z = 0; z < seen_.z; ++z) {
        const std::int64_t slice = border_index(border_, start_.z + z, in_.extent.z);
        for (std::int64_t y = 0; y < seen_.y; ++y, ++place) {
          const T value = in_.at(column, border_index(border_, start_.y + y, in_.extent.y), slice);
          if (!is_missing(in_, value)) order_.push_back({value == T{0} ? T{0} : value, place});
        }
      }
    }
    std::sort(order_.begin(), order_.end(), [](const Voxel& a, const Voxel& b) { return a.value < b.value; });
    values_.clear();
    for (const Voxel& voxel : order_) {
      if (values_.empty() || values_.back() != voxel.value) values_.push_back(voxel.value);
      ranks_[voxel.place] = static_cast<std::uint32_t>(values_.size()) - 1;
    }
    count_.resize(values_.size());
    bucket_count_.resize((values_.size() >> bucket_bits) + 1);
  }

  /// Takes the voxels of one face of the window in (+1) or out (-1).
  template <int sign>
  void change(std::int64_t x, std::int64_t y, std::int64_t z) {
    for (std::int64_t k = z; k <= z + 2 * radius_.z; ++k) {
      const std::uint32_t* ranks = ranks_.data() + (x * seen_.z + k) * seen_.y + y;
      for (std::int64_t j = 0; j <= 2 * radius_.y; ++j) {
        if (ranks[j] == missing_rank) continue;
        const std::size_t bucket = ranks[j] >> bucket_bits;
        count_[ranks[j]] = static_cast<std::uint16_t>(count_[ranks[j]] + sign);
        bucket_count_[bucket] = static_cast<std::uint16_t>(bucket_count_[bucket] + sign);
        below_ += bucket < bucket_ ? sign : 0;
        present_ += sign;
      }
    }
  }

  /// The lower middle one of the voxels present, of which there is at least one.
  T median() {
    const int target = (present_ - 1) / 2;
    while (below_ > target) below_ -= bucket_count_[--bucket_];
    while (below_ + bucket_count_[bucket_] <= target) below_ += bucket_count_[bucket_++];
    int smaller = below_;
    std::size_t rank = bucket_ << bucket_bits;
    while (smaller + count_[rank] <= target) smaller += count_[rank++];
    return values_[rank];
  }

  struct Voxel {
    T value;
    std::uint32_t place;
  };
  static constexpr std::uint32_t missing_rank = UINT32_MAX;

  VolumeView<const T> in_;
  VolumeView<T> out_;
  Radius3 radius_;
  Border border_;
  Index3 start_{};  // of what is in sight, in the input box
  Extent seen_;
  std::vector<std::uint32_t> ranks_;
  std::vector<Voxel> order_;
  std::vector<T> values_;  // by rank
  std::vector<std::uint16_t> count_, bucket_count_;
  std::size_t bucket_ = 0;  // where the last median was found
  int below_ = 0;           // voxels of the window in the buckets before it
  int present_ = 0;         // voxels of the window that are not missing
};

}  // namespace quietvox::selection
