// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <vector>

#include "filters/bilateral.hpp"
#include "filters/common/expected_error.hpp"

namespace quietvox {

/// The members that are range sigmas.
template <class Params>
using RangeSigmas = std::initializer_list<std::optional<double> Params::*>;

/// `usual` or, if that is expected to leave less error, the same with a narrower window where it is automatic in
/// `given`, and with other `range_sigmas`. Where they `follow_map`, they are multiplied by the noise of each part.
template <class Params>
Params with_best_window(const Params& usual, const Params& given, const NoiseModel& noise, const VolumeFacts& facts,
                        void (*kernel)(VolumeView<const float>, VolumeView<float>, const Params&, const Execution&),
                        RangeSigmas<Params> range_sigmas, bool follow_map) {
  const auto error = ExpectedError::of(noise, facts, usual.halo());
  if (!error) return usual;
  struct Factors {
    double domain, range;
  };
  // A narrower window bears a larger range sigma.
  constexpr std::array<Factors, 7> tried{{{1, 0.7}, {1, 0.85}, {1, 1.2}, {0.8, 1}, {0.8, 1.2}, {0.6, 1.2}, {0.6, 1.5}}};
  std::vector<Params> others;
  for (const Factors& by : tried) {
    if (given.domain_sigma && by.domain != 1) continue;
    Params& other = others.emplace_back(usual);
    for (const auto range_sigma : range_sigmas) *(other.*range_sigma) *= by.range;
    for (int axis = 0; axis < 3; ++axis) (*other.domain_sigma)[axis] *= by.domain;
    if (!given.domain_sigma && !given.radius) {
      other.radius = automatic_radius(facts, *other.domain_sigma, other.truncate);
    }
  }
  const RangeSigmas<Params> by_noise = follow_map ? range_sigmas : RangeSigmas<Params>();
  return best_of(*error, usual, others, kernel, by_noise, facts.execution);
}

}  // namespace quietvox
