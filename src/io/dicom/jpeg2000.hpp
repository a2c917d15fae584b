// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/dicom/slice_header.hpp"

namespace quietvox::io::dicom {

/// Decodes a frame of JPEG 2000, a bare code stream or a JP2 file. Throws Error(corrupt) where the code stream is
/// incomplete or of another size than the image; throws as check_memory() does if it would take too much memory.
std::vector<std::uint16_t> decode_jpeg2000(std::span<const std::uint8_t> frame, std::int64_t columns, std::int64_t rows,
                                           const PixelFormat&, const Execution&);

}  // namespace quietvox::io::dicom
