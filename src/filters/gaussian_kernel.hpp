// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "filters/gaussian_axis.hpp"

/// The inner loops of the CPU's Gaussian filter, in the widest vectors that the machine has. They work on doubles.
namespace quietvox::gaussian {

/// Lines and widths are worked on in multiples of so many doubles; buffers have room for that.
inline constexpr std::int64_t kWide = 16;
constexpr std::int64_t widened(std::int64_t count) { return (count + kWide - 1) / kWide * kWide; }

/// Reads `count` voxels; false where a missing one is among them.
bool read_row(const float* voxels, std::int64_t count, Reading, double* row);

/// Rounds to float; -0 becomes +0.
void write_row(const double* row, std::int64_t count, float* voxels);

/// results[i] = sum of weights[|k|] centres[i + k stride], for widened(count) results.
void convolve(const double* centres, std::int64_t stride, std::span<const double> weights, std::int64_t count,
              double* results);

/// Rows of doubles, one per place along an axis; each column is a line of its own. Columns are a multiple of kWide.
struct Lines {
  double* first;
  std::int64_t columns;
  double* row(std::int64_t place) const { return first + place * columns; }
};

/// The recursive filter for the places [begin, end): along the axis from `from` on, against it from `until` - 1 on.
/// The first row of `results` belongs to `begin`.
void recurse(const Lines& lines, std::int64_t from, std::int64_t begin, std::int64_t end, std::int64_t until,
             const Recursion&, const Lines& results);

}  // namespace quietvox::gaussian
