// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/execution.hpp"
#include "io/output/atomic_output.hpp"

namespace quietvox::io {

/// Of a DICOM file that quietvox wrote (a phantom of its own, or an image to which quietvox contributed last) what
/// tells results of one run from others: the study with the UID of the series and, where both are there, with its
/// number. Images of one series may have different numbers. Nothing for other files.
std::vector<std::string> dicom_result_series_keys(const std::filesystem::path&, const Execution&);

/// Returns the folder that is to be replaced and all files in it, and lets results of one series alone be replaced, and
/// what a killed run left. `target`: the folder's name in messages. Throws Error(exists).
AtomicOutput::Examine dicom_results_of_one_series(const std::filesystem::path& target);

}  // namespace quietvox::io
