// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise_spectrum_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>

#include "analysis/median_of.hpp"

namespace quietvox {
namespace {

constexpr std::size_t many = 500;                     // bricks: enough to tell what repeats all over the image
constexpr double soft = 0.1;                          // of the strongest power: what is weaker hardly counts
constexpr double normal_median = 0.6744897501960817;  // median absolute value of a standard normal number

double square(double value) { return value * value; }

/// Standard deviation, nearly, of the logarithm of a chi-squared number with this many degrees of freedom.
double spread_of(double freedom) { return std::sqrt(2 / freedom); }

/// In eight sums, which the compiler can hold in one register.
double weighted_sum(const float* weights, const float* values, std::size_t count) {
  std::array<float, 8> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= count; i += sums.size()) {
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += weights[i + j] * values[i + j];
  }
  for (std::size_t j = 0; i < count; ++i, ++j) sums[j] += weights[i] * values[i];
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

/// Standard normal quantile.
double normal_quantile(double probability) {
  double low = -8, high = 8;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (0.5 * std::erfc(-middle / std::numbers::sqrt2) < probability ? low : high) = middle;
  }
  return low;
}

/// Quantile of numbers that are chi squared with `freedom` degrees, over their mean (Wilson and Hilferty 1931).
double chi_squared_quantile(double share, double freedom) {
  const double spread = 2 / (9 * freedom);
  return std::pow(1 - spread + normal_quantile(share) * std::sqrt(spread), 3);
}

/// Mean of the smallest `share` of numbers that are chi squared with `freedom` degrees, over the mean of all.
double mean_of_smallest(double share, double freedom) {
  if (share >= 1) return 1;
  const double quantile = chi_squared_quantile(share, freedom);
  const double wider = 2 / (9 * (freedom + 2));
  const double z = (std::cbrt(quantile * freedom / (freedom + 2)) - (1 - wider)) / std::sqrt(wider);
  return 0.5 * std::erfc(-z / std::numbers::sqrt2) / share;
}

/// How far the squares of a coefficient in a few bricks lie above the median: 8.4 times for noise, whose squares are
/// chi squared numbers of one degree, and hardly more than 5 times for a wave that is the same everywhere but for its
/// phase.
double unsteadiness(std::span<float> squares) { return quantile_of(squares, 0.95) / quantile_of(squares, 0.5); }
constexpr double steady = 5;

}  // namespace

NoiseBands::NoiseBands(const Extent& size) {
  const bool plane = size.x > 1 && size.y > 1;
  std::vector<std::int64_t> order;
  for (std::int64_t y = 0; y < size.y; ++y) {
    for (std::int64_t x = 0; x < size.x; ++x) {
      const std::int64_t k = x * 8 / size.x + y * 8 / size.y;  // in units of 1 / 16 cycles per voxel
      order.push_back(k);
      lowest.push_back(k <= 2);
      next.push_back(k == 3);
      after_next.push_back(k == 4);
      low.push_back(k <= 5);
      high.push_back(k >= (plane ? 7 : 5));
      const std::int64_t along_x = x * 8 / size.x, along_y = y * 8 / size.y;
      fine_along_x.push_back(along_x >= 6 && along_y <= 3);
      fine_along_y.push_back(along_y >= 6 && along_x <= 3);
    }
  }
  by_frequency.resize(order.size());
  std::iota(by_frequency.begin(), by_frequency.end(), std::size_t{0});
  std::stable_sort(by_frequency.begin(), by_frequency.end(),
                   [&](std::size_t a, std::size_t b) { return order[a] < order[b]; });
}

NoiseSpectrumFit::NoiseSpectrumFit(const NoiseBricks& bricks, std::size_t chosen, double flat, bool repaired,
                                   std::span<const double> kurtosis)
    : bricks_(bricks),
      bands_(bricks.size()),
      brick_count_(static_cast<std::size_t>(bricks.count())),
      plane_(static_cast<std::size_t>(bricks.size().slice())),
      depth_(static_cast<std::size_t>(bricks.size().z)),
      chosen_(chosen),
      chosen_share_(std::min(0.5, static_cast<double>(chosen_) / (flat * static_cast<double>(brick_count_)))),
      all_are_flat_(flat == 1),
      repaired_(repaired),
      level_(bricks, kurtosis),
      in_plane_(plane_),
      across_(depth_, 1),
      is_line_(plane_) {}

