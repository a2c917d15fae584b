// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "analysis/noise_bricks.hpp"
#include "analysis/noise_level.hpp"

namespace quietvox {

/// What holds no signal, but Rician noise. It is of Rayleigh's distribution, whose mean square is twice the noise's
/// variance.
struct Air {
  double sigma = 0;      ///< of the noise in most of it; 0: there is no air
  bool is_even = false;  ///< its noise is the same everywhere
  std::vector<LocalNoise> parts{};
};

/// Finds the air among bricks, of which those with a mean below `middle` are dark. `are_magnitudes`: a header says so.
Air find_air(const NoiseBricks& bricks, double middle, bool are_magnitudes);

}  // namespace quietvox
