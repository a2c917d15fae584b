// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "filters/gaussian.hpp"

/// What the Gaussian filter does along one axis, for every backend.
namespace quietvox::gaussian {

/// One of the two second-order filters whose outputs add up:
///
///     w(n) = x(n) + a1 w(n-1) + a2 w(n-2),   y(n) = b0 w(n) + b1 w(n-1)
struct Section {
  double a1, a2, b0, b1;
  double steady;  ///< w where x has been 1 for ever
};

/// The recursive Gaussian: the sections run along the axis and against it, both see the voxel itself, and `own` times
/// the voxel is taken from the sum, so that it counts once.
struct Recursion {
  std::array<Section, 2> sections;
  double own;
};

/// The recursion starts anew at every voxel whose place is a multiple of this ...
inline constexpr std::int64_t restart_every = 128;
/// ... from a steady state so many voxels before.
inline std::int64_t warm_up(double sigma) { return static_cast<std::int64_t>(std::ceil(10 * sigma)); }

/// What is read of a voxel.
enum class Reading {
  plain,     ///< its value
  present,   ///< its value, 0 where it is missing
  presence,  ///< 1, 0 where it is missing
};

/// How an axis is filtered; sigma in voxels.
struct Axis {
  double sigma;
  bool recursive;

  /// Radius of the sampled Gaussian.
  int radius() const { return static_cast<int>(std::lround(5 * sigma)); }
  /// The farthest voxel that an output depends on.
  std::int64_t reach() const {
    if (sigma == 0) return 0;
    return recursive ? warm_up(sigma) + restart_every - 1 : radius();
  }
};

/// An axis of resolved parameters.
Axis axis_of(const GaussianParams&, const Spacing&, int axis);

/// Weights of the offsets 0 .. radius; those of both sides add up to 1.
std::vector<double> sampled_weights(const Axis&);

Recursion make_recursion(double sigma);

/// The axes that are filtered, in their order: z, y, x. z is first, since slabs have neighbours along z only: later
/// passes read no more voxels than they write.
std::vector<int> filtered_axes(const GaussianParams&);

/// True where an axis is recursive.
bool has_recursion(const GaussianParams&, const Spacing&);

/// Distance from the edge, per axis, within which border `copy` leaves voxels alone.
Radius3 rim(const GaussianParams&, const Spacing&);

/// Sum of recursive weights from which on an average of the voxels present means something.
inline constexpr float least_present = 0.01F;

}  // namespace quietvox::gaussian
