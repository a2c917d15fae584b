// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/pipeline.hpp"
#include "core/volume.hpp"

namespace quietvox::test {

/// A volume that owns its voxels.
struct Volume {
  Extent extent;
  Spacing spacing{1, 1, 1};
  std::vector<float> voxels;

  explicit Volume(Extent size, Spacing distance = {1, 1, 1}, float value = 0)
      : extent(size), spacing(distance), voxels(static_cast<std::size_t>(size.voxels()), value) {}

  VolumeView<float> view() { return {voxels.data(), extent, spacing}; }
  VolumeView<const float> view() const { return {voxels.data(), extent, spacing}; }
  friend bool operator==(const Volume&, const Volume&) = default;
};

/// Steps, a slope and noise between about -1000 and 3000: edges, ties and negative numbers. Whole numbers where
/// `whole` is set. The same numbers for the same seed.
Volume busy_volume(Extent extent, std::uint32_t seed, bool whole = false);

/// A volume in memory as a source; counts how often each slice is read.
class MemorySource final : public VolumeSource {
 public:
  explicit MemorySource(const Volume& volume) : volume_(volume), reads_(static_cast<std::size_t>(volume.extent.z)) {}

  Extent extent() const override { return volume_.extent; }
  Spacing spacing() const override { return volume_.spacing; }
  void read(VolumeView<float> slices) override;
  const std::vector<int>& reads() const { return reads_; }

 private:
  const Volume& volume_;
  std::vector<int> reads_;
};

}  // namespace quietvox::test
