// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "core/pipeline.hpp"

namespace quietvox {

/// The noise that all volumes of a time series are filtered by, so that the strength of a filter does not wander over
/// time.
class SeriesNoise {
 public:
  /// Measures the noise of up to nine volumes, spread evenly over the series, for each step of the chain that asks for
  /// it, and takes the one with the median sigma, of those that can be trusted if these are a quarter or more. Volumes
  /// that are not to be filtered are null, and left out. Returns none if no step asks. Also none if more than a quarter
  /// of the volumes have another noise, or one has much less: then the volumes are not of one contrast.
  static std::optional<SeriesNoise> measure(std::span<const FilterConfig> chain, std::size_t volumes,
                                            const std::function<std::unique_ptr<VolumeSource>(std::size_t)>& volume,
                                            const Backend&, const Execution&,
                                            const std::function<NoiseMeasure(std::size_t, VolumeSource&)>& measure_of);

  /// For resolve_chain() of one volume: returns this noise instead of measuring.
  NoiseMeasure as_measure() const;
  /// `one noise for the series, the median of volumes 1, 3, 5`
  std::string describe() const;

 private:
  std::vector<std::size_t> looked_at_;
  std::vector<NoiseModel> models_;  ///< in the order in which the steps of the chain ask
};

}  // namespace quietvox
