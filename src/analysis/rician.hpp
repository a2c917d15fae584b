// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace quietvox {

/// Standard deviation over mean of a Rayleigh distribution: of Rician noise without a signal.
constexpr double rayleigh_ratio = 0.52272320;
/// Its mean over the sigma of the noise.
constexpr double rayleigh_mean = 1.25331414;

/// Variance of Rician voxels of unit sigma, for a signal of `snr` (Koay and Basser 2006).
double rician_variance(double snr);
/// Sigma of the noise where Rician voxels have this mean and standard deviation (Koay and Basser 2006).
double koay_sigma(double mean, double deviation);
/// Standard deviation of Rician voxels of this mean, whose noise has this sigma.
double rician_deviation(double mean, double sigma);

/// The shortest interval that holds half of some numbers, and the mean of those: their mode. Of at least one number.
struct ShortestHalf {
  double mean, width;
};
ShortestHalf shortest_half(std::vector<double> numbers);

}  // namespace quietvox
