// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "io/image.hpp"
#include "io/nifti/file.hpp"

namespace quietvox::io {

/// Gives `source` back with other voxels: header, extensions and whatever follows the voxels stay byte for byte, and so
/// do voxels that were not changed. An ending of the other form (one file or two) changes magic and vox_offset only.
/// `take_reader` lends a reader of `source`, best one that has read to its end.
std::unique_ptr<ImageWriter> make_nifti_writer(const NiftiFile& source,
                                               std::function<std::shared_ptr<NiftiVoxelReader>()> take_reader,
                                               const std::filesystem::path& output, VoxelDomain, const WriteOptions&);

}  // namespace quietvox::io
