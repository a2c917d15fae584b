// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "analysis/noise_bricks.hpp"
#include "analysis/noise_map_fit.hpp"
#include "core/noise_model.hpp"

namespace quietvox {

/// Groups of in-plane frequencies.
struct NoiseBands {
  std::vector<bool> lowest;      ///< no brick is flat at these
  std::vector<bool> next;        ///< beside the lowest
  std::vector<bool> after_next;  ///< beside those
  std::vector<bool> low;         ///< at which structure is strong
  std::vector<bool> high;
  std::vector<bool> fine_along_x, fine_along_y;  ///< high along this axis and low along the other
  std::vector<std::size_t> by_frequency;         ///< all, in ascending order

  explicit NoiseBands(const Extent& size);
};

/// Flatness below which structure shows among the noise.
constexpr double mixed_flatness = 0.8;

/// Fits the noise model to bricks of cosine energies.
class NoiseSpectrumFit {
 public:
  /// Chooses the `chosen` flattest bricks. `flat`: the share of all bricks that is expected to be flat, at least twice
  /// the chosen number; 1: all are. `repaired`: some voxels were replaced, which spoils the highest frequencies.
  /// `kurtosis`: see NoiseLevel.
  NoiseSpectrumFit(const NoiseBricks& bricks, std::size_t chosen, double flat, bool repaired,
                   std::span<const double> kurtosis = {});

  void run();

  // Once it has run:
  double variance() const;
  /// The median over the bricks instead of their mean.
  double median_variance() const { return variance() * level_.median_variance(); }
  const std::vector<std::size_t>& chosen() const { return order_; }
  NoiseSpectrum spectrum() const;
  CoarseField map() const { return level_.map({}, variance()); }
  /// The same for noise of this sigma; bricks of air count too.
  CoarseField map(std::span<const LocalNoise> air, double sigma) const { return level_.map(air, sigma * sigma); }
  /// Mean power next to the lowest frequencies over the mean power above the lowest. It is large for noise whose power
  /// mostly lies at frequencies too low for bricks of this size.
  double steepness() const { return steepness_; }
  /// Energy of the flattest few bricks over that of flat ones. For noise it is a little below 1, because noise is the
  /// same in all bricks. Structure without noise leaves some bricks nearly empty, and it is far below 1.
  double floor() const { return floor_; }
  /// True if the energies of the flattest bricks differ less than those of noise would: then they hold a repeated
  /// pattern, such as the lines of a grid.
  bool is_pattern() const { return scatter_ < 0.55; }
  /// Power at low in-plane frequencies, fitted in two ways: to high frequencies across slices, over that fitted to low
  /// ones, where structure lies. Near 1 for noise; less if even the flattest bricks hold structure; 1 if there are too
  /// few slices to tell.
  double flatness() const { return flatness_; }

  /// Variance by the highest frequencies alone, of the bricks that have least there. Structure adds least to it. It is
  /// less than that of the noise where that is correlated.
  double finest_variance() const;

  /// Bricks that look like noise: their energy falls with frequency no more steeply than that of this noise, in the
  /// plane and across slices.
  struct LikeNoise {
    std::vector<std::size_t> bricks;
    std::vector<double> log_variance;  ///< in noise, their mean is the logarithm of the variance
    double spread = 0;                 ///< their standard deviation in noise
  };
  LikeNoise like_noise(const NoiseBricks& bricks) const;

 private:
  double at(std::size_t brick, std::size_t k, std::size_t p) const;
  /// Of each brick, at some in-plane frequencies and the higher half of those across slices.
  std::vector<double> fine_energy(const std::vector<bool>& frequencies) const;
  double contrast() const;  ///< standard deviation of structure within bricks over that of the noise
  /// The bricks of least energy, in ascending order of their index where equal.
  void choose(const std::vector<double>& energy);
  /// Mean energy of the chosen bricks over that of all flat bricks. It is below 1, because bricks that are quiet by
  /// chance were chosen. How many are flat is judged by the distribution of the chosen energies and by what is
  /// expected.
  double mean_of_chosen(const std::vector<double>& energy, double freedom) const;
  /// For noise that is stronger than the structure: the flattest bricks are then those with the weakest noise. Takes
  /// all bricks that look like noise instead, if they agree.
  void heed_all_like_noise();
  /// Finds the power from the chosen bricks. That of an in-plane frequency is fitted to all frequencies across slices;
  /// at low frequencies, where structure is strong, only to the upper half of them.
  void fit_spectrum();
  /// Finds what repeats all over the image and is no noise: lines along an axis of the slice, whose power stands out
  /// from the frequencies beside them and is much the same in all bricks, and what is the same in all slices. Gives
  /// them the power of what is beside them, and leaves them out of the energy of bricks. The power of noise changes
  /// gradually with frequency. `squares`: of the coefficients of the chosen bricks, by frequency.
  void leave_out_lines(std::vector<double>& power, std::span<float> squares);
  void leave_out_constant_across(std::span<const double> power, std::span<float> squares);
  /// How far the flattest bricks lie below flat ones, in logarithms, relative to what chance gives for noise. 1 if
  /// there are too few bricks to tell; more if flat bricks hold structure.
  double scatter_of(std::vector<double> energy, double freedom) const;
  static double floor_of(std::vector<double> energy);
  /// The variance of coefficients, given their squares: by the median of these, which structure in some bricks does not
  /// change; if they are few, by their mean.
  static double middle(std::span<float> squares);
  /// Limits the power of the lowest frequencies to that of the next ones; if there is structure, first the power of
  /// these to that of the ones after them.
  void bound_lowest();
  void bound(const std::vector<bool>& frequencies, const std::vector<bool>& limits);
  double mean_of(const std::vector<bool>& frequencies) const;
  /// Power, averaged over 3x3 frequencies as logarithms, without the lowest.
  std::vector<double> smoothed() const;

  /// The energy of each brick, with frequencies weighted so that noise is white; 1 on average for noise.
  struct Whitened {
    std::vector<double> energy;
    std::vector<double> slope;   ///< logarithm of the energy of the lower half of in-plane frequencies over the upper
    std::vector<double> across;  ///< the same of frequencies across slices
    double freedom = 0;          ///< `energy` of noise varies like chi squared numbers of so many degrees
    double across_spread = 0;    ///< standard deviation of `across` in noise
  };
  Whitened whiten(const NoiseBricks& bricks) const;
  /// Bricks whose slopes lie less than so many standard deviations above those of noise.
  std::vector<std::size_t> with_slope_of_noise(const Whitened& whitened, double spreads) const;

  const NoiseBricks& bricks_;
  NoiseBands bands_;
  std::size_t brick_count_, plane_, depth_, chosen_;
  double chosen_share_;
  bool all_are_flat_, repaired_;
  NoiseLevel level_;
  std::vector<std::size_t> order_;
  double correction_ = 1, flatness_ = 1, floor_ = 1, steepness_ = 1, scatter_ = 1;
  std::vector<double> in_plane_, across_;
  std::vector<bool> is_line_;  ///< in-plane frequencies
  bool is_constant_across_ = false;
};

}  // namespace quietvox
