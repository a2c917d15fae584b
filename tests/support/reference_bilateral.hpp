// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "filters/bilateral.hpp"

namespace quietvox::test {

/// The place in the whole volume of a place of the input.
Index3 in_volume(VolumeView<const float> in, Index3 p);

/// sum w (u_q - u_p) / sum w and sum w (u_q - u_p)^2 / sum w over the window of p, a place of the input.
struct BilateralMeans {
  double difference, square;
};
BilateralMeans bilateral_means(VolumeView<const float> in, const BilateralParams& params, Index3 p);

/// True where the voxel at p of the input is not to change whatever its window holds.
bool keeps_value(VolumeView<const float> in, Radius3 reach, Border border, Index3 p);

/// 4 ulp of the largest absolute value.
double four_ulp(VolumeView<const float> in);

/// The bilateral filter as its contract writes it, voxel by voxel in double; `params` are resolved.
void reference_bilateral(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params);

/// How far a result may be from the reference: 1e-5 of the largest range sigma + 4 ulp(max |u|).
double bilateral_tolerance(VolumeView<const float> in, const BilateralParams& params);

}  // namespace quietvox::test
