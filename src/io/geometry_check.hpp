// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "io/image.hpp"

namespace quietvox::io {

/// Throws Error(invalid_argument) where no image can have this geometry: no voxels, a spacing that is no length, a
/// place that is no number, or axes that do not span space. With `are_perpendicular`, axes must be perpendicular unit
/// vectors.
void check_geometry(const std::filesystem::path& output, const Geometry&, bool are_perpendicular);

}  // namespace quietvox::io
