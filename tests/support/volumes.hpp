// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/backend.hpp"
#include "core/pipeline.hpp"
#include "core/volume_view.hpp"

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

/// The voxels of a box that lies in `volume`.
Volume box_of(const Volume& volume, const Index3& origin, const Extent& extent);

/// What filter(in, out) makes of a box of `volume`, given no more than windows of that reach see.
template <class Filter>
Volume filtered_box(const Volume& volume, const Index3& origin, const Extent& extent, Radius3 halo,
                    const Filter& filter) {
  Volume result(extent, volume.spacing);
  VolumeView<float> out = result.view();
  out.origin = origin;
  VolumeView<float> reach = expanded(out, halo, volume.view());
  Volume seen = box_of(volume, reach.origin, reach.extent);
  reach.data = seen.voxels.data();
  filter(VolumeView<const float>(reach), out);
  return result;
}

/// True for the same bits, those of missing voxels too.
bool same_bytes(const Volume&, const Volume&);

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
