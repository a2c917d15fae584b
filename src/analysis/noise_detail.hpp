// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/volume_view.hpp"

namespace quietvox {

/// A smooth function of the place: linear between nodes, six along each axis. Places are as NoiseBricks::place gives
/// them.
class NoiseDetail {
 public:
  /// Weighted least squares. A difference of one between neighbouring nodes costs `stiffness`. Where nothing is known
  /// it goes on as it was nearby, and only slowly to 0.
  void fit(std::span<const Triple<double>> places, std::span<const double> values, std::span<const double> weights,
           double stiffness);
  double at(const Triple<double>& place) const;

 private:
  static constexpr std::size_t along = 6, count = along * along * along;
  struct Corner {
    std::size_t node;
    double weight;
  };
  static std::array<Corner, 8> corners(const Triple<double>& place);

  std::vector<double> nodes_ = std::vector<double>(count);
};

}  // namespace quietvox
