// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/series_noise.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace quietvox {
namespace {

constexpr std::size_t most_volumes = 9;
constexpr double same_noise = 1.25;     // times more or less than the median
constexpr double share_of_same = 0.75;  // of the volumes: a series may begin with a few of another contrast
constexpr double most_over_one = 3;     // times its own noise: more would smear what that volume shows

std::vector<std::size_t> all_of(const std::vector<NoiseModel>& models) {
  std::vector<std::size_t> numbers(models.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

/// The numbers of the models with noise of this confidence or more.
std::vector<std::size_t> with_confidence(const std::vector<NoiseModel>& models, Confidence least) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < models.size(); ++i) {
    if (models[i].trusted_sigma() > 0 && models[i].confidence >= least) numbers.push_back(i);
  }
  return numbers;
}

/// The numbers of the models that count: of those that can be trusted, if they are not few. What one volume cannot tell
/// for sure, others of the series can.
std::vector<std::size_t> that_count(const std::vector<NoiseModel>& models) {
  constexpr std::size_t few = 4;  // one in so many
  std::vector<std::size_t> trusted = with_confidence(models, Confidence::low);
  if (few * trusted.size() >= models.size()) return trusted;
  return all_of(models);
}

/// Of these numbers, the model with the median sigma, the lower of two.
NoiseModel median(const std::vector<NoiseModel>& models, std::vector<std::size_t> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) / 2);
  std::ranges::nth_element(numbers, middle, {}, [&](std::size_t i) { return models[i].sigma; });
  return models[*middle];
}

/// Whether noise of this sigma smears a volume.
bool is_too_much(double sigma, const NoiseModel& other) {
  return other.sigma > 0 && sigma > most_over_one * other.sigma;
}

bool is_alike(const NoiseModel& model, double sigma) {
  return model.sigma <= same_noise * sigma && sigma <= same_noise * model.sigma;
}

/// Whether nearly all of these have about this sigma.
bool are_alike(const std::vector<NoiseModel>& models, const std::vector<std::size_t>& numbers, double sigma) {
  const auto same = std::ranges::count_if(numbers, [&](std::size_t i) { return is_alike(models[i], sigma); });
  return static_cast<double>(same) >= share_of_same * static_cast<double>(numbers.size());
}

/// The numbers of the models whose median is the noise of all volumes, and whether only the surest tell it; none where
/// volumes differ. Structure that is taken for noise makes it more, and its confidence low. So if volumes differ, those
/// of medium confidence and more tell, or if these differ and most have high confidence, those: as long as they agree,
/// and no other has less. Those that cannot be trusted at all may be of another contrast, if they are more than a few.
std::optional<std::pair<std::vector<std::size_t>, bool>> that_tell(const std::vector<NoiseModel>& models) {
  std::vector<std::size_t> usual = that_count(models);
  const double usual_sigma = median(models, usual).sigma;
  Confidence surest = Confidence::none;
  for (const NoiseModel& model : models) {
    if (is_alike(model, usual_sigma)) surest = std::max(surest, model.confidence);
  }
  const bool surer_has_much_less = std::ranges::any_of(
      models, [&](const NoiseModel& other) { return other.confidence > surest && is_too_much(usual_sigma, other); });
  if (!surer_has_much_less && are_alike(models, all_of(models), usual_sigma)) return std::pair(std::move(usual), false);
  for (const Confidence least : {Confidence::medium, Confidence::high}) {
    std::vector<std::size_t> sure = with_confidence(models, least);
    if (sure.empty() || (least == Confidence::high && 2 * sure.size() <= models.size())) break;
    const double sigma = median(models, sure).sigma;
    if (!are_alike(models, sure, sigma)) continue;
    const bool has_less = std::ranges::any_of(models, [&](const NoiseModel& other) {
      return other.confidence < least && other.sigma > 0 && sigma > same_noise * other.sigma;
    });
    const auto untrusted = std::ranges::count_if(models, [&](const NoiseModel& other) {
      return other.confidence == Confidence::none && other.sigma > same_noise * sigma;
    });
    const bool are_few = static_cast<double>(untrusted) <= (1 - share_of_same) * static_cast<double>(models.size());
    const auto smears = [&](const NoiseModel& other) { return is_too_much(sigma, other); };
    if (std::ranges::any_of(models, smears) || has_less || !are_few) break;
    return std::pair(std::move(sure), true);
  }
  return std::nullopt;
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
  // The first that asks tells the contrast; others see what filters left.
  const auto told = that_tell(measured.front());
  if (!told) return std::nullopt;
  const auto& [numbers, by_surest] = *told;
  noise.is_by_surest_ = by_surest;
  for (const std::size_t i : numbers) noise.volumes_.push_back(looked_at[i]);
  noise.models_.push_back(median(measured.front(), numbers));
  for (std::size_t asked = 1; asked < measured.size(); ++asked) {
    noise.models_.push_back(median(measured[asked], that_count(measured[asked])));
  }
  for (std::size_t i = 0; i < looked_at.size(); ++i) {
    if (is_too_much(noise.models_.front().sigma, measured.front()[i])) noise.quiet_.push_back(looked_at[i]);
  }
  take_as_magnitudes(noise.models_.front(), measured.front());
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
