// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/backend.hpp"
#include "core/pipeline.hpp"
#include "itk_adapters/pixel_conversion.hpp"

namespace itk {
class DataObject;
}

/// What the ITK filters do that needs no pixel type.
namespace quietvox {

/// True where the scan at the upper end of a pipeline says that small values are shown white.
bool low_is_white_upstream(const itk::DataObject*);

/// The settings with every `auto` replaced, or none where one of them depends on the voxels.
std::optional<Settings> resolved_without_voxels(const Settings&, Extent, Spacing, bool low_is_white);

/// The settings with every `auto` replaced for this volume.
Settings resolved_with_voxels(const Settings&, VolumeSource&);

/// A whole volume in memory, read as float.
template <class T>
class MemoryVolume final : public VolumeSource {
 public:
  MemoryVolume(const VolumeView<const T>& volume, bool low_is_white) : volume_(volume), low_is_white_(low_is_white) {}
  Extent extent() const override { return volume_.extent; }
  Spacing spacing() const override { return volume_.spacing; }
  bool low_is_white() const override { return low_is_white_; }
  void read(VolumeView<float> slices) override {
    convert_pixels(volume_.row(0, slices.origin.z), slices.data, slices.extent.voxels(), {});
  }

 private:
  VolumeView<const T> volume_;
  bool low_is_white_;
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
