// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/border.hpp"
#include "cuda/filters/bilateral/rates.cuh"
#include "cuda/filters/common/device_view.cuh"
#include "cuda/resources.hpp"

/// The kernels of the bilateral filter, which know nothing of its parameters. `offset` is the place of the first voxel
/// of `out` in `in`.
namespace quietvox::cuda::bilateral {

inline constexpr int max_radius = 31;

/// A window and its weights. Exponents are powers of two: w = 2^(exponents - d^2), d scaled by
/// sqrt(log2(e) / 2) / range_sigma, or by rated_scale() and a rate.
struct Window {
  float x[max_radius + 1], y[max_radius + 1], z[max_radius + 1];  ///< exponent of the spatial weight by |offset|
  signed char reach[max_radius + 1][max_radius + 1];              ///< of a row: |x| <= reach[|z|][|y|]; -1: no voxel
  int3 radius;
  float scale, unscale;
  float cut;  ///< smallest difference that has no weight
  Border border;
  RateOfSquares rate_of_squares;    ///< where squares are averaged
  RateOfVariance rate_of_variance;  ///< where outputs have rates, but none are given
};

/// Which variant of the filter a kernel computes.
enum class Kind {
  plain,
  cut,      ///< the range weight has a cut
  rated,    ///< each output has a rate, given or made from the box of 3x3 about it: w = 2^(exponents - (rate d)^2)
  squares,  ///< outputs are rates, made from the mean squared difference
};

/// Any window. `rates` lie as the voxels of `out` do; null where there are none, or where they are made on the way.
void run(Kind, const DeviceView<const float>& in, const DeviceView<float>& out, const float* rates, int3 offset,
         const Window&, const LaunchContext&);

/// A window of one slice without a cut, with one weight for both voxels of a pair.
struct FlatWindow {
  static constexpr int least_ry = 2, most_ry = 7, most_rx = 7;

  float exponent[most_rx + 1][most_ry + 1];  ///< log2 of the spatial weight by |dx|, |dy|; -inf outside the window
  int rx, ry;
  float scale, unscale;
  Border border;
};

/// Sums are made in another order than by run().
void run_symmetric(const DeviceView<const float>& in, const DeviceView<float>& out, int3 offset, const FlatWindow&,
                   const LaunchContext&);

}  // namespace quietvox::cuda::bilateral
