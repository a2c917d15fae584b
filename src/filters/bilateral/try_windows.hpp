// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "filters/bilateral.hpp"
#include "filters/common/expected_error.hpp"

namespace quietvox {

constexpr double widest_tried = 2.5;  ///< times the automatic domain sigma

/// `usual` or, if that is expected to leave less error, the same with another window where it is automatic in `given`,
/// and with other `range_sigmas`. These are in proportion to the noise of a part where they `follow_map`.
template <class Params>
Params with_best_window(const Params& usual, const Params& given, const NoiseModel& noise, const VolumeFacts& facts,
                        void (*kernel)(VolumeView<const float>, VolumeView<float>, const Params&, const Execution&),
                        std::initializer_list<std::optional<double> Params::*> range_sigmas, bool follow_map) {
  struct Factors {
    double domain, range;
  };
  const auto best = [&](const Params& so_far, std::span<const Factors> factors, double clearly) {
    std::vector<Params> others;
    Radius3 reach = so_far.halo();
    for (const Factors& by : factors) {
      if (given.domain_sigma && by.domain != 1) continue;
      Params& other = others.emplace_back(usual);
      for (const auto range_sigma : range_sigmas) *(other.*range_sigma) *= by.range;
      for (int axis = 0; axis < 3; ++axis) (*other.domain_sigma)[axis] *= by.domain;
      if (!given.domain_sigma && !given.radius) {
        other.radius = automatic_radius(facts, *other.domain_sigma, other.truncate);
      }
      for (int axis = 0; axis < 3; ++axis) reach[axis] = std::max(reach[axis], other.halo()[axis]);
    }
    const auto error = ExpectedError::of(noise, facts, reach);
    using Members = std::initializer_list<std::optional<double> Params::*>;
    return error ? best_of(*error, so_far, others, kernel, follow_map ? range_sigmas : Members(), facts.execution,
                           clearly)
                 : so_far;
  };
  // A narrower window bears a larger range sigma.
  constexpr auto tried =
      std::to_array<Factors>({{1, 0.7}, {1, 0.85}, {1, 1.2}, {0.8, 1}, {0.8, 1.2}, {0.6, 1.2}, {0.6, 1.5}, {0.6, 2}});
  constexpr auto wide = std::to_array<Factors>({{1.5, 1}, {widest_tried, 1}});
  const Params found = best(usual, tried, clearly_better);
  return is_large_image(facts.extent) ? best(found, wide, very_clearly_better) : found;
}

}  // namespace quietvox
