// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/stabilisation_choice.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace quietvox {
namespace {

/// True if an intensity was given by hand, or a model of the noise.
bool is_told_of_noise(const FilterConfig& given) {
  return std::ranges::any_of(given.filter().fields, [&](const FieldInfo& field) {
    const bool is_intensity = field.unit == "intensity" && field.default_text == "auto";
    return (is_intensity || field.name == "noise-model") && given.get(field.name) != field.default_text;
  });
}

/// Null where the filter has no such field.
const FieldInfo* field_of(const FilterConfig& given, std::string_view name) {
  const auto& fields = given.filter().fields;
  const auto field = std::ranges::find(fields, name, &FieldInfo::name);
  return field == fields.end() ? nullptr : &*field;
}

/// The standard deviation of the noise that a filter is given.
std::optional<double> given_sigma(const FilterConfig& given) {
  const FieldInfo* const sigma = field_of(given, "sigma");
  if (!sigma || sigma->unit != "intensity") return std::nullopt;
  const std::string value = given.get("sigma");
  return value == "auto" ? std::nullopt : std::optional(FieldType<double>::parse(value));
}

/// True for nlm if it takes the bias of magnitudes out by itself.
bool takes_bias_out(const FilterConfig& given) {
  return field_of(given, "noise-model") && given.get("noise-model") == "rician";
}

/// Resampling, and rounding of what is scaled, make some of the least magnitudes negative.
bool is_often_negative(VolumeSource& source) {
  constexpr double most = 0.01;
  std::int64_t negative = 0, finite = 0;
  for_each_slab(source, [&](VolumeView<const float> slab) {
    for (const float voxel : std::span(slab.data, static_cast<std::size_t>(slab.extent.voxels()))) {
      if (!std::isfinite(voxel)) continue;
      ++finite;
      if (voxel < 0) ++negative;
    }
  });
  return static_cast<double>(negative) > most * static_cast<double>(finite);
}

/// Why voxels are no magnitudes; empty where they may be.
std::string why_no_magnitudes(VolumeSource& source) {
  const HeaderFacts facts = source.header();
  if (facts.kind && *facts.kind != DataKind::magnitude) return facts.kind_source;
  if (facts.offset != 0) return "voxels lie far from 0";
  return is_often_negative(source) ? "more than 1 % of the voxels are negative" : "";
}

/// Why noise does not follow the signal; empty where it may.
std::string why_signal_is_not_followed(const HeaderFacts& facts) {
  const bool is_other = facts.are_ct_numbers || (facts.kind && *facts.kind != DataKind::scalar);
  return is_other ? facts.kind_source : "";
}

}  // namespace

bool waits_for_noise(const FilterConfig& by_header) {
  return std::ranges::any_of(by_header.waiting(),
                             [](const Waiting& waiting) { return waiting.fact == VoxelFact::noise; });
}

bool may_measure_noise(std::span<const FilterConfig> chain, Stabilise choice, const VolumeSource& source) {
  return is_asked_for(choice) || std::ranges::any_of(resolve_by_header(chain, source), waits_for_noise);
}

bool may_stabilise(std::span<const FilterConfig> chain, Stabilise choice, const VolumeSource& source) {
  if (choice != Stabilise::automatic) return choice != Stabilise::none;
  const std::vector<FilterConfig> by_header = resolve_by_header(chain, source);
  // Rank filters make the same of values and of what rises with them.
  const auto may_be_within = [](const FilterConfig& step) {
    return waits_for_noise(step) || step.filter().commutes_with_rescale;
  };
  return std::ranges::any_of(by_header, waits_for_noise) && std::ranges::all_of(by_header, may_be_within) &&
         std::ranges::none_of(chain, is_told_of_noise);
}

std::optional<Stabilisation> find_stabilisation(std::span<const FilterConfig> chain, Stabilise choice,
                                                VolumeSource& source, const std::function<NoiseModel()>& measure) {
  if (!may_stabilise(chain, choice, source)) return std::nullopt;
  if (choice == Stabilise::automatic) {
    const NoiseModel noise = measure();
    const bool is_rician = noise.distribution == NoiseDistribution::rician;
    if (!Stabilisation::helps(noise) || (is_rician && !why_no_magnitudes(source).empty())) return std::nullopt;
    return Stabilisation(noise, source.extent());
  }
  const auto refuse = [&](const Message& why, const std::string& remedy) {
    throw Error(Errc::invalid_argument, Parameter{"stabilise", FieldType<Stabilise>::format(choice)} + why, remedy);
  };
  if (std::ranges::any_of(chain, takes_bias_out)) {
    refuse(" takes the bias of magnitudes out, and so does " + Parameter{"noise-model", "rician"},
           "leave one of them out");
  }
  if (choice == Stabilise::rician) {
    const std::string why = why_no_magnitudes(source);
    if (!why.empty()) refuse(" is for magnitudes, which are never negative, but " + why, "leave it out");
  } else {
    const std::string why = why_signal_is_not_followed(source.header());
    if (!why.empty()) refuse(" is for noise that grows with the value, but " + why, "leave it out");
  }
  const std::optional<double> sigma = given_sigma(chain.front());
  NoiseModel noise = sigma && choice == Stabilise::rician ? NoiseModel{.sigma = *sigma} : measure();
  if (noise.trusted_sigma() == 0) return std::nullopt;
  const NoiseDistribution given = choice == Stabilise::rician    ? NoiseDistribution::rician
                                  : choice == Stabilise::poisson ? NoiseDistribution::poisson
                                                                 : NoiseDistribution::speckle;
  if (noise.distribution != given) {
    noise.distribution = given;
    if (const SignalVariance* const variance = noise.signal_variance(); variance && variance->gain == 0)
      refuse(" needs noise that grows with the value, and none was found", "leave it out");
  }
  return Stabilisation(noise, source.extent());
}

Message nothing_is_stabilised(const NoiseModel& noise) { return "nothing is stabilised: " + noise.why_untrusted(); }

}  // namespace quietvox
