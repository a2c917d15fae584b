// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "core/execution.hpp"

namespace quietvox::io {

/// True for a DICOM file that quietvox wrote: a phantom of its own, or an image to which quietvox contributed last.
bool is_dicom_result(const std::filesystem::path&, const Execution&);

}  // namespace quietvox::io
