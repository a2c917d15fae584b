// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

#include "core/volume_view.hpp"
#include "phantom/philox.hpp"

namespace quietvox {

/// Random numbers of one place: a function of the seed, the place and the stream, drawn in order. Places may be voxels
/// or anything else that has three indices; streams keep what is drawn for different purposes apart.
class VoxelRandom {
 public:
  VoxelRandom(int seed, const Index3& place, std::uint32_t stream = 0)
      : counter_{static_cast<std::uint32_t>(place.x), static_cast<std::uint32_t>(place.y),
                 static_cast<std::uint32_t>(place.z), 0},
        key_{static_cast<std::uint32_t>(seed), stream} {}

  /// Two independent numbers in (0, 1).
  std::pair<double, double> uniform() {
    const auto bits = philox(counter_, key_);
    ++counter_[3];
    const auto number = [](std::uint64_t high, std::uint64_t low) {
      return (static_cast<double>((high << 32 | low) >> 12) + 0.5) * 0x1p-52;
    };
    return {number(bits[0], bits[1]), number(bits[2], bits[3])};
  }

  /// Two independent standard normal numbers (Box and Muller 1958).
  std::pair<double, double> normal() {
    const auto [u, v] = uniform();
    const double radius = std::sqrt(-2 * std::log(u)), angle = 2 * std::numbers::pi * v;
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }

 private:
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 2> key_;
};

}  // namespace quietvox
