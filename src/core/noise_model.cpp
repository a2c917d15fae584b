// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/noise_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "core/coarse_field_view.hpp"

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

double NoiseSpectrum::correlation(const Triple<double>& along_axes) const {
  Triple<double> distance = along_axes;
  std::swap(distance[across_axis], distance.z);
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
  Extent sizes = size;
  std::swap(sizes[across_axis], sizes.z);
  for (int axis = 0; axis < 3; ++axis) {
    if (sizes[axis] == 1) continue;
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

double CoarseField::largest() const { return static_cast<double>(*std::max_element(values.begin(), values.end())); }

double CoarseField::at(const Index3& voxel, const Extent& extent) const {
  return CoarseFieldView{values.data(), size, extent}.at(voxel.x, voxel.y, voxel.z);
}

void CoarseField::row(const Index3& first, const Extent& extent, std::span<float> to) const {
  const CoarseFieldView view{values.data(), size, extent};
  const auto y = CoarseFieldView::place(first.y, extent.y, size.y),
             z = CoarseFieldView::place(first.z, extent.z, size.z);
  const auto value = [](double here, double next, double weight) {
    return static_cast<float>(CoarseFieldView::bounded(CoarseFieldView::between(here, next, weight)));
  };
  const std::int64_t last = first.x + std::ssize(to);
  float* at = to.data();
  for (std::int64_t voxel = first.x; voxel < last;) {  // up to each node
    const auto x = CoarseFieldView::place(voxel, extent.x, size.x);
    const double here = view.at_node(x.node, y, z), next = view.at_node(x.next, y, z);
    *at++ = value(here, next, x.weight);
    for (++voxel; voxel < last && voxel * (size.x - 1) < x.next * (extent.x - 1); ++voxel) {
      *at++ = value(here, next, CoarseFieldView::weight(voxel, x.node, extent.x, size.x));
    }
  }
}

}  // namespace quietvox
