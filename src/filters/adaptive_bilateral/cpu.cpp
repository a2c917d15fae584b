// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/adaptive_bilateral.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "filters/adaptive_bilateral/local_rates.hpp"
#include "filters/bilateral/tiled.hpp"
#include "filters/bilateral/try_windows.hpp"

namespace quietvox {
namespace {

using namespace bilateral_kernel;

RatesOfTile variance_rule(const AdaptiveBilateralParams& params) {
  return [&params](const Tile& tile, std::span<const Tap>, const RangeWeight& range, std::int64_t width,
                   std::int64_t rows, float* rates, std::int64_t pitch) {
    const Radius3 box = params.statistics_radius();
    const auto kappa = static_cast<float>(params.kappa);
    const double lowest = range.scaled(*params.lowest_range_sigma), highest = range.scaled(*params.highest_range_sigma);
    if (!params.map.varies()) {
      local_rates(tile, box, {kappa, static_cast<float>(lowest), static_cast<float>(highest)}, width, rows, rates,
                  pitch);
      return;
    }
    local_rates(tile, box, {kappa, 0, RangeWeight::missing}, width, rows, rates, pitch);
    std::vector<float> noise(static_cast<std::size_t>(width));
    for (std::int64_t y = 0; y < rows; ++y) {
      params.map.row({tile.place.x, tile.place.y + y, tile.place.z}, params.volume, noise);
      for (std::int64_t x = 0; x < width; ++x) {
        const double local = noise[static_cast<std::size_t>(x)];
        float& rate = rates[y * pitch + x];
        rate = std::clamp(rate, RangeWeight::rate_of(highest * local), RangeWeight::rate_of(lowest * local));
      }
    }
  };
}

RatesOfTile two_pass_rule(const AdaptiveBilateralParams& params) {
  return [&params](const Tile& tile, std::span<const Tap> taps, const RangeWeight& range, std::int64_t width,
                   std::int64_t rows, float* rates, std::int64_t pitch) {
    mean_squares(tile, taps, range.with_sigma(*params.range_sigma), width, rows, rates, pitch);
    // 0.5 log2(e) / (0.5 sqrt(v + regularisation))^2; v is never below 0
    constexpr auto numerator = static_cast<float>(2 * std::numbers::log2e);
    const auto regularisation = static_cast<float>(range.scaled(range.scaled(*params.regularisation)));
    for (std::int64_t y = 0; y < rows; ++y) {
      for (float& value : std::span(rates + y * pitch, static_cast<std::size_t>(width))) {
        value = std::min(numerator / (value + regularisation), std::numeric_limits<float>::max());
      }
    }
  };
}

}  // namespace

AdaptiveBilateralParams AdaptiveBilateralParams::resolved(const VolumeFacts& facts) const {
  AdaptiveBilateralParams params = *this;
  BilateralParams window = with_range_sigma(0);
  std::optional<NoiseModel> noise = window.resolve_window(facts, name);
  const auto needed_for = [&](std::string_view field) {
    if (!noise) noise = facts.noise_for(field);
  };
  params.domain_sigma = window.domain_sigma;
  params.radius = window.radius;
  params.widest_radius_ = window.halo();
  if (rule == RangeRule::variance) {
    if (!lowest_range_sigma) needed_for("lowest-range-sigma");
    if (!highest_range_sigma) needed_for("highest-range-sigma");
    if (noise && !(lowest_range_sigma && highest_range_sigma)) {
      const bool follows_map = !lowest_range_sigma && !highest_range_sigma;
      const double sigma = noise->trusted_sigma(), strongest = follows_map ? sigma : sigma * noise->map.largest();
      if (!lowest_range_sigma)
        params.lowest_range_sigma = std::min(0.5 * sigma, highest_range_sigma.value_or(INFINITY));
      if (!highest_range_sigma) params.highest_range_sigma = std::max(3 * strongest, *params.lowest_range_sigma);
      if (follows_map) {
        params.map = noise->map;
        params.volume = facts.extent;
        params = with_best_window(
            params, *this, *noise, facts, adaptive_bilateral_cpu,
            {&AdaptiveBilateralParams::lowest_range_sigma, &AdaptiveBilateralParams::highest_range_sigma}, true);
      }
    } else if (lowest_range_sigma && highest_range_sigma && *lowest_range_sigma > *highest_range_sigma) {
      throw Error(Errc::invalid_argument,
                  std::string(name) + ": " + Parameter{"lowest-range-sigma"} + " = " +
                      FieldType<double>::format(*lowest_range_sigma) + " is above " + Parameter{"highest-range-sigma"} +
                      " = " + FieldType<double>::format(*highest_range_sigma),
                  "give a smaller number");
    }
  } else {
    if (!range_sigma) needed_for("range-sigma");
    if (!range_sigma && noise) params.range_sigma = range_sigma_for(*noise) * noise->map.largest();
    if (!regularisation) {
      if (const auto range = facts.intensities_for("regularisation")) {
        const double grey_level = (range->max - range->min) / 255;
        params.regularisation = 0.01 * grey_level * grey_level;
      }
    }
  }
  return params;
}

BilateralParams AdaptiveBilateralParams::with_range_sigma(double sigma) const {
  BilateralParams params;
  params.domain_sigma = domain_sigma;
  params.range_sigma = sigma;
  params.radius = radius;
  params.truncate = truncate;
  params.support = support;
  params.border = border;
  return params;
}

double AdaptiveBilateralParams::scale() const {
  return rule == RangeRule::variance ? *highest_range_sigma : std::max(*range_sigma, 0.5 * std::sqrt(*regularisation));
}

void adaptive_bilateral_cpu(VolumeView<const float> in, VolumeView<float> out, const AdaptiveBilateralParams& params,
                            const Execution& execution) {
  const RatesOfTile rates = params.rule == RangeRule::variance ? variance_rule(params) : two_pass_rule(params);
  run_bilateral(in, out, params.with_range_sigma(params.scale()), rates, execution);
}

}  // namespace quietvox
