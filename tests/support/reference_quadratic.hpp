// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "filters/quadratic/coefficients.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {

/// The quadratic filter as its contract writes it, in double; `params` are resolved.
Volume reference_quadratic(const Volume& in, const QuadraticParams& params, const QuadraticCoefficients&);

/// How far a result may be from the reference: 1e-5 (highest - lowest) + 4 ulp(max |u|), the former times the largest
/// x^2 where that is above 1.
double quadratic_tolerance(const Volume& in, const QuadraticParams& params);

}  // namespace quietvox::test
