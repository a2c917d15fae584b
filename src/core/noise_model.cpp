// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/noise_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

namespace quietvox {
namespace {

/// Weights that integrate a spectrum, sampled at k / (2 n) cycles per voxel and constant beyond the last sample, times
/// the cosine of a distance: exact for a spectrum that is constant about each sample.
std::vector<double> cosine_weights(std::int64_t n, double distance) {
  std::vector<double> weights;
  const auto integral = [&](double k) {  // of the cosine from frequency 0 to k / (2 n), times 2
    const double angle = std::numbers::pi * k * distance / static_cast<double>(n);
    return distance == 0 ? k / static_cast<double>(n) : std::sin(angle) / (std::numbers::pi * distance);
  };
  for (std::int64_t k = 0; k < n; ++k) {
    const double low = k == 0 ? 0 : static_cast<double>(k) - 0.5;
    const double high = k + 1 == n ? static_cast<double>(n) : static_cast<double>(k) + 0.5;
    weights.push_back(integral(high) - integral(low));
  }
  return weights;
}

}  // namespace

double NoiseSpectrum::correlation(const Triple<double>& distance) const {
  const auto x = cosine_weights(size.x, distance.x), y = cosine_weights(size.y, distance.y);
  const auto x0 = cosine_weights(size.x, 0), y0 = cosine_weights(size.y, 0);
  double plane = 0, plane_power = 0, line = 0, line_power = 0;
  for (std::size_t j = 0, i = 0; j < y.size(); ++j) {
    for (std::size_t k = 0; k < x.size(); ++k, ++i) {
      plane += x[k] * y[j] * static_cast<double>(in_plane[i]);
      plane_power += x0[k] * y0[j] * static_cast<double>(in_plane[i]);
    }
  }
  const auto z = cosine_weights(size.z, distance.z), z0 = cosine_weights(size.z, 0);
  for (std::size_t k = 0; k < z.size(); ++k) {
    line += z[k] * static_cast<double>(across[k]);
    line_power += z0[k] * static_cast<double>(across[k]);
  }
  return plane_power > 0 && line_power > 0 ? plane / plane_power * line / line_power : 0;
}

Triple<double> NoiseSpectrum::length() const {
  constexpr int farthest = 8;
  Triple<double> length{1, 1, 1};
  for (int axis = 0; axis < 3; ++axis) {
    if (size[axis] == 1) continue;
    for (int step = 1; step <= farthest; ++step) {
      Triple<double> distance;
      distance[axis] = step;
      const double r = correlation(distance);
      length[axis] += 2 * r * r;
    }
  }
  return length;
}

const SignalVariance* NoiseModel::signal_variance() const {
  return distribution == NoiseDistribution::poisson   ? &poisson
         : distribution == NoiseDistribution::speckle ? &speckle
                                                      : nullptr;
}

double NoiseModel::sigma_at(const Index3& voxel, const Extent& extent, double value) const {
  const SignalVariance* const variance = signal_variance();
  const bool is_followed = variance && std::isfinite(value);
  return (is_followed ? std::sqrt(std::max(variance->at(value), 0.0)) : sigma) * place_map().at(voxel, extent);
}

double NoiseModel::coarse_sigma(const Radius3& block) const {
  const Triple<double> length = spectrum.length();
  double variance = 1;
  for (int axis = 0; axis < 3; ++axis) variance *= block[axis] > 1 ? length[axis] : 1;
  return trusted_sigma() * std::sqrt(variance);
}

std::string NoiseModel::describe() const {
  const auto number = [](const char* format, double value) {
    char text[48];
    std::snprintf(text, sizeof text, format, value);
    return std::string(text);
  };
  if (sigma == 0) return "none found: " + reason;
  std::string text = number("sigma %.4g", sigma);
  if (distribution != NoiseDistribution::gaussian) {
    text += ", " + std::string(choices(distribution)[static_cast<std::size_t>(distribution)]);
  }
  if (const SignalVariance* const variance = signal_variance()) {
    text += number(" (variance %.3g times the ", variance->gain);
    text += variance->power == 2 ? "square of the value" : "value";
    if (variance->offset != 0) text += number(variance->offset > 0 ? " + %.3g" : " - %.3g", std::abs(variance->offset));
    text += ")";
  }
  const Triple<double> length = spectrum.length();
  constexpr double white = 1.1;
  if (std::max({length.x, length.y, length.z}) >= white) {
    text += ", correlated over " + number("%.2g", length.x) + " x " + number("%.2g", length.y) + " x " +
            number("%.2g", length.z) + " voxels";
  }
  if (const auto [low, high] = std::minmax_element(place_map().values.begin(), place_map().values.end()); low != high) {
    text += ", " + number("%.2g", *low) + " to " + number("%.2g", *high) + " times that over the volume";
  }
  if (impulses > 0) text += ", " + number("%.2g %%", 100 * impulses) + " impulses";
  text += ", confidence " + std::string(choices(confidence)[static_cast<std::size_t>(confidence)]);
  return reason.empty() ? text : text + ": " + reason;
}

double CoarseField::at(const Index3& voxel, const Extent& extent) const {
  Index3 node;
  Triple<double> weight;
  for (int axis = 0; axis < 3; ++axis) {
    if (size[axis] == 1 || extent[axis] == 1) continue;
    const double place = static_cast<double>(voxel[axis] * (size[axis] - 1)) / static_cast<double>(extent[axis] - 1);
    node[axis] = std::min(static_cast<std::int64_t>(place), size[axis] - 2);
    weight[axis] = place - static_cast<double>(node[axis]);
  }
  double sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    double share = 1;
    Index3 at = node;
    for (int axis = 0; axis < 3; ++axis) {
      const bool next = (corner >> axis & 1) != 0;
      share *= next ? weight[axis] : 1 - weight[axis];
      at[axis] += next;
    }
    if (share > 0)
      sum += share * static_cast<double>(values[static_cast<std::size_t>((at.z * size.y + at.y) * size.x + at.x)]);
  }
  return sum;
}

}  // namespace quietvox
