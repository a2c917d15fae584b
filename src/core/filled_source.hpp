// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/pipeline.hpp"

namespace quietvox {

/// A volume whose missing voxels are filled in, for filters that leave out blocks with a missing voxel: one of few
/// voxels across, or a voxel in twenty that is missing, would leave no block. Within a slice the surroundings are
/// carried on, ever coarser the further away (a pyramid of means of 2 x 2 voxels); a slice of which nothing is there is
/// that before it, or else the next one, smoothed. What is filled in depends on no voxel that is missing. Numbers
/// beyond 1e18, whose squares are beyond floats, are missing too: they stand for no value.
class FilledSource final : public VolumeSource {
 public:
  FilledSource(VolumeSource& source, const Execution&);

  Extent extent() const override { return source_.extent(); }
  Spacing spacing() const override { return source_.spacing(); }
  HeaderFacts header() const override { return source_.header(); }
  void read(VolumeView<float> slices) override;
  /// False of what is filled in.
  static bool is_there(float voxel);
  /// Makes voxels of slices that were read missing again, as they were.
  void restore(VolumeView<float> slices) const;

 private:
  struct Slice {
    std::vector<bool> missing{};  ///< empty where nothing is
    /// Of the missing voxels, those whose value is another one than that of the one before, at first the usual NaN.
    std::vector<std::pair<std::size_t, float>> values{};
    std::optional<bool> holds_something{};
  };

  bool find_donor(std::int64_t z);
  bool try_donor(std::int64_t z);

  VolumeSource& source_;
  Execution execution_;
  std::vector<Slice> slices_;
  std::vector<float> donor_;  ///< a slice that holds something, filled and smoothed
  std::int64_t donor_z_ = -1;
};

}  // namespace quietvox
