// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/execution.hpp"

namespace quietvox::io {

/// Of a DICOM file that quietvox wrote (a phantom of its own, or an image to which quietvox contributed last) the study
/// and the number of the series, or where one is missing the series, which tell results of one run from others. None
/// for other files.
std::optional<std::string> dicom_result_identity(const std::filesystem::path&, const Execution&);

}  // namespace quietvox::io
