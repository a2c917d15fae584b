// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise_detail.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/cholesky.hpp"

namespace quietvox {

std::array<NoiseDetail::Corner, 8> NoiseDetail::corners(const Triple<double>& place) {
  std::array<Corner, 8> result{};
  Triple<double> above;
  std::size_t first = 0, step = 1;
  std::array<std::size_t, 3> steps{};
  for (int axis = 0; axis < 3; ++axis) {
    const double at = std::clamp(0.5 * (place[axis] + 1), 0.0, 1.0) * static_cast<double>(along - 1);
    const double node = std::min(std::floor(at), static_cast<double>(along - 2));
    above[axis] = at - node;
    first += static_cast<std::size_t>(node) * step;
    steps[static_cast<std::size_t>(axis)] = step;
    step *= along;
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = {first, 1};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const bool is_above = (i >> axis & 1) != 0;
      const double share = above[static_cast<int>(axis)];
      result[i].node += is_above ? steps[axis] : 0;
      result[i].weight *= is_above ? share : 1 - share;
    }
  }
  return result;
}

void NoiseDetail::fit(std::span<const Triple<double>> places, std::span<const double> values,
                      std::span<const double> weights, double stiffness) {
  // Nodes further apart than this share no place, so that the matrix is a band; row by row, the diagonal last.
  constexpr std::size_t band = along * along + along + 1, width = band + 1;
  std::vector<double> matrix(count * width);
  const auto entry = [&](std::size_t row, std::size_t column) -> double& {
    return matrix[row * width + band + column - row];
  };
  constexpr double pull = 0.02;  // to 0: weak, so that what is known nearby reaches far
  nodes_.assign(count, 0);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (weights[i] == 0) continue;
    const auto near = corners(places[i]);
    for (const Corner& a : near) {
      nodes_[a.node] += weights[i] * a.weight * values[i];
      for (const Corner& b : near) {
        if (b.node <= a.node) entry(a.node, b.node) += weights[i] * a.weight * b.weight;
      }
    }
  }
  for (std::size_t node = 0; node < count; ++node) {
    entry(node, node) += pull * stiffness;
    for (std::size_t step = 1; step < count; step *= along) {
      if (node / step % along == 0) continue;
      entry(node, node) += stiffness;
      entry(node - step, node - step) += stiffness;
      entry(node, node - step) -= stiffness;
    }
  }
  solve_positive_definite(band, entry, nodes_);
}

double NoiseDetail::at(const Triple<double>& place) const {
  double sum = 0;
  for (const Corner& one : corners(place)) sum += one.weight * nodes_[one.node];
  return sum;
}

}  // namespace quietvox
