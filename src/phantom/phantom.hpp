// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "core/volume_view.hpp"

namespace quietvox {

enum class PhantomKind {
  ct,         ///< Hounsfield units: body, lungs, bone, vessels, low-contrast inserts
  mr,         ///< T1-like head: skull, grey and white matter, ventricles; air at 0
  mammogram,  ///< one slice: breast outline, fibroglandular texture, a spiculated mass, microcalcifications; 12 bit
};
constexpr std::array<std::string_view, 3> choices(PhantomKind) { return {"ct", "mr", "mammogram"}; }

/// A made-up scan without noise, the same on every machine.
struct Phantom {
  Extent extent;
  Spacing spacing;
  std::vector<float> voxels;

  VolumeView<float> view() { return {voxels.data(), extent, spacing}; }
};

/// The voxels of a phantom whose size nobody chose.
Extent usual_extent(PhantomKind);

/// Shapes scale with the extent. Throws Error(invalid_argument) for a mammogram of several slices.
Phantom make_phantom(PhantomKind, Extent);

}  // namespace quietvox
