// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/resources.hpp"
#include "filters/bilateral.hpp"

namespace quietvox::cuda {

/// The bilateral filter with one weight for both voxels of a pair. Does nothing and returns false unless the window is
/// flat, 2 to 7 voxels to either side along y and no more than 7 along x, and has no range cut. That choice never
/// depends on the size of the box, because sums are made in another order than by the other kernels.
bool bilateral_symmetric_weights(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params,
                                 const LaunchContext&);

}  // namespace quietvox::cuda
