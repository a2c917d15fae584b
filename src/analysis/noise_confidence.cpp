// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise_confidence.hpp"

#include <utility>

namespace quietvox {
namespace {

constexpr std::int64_t many_parts = 1000;

/// How many voxels of a slice carry the same noise.
double correlation_area(const NoiseSpectrum& spectrum) {
  const Triple<double> length = spectrum.length();
  return length.x * length.y;
}

}  // namespace

void lower_confidence(NoiseModel& model, Confidence confidence, std::string reason) {
  if (confidence >= model.confidence) return;
  model.confidence = confidence;
  model.reason = std::move(reason);
}

void lower_confidence_in_few(NoiseModel& model, std::int64_t parts) {
  if (parts < many_parts) lower_confidence(model, Confidence::medium, "few parts of the image tell of the noise");
}

bool is_correlated_across_slices(const NoiseModel& model) {
  constexpr double most = 1.25;  // voxels
  return model.spectrum.length().z >= most;
}

bool is_white(const NoiseModel& model, double finest) {
  constexpr double much = 0.6;  // of sigma
  return finest > much * model.sigma && !is_correlated_across_slices(model);
}

void judge(NoiseModel& model, const NoiseEvidence& evidence) {
  constexpr double structure_alone = 0.35;
  constexpr double correlated = 1.5, hardly_white = 1.2;  // voxels of a slice that carry the same noise
  constexpr std::int64_t few = 100, mostly = 16;
  constexpr std::int64_t fewest_whole = 60;  // fewer lie on edges between what is cut off
  constexpr double clearly_white = 0.85;     // of sigma: edges have 0.6 to 0.8
  constexpr double weakest = 0.42;           // of a step: rounding leaves little of weaker noise
  const auto& [fit, finest, object, partly, few_parts_differ, is_as_air, why_magnitudes] = evidence;
  model.confidence = Confidence::high;
  const double flatness = fit.flatness();
  const auto because = [&](Confidence confidence, const char* reason) { lower_confidence(model, confidence, reason); };
  if (model.sigma < weakest * model.step) {
    because(Confidence::none, "the noise is weaker than the step of the voxels' values");
  }
  if (fit.is_pattern()) {
    because(Confidence::none, "a pattern repeats all over the image, such as lines of a grid, and hides the noise");
  }
  if (flatness < structure_alone && !is_white(model, finest) && !is_as_air) {
    because(Confidence::none, "the flattest parts hold more structure than noise, if there is noise");
  }
  if (partly > mostly * object && (object < fewest_whole || finest < clearly_white * model.sigma)) {
    because(Confidence::none,
            "nearly all parts of the image hold voxels of its least, its greatest or the background's value");
  }
  if (flatness < spoilt) because(Confidence::low, "even the flattest parts hold structure as strong as the noise");
  if (object < few) because(Confidence::low, "the object has few parts to go by");
  if (model.spectrum.size.z == 1 &&
      correlation_area(model.spectrum) > (object < many_parts ? correlated : hardly_white)) {
    because(object < many_parts ? Confidence::low : Confidence::medium,
            "in a single slice, texture looks like correlated noise");
  }
  if (fit.floor() < least_floor || few_parts_differ) {
    because(Confidence::low, "few flat regions agree on the noise level");
  }
  if (flatness < mixed_flatness) because(Confidence::medium, "even the flattest parts hold some structure");
  if (model.impulses > 0) because(Confidence::medium, "impulses were left out");
  lower_confidence_in_few(model, object);
  if (!why_magnitudes.empty()) lower_confidence(model, Confidence::medium, why_magnitudes);
}

}  // namespace quietvox
