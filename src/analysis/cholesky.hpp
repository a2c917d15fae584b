// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace quietvox {

/// Solves a symmetric positive definite system in place. `entry(row, column)` is a reference to an entry of the matrix,
/// of which those with row - band <= column <= row are asked for; all others on that side are 0. They become the
/// factor of Cholesky, and `right` the solution.
template <class Entry>
void solve_positive_definite(std::size_t band, const Entry& entry, std::span<double> right) {
  constexpr double least_pivot = 1e-12;
  const std::size_t count = right.size();
  const auto first_of = [&](std::size_t row) { return row < band ? 0 : row - band; };
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = first_of(i); j <= i; ++j) {
      double sum = entry(i, j);
      for (std::size_t k = first_of(i); k < j; ++k) sum -= entry(i, k) * entry(j, k);
      entry(i, j) = i == j ? std::sqrt(std::max(sum, least_pivot)) : sum / entry(j, j);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = first_of(i); k < i; ++k) right[i] -= entry(i, k) * right[k];
    right[i] /= entry(i, i);
  }
  for (std::size_t i = count; i-- > 0;) {
    for (std::size_t k = i + 1; k < std::min(i + band + 1, count); ++k) right[i] -= entry(k, i) * right[k];
    right[i] /= entry(i, i);
  }
}

}  // namespace quietvox
