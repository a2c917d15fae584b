// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/host_device.hpp"
#include "cuda/resources.hpp"
#include "filters/bilateral.hpp"

/// The bilateral filter's kernel where each output has a range sigma of its own, given by its rate: params.range_sigma
/// over that sigma.
namespace quietvox::cuda {

/// Differences times the largest rate, and their squares' sums, stay finite or become infinite, never NaN.
inline constexpr float largest_rate = 1e19F;

/// The rate of a mean squared difference, which comes scaled by the kernel: 1 / sqrt(gain mean + offset).
struct RateOfSquares {
  float gain, offset;
#ifdef __CUDACC__
  __device__ float operator()(float mean) const { return fminf(rsqrtf(fmaf(gain, mean, offset)), largest_rate); }
#endif
};

/// `rates` lie on the device as the voxels of `out` do.
void bilateral_with_rates(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params,
                          const float* rates, const Queue&);

/// Rates from the mean squared differences that the weights of `params` give. The kernel scales differences by
/// sqrt(log2(e) / 2) / params.range_sigma.
void rates_of_squares(VolumeView<const float> in, VolumeView<float> rates, const BilateralParams& params,
                      const RateOfSquares&, const Queue&);

}  // namespace quietvox::cuda
