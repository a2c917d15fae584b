// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise_level.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace quietvox {
namespace {

constexpr double doubtful = 5, trusted = 0.5;  // ridges

double square(double value) { return value * value; }

}  // namespace

double misfit(std::span<const double> residuals, double spread) {
  constexpr double most = 9;
  double sum = 0;
  for (const double residual : residuals) sum += std::min(square(residual / spread), most);
  return sum / static_cast<double>(residuals.size());
}

NoiseLevel::NoiseLevel(const NoiseBricks& bricks)
    : extent_(bricks.extent()), variance_(static_cast<std::size_t>(bricks.count()), 1) {
  for (std::int64_t i = 0; i < bricks.count(); ++i) terms_.push_back(terms_at(bricks.place(i)));
}

NoiseLevel::Terms NoiseLevel::terms_at(const Triple<double>& place) {
  Terms values{};
  std::size_t i = 0;
  double x = 1;
  for (int a = 0; a <= 3; ++a, x *= place.x) {
    double xy = x;
    for (int b = 0; a + b <= 3; ++b, xy *= place.y) {
      double xyz = xy;
      for (int c = 0; a + b + c <= 3; ++c, xyz *= place.z) values[i++] = xyz;
    }
  }
  return values;
}

double NoiseLevel::product(const Terms& a, const Terms& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Solves a positive definite system in place (Cholesky).
void NoiseLevel::solve(std::array<Terms, terms>& matrix, Terms& right) {
  for (std::size_t i = 0; i < terms; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= matrix[i][k] * matrix[j][k];
      matrix[i][j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / matrix[j][j];
    }
  }
  for (std::size_t i = 0; i < terms; ++i) {
    for (std::size_t k = 0; k < i; ++k) right[i] -= matrix[i][k] * right[k];
    right[i] /= matrix[i][i];
  }
  for (std::size_t i = terms; i-- > 0;) {
    for (std::size_t k = i + 1; k < terms; ++k) right[i] -= matrix[k][i] * right[k];
    right[i] /= matrix[i][i];
  }
}

NoiseLevel::Polynomial NoiseLevel::polynomial_of(std::span<const std::size_t> candidates,
                                                 std::span<const double> log_energy, double spread,
                                                 double ridge) const {
  constexpr int iterations = 16;
  std::vector<double> sorted(log_energy.begin(), log_energy.end());
  const auto start = sorted.begin() + static_cast<std::ptrdiff_t>(3 * sorted.size() / 10);
  std::nth_element(sorted.begin(), start, sorted.end());
  Terms polynomial{};
  polynomial[0] = *start;
  std::vector<double> weights(candidates.size());
  double width = 2.5;
  for (int iteration = 0; iteration < iterations; ++iteration, width *= 0.75) {
    const double scale = std::max(3 * spread, width);
    std::array<Terms, terms> matrix{};
    Terms right{};
    for (std::size_t j = 0; j < candidates.size(); ++j) {
      const Terms& at = terms_[candidates[j]];
      const double excess = (log_energy[j] - product(at, polynomial)) / scale;
      weights[j] = 1 / (1 + (excess > 0 ? square(square(excess)) : square(excess / 3)));
      for (std::size_t a = 0; a < terms; ++a) {
        for (std::size_t b = 0; b <= a; ++b) matrix[a][b] += weights[j] * at[a] * at[b];
        right[a] += weights[j] * at[a] * log_energy[j];
      }
    }
    for (std::size_t a = 1; a < terms; ++a) matrix[a][a] += ridge;
    solve(matrix, right);
    polynomial = right;
  }
  return {polynomial, std::move(weights)};
}

double NoiseLevel::misfit_of(std::span<const std::size_t> candidates, std::span<const double> log_energy,
                             double spread) const {
  const Polynomial polynomial = polynomial_of(candidates, log_energy, spread, trusted);
  std::vector<double> residuals;
  for (std::size_t j = 0; j < candidates.size(); ++j) {
    residuals.push_back(log_energy[j] - product(terms_[candidates[j]], polynomial.coefficients));
  }
  return misfit(residuals, spread);
}

std::size_t NoiseLevel::take(const std::vector<std::size_t>& candidates, const std::vector<double>& log_energy,
                             double spread, double ridge) {
  constexpr double least_variation = 0.05, near = 0.3;
  const auto [polynomial, weights] = polynomial_of(candidates, log_energy, spread, ridge);
  std::vector<double> levels;
  for (std::size_t j = 0; j < candidates.size(); ++j) {
    if (weights[j] > near) levels.push_back(product(terms_[candidates[j]], polynomial));
  }
  if (levels.empty()) return 0;
  std::sort(levels.begin(), levels.end());
  const double low = levels[levels.size() / 100], high = levels[levels.size() - 1 - levels.size() / 100];
  double sum = 0, squares = 0, variances = 0;
  std::vector<double> level(variance_.size());
  for (std::size_t i = 0; i < variance_.size(); ++i) {
    level[i] = std::clamp(product(terms_[i], polynomial), low, high);
    sum += level[i];
    squares += square(level[i]);
    variances += std::exp(level[i]);
  }
  const auto count = static_cast<double>(variance_.size());
  if (0.5 * std::sqrt(std::max(squares / count - square(sum / count), 0.0)) < least_variation) return levels.size();
  varies_ = true;
  polynomial_ = polynomial;
  lowest_ = low;
  highest_ = high;
  mean_ = std::log(variances / count);
  for (std::size_t i = 0; i < variance_.size(); ++i) variance_[i] = std::exp(level[i] - mean_);
  return levels.size();
}

void NoiseLevel::fit(std::vector<std::size_t> candidates, const std::vector<double>& energy, double spread) {
  constexpr double of_one_mind = 0.75;  // of the candidates: the others lie above the polynomial, as structure does
  constexpr std::size_t fewest_bricks = 100, fewest_of_one_mind = 50;
  constexpr std::size_t many_bricks = 3500;  // of fewer, structure alone may be of one mind
  constexpr std::size_t most_bricks = 1024;
  if (candidates.size() > most_bricks) {
    for (std::size_t j = 0; j < most_bricks; ++j) candidates[j] = candidates[j * candidates.size() / most_bricks];
    candidates.resize(most_bricks);
  }
  std::vector<double> log_energy;
  for (const std::size_t i : candidates) {
    // The mean of the logarithm lies below the logarithm of the mean.
    log_energy.push_back(std::log(std::max(energy[i], 1e-300)) + 0.5 * square(spread));
  }
  varies_ = false;
  std::fill(variance_.begin(), variance_.end(), 1.0);
  if (candidates.size() < fewest_of_one_mind) return;
  // Whether it varies is for the cautious fit to say.
  const std::size_t near = take(candidates, log_energy, spread, doubtful);
  const bool are_of_one_mind = variance_.size() >= many_bricks &&
                               static_cast<double>(near) >= of_one_mind * static_cast<double>(candidates.size());
  if (near < (are_of_one_mind ? fewest_of_one_mind : fewest_bricks)) varies_ = false;
  if (varies_ && are_of_one_mind) take(candidates, log_energy, spread, trusted);
  if (!varies_) std::fill(variance_.begin(), variance_.end(), 1.0);
}

CoarseField NoiseLevel::map() const {
  constexpr std::int64_t nodes = 8;
  CoarseField map;
  if (!varies_) return map;
  map.values.clear();
  for (int axis = 0; axis < 3; ++axis) map.size[axis] = std::min(extent_[axis], nodes);
  for (std::int64_t i = 0; i < map.size.voxels(); ++i) {
    Triple<double> place;
    std::int64_t rest = i;
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t node = rest % map.size[axis];
      rest /= map.size[axis];
      place[axis] =
          map.size[axis] > 1 ? 2 * static_cast<double>(node) / static_cast<double>(map.size[axis] - 1) - 1 : 0;
    }
    const double level = std::clamp(product(terms_at(place), polynomial_), lowest_, highest_);
    map.values.push_back(static_cast<float>(std::exp(0.5 * (level - mean_))));
  }
  return map;
}

}  // namespace quietvox