void NoiseSpectrumFit::run() {
  constexpr int rounds = 5, rounds_with_map = 3;
  std::vector<double> energy(brick_count_);
  for (std::size_t i = 0; i < brick_count_; ++i) {
    for (std::size_t k = 0; k < depth_; ++k) {
      for (std::size_t p = 0; p < plane_; ++p) energy[i] += bands_.lowest[p] ? 0 : at(i, k, p);
    }
  }
  choose(energy);
  std::vector<std::vector<double>> fine;  // none of every other voxel, where structure reaches all frequencies
  if (bricks_.are_of_neighbours()) fine = {fine_energy(bands_.fine_along_x), fine_energy(bands_.fine_along_y)};
  correction_ = 1;
  double freedom = 1;
  for (int round = 0; round < rounds + rounds_with_map; ++round) {
    fit_spectrum();
    const Whitened whitened = whiten(bricks_);
    freedom = whitened.freedom;
    if (round + 1 >= rounds) {
      level_.fit(with_slope_of_noise(whitened, 1), with_slope_of_noise(whitened, 2), whitened.energy, fine,
                 spread_of(freedom));
    }
    for (std::size_t i = 0; i < brick_count_; ++i) energy[i] = whitened.energy[i] / level_.variance(i);
    choose(energy);
    correction_ = 1 / mean_of_chosen(energy, freedom);
  }
  scatter_ = level_.has_detail() ? 1 : scatter_of(energy, freedom);  // which the detail follows
  if (is_pattern()) correction_ = 1;                                 // all are alike: choosing prefers none
  floor_ = floor_of(std::move(energy));
  fit_spectrum();
  if (!all_are_flat_ && !repaired_) heed_all_like_noise();
  bound_lowest();
}

void NoiseSpectrumFit::heed_all_like_noise() {
  constexpr double few = 200;
  const double stronger = std::clamp(3 - 2 * contrast(), 0.0, 1.0);
  if (stronger == 0) return;
  const LikeNoise like = like_noise(bricks_);
  const double expected = std::log(variance()) + 0.5 * square(like.spread);
  std::vector<double> logs;
  for (std::size_t j = 0; j < like.bricks.size(); ++j) {
    logs.push_back(like.log_variance[j] - expected - std::log(level_.variance(like.bricks[j])));
  }
  const auto count = static_cast<double>(logs.size());
  if (count < few) return;
  const double middle = median_of<double>(std::span(logs)), most = 2 * like.spread;
  const auto near = std::ranges::count_if(logs, [&](double log) { return std::abs(log - middle) < most; });
  const double of_one_mind = std::clamp((static_cast<double>(near) / count - 0.55) / 0.1, 0.0, 1.0);
  for (double& power : in_plane_) power *= std::exp(stronger * of_one_mind * middle);
}

double NoiseSpectrumFit::variance() const {
  return std::accumulate(in_plane_.begin(), in_plane_.end(), 0.0) / static_cast<double>(plane_);
}

double NoiseSpectrumFit::contrast() const {
  return std::sqrt(std::max(bricks_.median_variance() / std::max(variance(), 1e-300) - 1, 0.0));
}

NoiseSpectrum NoiseSpectrumFit::spectrum() const {
  NoiseSpectrum spectrum{bricks_.size(), {}, {}};
  for (const double power : in_plane_) spectrum.in_plane.push_back(static_cast<float>(power / variance()));
  for (const double power : across_) spectrum.across.push_back(static_cast<float>(power));
  return spectrum;
}

double NoiseSpectrumFit::at(std::size_t brick, std::size_t k, std::size_t p) const {
  return static_cast<double>(bricks_.brick(static_cast<std::int64_t>(brick))[k * plane_ + p]);
}

void NoiseSpectrumFit::choose(const std::vector<double>& energy) {
  order_.resize(brick_count_);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  const auto less = [&](std::size_t a, std::size_t b) {
    return energy[a] != energy[b] ? energy[a] < energy[b] : a < b;
  };
  std::nth_element(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(chosen_ - 1), order_.end(), less);
  order_.resize(chosen_);
  std::sort(order_.begin(), order_.end());
}

