// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/provenance/noise_json.hpp"

#include <algorithm>
#include <array>

namespace quietvox {

Json to_json(const NoiseModel& model) {
  const Triple<double> length = model.spectrum.length();
  const auto [low, high] = std::minmax_element(model.map.values.begin(), model.map.values.end());
  Json json = {{"sigma", model.sigma},
               {"distribution", FieldType<NoiseDistribution>::format(model.distribution)},
               {"correlation_length", {length.x, length.y, length.z}},
               {"lowest", model.sigma * static_cast<double>(*low)},
               {"highest", model.sigma * static_cast<double>(*high)},
               {"contrast", model.contrast},
               {"step", model.step},
               {"impulses", model.impulses},
               {"masked_background", model.masked},
               {"places", model.places},
               {"confidence", FieldType<Confidence>::format(model.confidence)},
               {"reason", model.reason}};
  if (const SignalVariance* const variance = model.signal_variance()) {
    json.update({{"gain", variance->gain}, {"offset", variance->offset}});
  }
  return json;
}

Json to_json(const NoiseSpectrum& spectrum) {
  Json rows = Json::array();
  for (std::int64_t y = 0; y < spectrum.size.y; ++y) {
    const auto row = spectrum.in_plane.begin() + y * spectrum.size.x;
    rows.push_back(std::vector<float>(row, row + spectrum.size.x));
  }
  constexpr std::array axes{"x", "y", "z"};
  return {{"in_plane", rows},
          {"across", spectrum.across},
          {"across_axis", axes[static_cast<std::size_t>(spectrum.across_axis)]}};
}

}  // namespace quietvox
