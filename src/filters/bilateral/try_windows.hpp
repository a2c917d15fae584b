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

/// In an image, of one voxel along one axis, wide windows take little time. Parts of a small one are too small to try
/// them.
constexpr bool is_large_image(const Extent& extent) {
  constexpr std::int64_t least = 192;
  int flat = 0, large = 0;
  for (int axis = 0; axis < 3; ++axis) {
    flat += extent[axis] == 1 ? 1 : 0;
    large += extent[axis] >= least ? 1 : 0;
  }
  return flat == 1 && large == 2;
}

/// The members that are range sigmas.
template <class Params>
using RangeSigmas = std::initializer_list<std::optional<double> Params::*>;

/// `usual` or, if that is expected to leave less error, the same with another window where it is automatic in `given`,
/// and with other `range_sigmas`. Where they `follow_map`, they are multiplied by the noise of each part.
template <class Params>
Params with_best_window(const Params& usual, const Params& given, const NoiseModel& noise, const VolumeFacts& facts,
                        void (*kernel)(VolumeView<const float>, VolumeView<float>, const Params&, const Execution&),
                        RangeSigmas<Params> range_sigmas, bool follow_map) {
  struct Factors {
    double domain, range;
  };
  const auto best = [&](const Params& so_far, std::span<const Factors> factors, const Gain& gain) {
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
    if (others.empty()) return so_far;
    const auto error = ExpectedError::of(noise, facts, reach);
    if (!error) return so_far;
    const RangeSigmas<Params> by_noise = follow_map ? range_sigmas : RangeSigmas<Params>();
    return best_of(*error, so_far, others, kernel, by_noise, facts.execution, gain);
  };
  // A narrower window bears a larger range sigma.
  constexpr auto tried =
      std::to_array<Factors>({{1, 0.7}, {1, 0.85}, {1, 1.2}, {0.8, 1}, {0.8, 1.2}, {0.6, 1.2}, {0.6, 1.5}, {0.6, 2}});
  constexpr auto wide = std::to_array<Factors>({{1.5, 1}, {widest_tried, 1}});
  constexpr Gain much{0.2, 0.01};  // the parts that are tried may hold fewer edges than the rest
  const Params found = best(usual, tried, {});
  return is_large_image(facts.extent) ? best(found, wide, much) : found;
}

}  // namespace quietvox