double NoiseSpectrumFit::mean_of_chosen(const std::vector<double>& energy, double freedom) const {
  constexpr double most_share = 0.5, doubt = 0.8;  // of the share that is expected, in logarithms
  constexpr int steps = 40;
  double sum = 0, largest = 0;
  for (const std::size_t i : order_) {
    sum += energy[i];
    largest = std::max(largest, energy[i]);
  }
  const auto count = static_cast<double>(chosen_);
  if (all_are_flat_ || !(largest > 0)) return mean_of_smallest(chosen_share_, freedom);
  const double least_share = std::min(count / static_cast<double>(brick_count_), most_share);
  // The smaller the share of bricks that the chosen ones are, the closer together their energies lie. So the ratio of
  // their mean to the largest of them says what share that is.
  const double ratio = sum / (count * largest), error = std::max((1 - ratio) / std::sqrt(count), 1e-3);
  std::array<double, steps + 1> log_weights, log_means;
  for (std::size_t i = 0; i <= steps; ++i) {
    const double share = least_share * std::pow(most_share / least_share, static_cast<double>(i) / steps);
    const double mean = mean_of_smallest(share, freedom);
    const double misfit = (mean / chi_squared_quantile(share, freedom) - ratio) / error;
    log_weights[i] = -0.5 * (square(misfit) + square(std::log(share / chosen_share_) / doubt));
    log_means[i] = std::log(mean);
  }
  const double best = *std::max_element(log_weights.begin(), log_weights.end());
  double weights = 0, weighted = 0;
  for (std::size_t i = 0; i <= steps; ++i) {
    const double weight = std::exp(log_weights[i] - best);
    weights += weight;
    weighted += weight * log_means[i];
  }
  return std::exp(weighted / weights);
}

void NoiseSpectrumFit::fit_spectrum() {
  const std::size_t frequencies = depth_ * plane_;
  std::vector<double> power(frequencies);
  std::vector<float> values(frequencies * chosen_);
  for (std::size_t i = 0; i < chosen_; ++i) {
    const float* const energies = bricks_.brick(static_cast<std::int64_t>(order_[i]));
    const auto scale = static_cast<float>(1 / level_.variance(order_[i]));
    for (std::size_t f = 0; f < frequencies; ++f) values[f * chosen_ + i] = energies[f] * scale;
  }
  for (std::size_t f = 0; f < frequencies; ++f) {
    power[f] = correction_ * middle(std::span(values).subspan(f * chosen_, chosen_));
  }
  leave_out_lines(power, values);
  double high = 0, all = 0;
  std::vector<double> high_across(depth_), all_across(depth_);
  for (std::size_t k = 0; k < depth_; ++k) {
    for (std::size_t p = 0; p < plane_; ++p) {
      if (bands_.high[p]) high_across[k] += power[k * plane_ + p];
      if (!bands_.lowest[p]) all_across[k] += power[k * plane_ + p];
    }
    high += high_across[k];
    all += all_across[k];
  }
  const bool high_enough = high > 0.05 * all && !repaired_;
  for (std::size_t k = 0; k < depth_; ++k) {
    const double sum = high_enough ? high : all;
    across_[k] = sum > 0 ? (high_enough ? high_across[k] : all_across[k]) * static_cast<double>(depth_) / sum : 1;
  }
  leave_out_constant_across(power, values);
  const auto fitted = [&](std::size_t p, std::size_t begin, std::size_t end) {
    if (is_constant_across_) begin = std::max<std::size_t>(begin, 1);
    double sum = 0, weights = 0;
    for (std::size_t k = begin; k < end; ++k) {
      sum += power[k * plane_ + p] * across_[k];
      weights += square(across_[k]);
    }
    return weights > 0 ? sum / weights : 0;
  };
  const auto fitted_to_all = [&](std::size_t p) {
    double sum = 0;
    for (std::size_t k = 0; k < depth_; ++k) sum += power[k * plane_ + p];
    return sum / static_cast<double>(depth_);
  };
  double reaching = 0, not_reaching = 0, low = 0, at_most = 0;
  for (std::size_t p = 0; p < plane_; ++p) {
    in_plane_[p] = fitted(p, bands_.low[p] ? depth_ / 2 : 0, depth_);
    if (!bands_.low[p] || bands_.lowest[p] || depth_ < 4) continue;
    low += in_plane_[p];
    at_most += fitted_to_all(p);
    reaching += fitted(p, 0, depth_ / 2);
    not_reaching += in_plane_[p];
  }
  flatness_ = reaching > 0 ? not_reaching / reaching : 1;
  // Noise of an ellipsoid of frequencies reaches further across slices at low in-plane frequencies than at high ones.
  if (low <= at_most) return;
  for (std::size_t p = 0; p < plane_; ++p) in_plane_[p] *= bands_.low[p] ? at_most / low : 1;
}

