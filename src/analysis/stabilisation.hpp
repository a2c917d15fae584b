// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execution.hpp"
#include "core/noise_model.hpp"
#include "core/volume.hpp"

namespace quietvox {

/// Stabilises the variance of a magnitude m = |nu + n|, n complex Gaussian of unit sigma per part, so that any filter
/// for Gaussian noise of sigma 1 can be used, and takes the bias of the magnitude out on the way back.
///
/// Forward: f with the slope 1 / sqrt(V(a)), where V(a) = a^2 + 2 - M(a)^2 is the variance of m for nu = a, M(a) its
/// mean, and a solves M(a) = m (delta method); below M(0) the slope is that of a = 0; above 8, f is sqrt(m^2 - 1/2) and
/// a constant. Back: the nu whose expectation of f is the filtered value (Foi 2011, "Noise estimation and removal in MR
/// imaging: the variance-stabilization approach", ISBI), and 0 below that of nu = 0. The standard deviation of f lies
/// between 0.88 and 1.07 for every nu.
double stabilise_rician(double magnitude);
double unstabilise_rician(double filtered);

/// Turns the Rician noise of a volume into Gaussian noise of the same local sigma s: a voxel m becomes s f(m / s),
/// which is nearly m where the signal is strong.
class Stabilisation {
 public:
  Stabilisation(const NoiseModel& noise, const Extent& extent) : noise_(noise), extent_(extent) {}

  /// True where noise is Rician and its measure is to be trusted.
  static bool helps(const NoiseModel&);

  /// Voxels of some slices, in place; missing ones stay as they are.
  void apply(VolumeView<float> slices, const Execution&) const;
  void undo(VolumeView<float> slices, const Execution&) const;

  /// The noise of what apply() makes.
  NoiseModel noise_after() const;

 private:
  template <class Change>
  void for_each(VolumeView<float> slices, const Execution&, const Change& change) const;

  NoiseModel noise_;
  Extent extent_;
};

}  // namespace quietvox
