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

  /// True if this fits clearly better than uniform noise does, and than noise that varies with the place, whose misfit
  /// is `misfit_of_place`.
  bool is_clear(double misfit_of_place) const;
};

/// Fits gain * signal^power + offset to the variances of parts that look like noise (for the model see Foi, Trimeche,
/// Katkovnik and Egiazarian 2008, IEEE Transactions on Image Processing 17:1737). `spread` is the standard deviation
/// that noise gives their logarithms; structure adds to some. The variance is above 0 wherever the signal is at least
/// `darkest`. With power 1 the offset is exactly 0 if that fits as well, as it does for counts. None if the parts are
/// too few, if the variance does not grow or, with power 2, if signals are negative.
std::optional<SignalFit> fit_signal_variance(std::span<const NoisyPart> parts, double spread, double darkest,
                                             int power);

}  // namespace quietvox
