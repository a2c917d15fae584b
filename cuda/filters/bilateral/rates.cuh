// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

/// Where each output of the bilateral filter has a range sigma of its own, that is given by its rate: the range weight
/// is 2^-(rate d)^2, where d is a difference times rated_scale(range_sigma).
namespace quietvox::cuda {

/// A power of two that makes the range sigma a number between 1 and 2, so that voxels are scaled without rounding, as
/// far as floats reach.
inline float rated_scale(double range_sigma) {
  int exponent = 0;
  std::frexp(1 / range_sigma, &exponent);
  return std::ldexp(1.0F, std::min(exponent, 127));
}

/// The rate of a range sigma, for differences times rated_scale(scale_sigma).
inline double rate_of(double range_sigma, double scale_sigma) {
  return std::sqrt(0.5 * std::numbers::log2e) / (rated_scale(scale_sigma) * range_sigma);
}

/// Differences times the largest rate, and their squares' sums, stay finite or become infinite, never NaN.
inline constexpr float largest_rate = 1e19F;

/// The rate of a mean squared difference, which comes scaled by the kernel: 1 / sqrt(gain mean + offset).
struct RateOfSquares {
  float gain, offset;
  __device__ float operator()(float mean) const { return fminf(rsqrtf(fmaf(gain, mean, offset)), largest_rate); }
};

/// The rate of the standard deviation of a box: clamp(1 / sqrt(gain variance), lowest_rate, highest_rate).
struct RateOfVariance {
  float gain, lowest_rate, highest_rate;
  /// Takes the sum of the scaled differences to the centre, and of their squares. The centre is one of the voxels, so
  /// it lies within a few standard deviations of their mean, and the subtraction loses little. Rounded alike wherever
  /// it is inlined. Squares beyond all floats give the lowest rate.
  __device__ float operator()(float sum, float squares, float count) const {
    const float about_mean = fmaf(__fmul_rn(sum, -1.0F / fmaxf(count, 1)), sum, squares);
    const float variance = about_mean < 0 ? 0.0F : about_mean * (1.0F / fmaxf(count - 1, 1));
    return fminf(fmaxf(rsqrtf(gain * variance), lowest_rate), highest_rate);
  }
};

}  // namespace quietvox::cuda
