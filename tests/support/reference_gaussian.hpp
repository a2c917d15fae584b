// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "filters/gaussian.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {

/// The Gaussian filter as its contract writes it, in double; `params` are resolved. The recursive approximation is
/// summed up as a convolution with its impulse response.
Volume reference_gaussian(const Volume& in, const GaussianParams& params);

/// How far a result may be from the reference: 2e-6 of the range, or 1e-5 where an axis is recursive, + 4 ulp(max |u|).
double gaussian_tolerance(const Volume& in, const GaussianParams& params);

}  // namespace quietvox::test
