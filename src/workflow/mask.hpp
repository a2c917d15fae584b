// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "io/image.hpp"

namespace quietvox {

/// Opens the mask of an image; null where `path` is empty. It has one volume for all of the image's, or one for each.
/// Its axes may differ from the image's, as long as its voxels lie where those of the image do. Throws
/// Error(invalid_argument) if its extent differs, or if a slice of it lies elsewhere in the patient. Warns if one of
/// the two does not say where it lies, and passes on warnings about the mask itself.
std::unique_ptr<io::Image> open_mask(const std::string& path, const io::Image&, const Execution&,
                                     std::vector<Message>& warnings);

/// False for 0 and NaN.
inline bool is_inside(float mask_voxel) { return !std::isnan(mask_voxel) && mask_voxel != 0; }

/// The mask's volume for a volume of the image, its axes in the image's order.
std::unique_ptr<VolumeSource> mask_of_volume(const io::Image& mask, const io::Image&, std::size_t volume);
/// Bytes of memory that this takes: a mask whose axes are reordered is held whole.
std::size_t mask_bytes(const io::Image& mask, const io::Image&);

/// Identifies a mask.
struct MaskIdentity {
  std::string hash;  ///< first 16 hex digits of the SHA-256 of its voxels along its image's axes, a byte 0 or 1 each
  std::set<std::size_t> empty{};  ///< volumes without a voxel inside
};
MaskIdentity identify_mask(const io::Image& mask, const io::Image&);
/// `empty` of that, without the hash, which takes longer.
std::set<std::size_t> empty_volumes(const io::Image& mask, const io::Image&);
/// Says that in these volumes of a mask no voxel is inside, so that nothing was `done`; none where there are no such
/// volumes. `name` is that of its file, if it has one.
std::vector<Message> empty_mask_warning(const io::Image& mask, const std::set<std::size_t>& empty,
                                        const std::string& name, const std::string& done = "changed");

}  // namespace quietvox
