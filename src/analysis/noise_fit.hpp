// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "analysis/noise_bricks.hpp"
#include "analysis/noise_level.hpp"
#include "core/noise_model.hpp"

namespace quietvox {

/// Which in-plane frequencies are used for what.
struct NoiseBands {
  std::vector<bool> lowest;  ///< at which no brick is flat
  std::vector<bool> next;    ///< beside the lowest
  std::vector<bool> after_next;
  std::vector<bool> low;  ///< at which structure is strong
  std::vector<bool> high;
  std::vector<std::size_t> by_frequency;  ///< all, in ascending order

  explicit NoiseBands(const Extent& size);
};

/// Flatness below which structure shows among the noise.
constexpr double mixed_flatness = 0.8;

/// Fits the noise model to bricks of cosine energies.
class NoiseFit {
 public:
  /// Chooses the flattest bricks, so many; corrects for that as if a share of all were flat, or twice the chosen ones.
  /// `mended`: some voxels were, which spoils the highest frequencies.
  NoiseFit(const NoiseBricks& bricks, std::size_t chosen, double flat, bool mended);

  void run();

  // Once it has run:
  double variance() const;
  const std::vector<std::size_t>& chosen() const { return order_; }
  NoiseSpectrum spectrum() const;
  CoarseField map() const { return level_.map(); }
  /// Power beside the lowest frequencies over that of all above them: of noise whose power mostly lies lower than
  /// bricks of this size resolve, it is large.
  double steepness() const { return steepness_; }
  /// Energy of the very flattest bricks over that of flat ones. Noise fills all alike, so that this is not far below 1;
  /// structure alone leaves some bricks with next to nothing.
  double floor() const { return floor_; }
  /// True where the energies of the flattest bricks differ by less than those of noise with their spectrum would: what
  /// they hold is a pattern that repeats, such as lines of a grid.
  bool is_pattern() const { return scatter_ < 0.55; }
  /// Power at low in-plane frequencies that does not reach across slices, over that which does, as noise has it. Near 1
  /// in noise, less where there is structure even in the flattest bricks. 1 where there are too few slices to tell.
  double flatness() const { return flatness_; }

  /// Bricks that look like noise: of bricks of energies, those whose energy has the slope of this noise, in the plane
  /// and across.
  struct LikeNoise {
    std::vector<std::size_t> bricks;
    std::vector<double> log_variance;  ///< logarithms, of which noise has the mean of the variance's logarithm
    double spread = 0;                 ///< of them, in noise
  };
  LikeNoise like_noise(const NoiseBricks& bricks) const;

 private:
  double at(std::size_t brick, std::size_t k, std::size_t p) const;
  /// The bricks of least energy, in ascending order of their index where equal.
  void choose(const std::vector<double>& energy);
  /// Power from the chosen bricks. That of an in-plane frequency is fitted to all frequencies across slices, but where
  /// structure is strong, to the upper half.
  void fit_spectrum();
  /// By how much the flattest bricks lie below flat ones, in logarithms, over what chance makes of noise. 1 where there
  /// are too few bricks to tell; more where flat ones hold structure.
  double scatter_of(std::vector<double> energy, double freedom) const;
  static double floor_of(std::vector<double> energy);
  /// The variance that squared coefficients are of: by their median, which structure in some bricks does not change,
  /// but where they are few.
  static double middle(std::span<float> squares);
  /// The lowest frequencies are as strong as those beside them at most; those too, where there is structure.
  void bound_lowest();
  void bound(const std::vector<bool>& frequencies, const std::vector<bool>& limits);
  double mean_of(const std::vector<bool>& frequencies) const;
  /// Power averaged in its logarithm over 3x3 frequencies, but for the lowest.
  std::vector<double> smoothed() const;

  /// Energies of each brick, every frequency weighted by what noise has there; 1 on average for noise.
  struct Whitened {
    std::vector<double> energy;
    std::vector<double> slope;   ///< logarithm of the energy of the lower half of in-plane frequencies over the upper
    std::vector<double> across;  ///< the same of frequencies across slices
    double freedom = 0;          ///< `energy` of noise varies like chi squared numbers of so many degrees
    double across_spread = 0;    ///< standard deviation of `across` in noise
  };
  Whitened whiten(const NoiseBricks& bricks) const;
  std::vector<std::size_t> with_slope_of_noise(const Whitened& whitened) const;

  const NoiseBricks& bricks_;
  NoiseBands bands_;
  std::size_t brick_count_, plane_, depth_, chosen_;
  double chosen_share_;
  bool mended_;
  NoiseLevel level_;
  std::vector<std::size_t> order_;
  double correction_ = 1, flatness_ = 1, floor_ = 1, steepness_ = 1, scatter_ = 1;
  std::vector<double> in_plane_, across_;
};

}  // namespace quietvox
