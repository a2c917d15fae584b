// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/rician.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>

namespace quietvox {
double rician_variance(double snr) {
  if (snr > 30) return 1;  // within 6e-4, and the Bessel functions do not overflow
  const double square = snr * snr, x = square / 4;
  const double bessel = (2 + square) * std::cyl_bessel_i(0.0, x) + square * std::cyl_bessel_i(1.0, x);
  return 2 + square - std::numbers::pi / 8 * std::exp(-square / 2) * bessel * bessel;
}

double koay_sigma(double mean, double deviation) {
  const double ratio = mean / deviation;
  double snr = ratio;
  for (int round = 0; round < 100; ++round) {
    snr = std::sqrt(std::max(rician_variance(snr) * (1 + ratio * ratio) - 2, 0.0));
  }
  return deviation / std::sqrt(rician_variance(snr));
}

double rician_deviation(double mean, double sigma) {
  // The mean square is signal^2 + 2 sigma^2, and also mean^2 + deviation^2.
  double deviation = sigma;
  for (int round = 0; round < 100; ++round) {
    const double square = mean * mean + deviation * deviation - 2 * sigma * sigma;
    deviation = sigma * std::sqrt(rician_variance(std::sqrt(std::max(square, 0.0)) / sigma));
  }
  return deviation;
}

ShortestHalf shortest_half(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  const std::size_t half = numbers.size() / 2 + 1;
  const auto width = [&](std::size_t i) { return numbers[i + half - 1] - numbers[i]; };
  std::size_t best = 0;
  for (std::size_t i = 0; i + half <= numbers.size(); ++i) {
    if (width(i) < width(best)) best = i;
  }
  const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(best);
  const double sum = std::accumulate(first, first + static_cast<std::ptrdiff_t>(half), 0.0);
  return {sum / static_cast<double>(half), width(best)};
}

}  // namespace quietvox
