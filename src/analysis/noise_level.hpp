// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <vector>

#include "analysis/noise_bricks.hpp"
#include "core/noise_model.hpp"

namespace quietvox {

/// How badly logarithms of energies fit: the mean of (residual / spread)^2, each at most 9. `spread` is the standard
/// deviation that noise gives them. About 1 for a good fit.
double misfit(std::span<const double> residuals, double spread);

/// How the variance of noise varies over a volume: the exponential of a cubic polynomial of the place, or not at all.
class NoiseLevel {
 public:
  explicit NoiseLevel(const NoiseBricks& bricks);

  /// Fits the polynomial to the logarithms of the energies of some bricks; `spread` is the standard deviation that
  /// noise gives them. Structure only ever adds energy, so bricks far above the polynomial soon count no more. The
  /// level is the same everywhere if the noise is uniform, or the bricks are too few to tell.
  void fit(std::vector<std::size_t> candidates, const std::vector<double>& energy, double spread);
  /// How badly the best polynomial fits.
  double misfit_of(std::span<const std::size_t> candidates, std::span<const double> log_energy, double spread) const;

  /// Variance of a brick over the mean of all.
  double variance(std::size_t brick) const { return variance_[brick]; }
  /// The standard deviation relative to its root mean square.
  CoarseField map() const;

 private:
  static constexpr std::size_t terms = 20;
  using Terms = std::array<double, terms>;

  struct Polynomial {
    Terms coefficients{};
    std::vector<double> weights;  ///< of the candidates
  };
  Polynomial polynomial_of(std::span<const std::size_t> candidates, std::span<const double> log_energy, double spread,
                           double ridge) const;
  /// Takes the polynomial found with this ridge, if it varies. Returns how many candidates lie near it.
  std::size_t take(const std::vector<std::size_t>& candidates, const std::vector<double>& log_energy, double spread,
                   double ridge);
  static Terms terms_at(const Triple<double>& place);
  static double product(const Terms& a, const Terms& b);
  static void solve(std::array<Terms, terms>& matrix, Terms& right);

  Extent extent_;
  std::vector<Terms> terms_;
  std::vector<double> variance_;
  bool varies_ = false;
  Terms polynomial_{};
  double lowest_ = 0, highest_ = 0, mean_ = 0;  ///< logarithms of variances
};

}  // namespace quietvox
