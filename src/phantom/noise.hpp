// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/execution.hpp"
#include "core/fields.hpp"
#include "core/volume_view.hpp"

namespace quietvox {

enum class NoiseKind {
  gaussian,         ///< u + amount n, n standard normal
  rician,           ///< |u + amount (n1 + i n2)|
  poisson,          ///< Poisson(u k) / k with k = 1 / amount: variance amount u; u below 0 is unchanged
  speckle,          ///< u (1 + amount n)
  salt_and_pepper,  ///< a share `amount` of the voxels becomes the volume's smallest or largest value
  quantisation,     ///< rounded to multiples of amount
  zero_filled,      ///< MR: 2/3 of k-space measured in-plane, a Tukey filter, filled with zeros, magnitude: correlated
                    ///< Rician noise in an image of that resolution
  g_factor,         ///< MR, parallel imaging: Rician, three times as strong in the centre as far outside
  ct,            ///< quantum noise of 360 parallel projections, filtered back projection, neighbouring slices averaged
  interpolated,  ///< Gaussian on a grid of 3/4 of the resolution, interpolated linearly
};
constexpr std::array<std::string_view, 10> choices(NoiseKind) {
  return {"gaussian",     "rician",      "poisson",  "speckle", "salt-and-pepper",
          "quantisation", "zero-filled", "g-factor", "ct",      "interpolated"};
}

/// Whether the noise of a voxel depends on no other voxel.
constexpr bool is_of_single_voxels(NoiseKind kind) { return kind <= NoiseKind::quantisation; }

/// Whether what it makes is never negative, whatever the voxel was.
constexpr bool makes_magnitudes(NoiseKind kind) {
  return kind == NoiseKind::rician || kind == NoiseKind::zero_filled || kind == NoiseKind::g_factor;
}

/// The window of filtered back projection.
enum class CtKernel { soft, sharp };  // Hann, none
constexpr std::array<std::string_view, 2> choices(CtKernel) { return {"soft", "sharp"}; }

/// What noise to add. Read like a filter's parameters, so that the command line has one way of making options.
struct NoiseParams {
  NoiseKind kind = NoiseKind::gaussian;
  double amount = 20;
  int seed = 1;
  CtKernel kernel = CtKernel::soft;

  static constexpr std::string_view name = "add-noise";
  static consteval auto fields() {
    return std::tuple{
        field("kind", &NoiseParams::kind, "Distribution of the noise."),
        field("amount", &NoiseParams::amount, {0, 1e30}, "",
              "gaussian, rician, interpolated: standard deviation; zero-filled: that of each part of the complex "
              "noise; g-factor, ct: its root mean square over the object; speckle: standard deviation / value; "
              "poisson: variance / value; salt-and-pepper: share of voxels; quantisation: step."),
        field("seed", &NoiseParams::seed, {0, 2147483647}, "",
              "The same seed gives the same noise, for any number of threads; further volumes have seeds "
              "that are made from it, which the JSON tells."),
        field("kernel", &NoiseParams::kernel, "Reconstruction kernel of ct."),
    };
  }
};

/// Throws Error(invalid_argument) for values that are out of range, or not allowed for the kind.
void check_noise(const NoiseParams&);

/// Adds noise of single voxels in place. Counter-based: the noise of a voxel depends on the seed and its place in the
/// whole volume only. Missing voxels stay as they are. `lowest` and `highest` are the extremes of the whole volume
/// (salt-and-pepper).
void add_noise(VolumeView<float>, const NoiseParams&, float lowest, float highest, const Execution&);

}  // namespace quietvox
