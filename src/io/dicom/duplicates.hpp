// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execution.hpp"
#include "io/dicom/slice_header.hpp"

/// Duplicate images.
namespace quietvox::io::dicom {

/// The images of a series, each once: of files with one SOP instance UID that hold the same image, those of the
/// shortest name, or else of the first by name. The same are images with the same header, but for what a transfer
/// syntax brings with it, and the same pixels, however they are stored. Throws Error(irregular), which names two files
/// and the first element that differs, where different images have one UID. A line is added to the warnings where there
/// are copies.
std::vector<SliceHeader> without_duplicates(std::vector<SliceHeader> images, const std::filesystem::path& folder,
                                            const Execution&, std::vector<std::string>& warnings);

/// The same by the UIDs alone, without a look at the files.
std::vector<SliceHeader> without_duplicate_uids(std::vector<SliceHeader> images);

}  // namespace quietvox::io::dicom
