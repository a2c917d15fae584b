// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "io/image.hpp"

/// Images that are made anew, not from a file of the same format.
namespace quietvox::io {

/// A new DICOM series, one file per slice, for phantoms: a plain, valid CT or MR object with made-up identity.
/// `modality` is CT, MR or MG; voxels are stored as 16-bit integers (CT: rescale intercept -1024).
std::unique_ptr<ImageWriter> create_dicom(const std::filesystem::path& folder, const Geometry&,
                                          const std::string& modality, const WriteOptions&);

/// A new NIfTI-1 file (.nii, .nii.gz, or .hdr with .img) with the given geometry, for images that did not come as
/// NIfTI.
std::unique_ptr<ImageWriter> create_nifti(const std::filesystem::path& output, const Geometry&, std::size_t volumes,
                                          const WriteOptions&);

}  // namespace quietvox::io
