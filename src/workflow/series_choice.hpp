// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <utility>

#include "io/dicom_folder.hpp"
#include "io/image.hpp"
#include "workflow/options.hpp"

/// Which series of a folder are meant.
namespace quietvox {

/// True where something but the UID chooses series.
bool chooses_by_header(const InputOptions&);

/// True for a series that the options choose; they all do where none is given.
bool is_chosen(const io::SeriesSummary&, const InputOptions&);

/// The UID of the only series that the options choose or, if they choose several, of the only one that holds images.
/// Throws Error(invalid_argument) with a list if there is none, or more than one.
std::string only_chosen_series(const io::DicomFolder&, const std::filesystem::path&, const InputOptions&);

/// How two images are read that belong together. The options choose a series of the first, or of the second where the
/// first is a file, which has none to choose from. They choose one of the second, too, where that is a folder of
/// several: a result of one series of many is a series of its own, and the only one of its folder.
std::pair<InputOptions, InputOptions> options_of_both(const std::filesystem::path& first,
                                                      const std::filesystem::path& second, const InputOptions& options,
                                                      const Execution&);

/// The kinds that `words` (option include) names, and images. Throws Error(invalid_argument) for other words.
std::set<io::SeriesKind> included_kinds(const std::string& words);

}  // namespace quietvox
