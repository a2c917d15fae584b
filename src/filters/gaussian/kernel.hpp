// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "filters/gaussian/axis.hpp"

/// The inner loops of the CPU's Gaussian filter, in the widest vectors that the machine has. They work on
/// doubles, but for the convolution of what has no gaps.
namespace quietvox::gaussian {

/// Lines and widths are worked on in multiples of so many numbers; buffers have room for that.
inline constexpr std::int64_t wide = 16;
constexpr std::int64_t widened(std::int64_t count) { return (count + wide - 1) / wide * wide; }

/// Reads `count` voxels; false where a missing one is among them.
bool read_row(const float* voxels, std::int64_t count, Reading, double* row);
/// The same, a quarter of each: convolve() adds up to four times a voxel.
bool read_row(const float* voxels, std::int64_t count, Reading, float* row);

/// Rounds to float, no farther than the largest; -0 becomes +0.
void write_row(const double* row, std::int64_t count, float* voxels);
inline void write_row(const float* row, std::int64_t count, float* voxels) { std::copy_n(row, count, voxels); }

/// results[i] = sum of weights[|k|] centres[i + k stride], whose weights have the sum 1, for widened(count) results.
void convolve(const double* centres, std::int64_t stride, std::span<const double> weights, std::int64_t count,
              double* results);

/// The same in floats, from quarters to whole values: the voxel itself and the sum of the differences to it, which is
/// exact where all are the same, and above 1e-36. It runs inwards from the smallest weights, so that its rounding is at
/// most 2^-24 of the range times the mean of |k|, and one ulp of the largest voxel more. -0 becomes +0.
void convolve(const float* centres, std::int64_t stride, std::span<const float> weights, std::int64_t count,
              float* results);

/// Rows of doubles, one per place along an axis; each column is a line of its own. Columns are a multiple of wide.
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