void NoiseSpectrumFit::leave_out_lines(std::vector<double>& power, std::span<float> squares) {
  // Times the strongest beside it. The fewer bricks, the more power varies by chance.
  const double much = 2 + 10 / std::sqrt(static_cast<double>(chosen_));
  const auto width = static_cast<std::size_t>(bricks_.size().x), height = static_cast<std::size_t>(bricks_.size().y);
  is_line_.assign(plane_, false);
  if (brick_count_ < many || width < 2 || height < 2) return;
  const auto bound = [&](std::size_t k, std::size_t along, std::size_t count, std::size_t beside) {
    double* const slice = &power[k * plane_];
    std::vector<std::optional<double>> bounds(count);
    bool any_is_steady = false;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t p = i * along;
      if (bands_.lowest[p]) continue;
      double most = std::max(slice[p + beside], slice[p - along + beside]);
      if (i + 1 < count) most = std::max(most, slice[p + along + beside]);
      if (slice[p] <= much * most) continue;
      bounds[i] = most;
      any_is_steady = any_is_steady || unsteadiness(squares.subspan((k * plane_ + p) * chosen_, chosen_)) < steady;
    }
    // Where there is one line, the rest is what its wave leaves at other frequencies, more or less by its phase.
    for (std::size_t i = 0; i < count && any_is_steady; ++i) {
      if (!bounds[i]) continue;
      slice[i * along] = *bounds[i];
      is_line_[i * along] = true;
    }
  };
  for (std::size_t k = 0; k < depth_; ++k) {
    bound(k, 1, width, width);
    bound(k, width, height, 1);
  }
}

void NoiseSpectrumFit::leave_out_constant_across(std::span<const double> power, std::span<float> squares) {
  constexpr double much = 2, alike = 1.3;
  if (brick_count_ < many || depth_ < 4) return;
  // Once found, it stays: without it, other bricks are chosen, which may not show it.
  if (!is_constant_across_ && across_[0] > much * across_[1] && across_[1] < alike * across_[depth_ - 1]) {
    // Noise may be the same in all slices of a brick, too, where slices overlap or repeat. Over many frequencies, less
    // tells it from a pattern.
    constexpr double steadier_than_noise = 6.7;
    std::vector<double> ratios;
    for (std::size_t p = 0; p < plane_; ++p) {
      if (bands_.lowest[p] || is_line_[p] || power[p] <= much * power[plane_ + p]) continue;
      ratios.push_back(unsteadiness(squares.subspan(p * chosen_, chosen_)));
    }
    is_constant_across_ = median_of(std::span(ratios)) < steadier_than_noise;
  }
  if (!is_constant_across_) return;
  across_[0] = across_[1];
  const double sum = std::accumulate(across_.begin(), across_.end(), 0.0);
  for (double& power_across : across_) power_across *= static_cast<double>(depth_) / sum;
}

double NoiseSpectrumFit::scatter_of(std::vector<double> energy, double freedom) const {
  constexpr std::size_t more = 3;  // times as many as were chosen
  const double more_share = static_cast<double>(more) * chosen_share_;
  if (more_share >= 1 || more * chosen_ > energy.size()) return 1;
  std::sort(energy.begin(), energy.end());
  const auto mean = [&](std::size_t count) {
    return std::accumulate(energy.begin(), energy.begin() + static_cast<std::ptrdiff_t>(count), 0.0) /
           static_cast<double>(count);
  };
  const double least = mean(chosen_);
  return least > 0 ? std::log(least / mean(more * chosen_)) /
                         std::log(mean_of_smallest(chosen_share_, freedom) / mean_of_smallest(more_share, freedom))
                   : 1;
}

std::vector<double> NoiseSpectrumFit::fine_energy(const std::vector<bool>& frequencies) const {
  std::vector<double> energy(brick_count_);
  for (std::size_t i = 0; i < brick_count_; ++i) {
    for (std::size_t k = depth_ / 2; k < depth_; ++k) {
      for (std::size_t p = 0; p < plane_; ++p) energy[i] += frequencies[p] ? at(i, k, p) : 0;
    }
  }
  return energy;
}

