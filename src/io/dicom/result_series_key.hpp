// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/execution.hpp"

namespace quietvox::io {

/// Of a DICOM file that quietvox wrote (a phantom of its own, or an image to which quietvox contributed last) what
/// tells results of one run from others: the study with the UID of the series and, where both are there, with its
/// number. Images of one series may have different numbers. Nothing for other files.
std::vector<std::string> dicom_result_series_keys(const std::filesystem::path&, const Execution&);

}  // namespace quietvox::io
