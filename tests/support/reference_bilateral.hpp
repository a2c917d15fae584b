// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "filters/bilateral.hpp"

namespace quietvox::test {

/// The bilateral filter as its contract writes it, voxel by voxel in double; `params` are resolved.
void reference_bilateral(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params);

/// How far a result may be from the reference: 1e-5 range_sigma + 4 ulp(max |u|).
double bilateral_tolerance(VolumeView<const float> in, const BilateralParams& params);

}  // namespace quietvox::test
