// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "filters/quadratic.hpp"

/// The inner loop of the CPU's quadratic filter, in the widest vectors that the machine has.
namespace quietvox::quadratic_kernel {

/// Floats that a vector may read or write past the end of a row.
inline constexpr std::int64_t slack = 64;

/// Scales intensities to those of the polynomial, by origin and scale, and back, by unscale.
struct Scale {
  float origin, scale, unscale;
};

/// A row of `width` outputs. `rows` are the rows of the window, the first at the top; each points to the voxel below
/// the first output's, has `radius` more on either side, and may hold missing ones.
void filter_row(const std::array<const float*, 5>& rows, std::int64_t width, const QuadraticForm&, const Scale&,
                float* results);

}  // namespace quietvox::quadratic_kernel
