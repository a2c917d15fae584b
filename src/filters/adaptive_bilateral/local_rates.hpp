// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "filters/bilateral/kernel.hpp"

namespace quietvox::bilateral_kernel {

/// sigma = clamp(kappa s, lowest, highest), in scaled intensities.
struct VarianceRule {
  float kappa, lowest, highest;
};

/// The rates of the range weights whose sigmas follow the standard deviation (n - 1) of the voxels present in the box
/// about each of `rows` rows of `width` outputs. Rows of rates lie `pitch` apart and have room for slack more.
void local_rates(const Tile&, Radius3 box, const VarianceRule&, std::int64_t width, std::int64_t rows, float* rates,
                 std::int64_t pitch);

}  // namespace quietvox::bilateral_kernel
