// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <vector>

#include "core/execution.hpp"
#include "core/noise_model.hpp"
#include "core/volume_facts.hpp"
#include "core/volume_view.hpp"

namespace quietvox {

/// The error that a filter is expected to leave in a volume with Gaussian noise, tried on pieces of it: mean square
/// over the variance of the noise, by Stein's unbiased risk estimate (Stein 1981),
///
///     E |f(y) - x|^2 / n = |f(y) - y|^2 / n - sigma^2 + 2 tr(C J) / n
///
/// where C is the covariance of the noise and J the Jacobian of f; the trace is that of one random change b of all
/// voxels, correlated as the noise, sigma^2 b (f(y + e b) - f(y)) / e (Ramani, Blu and Unser 2008). No truth is needed.
/// It says which of several parameters is best; its own error is some hundredths, and more as sigma is wrong.
class ExpectedError {
 public:
  /// Filters a piece, less its mean; `level`: its noise over the sigma of the volume.
  using Run = std::function<void(VolumeView<const float> in, VolumeView<float> out, double level)>;

  /// None where there are no pieces, where the noise is not known well or not Gaussian, or where windows that reach so
  /// far see too much beyond a piece.
  static std::optional<ExpectedError> of(const NoiseModel&, const VolumeFacts&, const Radius3& reach);

  double operator()(const Run&) const;

 private:
  struct Piece {
    std::vector<float> voxels, changed;
    double level, step;
  };

  double sigma_ = 0;
  Extent size_;
  Triple<std::int64_t> margin_{};  ///< voxels at the border that do not see all that they see in the volume
  Spacing spacing_{1, 1, 1};
  std::vector<float> change_;  ///< of each voxel, in steps
  std::vector<Piece> pieces_;
};

/// The best of `others` if it is better than `usual` by more than chance, else `usual`. `by_noise`: the parameters that
/// are in proportion to the noise of a piece.
template <class Params>
Params best_of(const ExpectedError& error, Params usual, const std::vector<Params>& others,
               void (*kernel)(VolumeView<const float>, VolumeView<float>, const Params&, const Execution&),
               std::initializer_list<std::optional<double> Params::*> by_noise, const Execution& execution) {
  constexpr double clearly = 0.98, by_chance = 0.005;
  const auto error_of = [&](const Params& params) {
    return error([&](VolumeView<const float> in, VolumeView<float> out, double level) {
      Params here = params;
      here.map = {};
      here.volume = in.extent;
      for (const auto parameter : by_noise) *(here.*parameter) *= level;
      kernel(in, out, here, execution);
    });
  };
  double least = clearly * error_of(usual) - by_chance;
  for (const Params& other : others) {
    if (const double left = error_of(other); left < least) {
      least = left;
      usual = other;
    }
  }
  return usual;
}

}  // namespace quietvox
