// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>

#include "filters/bilateral.hpp"

/// The inner loops of the CPU's bilateral filter, in the widest vectors that the machine has.
namespace quietvox::bilateral_kernel {

/// A neighbour that has a weight.
struct Tap {
  std::int32_t offset;  ///< in memory, from the centre
  float log2_weight;    ///< of the spatial weight
};

/// Multiplication by a power of two that need not be a float itself.
struct PowerOfTwo {
  float first, second;
  explicit PowerOfTwo(int exponent)
      : first(std::ldexp(1.0F, exponent / 2)), second(std::ldexp(1.0F, exponent - exponent / 2)) {}
};

/// The range weight, for differences scaled by the power of two that brings range_sigma into [1, 2). So scaled, voxels
/// beyond `limit` differ either not at all or by so much that they have no weight, and may be clamped to it; `missing`
/// is as far away from every present voxel.
struct RangeWeight {
  static constexpr float limit = 0x1p61F, missing = 0x1p62F;

  PowerOfTwo scale, unscale;
  float rate;  ///< log2 weight = -rate difference^2
  bool has_cut;
  float cut;  ///< smallest scaled difference without weight

  explicit RangeWeight(const BilateralParams& params)
      : RangeWeight(*params.range_sigma, params.range_cut, std::ilogb(*params.range_sigma)) {}

  /// The range weight of another sigma, for differences scaled as here.
  RangeWeight with_sigma(double sigma) const { return {sigma, 0, exponent}; }
  double scaled(double sigma) const { return std::ldexp(sigma, -exponent); }
  /// Of a scaled sigma.
  static float rate_of(double sigma) {
    const double rate = 0.5 * std::numbers::log2e / (sigma * sigma);
    return static_cast<float>(std::min<double>(rate, std::numeric_limits<float>::max()));
  }

 private:
  RangeWeight(double sigma, double relative_cut, int exponent);

  int exponent;  ///< differences are scaled by 2^-exponent
};

/// Rows of scaled voxels about rows of outputs, borders and all, padded so that vectors may read past their end.
/// `centre` stands at the first output.
struct Tile {
  const float* centre;
  std::int64_t pitch, plane;  ///< from row to row, from slice to slice
  Index3 place;               ///< of the first output, in the volume
};

/// Floats that a vector may read or write past the end of a row.
constexpr std::int64_t slack = 64;

/// Scales `count` voxels and replaces what is missing; may write up to slack floats more.
void pack(const float* voxels, std::int64_t count, const RangeWeight&, float* packed);

/// The mean scaled difference of each of `rows` rows of `width` outputs to its neighbours, the taps; the voxel itself,
/// of weight 1, is none of them. Rows of `means` lie `pitch` apart and have room for slack more, and so do those of
/// `rates`, which, unless null, hold the rate of the range weight for each output.
void mean_differences(const Tile&, std::span<const Tap>, const RangeWeight&, const float* rates, std::int64_t width,
                      std::int64_t rows, float* means, std::int64_t pitch);

/// The same for the mean squared difference.
void mean_squares(const Tile&, std::span<const Tap>, const RangeWeight&, std::int64_t width, std::int64_t rows,
                  float* means, std::int64_t pitch);

/// Adds the mean differences to `count` centres. Missing centres stay as they are to the bit; -0 becomes +0.
void add_means(const float* centres, const float* means, std::int64_t count, const RangeWeight&, float* results);

}  // namespace quietvox::bilateral_kernel
