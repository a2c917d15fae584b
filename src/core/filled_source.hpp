// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/pipeline.hpp"

namespace quietvox {

/// A volume whose missing voxels are filled in, for filters that leave out blocks with a missing voxel: one of few
/// voxels across, or a voxel in twenty that is missing, would leave no block. Within a slice the surroundings are
/// carried on, ever coarser the further away (a pyramid of means of 2 x 2 voxels); a slice of which nothing is there is
/// that before it, or else the next one, smoothed. What is filled in depends on no voxel that is missing.
class FilledSource final : public VolumeSource {
 public:
  FilledSource(VolumeSource& source, const Execution&);

  Extent extent() const override { return source_.extent(); }
  Spacing spacing() const override { return source_.spacing(); }
  HeaderFacts header() const override { return source_.header(); }
  void read(VolumeView<float> slices) override;
  /// Of slices that were read.
  bool misses_voxels_in(VolumeView<const float> slices) const;
  /// Makes voxels of slices that were read missing again.
  void restore(VolumeView<float> slices) const;

 private:
  struct Slice {
    std::vector<bool> missing{};  ///< empty where nothing is
    std::optional<bool> holds_something{};
  };

  bool find_another(std::int64_t number);
  bool take_another(std::int64_t number);

  VolumeSource& source_;
  Execution execution_;
  std::vector<Slice> slices_;
  std::vector<float> another_;  ///< a slice that holds something, filled and smoothed
  std::int64_t number_of_another_ = -1;
};

}  // namespace quietvox
