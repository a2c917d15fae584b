// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/series_noise.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace quietvox {
namespace {

constexpr std::size_t most_volumes = 9;
constexpr double same_noise = 1.25;     // times more or less than the median
constexpr double share_of_same = 0.75;  // of the volumes: a series may begin with a few of another contrast
constexpr double most_over_one = 3;     // times its own noise: more would smear what that volume shows

/// The numbers of the models that count: of those that can be trusted, if they are not few. What one volume cannot tell
/// for sure, others of the series can.
std::vector<std::size_t> that_count(const std::vector<NoiseModel>& models) {
  constexpr std::size_t few = 4;  // one in so many
  std::vector<std::size_t> all(models.size()), trusted;
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::ranges::copy_if(all, std::back_inserter(trusted), [&](std::size_t i) { return models[i].trusted_sigma() > 0; });
  return few * trusted.size() >= models.size() ? trusted : all;
}

/// The model with the median sigma, the lower of two.
NoiseModel median(const std::vector<NoiseModel>& models) {
  std::vector<std::size_t> numbers = that_count(models);
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) / 2);
  std::ranges::nth_element(numbers, middle, {}, [&](std::size_t i) { return models[i].sigma; });
  return models[*middle];
}

/// Where one volume clearly holds magnitudes, all do. A strong signal does not show it. What filters left, which others
/// ask for, is none.
void take_as_magnitudes(NoiseModel& of_series, const std::vector<NoiseModel>& models) {
  const auto shows_it = [](const NoiseModel& model) {
    return model.distribution == NoiseDistribution::rician && model.confidence >= Confidence::medium;
  };
  if (of_series.distribution == NoiseDistribution::gaussian && std::ranges::any_of(models, shows_it)) {
    of_series.distribution = NoiseDistribution::rician;
  }
}

}  // namespace

std::optional<SeriesNoise> SeriesNoise::measure(std::size_t volumes, const NoiseOf& noise_of) {
  if (volumes < 2) return std::nullopt;
  SeriesNoise noise;
  std::vector<std::size_t> looked_at;
  std::vector<std::vector<NoiseModel>> measured;  // measured[i][volume], for each that asks
  const std::size_t count = std::min(volumes, most_volumes);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i * (volumes - 1) / (count - 1);
    const auto models = noise_of(at);
    if (!models) continue;
    if (models->empty()) return std::nullopt;
    looked_at.push_back(at);
    measured.resize(std::max(measured.size(), models->size()));
    for (std::size_t asked = 0; asked < models->size(); ++asked) measured[asked].push_back((*models)[asked]);
  }
  if (looked_at.size() < 2) return std::nullopt;
  for (const std::vector<NoiseModel>& each : measured) noise.models_.push_back(median(each));
  take_as_magnitudes(noise.models_.front(), measured.front());
  // The first that asks tells the contrast; others see what filters left.
  const std::vector<NoiseModel>& of_volumes = measured.front();
  for (const std::size_t i : that_count(of_volumes)) noise.volumes_.push_back(looked_at[i]);
  const double sigma = noise.models_.front().sigma;
  const bool suits_all = std::ranges::all_of(
      of_volumes, [&](const NoiseModel& other) { return other.sigma == 0 || sigma <= most_over_one * other.sigma; });
  const auto same = std::ranges::count_if(of_volumes, [&](const NoiseModel& other) {
    return other.sigma <= same_noise * sigma && sigma <= same_noise * other.sigma;
  });
  if (!suits_all || static_cast<double>(same) < share_of_same * static_cast<double>(of_volumes.size())) {
    return std::nullopt;
  }
  return noise;
}

NoiseMeasure SeriesNoise::as_measure() const {
  return
      [models = models_, step = std::size_t{0}](VolumeSource&, const Execution&) mutable { return models.at(step++); };
}

std::string SeriesNoise::describe() const {
  std::string list;
  for (const std::size_t volume : volumes_) list += (list.empty() ? "" : ", ") + std::to_string(volume + 1);
  const std::string whose = volumes_.size() == 1 ? "that of volume " : "the median of volumes ";
  return "one noise for the series, " + whose + list;
}

}  // namespace quietvox
