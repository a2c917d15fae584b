// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "analysis/noise_spectrum_fit.hpp"
#include "core/noise_model.hpp"

namespace quietvox {

constexpr double least_floor = 0.5;  ///< NoiseSpectrumFit::floor() of noise is about 0.8; of less, it is structure
constexpr double spoilt = 0.6;       ///< NoiseSpectrumFit::flatness() below which structure is as strong as the noise

/// Lowers the confidence, if it is higher, and says why.
void lower_confidence(NoiseModel&, Confidence, std::string reason);

/// The same where few parts of an image tell of the noise.
void lower_confidence_in_few(NoiseModel&, std::int64_t parts);

/// Noise of CT is; white noise is not.
bool is_correlated_across_slices(const NoiseModel&);

/// Whether the highest frequencies, which structure hardly reaches, show more than structure alone leaves there: then
/// there is white noise besides. `finest`: sigma by these.
bool is_white(const NoiseModel&, double finest);

/// What the confidence depends on besides the model.
struct NoiseEvidence {
  const NoiseSpectrumFit& fit;  ///< to the usual number of bricks
  double finest;                ///< sigma by its highest frequencies
  std::int64_t object, partly;  ///< bricks; those that are part background
  bool few_parts_differ;        ///< the flattest bricks of a small object do, by more than noise
  bool is_as_air;               ///< the noise of the air, the same everywhere, is as strong as what the object shows
  std::string why_magnitudes;   ///< why voxels may be, though nothing says so for sure; empty if they are not
};

/// Sets the confidence, and why it is not high.
void judge(NoiseModel&, const NoiseEvidence&);

}  // namespace quietvox
