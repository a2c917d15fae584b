// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "io/dicom/slice_header.hpp"
#include "io/dicom_folder.hpp"

namespace quietvox::io::dicom {

/// What each series of some images is, in the order of their UIDs. `folder`: that the images were found in.
std::vector<SeriesSummary> summaries_of(std::vector<SliceHeader> images, const std::filesystem::path& folder);

}  // namespace quietvox::io::dicom
