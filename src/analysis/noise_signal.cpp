// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise_signal.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/median_of.hpp"
#include "analysis/noise_map_fit.hpp"
#include "analysis/rician.hpp"

namespace quietvox {
namespace {

/// Where most of the numbers lie; `spread` is the standard deviation that noise gives them.
double mode_of(const std::vector<double>& numbers, double spread) {
  constexpr int rounds = 3;
  constexpr double near = 3;
  double mode = shortest_half(numbers).mean;
  for (int round = 0; round < rounds; ++round) {
    double sum = 0, count = 0;
    for (const double number : numbers) {
      if (!(std::abs(number - mode) < near * spread)) continue;
      sum += number;
      ++count;
    }
    if (count > 0) mode = sum / count;
  }
  return mode;
}

}  // namespace

std::optional<SignalFit> fit_signal_variance(std::span<const NoisyPart> parts, double spread, double darkest,
                                             int power) {
  constexpr std::size_t fewest = 40;
  constexpr double least_growth = 1.1;
  constexpr double as_good = 0.05;  // of a misfit
  const double nearest = power == 2 ? 1e-2 : 1e-3;
  constexpr double coarse_step = 3, fine_step = 1.2457309396155174;  // 3^(1/5)
  constexpr int coarse_steps = 8, fine_steps = 2;
  if (parts.size() < fewest) return std::nullopt;
  std::vector<double> signals;
  for (const NoisyPart& part : parts) signals.push_back(part.signal);
  const auto quantile = [&](double share) { return quantile_of(std::span(signals), share); };
  const double low = quantile(0.05), high = quantile(0.95);
  const bool is_positive = darkest >= 0 && quantile(0) > 0;
  if (!(high > darkest) || (power == 2 && !is_positive)) return std::nullopt;

  // The variance over the gain is `signal - darkest + level (high - darkest)` for power 1, and
  // `signal^2 + (level high)^2` for power 2. A large level means uniform noise.
  const auto shape = [&](double signal, double level) {
    const double over = power == 2 ? level * high : level * (high - darkest);
    return power == 2 ? signal * signal + over * over : signal - darkest + over;
  };
  struct Candidate {
    double level, log_gain, misfit;
  };
  std::vector<double> residuals(parts.size());
  const auto with = [&](double level, const auto& log_shape) {
    for (std::size_t i = 0; i < parts.size(); ++i) residuals[i] = parts[i].log_variance - log_shape(parts[i].signal);
    const double mode = mode_of(residuals, spread);
    for (double& residual : residuals) residual -= mode;
    return Candidate{level, mode, misfit(residuals, spread)};
  };
  const auto with_level = [&](double level) {
    return with(level, [&](double signal) { return std::log(shape(signal, level)); });
  };
  Candidate best = with_level(nearest);
  const auto look_at = [&](double level) {
    if (const Candidate candidate = with_level(level); candidate.misfit < best.misfit) best = candidate;
  };
  for (int i = 1; i <= coarse_steps; ++i) look_at(nearest * std::pow(coarse_step, i));
  const double coarse = best.level;
  for (int i = -fine_steps; i <= fine_steps; ++i) look_at(coarse * std::pow(fine_step, i));
  bool are_counts = false;
  if (power == 1 && is_positive) {
    const Candidate counts = with_level(darkest / (high - darkest));
    are_counts = counts.misfit <= best.misfit + as_good;
    if (are_counts) best = counts;
  }
  const double gain = std::exp(best.log_gain), growth = shape(high, best.level) / shape(low, best.level);
  if (growth < least_growth) return std::nullopt;
  return SignalFit{{gain, are_counts ? 0 : gain * shape(0, best.level), power},
                   best.misfit,
                   with(0, [](double) { return 0.0; }).misfit,
                   growth,
                   parts.size()};
}

bool SignalFit::is_clear(double misfit_of_place) const {
  constexpr std::size_t fewest = 100;
  constexpr double least_growth = 1.2;
  // In emission tomography it also depends on what lies around.
  const double most_misfit = variance.power == 2 ? 4 : 3;
  constexpr double less = 0.2, share = 0.55;  // of what others leave unexplained
  const double others = std::min(misfit_of_uniform, misfit_of_place);
  return parts >= fewest && growth >= least_growth && misfit < most_misfit && others - misfit >= less &&
         misfit - 1 < share * (others - 1);
}

}  // namespace quietvox
