// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace quietvox::io::dicom {

/// Throws Error(corrupt) where a JPEG or JPEG-LS stream says that it holds an image of another size, or does not say
/// how large it is: decoders take memory by what the stream says. So it does where there are more scans than 64
/// coefficients take, since each scan passes over the whole image; and at TEM, a marker for encoders alone, with which
/// DCMTK does not end. In other transfer syntaxes nothing is looked at.
void check_jpeg(std::span<const std::uint8_t> stream, std::int64_t columns, std::int64_t rows,
                const std::string& transfer_syntax_uid);

}  // namespace quietvox::io::dicom
