// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/image.hpp"

/// NRRD (.nrrd, .nhdr + .raw) and MetaImage (.mha, .mhd + .raw) files, through ITK's readers and writers.
namespace quietvox {

/// Opens an NRRD or MetaImage file of scalar voxels and 2 to 4 axes; a fourth axis holds one volume per index. Null
/// where the content is neither; throws Error where it is one of them and cannot be used.
std::unique_ptr<io::Image> open_itk_image(const std::filesystem::path&, const io::ReadOptions& = {});

/// The files that an NRRD or MetaImage file consists of: the header, and the voxels where they lie apart. Empty where
/// the content is neither.
std::vector<std::filesystem::path> itk_files(const std::filesystem::path&);

/// The files that an output of that name is going to consist of, the header first; its voxels compressed or not.
std::vector<std::filesystem::path> itk_output_files(const std::filesystem::path& output, bool compressed);

/// A new file of the format that `output`'s ending names (.nrrd, .nhdr, .mha, .mhd) for images that came in another
/// one: float32 unless options.output_type says otherwise, compressed only where options.compress is true. Several
/// volumes make a fourth axis. Throws Error(output_path) for other endings.
std::unique_ptr<io::ImageWriter> create_itk_image(const std::filesystem::path& output, const io::Geometry&,
                                                  std::size_t volumes, const io::WriteOptions&);

}  // namespace quietvox
