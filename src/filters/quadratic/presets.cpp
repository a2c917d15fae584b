// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/quadratic/coefficients.hpp"

namespace quietvox {
namespace {

/// y = x + Teager(x) / 2: see the header.
QuadraticCoefficients mammogram_enhance() {
  QuadraticCoefficients h;
  h.h1 = {0, 0, 0, 0, 1, 0, 0, 0, 0};
  h.h2.assign(45, 0);
  h.h2_at(4, 4) = 1.5;
  h.h2_at(3, 5) = h.h2_at(1, 7) = -0.5;
  h.h2_at(0, 8) = h.h2_at(2, 6) = -0.25;
  h.name = "mammogram-enhance";
  h.provenance = "the image and half of its two-dimensional Teager operator";
  return h;
}

/// What `quietvox train-quadratic --ridge 0.01` makes of the CT phantom, 512x512x40, with Gaussian noise of 40 (seed
/// 7), rounded.
QuadraticCoefficients denoise() {
  QuadraticCoefficients h;
  h.h1 = {0.03638, 0.11346, 0.04088, 0.14632, 0.32745, 0.14726, 0.04031, 0.11178, 0.03616};
  h.h2 = {-0.0537,  0.02147,  -0.04637, 0.00079,  -0.08736, -0.03054, 0.11287,  -0.02076, 0.0632,
          -0.02837, 0.00779,  0.04936,  0.27868,  0.08766,  -0.03427, -0.30543, -0.04957, -0.04031,
          0.08649,  -0.14765, 0.03433,  0.0726,   -0.006,   -0.02503, -0.03697, -0.07039, 0.05721,
          0.03206,  -0.05833, 0.01254,  -0.01144, 0.07171,  -0.11395, 0.59873,  -0.18751, -0.02299,
          -0.10987, -0.09729, 0.06862,  -0.05068, -0.01993, 0.06404,  -0.07765, 0.06278,  -0.05057};
  h.name = "denoise";
  h.provenance = "trained on the CT phantom with Gaussian noise of 1 % of the range";
  return h;
}

}  // namespace

const std::vector<QuadraticCoefficients>& quadratic_presets() {
  static const std::vector<QuadraticCoefficients> all{denoise(), mammogram_enhance()};
  return all;
}

}  // namespace quietvox
