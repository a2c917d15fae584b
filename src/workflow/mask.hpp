// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "io/image.hpp"

namespace quietvox {

/// Opens the mask of an image; null where `path` is empty. It has one volume for all of the image's, or one for each.
/// Its axes may be others than the image's, as long as its voxels lie where those of the image do. Throws
/// Error(invalid_argument) where it differs in extent, or a slice of it lies elsewhere in the patient. Where one of the
/// two does not say where it lies, that becomes a warning, as do those of the mask itself.
std::unique_ptr<io::Image> open_mask(const std::string& path, const io::Image&, const Execution&,
                                     std::vector<Message>& warnings);

/// False for 0 and for what is no number.
inline bool is_inside(float mask_voxel) { return !std::isnan(mask_voxel) && mask_voxel != 0; }

/// The volume of a mask that belongs to a volume of its image, along the image's axes.
std::unique_ptr<VolumeSource> mask_of_volume(const io::Image& mask, const io::Image&, std::size_t volume);
/// Bytes that it takes: where its axes are turned, it is held whole.
std::size_t mask_bytes(const io::Image& mask, const io::Image&);

/// What tells masks apart.
struct MaskIdentity {
  std::string hash;  ///< first 16 hex digits of the SHA-256 of its voxels along its image's axes, a byte 0 or 1 each
  bool is_empty = true;  ///< no voxel is inside
};
MaskIdentity identify_mask(const io::Image& mask, const io::Image&);

}  // namespace quietvox
