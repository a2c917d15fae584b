// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/pipeline.hpp"

namespace quietvox {

/// Standard deviation of the noise of a volume, from the median absolute diagonal Haar coefficient of its foreground
/// (Donoho and Johnstone 1994): sigma = median |HH| / 0.6745, over the 2x2 blocks within slices that are brighter than
/// the mean block and hold no edge. Blocks with a missing voxel do not count; nor, where the others show no noise and
/// many are saturated, do those that hold a voxel of the lowest or highest value. 0 for a volume without noise.
double estimate_noise(VolumeSource&, const Execution& = {});

enum class NoiseMethod {
  haar,  ///< estimate_noise()
  koay,  ///< the same, where the noise is Rician: corrected for the signal it came with (Koay and Basser 2006)
  air,   ///< Rician noise of blocks without signal, from the mode of their means (Aja-Fernandez et al. 2008)
};
constexpr std::array<std::string_view, 3> choices(NoiseMethod) { return {"haar", "koay", "air"}; }

struct NoiseEstimate {
  NoiseMethod method{};
  double sigma = 0;
  std::int64_t blocks = 0;    ///< that the estimate rests on; 0: the volume has none of the kind
  double standard_error = 0;  ///< of sigma, over sigma: what the number of blocks allows
};

/// What each method says. `air` needs air as it was measured: 8x8 blocks within slices whose standard deviation and
/// mean have the ratio of a Rayleigh distribution; clipped or masked air is none.
std::vector<NoiseEstimate> estimate_noise_by_every_method(VolumeSource&, const Execution&);

}  // namespace quietvox
