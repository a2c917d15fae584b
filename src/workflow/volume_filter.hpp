// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workflow/stabilisation_choice.hpp"

namespace quietvox {

class FilterFrame;

/// What a volume is filtered by.
struct VolumeChain {
  std::span<const FilterConfig> filters;  ///< one after another
  Stabilise stabilise = Stabilise::none;
  /// quietvox chose the filters, not the user. Then voxels of a background that was cut out, and of panels beside an
  /// image, keep their exact value if noise could not have made it: masks are often made from voxels that are 0.
  bool is_chosen = false;
  bool is_masked = false;  ///< voxels may be missing because a mask leaves them out
};

/// What filtering a volume takes, in bytes.
struct MemoryDemand {
  std::size_t besides = 0;  ///< besides the voxels that filter_volume() counts
  std::size_t least = 0;    ///< of these voxels, or for what is done before
};

/// `chain`: resolved by what headers say.
MemoryDemand memory_demand(const VolumeChain& chain, const VolumeSource&, const Backend&, const Execution&);

/// A chain of filters made ready for one volume: the noise is measured, if a filter needs it or it may have to be made
/// Gaussian, and every `auto` is replaced.
class VolumeFilter {
 public:
  /// Throws what find_stabilisation() throws.
  VolumeFilter(const VolumeChain&, VolumeSource&, const Backend&, const Execution&, const NoiseMeasure&);
  ~VolumeFilter();

  std::vector<FilterConfig> resolved() const;
  /// What was measured: of the volume, if it was to be stabilised, then for each filter that asked.
  const std::vector<NoiseModel>& noise() const { return noise_; }
  /// `Rician noise`, `Poisson noise` or `speckle` if that is made Gaussian, otherwise empty.
  std::string stabilised() const { return stabilisation_ ? stabilisation_->noise_before() : ""; }
  /// How that is done, along the axes that are filtered; none if nothing is. Where axes are exchanged, it does not fit
  /// the volume as it is.
  const std::optional<Stabilisation>& stabilisation() const { return stabilisation_; }
  /// Warns if no noise was found, or none that can be trusted, so that filters which use it change little, and nothing
  /// is stabilised.
  std::vector<Message> warnings() const;

  /// Hands filtered slices to `consume` in ascending order.
  void run(const std::function<void(VolumeView<const float> slices)>& consume) const;

 private:
  /// The values of areas that keep them: of the background and of panels.
  std::vector<float> kept_values() const;

  void run_in_frame(const std::function<void(VolumeView<const float> slices)>& consume) const;

  std::unique_ptr<const FilterFrame> frame_;
  const Backend& backend_;
  Execution execution_;
  std::vector<FilterConfig> by_header_, resolved_;
  std::vector<NoiseModel> noise_;
  std::optional<Stabilisation> stabilisation_;
  Stabilise stabilise_;
  bool is_chosen_, is_masked_, is_first_measured_ = false;
  bool is_mixed_ = false;  ///< the chain holds filters around which noise is not made Gaussian unless that is asked for
};

}  // namespace quietvox
