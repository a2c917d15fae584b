// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execution.hpp"
#include "io/dicom/slice_header.hpp"

/// Duplicate images.
namespace quietvox::io::dicom {

/// The images of a series, each once. Of files with one SOP instance UID and the same image, the one with the shortest
/// name stays; of equally short names, the first. Images are the same if their pixels are, however they are stored, and
/// their headers, but for what a transfer syntax brings with it and what archives add or correct. Throws
/// Error(irregular) if different images have one UID; it names two files and what differs. Warns if there are copies,
/// and if their headers differ.
std::vector<SliceHeader> without_duplicates(std::vector<SliceHeader> images, const std::filesystem::path& folder,
                                            const Execution&, std::vector<std::string>& warnings);

/// The same by the UIDs alone, without a look at the files.
std::vector<SliceHeader> without_duplicate_uids(std::vector<SliceHeader> images);

}  // namespace quietvox::io::dicom
