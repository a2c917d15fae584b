// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <span>
#include <string>

#include "core/provenance.hpp"
#include "io/dicom_scan.hpp"
#include "io/dicom_toolkit.hpp"

/// What marks an image as derived from another one.
namespace quietvox::io::dicom {

/// The same for all files of a series.
struct Derivation {
  std::string chain;  ///< the filters as they were asked for, and the mask: goes into new identifiers
  bool smooths = true, enhances = false;  ///< what the filters of the chain are for
  std::string series_suffix;
  int series_offset = 0;
  std::time_t time = 0;
};

/// The identifier of what becomes of a source under a chain of filters. Always the same for the same arguments and
/// version of quietvox; `role` tells series from instances.
std::string derived_uid(const std::string& role, const std::string& source_uid, const std::string& chain);

/// Throws Error(invalid_argument) where the suffix cannot stand in every series description.
void check_series_suffix(const std::string&);

/// Turns a copy of the source's data set into the derived object: identifiers, type, dates, description, sources,
/// equipment. `texts` says what was done, for people, frame by frame. Pixels and everything else stay. False where the
/// series description had to stay without its suffix: it is too long, and its character set does not tell where to cut
/// it.
bool derive(DcmDataset&, const Slice& source, std::span<const std::string> texts, const Derivation&);

}  // namespace quietvox::io::dicom
