// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/axis_swap.hpp"
#include "core/pipeline.hpp"

namespace quietvox {

/// A volume read along swapped axes. As many swapped slices are kept as there is room for; the volume is read once for
/// each such batch.
class SwappedVolume final : public VolumeSource {
 public:
  /// `room`: bytes, all that it may keep.
  SwappedVolume(VolumeSource& source, AxisSwap swap, std::size_t room, const Execution& execution);
  /// Keeps half of what the memory limit leaves; without a limit, the whole volume.
  SwappedVolume(VolumeSource& source, AxisSwap swap, const Execution& execution);

  Extent extent() const override { return swap_(source_.extent()); }
  Spacing spacing() const override { return swap_(source_.spacing()); }
  HeaderFacts header() const override { return source_.header(); }
  void read(VolumeView<float> slices) override;

 private:
  void keep(std::int64_t first);

  VolumeSource& source_;
  AxisSwap swap_;
  std::size_t room_;
  Execution execution_;
  std::vector<float> voxels_;
  VolumeView<float> kept_{};  ///< in voxels_; no slices until some are asked for
};

/// A volume and the chain that filters it, both as axis_swap_for() has them.
class FilterFrame {
 public:
  /// Keeps the volume in memory where it is swapped.
  FilterFrame(std::span<const FilterConfig> chain, VolumeSource& source, const Execution& execution);

  const std::vector<FilterConfig>& chain() const { return chain_; }
  VolumeSource& source() const { return swapped_ ? *swapped_ : as_it_is_; }
  /// Undoes the swap of the volume that is filtered. Other volumes, which filters made of it, are returned as they
  /// are.
  VolumeSource& as_it_is(VolumeSource& volume) const { return &volume == swapped_.get() ? as_it_is_ : volume; }

  /// A measured noise, along the axes of the volume as it is (by_volume) or along those of what is filtered
  /// (by_filters), whichever way it was measured.
  NoiseModel by_volume(const NoiseModel& model) const { return model.spectrum.across_axis == 2 ? swap_(model) : model; }
  NoiseModel by_filters(const NoiseModel& model) const;
  std::vector<FilterConfig> by_volume(std::span<const FilterConfig> resolved) const { return swap_(resolved); }

  /// Hands the results of `run` to `consume` as slices of the volume as it is.
  void run(const std::function<void(const std::function<void(VolumeView<const float> slices)>& take)>& run,
           const std::function<void(VolumeView<const float> slices)>& consume) const;

 private:
  VolumeSource& as_it_is_;
  AxisSwap swap_;
  std::vector<FilterConfig> chain_;
  std::unique_ptr<SwappedVolume> swapped_;  ///< null where nothing is swapped
  Execution execution_;
};

}  // namespace quietvox
