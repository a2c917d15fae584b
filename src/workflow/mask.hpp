// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "io/image.hpp"

namespace quietvox {

/// Opens the mask of an image; null where `path` is empty. It has one volume for all of the image's, or one for each.
/// Throws Error(invalid_argument) where it differs in extent, or a slice of it lies elsewhere in the patient. Where one
/// of the two does not say where it lies, that becomes a warning, as do those of the mask itself.
std::unique_ptr<io::Image> open_mask(const std::string& path, const io::Image&, const Execution&,
                                     std::vector<Message>& warnings);

/// False for 0 and for what is no number.
inline bool is_inside(float mask_voxel) { return std::isfinite(mask_voxel) && mask_voxel != 0; }

/// The volume of a mask that belongs to a volume of its image.
std::unique_ptr<VolumeSource> mask_of_volume(const io::Image& mask, std::size_t volume);

/// The first 16 hex digits of the SHA-256 of the mask's voxels, a byte 0 or 1 each.
std::string identify_mask(const io::Image& mask);

}  // namespace quietvox
