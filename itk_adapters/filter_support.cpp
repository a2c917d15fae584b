// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "itk_adapters/filter_support.hpp"

#include "quality/noise_estimate.hpp"

namespace quietvox {

std::optional<Settings> resolved_without_voxels(const Settings& settings, Extent extent, Spacing spacing) {
  bool asked = false;
  const auto placeholder = [&asked] {
    asked = true;
    return 1.0;
  };
  Settings resolved = settings.resolved({extent, spacing, placeholder});
  if (asked) return std::nullopt;
  return resolved;
}

Settings resolved_with_voxels(const Settings& settings, VolumeSource& volume) {
  return settings.resolved({volume.extent(), volume.spacing(), [&volume] { return estimate_noise(volume); }});
}

}  // namespace quietvox
