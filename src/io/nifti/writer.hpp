// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "io/image.hpp"
#include "io/nifti/file.hpp"

namespace quietvox::io {

/// Gives `source` back with other voxels: header, extensions and whatever follows the voxels stay byte for byte, and so
/// do voxels that were not changed. An ending of the other form (one file or two) changes magic and vox_offset only.
std::unique_ptr<ImageWriter> make_nifti_writer(const NiftiFile& source, const std::filesystem::path& output,
                                               VoxelDomain, const WriteOptions&);

}  // namespace quietvox::io
