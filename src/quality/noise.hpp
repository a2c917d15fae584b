// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/execution.hpp"
#include "core/fields.hpp"
#include "core/volume.hpp"

namespace quietvox {

enum class NoiseKind {
  gaussian,         ///< u + amount n, n standard normal
  rician,           ///< |u + amount (n1 + i n2)|
  poisson,          ///< Poisson(u k) / k with k = 1 / amount: variance amount u; u below 0 is unchanged
  speckle,          ///< u (1 + amount n)
  salt_and_pepper,  ///< a share `amount` of the voxels becomes the volume's smallest or largest value
  quantisation,     ///< rounded to multiples of amount
};
constexpr std::array<std::string_view, 6> choices(NoiseKind) {
  return {"gaussian", "rician", "poisson", "speckle", "salt-and-pepper", "quantisation"};
}

/// What noise to add. Read like a filter's parameters, so that the command line has one way of making options.
struct NoiseParams {
  NoiseKind kind = NoiseKind::gaussian;
  double amount = 20;
  int seed = 1;

  static constexpr std::string_view name = "add-noise";
  static consteval auto fields() {
    return std::tuple{
        field("kind", &NoiseParams::kind, "Distribution of the noise."),
        field("amount", &NoiseParams::amount, {0, 1e30}, "",
              "Standard deviation (gaussian, rician: intensity; speckle: share of the value), share of voxels "
              "(salt-and-pepper), variance per value (poisson), or step (quantisation)."),
        field("seed", &NoiseParams::seed, {0, 2147483647}, "", "Same seed, same noise, whatever the threads."),
    };
  }
};

/// Adds noise in place. Counter-based: the noise of a voxel depends on the seed and its place in the whole volume only.
/// Missing voxels stay as they are. `lowest` and `highest` are the extremes of the whole volume (salt-and-pepper).
void add_noise(VolumeView<float>, const NoiseParams&, float lowest, float highest, const Execution&);

}  // namespace quietvox
