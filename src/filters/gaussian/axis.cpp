// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/gaussian/axis.hpp"

#include <algorithm>

namespace quietvox {
namespace gaussian {

Axis axis_of(const GaussianParams& params, const Spacing& spacing, int axis) {
  constexpr double largest_sampled_sigma = 6;
  const double sigma = (*params.sigma)[axis] / spacing[axis];
  const bool recursive =
      params.algorithm == GaussianAlgorithm::recursive ||
      (params.algorithm == GaussianAlgorithm::by_sigma && sigma > largest_sampled_sigma * (1 + 1e-9));
  return {sigma, recursive};
}

std::vector<double> sampled_weights(const Axis& axis) {
  std::vector<double> weights;
  double sum = 0;
  for (int n = 0; n <= axis.radius(); ++n) {
    weights.push_back(n == 0 ? 1 : std::exp(-0.5 * (n / axis.sigma) * (n / axis.sigma)));
    sum += (n == 0 ? 1 : 2) * weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

Recursion make_recursion(double sigma) {
  struct Term {
    double a, b, frequency, decay;
  };
  constexpr std::array<Term, 2> terms{{{1.3530, 1.8151, 0.6681, 1.3932}, {-0.3531, 0.0902, 2.0787, 1.3732}}};
  Recursion recursion{};
  double sum = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto& [a, b, frequency, decay] = terms[i];
    const double e = std::exp(-decay / sigma), less = -std::expm1(-decay / sigma);
    const double angle = frequency / sigma, half = std::sin(angle / 2);
    // 1 - e cos(angle) and 1 - 2 e cos(angle) + e^2 without the cancellation
    const double one_less = less + 2 * e * half * half, gain = less * less + 4 * e * half * half;
    recursion.sections[i] = {2 * e * std::cos(angle), -e * e, a, -e * (a * std::cos(angle) - b * std::sin(angle)),
                             1 / gain};
    recursion.own += a;
    sum += 2 * (a * one_less + b * e * std::sin(angle)) / gain - a;
  }
  for (Section& section : recursion.sections) {
    section.b0 /= sum;
    section.b1 /= sum;
  }
  recursion.own /= sum;
  return recursion;
}

std::vector<int> filtered_axes(const GaussianParams& params) {
  std::vector<int> axes;
  for (const int axis : {2, 1, 0}) {
    if (params.reach[axis] > 0) axes.push_back(axis);
  }
  return axes;
}

bool has_recursion(const GaussianParams& params, const Spacing& spacing) {
  const std::vector<int> axes = filtered_axes(params);
  return std::any_of(axes.begin(), axes.end(), [&](int axis) { return axis_of(params, spacing, axis).recursive; });
}

Radius3 rim(const GaussianParams& params, const Spacing& spacing) {
  Radius3 width{};
  for (const int axis : filtered_axes(params)) width[axis] = axis_of(params, spacing, axis).radius();
  return width;
}

}  // namespace gaussian

GaussianParams GaussianParams::resolved(const VolumeFacts& facts) const {
  GaussianParams params = *this;
  const Spacing& spacing = facts.spacing;
  if (!sigma) {
    params.sigma = Triple<double>{};
    for (int axis = 0; axis < 3; ++axis) {
      if (!facts.takes_part(axis)) continue;
      (*params.sigma)[axis] = std::min(facts.in_plane_spacing(), largest_sigma * spacing[axis]);
    }
  }
  for (int axis = 0; axis < 3; ++axis) {
    params.reach[axis] = 0;
    if (facts.extent[axis] == 1) continue;
    const gaussian::Axis one = gaussian::axis_of(params, spacing, axis);
    if (one.sigma > largest_sigma) {
      throw Error(Errc::invalid_argument,
                  "gaussian: " + Parameter{"sigma"} + " = " + FieldType<Triple<double>>::format(*params.sigma) +
                      " is more than " + FieldType<double>::format(largest_sigma) + " voxels along " +
                      std::string(1, "xyz"[axis]),
                  "give at most " + FieldType<double>::format(largest_sigma * spacing[axis]) + " (mm)");
    }
    params.reach[axis] = static_cast<int>(std::min(one.reach(), facts.extent[axis] - 1));
  }
  return params;
}

}  // namespace quietvox
