// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/execution.hpp"
#include "core/noise_model.hpp"
#include "core/volume_view.hpp"

namespace quietvox {

/// Stabilises the variance of a magnitude m = |nu + n|, n complex Gaussian of unit sigma per part, so that any filter
/// for Gaussian noise of sigma 1 can be used, and takes the bias of the magnitude out on the way back.
///
/// Forward: f with the slope 1 / sqrt(V(a)), where V(a) = a^2 + 2 - M(a)^2 is the variance of m for nu = a, M(a) its
/// mean, and a solves M(a) = m (delta method); below M(0) the slope is that of a = 0; above 8, f is sqrt(m^2 - 1/2) and
/// a constant. Back: the nu whose expectation of f is the filtered value (Foi 2011, "Noise estimation and removal in MR
/// imaging: the variance-stabilization approach", ISBI), and 0 below that of nu = 0. The standard deviation of f lies
/// between 0.88 and 1.07 for every nu. Numbers below 0, which are no magnitudes but may be a background, stay.
double stabilise_rician(double magnitude);
double unstabilise_rician(double filtered);

/// Stabilises the variance of Poisson noise, gain u + offset, to 1 (generalised Anscombe transform):
///
///     f(u) = 2 sqrt(max(c + 3/8, 0)), c = (gain u + offset) / gain^2
///
/// and, unless the offset is 0, c + 3 where c is below -3, as of voxels much darker than all that the variance was
/// found by. Back: the u whose expectation of f is the filtered value D (Makitalo and Foi 2013, "Optimal inversion of
/// the generalized Anscombe transformation for Poisson-Gaussian noise", IEEE Transactions on Image Processing 22:91):
///
///     u = gain (D^2 / 4 + sqrt(3/2) / (4 D) - 11 / (8 D^2) + 5 sqrt(3/2) / (8 D^3) - 1/8) - offset / gain
///
/// which is within 0.05 gain of it, and 0.03 standard deviations where the variance is gain^2 or more. From there on
/// the standard deviation of f lies between 0.84 and 1.1. D from sqrt(3/2), f of no counts, down to 0 becomes the u
/// without variance. Below 0, it becomes that u plus gain D: such voxels come back at most 3 gain brighter. With an
/// offset of 0 nothing is less than no counts. The gain is above 0.
double stabilise_poisson(double value, const SignalVariance&);
double unstabilise_poisson(double filtered, const SignalVariance&);

/// Stabilises the variance of speckle, gain u^2 + offset, to 1. With g the root of the gain, by the integral of 1 over
/// the standard deviation:
///
///     f(u) = asinh(g u / sqrt(offset)) / g,   back:  u = sqrt(offset) / g sinh(g (D + g / 2 tanh(g D)))
///
/// where the tanh takes the bias out, to second order: within 0.03 standard deviations, up to g = 0.2. The standard
/// deviation of f lies between 0.98 and 1.15 there. Gain and offset are above 0.
double stabilise_speckle(double value, const SignalVariance&);
double unstabilise_speckle(double filtered, const SignalVariance&);

/// Turns the noise of a volume, which is not Gaussian, into Gaussian noise of the same local sigma s. With Rician noise
/// a voxel u becomes s f(u / s), which is nearly u where the signal is strong; with other noise it becomes s f(u), f
/// for the variance at that place.
class Stabilisation {
 public:
  /// Of noise that is not Gaussian.
  Stabilisation(const NoiseModel& noise, const Extent& extent) : noise_(noise), extent_(extent) {}

  /// True if noise was found that is not Gaussian: Rician with any confidence, other kinds with medium or high.
  static bool helps(const NoiseModel&);

  /// Voxels of a part of the volume, in place; missing ones stay as they are.
  void apply(VolumeView<float> part, const Execution&) const;
  /// A filter leaves some noise, which would make the air of magnitudes, where no signal can be below 0, 0.2 s bright:
  /// a signal nu < 1.5 s becomes sqrt(nu^2 - 0.08 s^2 (1 - nu^2 / (1.5 s)^2)^2), 0 where that is less.
  void undo(VolumeView<float> part, const Execution&) const;

  /// The noise of what apply() makes.
  NoiseModel noise_after() const;
  /// What is stabilised: `Rician noise`, `Poisson noise` or `speckle`.
  std::string noise_before() const;

 private:
  template <class Change>
  void for_each(VolumeView<float> part, const Execution&, const Change& change) const;

  NoiseModel noise_;
  Extent extent_;
};

}  // namespace quietvox
