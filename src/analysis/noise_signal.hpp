// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/noise_model.hpp"

namespace quietvox {

/// A part of a volume that looks like noise.
struct NoisyPart {
  double signal;        ///< its mean
  double log_variance;  ///< logarithm of the variance within it
};

/// How the variance of noise follows the signal, if it grows.
struct SignalFit {
  SignalVariance variance;
  double misfit = 0;             ///< see misfit()
  double misfit_of_uniform = 0;  ///< of noise that does not follow the signal
  double growth = 1;             ///< of the variance, from the darkest twentieth of the parts to the brightest
  std::size_t parts = 0;

  /// True where it is clearly better than uniform noise, and than noise that varies with the place, of which that is
  /// the misfit.
  bool is_clear(double misfit_of_place) const;
};

/// Fits gain * signal^power + offset to the variances of parts that look like noise (for the model see Foi, Trimeche,
/// Katkovnik and Egiazarian 2008, IEEE Transactions on Image Processing 17:1737). Noise spreads their logarithms by
/// `spread`; structure adds to some. The variance is above 0 wherever the signal is at least `darkest`; of power 1 the
/// offset is 0 where that fits as well, as it does for counts. None where the parts are too few, where the variance
/// does not grow, or, of power 2, where signals are negative.
std::optional<SignalFit> fit_signal_variance(std::span<const NoisyPart> parts, double spread, double darkest,
                                             int power);

}  // namespace quietvox
