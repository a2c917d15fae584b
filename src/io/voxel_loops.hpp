// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>

/// Loops over many voxels, in the widest vectors that the machine has.
namespace quietvox::io {

/// What became of values that were rounded.
struct Rounded {
  std::int64_t beyond = 0;  ///< so many lay beyond the type
  bool are_finite = true;   ///< else some became any number
};

/// Rounds values to the nearest integers, half away from zero. Values beyond the type become its nearest number. Both
/// spans have one size.
Rounded nearest_integers(std::span<const float> values, std::span<std::int16_t> integers);
Rounded nearest_integers(std::span<const float> values, std::span<std::uint16_t> integers);

/// Integers as floats. Both spans have one size.
void to_floats(std::span<const std::int16_t> integers, std::span<float> values);
void to_floats(std::span<const std::uint16_t> integers, std::span<float> values);

/// The smallest and the largest magnitude of floats, as their bits; NaN is the largest of all.
struct Magnitudes {
  std::uint32_t least = ~std::uint32_t{0}, greatest = 0;
  bool are_finite() const { return greatest < 0x7f800000; }
};
Magnitudes magnitudes(std::span<const float> values);

/// The least and the greatest of the finite values; infinity and -infinity if there are none.
std::pair<float, float> finite_range(std::span<const float> values);

}  // namespace quietvox::io
