// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "itk_adapters/filter_support.hpp"

#include "quality/noise_estimate.hpp"
#include "quietvoxSeriesImageSource.h"

namespace quietvox {

bool low_is_white_upstream(const itk::DataObject* data) {
  SeriesImageSource* const source = SeriesImageSource::FindUpstream(data);
  return source && source->GetImage().volume(source->GetVolumeIndex(), io::Values::stored)->low_is_white();
}

std::optional<Settings> resolved_without_voxels(const Settings& settings, Extent extent, Spacing spacing,
                                                bool low_is_white) {
  bool asked = false;
  const auto placeholder = [&asked](auto value) {
    return [&asked, value] {
      asked = true;
      return value;
    };
  };
  Settings resolved =
      settings.resolved({extent, spacing, placeholder(1.0), placeholder(Range<double>{-1e30, 1e30}), low_is_white});
  if (asked) return std::nullopt;
  return resolved;
}

Settings resolved_with_voxels(const Settings& settings, VolumeSource& volume) {
  return settings.resolved({volume.extent(), volume.spacing(), [&volume] { return estimate_noise(volume); },
                            [&volume] { return intensities(volume); }, volume.low_is_white()});
}

}  // namespace quietvox
