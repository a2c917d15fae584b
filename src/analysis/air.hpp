// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "analysis/noise_bricks.hpp"
#include "analysis/noise_map_fit.hpp"
#include "core/noise_model.hpp"

namespace quietvox {

/// Air: it holds no signal, so Rician noise has the Rayleigh distribution there. The mean square of that is twice the
/// variance of the noise.
struct Air {
  double sigma = 0;        ///< of the noise in most of it; 0: there is no air
  bool is_even = false;    ///< its noise is the same everywhere
  bool is_little = false;  ///< of what is dark; it may be none, unless its noise is that of tissue
  double deviation = 0;    ///< median standard deviation of its bricks over their mean
  std::vector<LocalNoise> parts{};
  NoiseSpectrum spectrum{};  ///< of its noise where there is signal
  /// How much of the variance of such noise is left in diagonal differences of neighbours, that of white noise being 1.
  /// 0: not known.
  double diagonal_share = 0;
};

/// Finds the air among the dark bricks, whose mean is below `middle`. `are_magnitudes`: a header says so.
Air find_air(const NoiseBricks& bricks, double middle, bool are_magnitudes);

}  // namespace quietvox
