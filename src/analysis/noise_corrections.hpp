// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/air.hpp"
#include "core/noise_model.hpp"

namespace quietvox {

/// What voxels multiplied by `factor` have.
void scale_by(NoiseModel&, double factor);

/// What follows the signal goes along with sigma.
void set_sigma(NoiseModel&, double sigma);

/// Takes what the model has more than that, at most its own sigma, for structure.
void take_as_white(NoiseModel&, double sigma);

/// Gives the model that sigma by adding variance to the lowest frequencies.
void add_low_frequencies(NoiseModel&, double sigma);

/// `of_quiet` if it is much lower than `sigma`: then `sigma` is mostly structure. Else `sigma`, which rests on more
/// numbers.
double less_structure(double sigma, double of_quiet);

/// Sigma of Rician noise that varies by `shown` where the mean is `signal`. The weaker the signal, the more a
/// correction makes of structure: half of it is made, in logarithms.
double rician_sigma(double signal, double shown);

/// Where the signal is weak, Rician noise varies less than its sigma. Air shows how much less, if its noise is the same
/// everywhere and agrees with that of the signal; else the signal does, but there texture makes much of a difference.
/// Returns true if air showed it.
bool correct_rician(NoiseModel&, double signal, const Air&);

}  // namespace quietvox