double NoiseSpectrumFit::finest_variance() const {
  constexpr double share = 0.05;  // of all bricks
  std::vector<bool> finest(plane_);
  for (std::size_t p = 0; p < plane_; ++p) finest[p] = bands_.high[p] && !is_line_[p];
  std::vector<double> energy = fine_energy(finest);
  const std::size_t layers = depth_ - depth_ / 2;
  const auto frequencies = static_cast<std::size_t>(std::ranges::count(finest, true));
  const auto coefficients = static_cast<double>(layers * frequencies);
  const auto few = static_cast<std::ptrdiff_t>(std::max(std::ceil(share * static_cast<double>(brick_count_)), 1.0));
  std::nth_element(energy.begin(), energy.begin() + few - 1, energy.end());
  const double mean = std::accumulate(energy.begin(), energy.begin() + few, 0.0) / static_cast<double>(few);
  return mean / (coefficients * mean_of_smallest(share, coefficients));
}

double NoiseSpectrumFit::floor_of(std::vector<double> energy) {
  constexpr double very_flattest = 0.005, flat = 0.05;
  constexpr std::size_t fewest_bricks = 50;
  if (energy.size() < fewest_bricks) return 1;
  const double above = quantile_of(std::span(energy), flat);
  return above > 0 ? quantile_of(std::span(energy), very_flattest) / above : 1;
}

double NoiseSpectrumFit::middle(std::span<float> squares) {
  constexpr std::size_t few = 30;
  if (squares.size() >= few) return median_of(squares) / square(normal_median);
  return std::accumulate(squares.begin(), squares.end(), 0.0) / static_cast<double>(squares.size());
}

void NoiseSpectrumFit::bound_lowest() {
  const double next = mean_of(bands_.next);
  double rest = 0, count = 0;
  for (std::size_t p = 0; p < plane_; ++p) {
    if (bands_.lowest[p]) continue;
    rest += in_plane_[p];
    ++count;
  }
  steepness_ = rest > 0 ? next * count / rest : 1;
  // Bounds take noise away too, if that is correlated: they are for structure that shows beyond doubt, or is strong.
  constexpr double beyond_doubt = 0.6, strong = 4;
  if (flatness_ < (contrast() > strong ? mixed_flatness : beyond_doubt)) bound(bands_.next, bands_.after_next);
  bound(bands_.lowest, bands_.next);
}

void NoiseSpectrumFit::bound(const std::vector<bool>& frequencies, const std::vector<bool>& limits) {
  if (std::find(limits.begin(), limits.end(), true) == limits.end()) return;
  const double limit = mean_of(limits);
  for (std::size_t p = 0; p < plane_; ++p) {
    if (frequencies[p]) in_plane_[p] = std::min(in_plane_[p], limit);
  }
}

