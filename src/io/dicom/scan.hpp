// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/execution.hpp"
#include "io/dicom/slice_header.hpp"
#include "io/dicom_folder.hpp"
#include "io/image.hpp"

/// Finding DICOM images: which files hold one, and what their headers say.
namespace quietvox::io::dicom {

class DicomFile;

/// The images found at a path, and what was skipped.
struct Scan {
  std::vector<SliceHeader> images;    ///< in the order of their relative names and of frames and tiles
  std::vector<std::string> skipped;   ///< `NAME: reason`, for files that hold no image, or a colour image among others
  std::vector<Error> perhaps_lost;    ///< of the skipped, those that their names call DICOM
  std::vector<Error> unreadable;      ///< files that cannot be read, so that their series is unknown
  std::vector<Error> without_series;  ///< files that name no series
  bool any_dicom = false;
  std::shared_ptr<DicomFile> only_file;  ///< if only one file was read: it stays parsed
};

/// Reads the headers of a file, or of all files below a folder. Files that belong to a series and do not parse are
/// images with a problem. Colour images that grey ones of their series outnumber are skipped: they are no slices
/// of it.
Scan scan(const std::filesystem::path&, const Execution&, const ScanGuard& = {});

}  // namespace quietvox::io::dicom
