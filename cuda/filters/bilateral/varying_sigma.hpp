// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/resources.hpp"
#include "filters/bilateral.hpp"

/// The bilateral filter where each output has a range sigma of its own.
namespace quietvox::cuda {

struct RateOfSquares;  // of rates.cuh, for kernels
struct RateOfVariance;

/// `rates` lie on the device as the voxels of `out` do.
void bilateral_with_rates(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params,
                          const float* rates, const LaunchContext&);

/// The same with the rates of boxes of 3x3 voxels, for windows of one slice that hold such a box.
void bilateral_with_rates(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params,
                          const RateOfVariance&, const LaunchContext&);

/// Clamps the rates of outputs by the noise at each voxel, given by the `map` of `volume`: where the noise is m times
/// that of the volume, to lowest_rate / m and highest_rate / m.
void bound_rates(VolumeView<float> rates, float lowest_rate, float highest_rate, const CoarseField& map,
                 const Extent& volume, const LaunchContext&);

/// Rates from the mean squared differences that the weights of `params` give. The kernel scales differences by
/// sqrt(log2(e) / 2) / params.range_sigma.
void rates_of_squares(VolumeView<const float> in, VolumeView<float> rates, const BilateralParams& params,
                      const RateOfSquares&, const LaunchContext&);

}  // namespace quietvox::cuda