double NoiseSpectrumFit::mean_of(const std::vector<bool>& frequencies) const {
  double sum = 0, count = 0;
  for (std::size_t p = 0; p < plane_; ++p) {
    if (!frequencies[p]) continue;
    sum += in_plane_[p];
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

std::vector<double> NoiseSpectrumFit::smoothed() const {
  const auto width = static_cast<std::ptrdiff_t>(bricks_.size().x),
             height = static_cast<std::ptrdiff_t>(bricks_.size().y);
  std::vector<double> result(plane_);
  for (std::ptrdiff_t y = 0; y < height; ++y) {
    for (std::ptrdiff_t x = 0; x < width; ++x) {
      double sum = 0, weights = 0;
      for (std::ptrdiff_t b = std::max<std::ptrdiff_t>(y - 1, 0); b <= std::min(y + 1, height - 1); ++b) {
        for (std::ptrdiff_t a = std::max<std::ptrdiff_t>(x - 1, 0); a <= std::min(x + 1, width - 1); ++a) {
          const auto p = static_cast<std::size_t>(b * width + a);
          if (bands_.lowest[p]) continue;
          const double weight = (a == x ? 2.0 : 1.0) * (b == y ? 2.0 : 1.0);
          sum += weight * std::log(std::max(in_plane_[p], 1e-300));
          weights += weight;
        }
      }
      result[static_cast<std::size_t>(y * width + x)] = weights > 0 ? std::exp(sum / weights) : 0;
    }
  }
  return result;
}

NoiseSpectrumFit::Whitened NoiseSpectrumFit::whiten(const NoiseBricks& bricks) const {
  const std::vector<double> smooth = smoothed();
  double strongest = 0, strongest_across = 0;
  for (std::size_t p = 0; p < plane_; ++p) strongest = std::max(strongest, bands_.lowest[p] ? 0 : in_plane_[p]);
  for (const double power : across_) strongest_across = std::max(strongest_across, power);
  // Weights and what noise comes to under them, in the plane and across.
  std::vector<double> weight(plane_), expected(plane_), weight_across(depth_), expected_across(depth_);
  double sum = 0, squares = 0, sum_across = 0, squares_across = 0;
  for (std::size_t p = 0; p < plane_; ++p) {
    if (!bands_.lowest[p] && !is_line_[p]) weight[p] = 1 / std::max(smooth[p] + soft * strongest, 1e-300);
    expected[p] = weight[p] * in_plane_[p];
    sum += expected[p];
    squares += square(expected[p]);
  }
  for (std::size_t k = 0; k < depth_; ++k) {
    if (k == 0 && is_constant_across_) continue;
    weight_across[k] = 1 / (across_[k] + soft * strongest_across);
    expected_across[k] = weight_across[k] * across_[k];
    sum_across += expected_across[k];
    squares_across += square(expected_across[k]);
  }
  std::vector<float> lower(plane_), upper(plane_);
  double so_far = 0;
  double lower_sum = 0;
  for (const std::size_t p : bands_.by_frequency) {
    so_far += expected[p];
    const bool is_lower = so_far <= 0.5 * sum;
    (is_lower ? lower : upper)[p] = static_cast<float>(weight[p]);
    if (is_lower) lower_sum += expected[p];
  }
  const std::size_t half = depth_ / 2;
  double near_sum = 0, near_squares = 0;
  for (std::size_t k = 0; k < half; ++k) {
    near_sum += expected_across[k];
    near_squares += square(expected_across[k]);
  }
  const auto log_ratio = [](double a, double b) {
    return std::log(std::max(a, 1e-300)) - std::log(std::max(b, 1e-300));
  };
  Whitened whitened;
  whitened.freedom = square(sum * sum_across) / std::max(squares * squares_across, 1e-300);
  const double in_plane_freedom = square(sum) / std::max(squares, 1e-300);
  if (depth_ >= 4) {
    const double near = in_plane_freedom * square(near_sum) / std::max(near_squares, 1e-300);
    const double far =
        in_plane_freedom * square(sum_across - near_sum) / std::max(squares_across - near_squares, 1e-300);
    whitened.across_spread = std::sqrt(2 / near + 2 / far);
  }
  for (std::int64_t i = 0; i < bricks.count(); ++i) {
    double low = 0, high = 0, near = 0;
    for (std::size_t k = 0; k < depth_; ++k) {
      const float* const energies = bricks.brick(i) + k * plane_;
      const double a = weighted_sum(lower.data(), energies, plane_), b = weighted_sum(upper.data(), energies, plane_);
      low += a * weight_across[k];
      high += b * weight_across[k];
      if (k < half) near += (a + b) * weight_across[k];
    }
    whitened.energy.push_back((low + high) / (sum * sum_across));
    whitened.slope.push_back(log_ratio(low / lower_sum, high / (sum - lower_sum)));
    whitened.across.push_back(depth_ >= 4 ? log_ratio(near / near_sum, (low + high - near) / (sum_across - near_sum))
                                          : 0);
  }
  return whitened;
}

std::vector<std::size_t> NoiseSpectrumFit::with_slope_of_noise(const Whitened& whitened, double spreads) const {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < whitened.slope.size(); ++i) {
    if (whitened.slope[i] >= spreads * std::sqrt(8 / whitened.freedom)) continue;
    if (depth_ >= 4 && whitened.across[i] >= spreads * whitened.across_spread) continue;
    candidates.push_back(i);
  }
  return candidates;
}

NoiseSpectrumFit::LikeNoise NoiseSpectrumFit::like_noise(const NoiseBricks& bricks) const {
  const Whitened whitened = whiten(bricks);
  LikeNoise result{with_slope_of_noise(whitened, 1), {}, spread_of(whitened.freedom)};
  std::erase_if(result.bricks, [&](std::size_t i) { return !(whitened.energy[i] > 0); });
  for (const std::size_t i : result.bricks) {
    // The mean of the logarithm lies below the logarithm of the mean.
    result.log_variance.push_back(std::log(whitened.energy[i] * variance()) + 0.5 * square(result.spread));
  }
  return result;
}

}  // namespace quietvox
