// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "filters/adaptive_bilateral.hpp"

namespace quietvox::test {

/// The range sigma of the voxel at p of the input, in double; `params` are resolved.
double reference_range_sigma(VolumeView<const float> in, const AdaptiveBilateralParams& params, Index3 p);

/// The filter as its contract writes it, voxel by voxel in double.
void reference_adaptive_bilateral(VolumeView<const float> in, VolumeView<float> out,
                                  const AdaptiveBilateralParams& params);

/// How far a result may be from the reference: 1e-5 of the largest range sigma + 4 ulp(max |u|).
double adaptive_bilateral_tolerance(VolumeView<const float> in, const AdaptiveBilateralParams& params);

}  // namespace quietvox::test
