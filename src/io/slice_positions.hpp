// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "io/image.hpp"

namespace quietvox::io {

/// Where the first voxel of each slice of a volume lies, LPS, mm, whatever its geometry says; empty where the image
/// does not say it slice by slice, as in formats other than DICOM.
std::vector<std::array<double, 3>> slice_positions(const Image&, std::size_t volume);

}  // namespace quietvox::io
