// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace quietvox::io::dicom {

/// Decodes a frame of DICOM RLE (PS3.5 Annex G): one PackBits segment per byte of a cell, most significant first.
/// DCMTK fills up what a broken segment lacks; here a segment that is too short throws Error(corrupt).
std::vector<std::uint16_t> decode_rle(std::span<const std::uint8_t> frame, std::size_t cells, int bytes_per_cell);

}  // namespace quietvox::io::dicom
