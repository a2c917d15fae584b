// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "analysis/noise_bricks.hpp"
#include "analysis/noise_detail.hpp"
#include "core/noise_model.hpp"

namespace quietvox {

/// How badly logarithms of energies fit: the mean of (residual / spread)^2, each at most 9. `spread` is the standard
/// deviation that noise gives them. About 1 for a good fit.
double misfit(std::span<const double> residuals, double spread);

/// The noise of a part of a volume.
struct LocalNoise {
  Triple<double> place;  ///< as NoiseBricks::place gives it
  double log_variance;
};

/// How the variance of noise varies over a volume: the exponential of a cubic polynomial of the place and, where that
/// is not close enough, of what NoiseDetail adds; or not at all.
class NoiseLevel {
 public:
  /// `kurtosis`: of the voxels of each brick, as they were. Without it the level has no detail.
  explicit NoiseLevel(const NoiseBricks& bricks, std::span<const double> kurtosis = {});

  /// Fits the polynomial to the logarithms of the energies of some bricks; `spread` is the standard deviation that
  /// noise gives them. Structure only ever adds energy, so bricks far above the polynomial soon count no more. The
  /// `surest` bricks, which hold hardly any structure, decide whether the level varies. If it does, and nearly all
  /// `sure` bricks agree, those give its shape, and its detail, if they are distributed as noise is; else the `surest`
  /// do. Bricks of neither kind bound the detail from above. In one case the `sure` bricks alone decide:
  /// nearly all agree on a level that varies much, and `fine`, their energies at frequencies that are high along one
  /// axis, grow faster than it. Such are the streaks of CT where rays lose most; of texture, high frequencies grow
  /// more slowly. If the noise is uniform, or the bricks are too few to tell, the level is the same everywhere. A later
  /// fit starts where the one before it ended.
  void fit(std::span<const std::size_t> surest, std::span<const std::size_t> sure, const std::vector<double>& energy,
           std::span<const std::vector<double>> fine, double spread);
  /// How badly the best polynomial fits.
  double misfit_of(std::span<const std::size_t> bricks, std::span<const double> log_energy, double spread) const;

  /// Variance of a brick over the mean of all.
  double variance(std::size_t brick) const { return variance_[brick]; }
  double median_variance() const;  ///< over the bricks
  bool has_detail() const { return detail_.has_value(); }
  /// The standard deviation relative to its root mean square. Where there is `air`, which is free of structure, the map
  /// follows it. `variance`: the root mean square, squared.
  CoarseField map(std::span<const LocalNoise> air, double variance) const;

 private:
  static constexpr std::size_t terms = 20;
  using Terms = std::array<double, terms>;

  struct Candidates {
    std::vector<std::size_t> bricks{};
    std::vector<double> log_energy{};
  };
  struct Polynomial {
    Terms coefficients{};
    std::vector<double> weights{};  ///< of the candidates
  };
  static Candidates candidates_of(std::span<const std::size_t> bricks, const std::vector<double>& energy,
                                  double spread);
  /// The larger the ridge, the less does structure bend it, and the less does it follow what varies.
  Polynomial first_fit(const Candidates&, double spread, double ridge) const;
  /// Follows all that a cubic polynomial can. Structure bends it where many candidates hold some.
  Polynomial close_fit(const Candidates&, double spread, const Terms& start) const;
  /// `width`: how far above `start` candidates may lie that are followed at first.
  Polynomial fitted(const Candidates&, double spread, const Terms& start, double width, double ridge) const;
  /// By how much more the logarithms of energies of the candidates near the polynomial grow than it does.
  double growth_of(const std::vector<double>& energy, const Candidates&, const Polynomial&) const;
  /// What the candidates show beside the polynomial, such as a narrow hill. No brick lies far below both.
  NoiseDetail detail_beside(const Terms& polynomial, const Candidates&, const std::vector<double>& energy,
                            double spread) const;
  /// Takes the polynomial as the level. Returns false, and changes nothing, where the logarithms of sigma have a
  /// standard deviation below `least`.
  bool take(const Candidates&, const Polynomial&, double least, const std::optional<NoiseDetail>& = {});
  /// The same, with detail. Changes nothing also where too few candidates agree with it, less than a share of
  /// `least_near`, or what it explains is not distributed as noise is.
  bool take_with_detail(const Candidates&, const Terms& polynomial, const std::vector<double>& energy, double spread,
                        double least_near);
  /// Takes the level that most candidates agree on. Returns false, and changes nothing, where there is none or it
  /// hardly varies.
  bool follow(const Candidates&, const Terms& start, const std::vector<double>& energy, double spread);
  void stop_varying();
  /// Logarithm of the variance over the mean of all.
  double log_variance_at(const Triple<double>& place) const;
  /// What air says of the level near a node of the map.
  struct AirNear {
    double excess = 0;  ///< logarithm of its variance over that of the level
    double share = 0;   ///< of air among all that is near, less where there is little
  };
  std::vector<AirNear> air_near(std::span<const LocalNoise> air, double variance, const Extent& nodes) const;
  static bool varies(std::span<const AirNear>);
  static Terms terms_at(const Triple<double>& place);
  static double product(const Terms& a, const Terms& b);

  Extent extent_;
  std::vector<Triple<double>> places_;
  std::vector<Terms> terms_;
  std::vector<double> variance_;
  std::span<const double> kurtosis_;
  bool varies_ = false, is_close_ = false;
  Terms polynomial_{};
  std::optional<NoiseDetail> detail_;
  double lowest_ = 0, highest_ = 0, mean_ = 0;  ///< logarithms of variances
};

}  // namespace quietvox
