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

/// Before the compressed images nested in the sequences of a data set, such as icons, are decoded by DCMTK: throws as
/// check_memory() does where that would take too much.
void check_nested_images(DcmItem&, const SliceHeader& file, const Execution&);

/// The bytes of uncompressed pixel data in memory; writing to them changes the data set. Throws Error(corrupt).
std::span<std::uint8_t> native_bytes(DcmPixelData&);

/// Puts the cells of all frames in place of the top-level pixel data. What followed the pixels of an uncompressed image
/// stays.
void replace_cells(DcmDataset&, const SliceHeader&, std::span<const std::uint16_t> cells);

/// What filters see of an image that is its frame or a tile of it: real or stored numbers, NaN where a cell holds
/// padding, but for VoxelDomain::real_with_padding. Returns true where bits above the stored ones differ from cell to
/// cell and are neither copies of the sign nor an overlay, as of numbers that are larger than the header says.
bool to_values(const SliceHeader&, std::span<const std::uint16_t> frame, VoxelDomain, float* values);

/// What became of the cells of an image.
struct Merged {
  std::int64_t clamped = 0;  ///< how many values were
  bool is_changed = false;   ///< any cell
};

/// Filtered values of an image put back into the cells of its frame that they came from: inverse rescale, rounding half
/// away from zero, clamping to the stored range, moving off the padding range. Spare bits above a signed number follow
/// its sign where they do so in all cells of the image; other spare bits stay. Cells that hold padding or whose value
/// is not finite stay.
Merged merge_values(const SliceHeader&, const float* values, VoxelDomain, std::span<std::uint16_t> frame);

}  // namespace quietvox::io::dicom
