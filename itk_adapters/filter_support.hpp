// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "core/backend.hpp"
#include "core/pipeline.hpp"
#include "itk_adapters/pixel_conversion.hpp"

/// What the ITK filters do that needs neither ITK nor a pixel type.
namespace quietvox {

/// The settings with every `auto` replaced, or none where one of them depends on the voxels.
std::optional<Settings> resolved_without_voxels(const Settings&, Extent, Spacing);

/// The settings with every `auto` replaced for this volume.
Settings resolved_with_voxels(const Settings&, VolumeSource&);

/// The slices of `in` that a window of reach `halo` around `out` can see.
template <class T, class U>
VolumeView<const T> near_slices(const VolumeView<const T>& in, const VolumeView<U>& out, Radius3 halo) {
  const std::int64_t first = std::max(in.origin.z, out.origin.z - halo.z);
  const std::int64_t last = std::min(in.origin.z + in.extent.z, out.origin.z + out.extent.z + halo.z);
  return in.slices(first - in.origin.z, last - first);
}

/// A whole volume in memory, read as float.
template <class T>
class MemoryVolume final : public VolumeSource {
 public:
  explicit MemoryVolume(const VolumeView<const T>& volume) : volume_(volume) {}
  Extent extent() const override { return volume_.extent; }
  Spacing spacing() const override { return volume_.spacing; }
  void read(VolumeView<float> slices) override {
    convert_pixels(volume_.row(0, slices.origin.z), slices.data, slices.extent.voxels(), {});
  }

 private:
  VolumeView<const T> volume_;
};

/// What a filter tells the writer at the end of its pipeline.
class FilterStep {
 public:
  virtual ~FilterStep() = default;
  virtual Settings GetRequestedSettings() const = 0;
  virtual Settings GetResolvedSettings() const = 0;  ///< throws itk::ExceptionObject before the filter has run
  virtual std::string GetBackendName() const = 0;
};

}  // namespace quietvox
