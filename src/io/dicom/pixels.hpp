// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/dicom/slice_header.hpp"
#include "io/dicom/toolkit.hpp"
#include "io/image.hpp"

/// Between files, stored numbers and the values that filters see.
namespace quietvox::io::dicom {

/// The top-level pixel data. Throws Error(corrupt) where there is none.
DcmPixelData& pixel_data(DcmDataset&);

/// To be called before DCMTK decodes compressed images nested in sequences, such as icons. Throws, as check_memory()
/// does, if that would take too much memory.
void check_nested_images(DcmItem&, const SliceHeader& file, const Execution&);

/// The bytes of uncompressed pixel data in memory; writing to them changes the data set. Throws Error(corrupt).
std::span<std::uint8_t> native_bytes(DcmPixelData&);

/// Replaces the top-level pixel data by the cells of all frames. Bytes after the pixels of an uncompressed image stay.
void replace_cells(DcmDataset&, const SliceHeader&, std::span<const std::uint16_t> cells);

/// The values that filters see of an image, which is a frame or a tile of it: real or stored numbers. Padding is NaN,
/// except with VoxelDomain::real_with_padding. Where its number is one of pixels, too, which lie scattered, only what
/// was cut out of the image is padding. Returns true if the numbers seem larger than the header says: bits above
/// the stored ones differ from cell to cell, and are neither copies of the sign nor an overlay.
bool to_values(const SliceHeader&, std::span<const std::uint16_t> frame, VoxelDomain, float* values);

/// What became of the cells of an image.
struct Merged {
  std::int64_t clamped = 0;  ///< how many values were
  bool is_changed = false;   ///< any cell
};

/// Puts filtered values back into the cells that they came from: undoes the rescale, rounds half away from zero, clamps
/// to the stored range and moves off the padding range. If the spare bits above a signed number copy its sign in all
/// cells of the image, they still do afterwards; other spare bits stay. Padding stays, and so do cells whose value is
/// not finite.
Merged merge_values(const SliceHeader&, const float* values, VoxelDomain, std::span<std::uint16_t> frame);

}  // namespace quietvox::io::dicom
