// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

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

/// True if parameters of a filter, resolved by what the header says, wait for the noise.
bool waits_for_noise(const FilterConfig& by_header);
/// True if the noise of a volume is measured for the chain.
bool may_measure_noise(std::span<const FilterConfig> chain, Stabilise, const VolumeSource&);
/// True if noise may be made Gaussian before the chain. Stabilise::automatic is for filters that go by the measured
/// noise, and are given nothing of it, with rank filters among them: others may average across edges, where the
/// unbiased inverse does not hold.
bool may_stabilise(std::span<const FilterConfig> chain, Stabilise, const VolumeSource&);

/// How the noise of a volume is made Gaussian before the chain; none if it stays as it is. It has the sigma that
/// `measure` finds, or, of Rician noise, the one that the first filter is given; then `measure` is not called. Throws
/// Error(invalid_argument) if the noise asked for cannot be stabilised: Rician noise if voxels are no magnitudes,
/// Poisson noise or speckle if the noise does not grow with the value, any if a filter takes the bias of magnitudes out
/// by itself.
std::optional<Stabilisation> find_stabilisation(std::span<const FilterConfig> chain, Stabilise, VolumeSource&,
                                                const std::function<NoiseModel()>& measure);

/// The warning where noise was to be made Gaussian whatever it is, and was not found.
Message nothing_is_stabilised(const NoiseModel&);

/// A volume whose noise is made Gaussian.
class StabilisedSource final : public VolumeSource {
 public:
  StabilisedSource(VolumeSource& source, const Stabilisation& stabilisation, const Execution& execution)
      : source_(source), stabilisation_(stabilisation), execution_(execution) {}

  Extent extent() const override { return source_.extent(); }
  Spacing spacing() const override { return source_.spacing(); }
  HeaderFacts header() const override { return source_.header(); }
  void read(VolumeView<float> slices) override {
    source_.read(slices);
    stabilisation_.apply(slices, execution_);
  }

 private:
  VolumeSource& source_;
  const Stabilisation& stabilisation_;
  Execution execution_;
};

}  // namespace quietvox
