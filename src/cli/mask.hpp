// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/image.hpp"

namespace quietvox::cli {

/// Opens the mask of an image; null where `path` is empty. It has one volume for all of the image's, or one for each.
/// Throws Error(invalid_argument) where it differs in extent, or lies elsewhere in the patient. Where one of the two
/// does not say where it lies, that becomes a warning.
std::unique_ptr<io::Image> open_mask(const std::string& path, const io::Image&, const Execution&,
                                     std::vector<std::string>& warnings);

/// The first 16 hex digits of the SHA-256 of the mask's voxels, a byte 0 or 1 each.
std::string identify_mask(const io::Image& mask);

}  // namespace quietvox::cli
