// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/pipeline.hpp"

namespace quietvox {

/// A volume whose missing voxels are filled in, for filters that leave out blocks with a missing voxel: a volume a few
/// voxels across, or with one missing voxel in twenty, might have no other blocks. Within a slice the surroundings are
/// carried on, ever coarser the further away (a pyramid of means of 2 x 2 voxels). A slice that is missing whole
/// becomes the nearest one before it, or if there is none the nearest one after it, smoothed. What is filled in depends
/// on no voxel that is missing. What is far from the others, as a failed fit in a map, counts as missing too: floats
/// that hold sums with it hold nothing of the noise. Far is 2^18 sigma from the median of the slice, or a magnitude of
/// 1e18, whose squares add up to more than floats hold.
class FilledSource final : public VolumeSource {
 public:
  /// For a filter with these resolved parameters, of which `sigma` is one.
  FilledSource(VolumeSource& source, const FilterConfig& filter, const Execution&);

  Extent extent() const override { return source_.extent(); }
  Spacing spacing() const override { return source_.spacing(); }
  HeaderFacts header() const override { return source_.header(); }
  void read(VolumeView<float> slices) override;
  /// For results of slices that were read, or of parts of them: missing voxels get the values that they had, and others
  /// stay within the range of what was there in their slice, if that is 64 voxels or more. Blocks whose coefficients
  /// were shrunk overshoot beside edges, and what is never negative must not become so.
  void restore(VolumeView<float> results) const;

 private:
  struct Slice {
    std::vector<bool> missing{};  ///< empty where nothing is
    /// Missing voxels, as place and value, wherever the value differs from that of the missing voxel before (at first,
    /// from the usual NaN).
    std::vector<std::pair<std::size_t, float>> values{};
    std::optional<bool> holds_something{};
    std::optional<std::pair<float, float>> range{};  ///< of the others, unless they are few
  };

  /// Which voxels of a slice can be used: those from the first to the second number.
  std::pair<float, float> usable_in(const float* slice) const;
  bool find_donor(std::int64_t z);
  bool try_donor(std::int64_t z);

  VolumeSource& source_;
  Execution execution_;
  double sigma_ = 0;
  std::vector<Slice> slices_;
  std::vector<float> donor_;  ///< a slice that holds something, filled
  std::int64_t donor_z_ = -1;
  bool donor_is_smooth_ = false;  ///< as it becomes when it is first needed
};

}  // namespace quietvox
