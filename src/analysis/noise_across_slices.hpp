// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "analysis/noise_bricks.hpp"
#include "core/noise_model.hpp"

namespace quietvox {

/// Noise that is stronger in some slices than in others, as in CT where shoulders begin, or where series were joined.
/// Then even the flattest bricks of these slices have more energy, and by as much at high frequencies as at lower ones.
/// Structure, which differs from slice to slice too, leaves some bricks as they are, and adds more at lower
/// frequencies.
class NoiseAcrossSlices {
 public:
  /// Varies nowhere unless the bricks, which hold cosine energies, clearly show it.
  explicit NoiseAcrossSlices(const NoiseBricks& energies);

  bool varies() const { return !log_sigma_.empty(); }
  /// Between the logarithms of sigma of the quietest and the loudest slices; 0 where it varies nowhere.
  double range() const { return range_; }
  /// Scales the energies of each brick as if its noise had the mean variance.
  void make_even(NoiseBricks& energies);
  /// What else varies, times the standard deviation in each slice over its root mean square.
  CoarseField times(const CoarseField& map) const;

 private:
  double at(double place) const;

  double range_ = 0;
  std::vector<double> log_sigma_;  ///< at places from the first slice to the last
  double mean_ = 0;                ///< logarithm of the root mean square of the bricks that were made even
};

}  // namespace quietvox
