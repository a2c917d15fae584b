// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "io/dicom/slice_header.hpp"

/// Loops over the cells of an image, in the widest vectors that the machine has.
namespace quietvox::io::dicom {

/// Real values of cells, slope * stored + intercept; as many values as cells. Returns the bits in which any cell
/// differs from the first.
std::uint32_t rescaled_values(const PixelFormat&, double slope, double intercept, std::span<const std::uint16_t> cells,
                              float* values);

/// The stored numbers of cells, likewise.
std::uint32_t stored_values(const PixelFormat&, std::span<const std::uint16_t> cells, float* values);

/// Writes values into cells if every value is a number that a cell can hold, as those of rank filters are; padding
/// stays as it is. Else returns false, and nothing has changed. At most cells_at_once cells. `padding`: first and last
/// of the stored numbers that mean no value; first behind last if there are none.
inline constexpr std::size_t cells_at_once = 2048;
bool merge_whole_numbers(const PixelFormat&, const PixelFormat& written, std::pair<int, int> padding,
                         const float* values, std::span<std::uint16_t> cells);

}  // namespace quietvox::io::dicom
