// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "io/dicom/slice_header.hpp"

namespace quietvox::io::dicom {

/// Reads a written file as any reader would, by its own header, and says what is not as it was meant to be: size, pixel
/// format and rescale of the source slice, the new SOP instance UID, the cells of all frames. Empty where all is.
std::string readback_mismatch(const std::filesystem::path& written, const SliceHeader& source,
                              const std::string& sop_instance, std::span<const std::uint16_t> cells,
                              const Execution& = {});

}  // namespace quietvox::io::dicom
