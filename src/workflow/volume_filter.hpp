// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/stabilisation.hpp"
#include "core/pipeline.hpp"

namespace quietvox {

/// Which noise is made Gaussian before a filter and turned back after it, without its bias.
enum class Stabilise { none, automatic, rician, poisson, speckle };
constexpr std::array<std::string_view, 5> choices(Stabilise) {
  return {"none", "auto", "rician", "poisson", "speckle"};
}
/// True if the noise is to be made Gaussian whatever it was found to be.
constexpr bool is_asked_for(Stabilise choice) { return choice >= Stabilise::rician; }

/// True if the noise of a volume is measured for the chain.
bool may_measure_noise(std::span<const FilterConfig> chain, Stabilise, const VolumeSource&);
/// True if noise may be made Gaussian before the chain. Stabilise::automatic is for filters that all go by the measured
/// noise, and are told nothing of it: others may average across edges, where the unbiased inverse does not hold.
bool may_stabilise(std::span<const FilterConfig> chain, Stabilise, const VolumeSource&);

class FilterFrame;

/// What a volume is filtered by.
struct VolumeChain {
  std::span<const FilterConfig> filters;  ///< one after another
  Stabilise stabilise = Stabilise::none;
  /// quietvox chose the filters, not the user. Then voxels of a background that was cut out keep their exact value if
  /// noise could not have made it, because masks are often made from voxels that are 0.
  bool is_chosen = false;
};

/// A chain of filters made ready for one volume: the noise is measured, if a filter needs it or it may have to be made
/// Gaussian, and every `auto` is replaced.
class VolumeFilter {
 public:
  /// The stabilised noise has the sigma of the volume, or, of Rician noise, the one that the first filter is told.
  /// Throws Error(invalid_argument) if the noise asked for cannot be stabilised: Rician noise if voxels are no
  /// magnitudes, Poisson noise or speckle if the noise does not grow with the value, any if a filter takes the bias of
  /// magnitudes out by itself.
  VolumeFilter(const VolumeChain&, VolumeSource&, const Backend&, const Execution&, const NoiseMeasure&);
  ~VolumeFilter();

  std::vector<FilterConfig> resolved() const;
  /// What was measured: of the volume, if it was to be stabilised, then for each filter that asked.
  const std::vector<NoiseModel>& noise() const { return noise_; }
  /// `Rician noise`, `Poisson noise` or `speckle` if that is made Gaussian, otherwise empty.
  std::string stabilised() const { return stabilisation_ ? stabilisation_->noise_before() : ""; }
  /// Warns if no noise was found, or none that can be trusted, so that filters which use it change little, and nothing
  /// is stabilised.
  std::vector<Message> warnings() const;

  /// Hands filtered slices to `consume` in ascending order.
  void run(const std::function<void(VolumeView<const float> slices)>& consume) const;

 private:
  /// The value that the background keeps, if it does.
  std::optional<float> kept_background() const;

  void run_in_frame(const std::function<void(VolumeView<const float> slices)>& consume) const;

  std::unique_ptr<const FilterFrame> frame_;
  const Backend& backend_;
  Execution execution_;
  std::vector<FilterConfig> by_header_, resolved_;
  std::vector<NoiseModel> noise_;
  std::optional<Stabilisation> stabilisation_;
  Stabilise stabilise_;
  bool is_chosen_, is_first_measured_ = false;
};

}  // namespace quietvox
