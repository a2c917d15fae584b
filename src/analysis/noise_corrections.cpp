// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise_corrections.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "analysis/noise_spectrum_fit.hpp"
#include "analysis/rician.hpp"

namespace quietvox {

void scale_by(NoiseModel& model, double factor) {
  model.sigma *= factor;
  model.poisson = model.poisson.of_scaled(factor);
  model.speckle = model.speckle.of_scaled(factor);
  model.contrast *= factor;
  model.step *= factor;
  model.background *= static_cast<float>(factor);
  for (float& value : model.uniform_values) value *= static_cast<float>(factor);
}

void set_sigma(NoiseModel& model, double sigma) {
  const double factor = model.sigma > 0 ? sigma / model.sigma : 0;
  model.poisson = model.poisson.times(factor * factor);
  model.speckle = model.speckle.times(factor * factor);
  model.sigma = sigma;
}

void take_as_white(NoiseModel& model, double sigma) {
  model.contrast = std::hypot(model.contrast, std::sqrt(model.sigma * model.sigma - sigma * sigma));
  set_sigma(model, sigma);
  model.spectrum = {};
}

void add_low_frequencies(NoiseModel& model, double sigma) {
  const double gain = (sigma / model.sigma) * (sigma / model.sigma);
  const std::vector<bool> lowest = NoiseBands(model.spectrum.size).lowest;
  const auto frequencies = static_cast<double>(lowest.size());
  const double more = (gain - 1) * frequencies / static_cast<double>(std::count(lowest.begin(), lowest.end(), true));
  for (std::size_t p = 0; p < lowest.size(); ++p) {
    const double power = static_cast<double>(model.spectrum.in_plane[p]) + (lowest[p] ? more : 0);
    model.spectrum.in_plane[p] = static_cast<float>(power / gain);
  }
  set_sigma(model, sigma);
}

double less_structure(double sigma, double of_quiet) {
  constexpr double much = 0.7;  // of sigma
  return of_quiet > 0 && of_quiet < much * sigma ? of_quiet : sigma;
}

namespace {

/// No signal is weaker than noise alone: what varies more than that is structure.
double most_rician_sigma(double signal, double shown) {
  return std::max(std::min(koay_sigma(signal, shown), signal / rayleigh_mean), shown);
}

}  // namespace

double rician_sigma(double signal, double shown) { return std::sqrt(shown * most_rician_sigma(signal, shown)); }

bool correct_rician(NoiseModel& model, double signal, const Air& air) {
  constexpr double weak = 5;  // sigmas
  constexpr double alike = 1.35;
  model.distribution = NoiseDistribution::rician;
  if (!(signal > 0)) return false;
  if (air.is_even && signal < weak * air.sigma) {
    const double ratio = model.sigma / rician_deviation(signal, air.sigma);
    if (ratio < alike && alike * ratio > 1) {
      set_sigma(model, air.sigma);
      return true;
    }
  }
  if (signal < weak * model.sigma) set_sigma(model, most_rician_sigma(signal, model.sigma));
  return false;
}

}  // namespace quietvox
