// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/pipeline.hpp"

namespace quietvox {

/// The noise that all volumes of a time or diffusion series are filtered by, so that the strength of a filter does not
/// wander from volume to volume.
class SeriesNoise {
 public:
  /// The noise of a volume, measured once for each filter that asks for it, in the order of the filters; none for a
  /// volume that is not filtered.
  using NoiseOf = std::function<std::optional<std::vector<NoiseModel>>(std::size_t volume)>;

  /// Measures the noise of up to nine volumes, spread evenly over the series, and takes, for each that asks, the one
  /// with the median sigma, of those that can be trusted if these are a quarter or more. Returns none if nothing asks.
  /// Also none if more than a quarter of the volumes have another noise, as the first that asks sees it, or one that is
  /// surer has much less: then the volumes are not of one contrast. But where those of medium confidence and more agree
  /// (or if they differ, those of high confidence, which must be most), and all others show more, that is structure,
  /// and the median of the sure ones counts. What is asked for first is Rician if a trusted volume's is.
  static std::optional<SeriesNoise> measure(std::size_t volumes, const NoiseOf&);

  /// The noise that is asked for first.
  const NoiseModel& first() const { return models_.front(); }
  /// True where only the surest volumes tell it, and others hold structure that looks like more noise.
  bool is_by_surest() const { return is_by_surest_; }
  /// Whether a volume was measured that has so much less, such as a mean of others, that this noise would smear it.
  bool smears(std::size_t volume) const { return std::ranges::find(quiet_, volume) != quiet_.end(); }
  /// For one volume: returns this noise instead of measuring.
  NoiseMeasure as_measure() const;
  /// `one noise for the series, the median of volumes 1, 3, 5`: those that counted, as the first that asks sees it.
  std::string describe() const;

 private:
  std::vector<std::size_t> volumes_, quiet_;
  bool is_by_surest_ = false;
  std::vector<NoiseModel> models_;  ///< in the order in which they are asked for
};

}  // namespace quietvox
