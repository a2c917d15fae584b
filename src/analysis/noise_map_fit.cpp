// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise_map_fit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/cholesky.hpp"
#include "analysis/linear_trend.hpp"
#include "analysis/median_of.hpp"

namespace quietvox {
namespace {

constexpr double near_weight = 0.3;  // from here on a candidate lies near what was fitted
constexpr double near_spreads = 3;   // above what was fitted a candidate has half the weight

// Of the voxels of a brick: noise has 3, dots and vessels have more, two values and slopes less.
constexpr double least_kurtosis_of_brick = 2.1, most_kurtosis_of_brick = 4;
constexpr double least_median_kurtosis = 2.3, most_median_kurtosis = 3.3;

constexpr double least_variation = 0.05;  // standard deviation of logarithms of sigma; less is none

double square(double value) { return value * value; }

/// Of a candidate so far above what is fitted. Below it half the weight is left at three times the distance.
double weight_of(double excess) { return 1 / (1 + (excess > 0 ? square(square(excess)) : square(excess / 3))); }

/// The mean of the logarithm lies below the logarithm of the mean.
double log_of(double energy, double spread) { return std::log(std::max(energy, 1e-300)) + 0.5 * square(spread); }

/// How many candidates lie near what was fitted.
std::size_t count_near(std::span<const double> weights) {
  return static_cast<std::size_t>(std::ranges::count_if(weights, [](double weight) { return weight > near_weight; }));
}

double share_near(std::span<const double> weights) {
  return static_cast<double>(count_near(weights)) / static_cast<double>(weights.size());
}

bool are_nearly_all_near(std::span<const double> weights) {
  constexpr double nearly_all = 0.93;  // among structure, others lie above what was fitted
  return share_near(weights) >= nearly_all;
}

double deviation_of(std::span<const double> numbers) {
  double sum = 0, squares = 0;
  for (const double number : numbers) {
    sum += number;
    squares += square(number);
  }
  const auto count = static_cast<double>(numbers.size());
  return count > 0 ? std::sqrt(std::max(squares / count - square(sum / count), 0.0)) : 0;
}

/// Of nodes of a map, as NoiseBricks::place gives it.
Triple<double> place_of_node(std::int64_t node, const Extent& nodes) {
  Triple<double> place;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t size = nodes[axis];
    place[axis] = size > 1 ? 2 * static_cast<double>(node % size) / static_cast<double>(size - 1) - 1 : 0;
    node /= size;
  }
  return place;
}

/// Calls `take(node)` for the nodes of a map that lie at most the distance of two nodes from a place.
template <class Take>
void for_each_node_near(const Triple<double>& place, const Extent& nodes, const Take& take) {
  Index3 first, last;
  for (int axis = 0; axis < 3; ++axis) {
    const double at = 0.5 * (place[axis] + 1) * static_cast<double>(nodes[axis] - 1);
    first[axis] = std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(at - 1)), 0);
    last[axis] = std::min<std::int64_t>(static_cast<std::int64_t>(std::floor(at + 1)), nodes[axis] - 1);
  }
  for (std::int64_t z = first.z; z <= last.z; ++z) {
    for (std::int64_t y = first.y; y <= last.y; ++y) {
      for (std::int64_t x = first.x; x <= last.x; ++x) {
        take(static_cast<std::size_t>((z * nodes.y + y) * nodes.x + x));
      }
    }
  }
}

}  // namespace

double misfit(std::span<const double> residuals, double spread) {
  constexpr double most = 9;
  double sum = 0;
  for (const double residual : residuals) sum += std::min(square(residual / spread), most);
  return sum / static_cast<double>(residuals.size());
}

NoiseLevel::NoiseLevel(const NoiseBricks& bricks, std::span<const double> kurtosis)
    : extent_(bricks.extent()), variance_(static_cast<std::size_t>(bricks.count()), 1), kurtosis_(kurtosis) {
  for (std::int64_t i = 0; i < bricks.count(); ++i) {
    places_.push_back(bricks.place(i));
    terms_.push_back(terms_at(places_.back()));
  }
}

NoiseLevel::Terms NoiseLevel::terms_at(const Triple<double>& place) {
  Terms values{};
  std::size_t i = 0;
  double x = 1;
  for (int a = 0; a <= 3; ++a, x *= place.x) {
    double xy = x;
    for (int b = 0; a + b <= 3; ++b, xy *= place.y) {
      double xyz = xy;
      for (int c = 0; a + b + c <= 3; ++c, xyz *= place.z) values[i++] = xyz;
    }
  }
  return values;
}

double NoiseLevel::product(const Terms& a, const Terms& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

NoiseLevel::Polynomial NoiseLevel::first_fit(const Candidates& candidates, double spread, double ridge) const {
  constexpr double width = 2.5;
  std::vector<double> sorted = candidates.log_energy;
  const auto start = sorted.begin() + static_cast<std::ptrdiff_t>(3 * sorted.size() / 10);
  std::nth_element(sorted.begin(), start, sorted.end());
  return fitted(candidates, spread, {*start}, width, ridge);
}

NoiseLevel::Polynomial NoiseLevel::close_fit(const Candidates& candidates, double spread, const Terms& start) const {
  constexpr double width = 1;                                       // what lies far above the start is not followed
  return fitted(candidates, spread, start, width, square(spread));  // coefficients are usually 1 or less
}

NoiseLevel::Polynomial NoiseLevel::fitted(const Candidates& candidates, double spread, const Terms& start, double width,
                                          double ridge) const {
  constexpr int iterations = 16;
  Polynomial polynomial{start, std::vector<double>(candidates.bricks.size())};
  for (int iteration = 0; iteration < iterations; ++iteration, width *= 0.75) {
    const double scale = std::max(near_spreads * spread, width);
    std::array<Terms, terms> matrix{};
    Terms right{};
    for (std::size_t j = 0; j < candidates.bricks.size(); ++j) {
      const Terms& at = terms_[candidates.bricks[j]];
      const double excess = (candidates.log_energy[j] - product(at, polynomial.coefficients)) / scale;
      const double weight = weight_of(excess);
      for (std::size_t a = 0; a < terms; ++a) {
        for (std::size_t b = 0; b <= a; ++b) matrix[a][b] += weight * at[a] * at[b];
        right[a] += weight * at[a] * candidates.log_energy[j];
      }
      polynomial.weights[j] = weight;
    }
    for (std::size_t a = 1; a < terms; ++a) matrix[a][a] += ridge;
    const auto entry = [&](std::size_t row, std::size_t column) -> double& { return matrix[row][column]; };
    solve_positive_definite(terms, entry, right);
    polynomial.coefficients = right;
  }
  return polynomial;
}

double NoiseLevel::misfit_of(std::span<const std::size_t> bricks, std::span<const double> log_energy,
                             double spread) const {
  constexpr double ridge = 0.5;
  const Candidates candidates{{bricks.begin(), bricks.end()}, {log_energy.begin(), log_energy.end()}};
  const Terms polynomial = first_fit(candidates, spread, ridge).coefficients;
  std::vector<double> residuals;
  for (std::size_t j = 0; j < bricks.size(); ++j) {
    residuals.push_back(log_energy[j] - product(terms_[bricks[j]], polynomial));
  }
  return misfit(residuals, spread);
}

bool NoiseLevel::take(const Candidates& candidates, const Polynomial& polynomial, double least,
                      const std::optional<NoiseDetail>& detail) {
  const auto level_at = [&](std::size_t i) {
    return product(terms_[i], polynomial.coefficients) + (detail ? detail->at(places_[i]) : 0);
  };
  std::vector<double> levels;
  for (std::size_t j = 0; j < candidates.bricks.size(); ++j) {
    if (polynomial.weights[j] > near_weight) levels.push_back(level_at(candidates.bricks[j]));
  }
  if (levels.empty()) return false;
  std::sort(levels.begin(), levels.end());
  const double low = levels[levels.size() / 100], high = levels[levels.size() - 1 - levels.size() / 100];
  double variances = 0;
  std::vector<double> level(variance_.size());
  for (std::size_t i = 0; i < variance_.size(); ++i) {
    level[i] = std::clamp(level_at(i), low, high);
    variances += std::exp(level[i]);
  }
  if (0.5 * deviation_of(level) < least) return false;
  varies_ = true;
  polynomial_ = polynomial.coefficients;
  detail_ = detail;
  lowest_ = low;
  highest_ = high;
  mean_ = std::log(variances / static_cast<double>(variance_.size()));
  for (std::size_t i = 0; i < variance_.size(); ++i) variance_[i] = std::exp(level[i] - mean_);
  return true;
}

NoiseDetail NoiseLevel::detail_beside(const Terms& polynomial, const Candidates& candidates,
                                      const std::vector<double>& energy, double spread) const {
  constexpr double first_width = 2.5, narrower = 0.65, below = 2;  // the last in spreads
  constexpr double usual_difference = 0.5;                         // of neighbouring nodes
  constexpr int iterations = 8;
  std::vector<bool> is_fitted(energy.size());
  for (const std::size_t i : candidates.bricks) {
    is_fitted[i] = kurtosis_[i] > least_kurtosis_of_brick && kurtosis_[i] < most_kurtosis_of_brick;
  }
  std::vector<double> beside, weights(energy.size());
  for (std::size_t i = 0; i < energy.size(); ++i) {
    beside.push_back(log_of(energy[i], spread) - product(terms_[i], polynomial));
  }
  NoiseDetail detail;
  double width = first_width;
  for (int iteration = 0; iteration < iterations; ++iteration, width *= narrower) {
    const double scale = std::max(near_spreads * spread, width);
    for (std::size_t i = 0; i < energy.size(); ++i) {
      const double excess = beside[i] - detail.at(places_[i]);
      // Others hold structure too, but no brick varies less than its noise.
      weights[i] = is_fitted[i] || excess < -below * spread ? weight_of(excess / scale) : 0;
    }
    detail.fit(places_, beside, weights, square(spread / usual_difference));
  }
  return detail;
}

bool NoiseLevel::take_with_detail(const Candidates& candidates, const Terms& polynomial,
                                  const std::vector<double>& energy, double spread, double least_near) {
  const NoiseDetail detail = detail_beside(polynomial, candidates, energy, spread);
  std::vector<double> weights, without_detail, kurtosis_explained;
  for (std::size_t j = 0; j < candidates.bricks.size(); ++j) {
    const std::size_t i = candidates.bricks[j];
    const double beside = candidates.log_energy[j] - product(terms_[i], polynomial);
    without_detail.push_back(weight_of(beside / (near_spreads * spread)));
    weights.push_back(weight_of((beside - detail.at(places_[i])) / (near_spreads * spread)));
    const bool is_explained = without_detail[j] <= near_weight && weights[j] > near_weight;
    if (is_explained && std::isfinite(kurtosis_[i])) kurtosis_explained.push_back(kurtosis_[i]);
  }
  if (kurtosis_explained.empty()) return false;
  const double kurtosis = median_of<double>(kurtosis_explained);
  if (!(kurtosis > least_median_kurtosis && kurtosis < most_median_kurtosis)) return false;
  // Where structure is everywhere fewer agree, but far more than without the detail.
  constexpr double many_near = 0.85, part_left = 0.2;
  const double near = share_near(weights);
  const bool explains_most = near >= many_near && 1 - near < part_left * (1 - share_near(without_detail));
  return near >= least_near && (explains_most || are_nearly_all_near(weights)) &&
         take(candidates, {polynomial, std::move(weights)}, least_variation, detail);
}

bool NoiseLevel::follow(const Candidates& candidates, const Terms& start, const std::vector<double>& energy,
                        double spread) {
  constexpr double close_enough = 0.97, much_closer = 0.4;
  constexpr std::size_t enough_candidates = 200, enough_bricks = 500;  // for detail
  const Polynomial close = close_fit(candidates, spread, start);
  const double near = share_near(close.weights);
  const bool is_close = are_nearly_all_near(close.weights);
  const bool are_enough = candidates.bricks.size() >= enough_candidates && energy.size() >= enough_bricks;
  if (near < close_enough && are_enough && !kurtosis_.empty()) {
    // A narrow hill bends the close fit. Where many candidates hold structure, the start lies too high.
    const double least_near = is_close ? 1 - much_closer * (1 - near) : 0;
    if (take_with_detail(candidates, start, energy, spread, least_near)) return true;
    if (take_with_detail(candidates, close.coefficients, energy, spread, least_near)) return true;
  }
  return is_close && take(candidates, close, least_variation);
}

NoiseLevel::Candidates NoiseLevel::candidates_of(std::span<const std::size_t> bricks, const std::vector<double>& energy,
                                                 double spread) {
  constexpr std::size_t most = 1024;
  const std::size_t count = std::min(bricks.size(), most);
  Candidates candidates;
  for (std::size_t j = 0; j < count; ++j) {
    const std::size_t i = bricks[j * bricks.size() / count];
    candidates.bricks.push_back(i);
    candidates.log_energy.push_back(log_of(energy[i], spread));
  }
  return candidates;
}

void NoiseLevel::fit(std::span<const std::size_t> surest, std::span<const std::size_t> sure,
                     const std::vector<double>& energy, std::span<const std::vector<double>> fine, double spread) {
  constexpr std::size_t fewest = 50, fewest_of_two_minds = 100;
  constexpr double cautious_ridge = 5;
  const Candidates few = candidates_of(surest, energy, spread), many = candidates_of(sure, energy, spread);
  // The map changes which bricks are candidates: those that remain may be too few to find it anew.
  if (is_close_ && many.bricks.size() >= fewest && follow(many, polynomial_, energy, spread)) return;
  stop_varying();
  if (few.bricks.size() < fewest) return;
  // Whether it varies is for the cautious fit to say, unless loud noise runs in streaks.
  const Polynomial cautious = first_fit(few, spread, cautious_ridge);
  if (take(few, cautious, least_variation)) {
    is_close_ = follow(many, cautious.coefficients, energy, spread);
    if (!is_close_ && count_near(cautious.weights) < fewest_of_two_minds) stop_varying();
    return;
  }
  constexpr std::size_t enough = 300;
  constexpr double steeper = 1.25, much = 0.09;
  if (many.bricks.size() < enough) return;
  const Polynomial close = close_fit(many, spread, cautious.coefficients);
  const bool are_streaks = std::ranges::any_of(
      fine, [&](const std::vector<double>& along) { return growth_of(along, many, close) > steeper; });
  is_close_ = are_streaks && are_nearly_all_near(close.weights) && take(many, close, much);
}

double NoiseLevel::growth_of(const std::vector<double>& energy, const Candidates& candidates,
                             const Polynomial& polynomial) const {
  LinearTrend trend;
  for (std::size_t j = 0; j < candidates.bricks.size(); ++j) {
    if (!(polynomial.weights[j] > near_weight)) continue;
    const double level = product(terms_[candidates.bricks[j]], polynomial.coefficients);
    trend.add(level, std::log(std::max(energy[candidates.bricks[j]], 1e-300)));
  }
  return trend.slope();
}

double NoiseLevel::median_variance() const {
  std::vector<double> variances = variance_;
  return median_of<double>(variances);
}

void NoiseLevel::stop_varying() {
  is_close_ = varies_ = false;
  detail_.reset();
  std::fill(variance_.begin(), variance_.end(), 1.0);
}

double NoiseLevel::log_variance_at(const Triple<double>& place) const {
  if (!varies_) return 0;
  const double beside = detail_ ? detail_->at(place) : 0;
  return std::clamp(product(terms_at(place), polynomial_) + beside, lowest_, highest_) - mean_;
}

std::vector<NoiseLevel::AirNear> NoiseLevel::air_near(std::span<const LocalNoise> air, double variance,
                                                      const Extent& nodes) const {
  constexpr double most_above_median = 0.35;  // more is a signal
  constexpr double few = 8;
  const auto count = static_cast<std::size_t>(nodes.voxels());
  std::vector<AirNear> result(count);
  if (air.empty()) return result;
  std::vector<double> excess;
  for (const LocalNoise& part : air) {
    excess.push_back(part.log_variance - std::log(variance) - log_variance_at(part.place));
  }
  std::vector<double> sorted = excess;
  const double most = median_of<double>(sorted) + most_above_median;
  std::vector<std::vector<double>> near(count);
  std::vector<double> of_object(count);
  for (std::size_t i = 0; i < air.size(); ++i) {
    if (excess[i] <= most)
      for_each_node_near(air[i].place, nodes, [&](std::size_t n) { near[n].push_back(excess[i]); });
  }
  for (const Triple<double>& place : places_) for_each_node_near(place, nodes, [&](std::size_t n) { ++of_object[n]; });
  for (std::size_t n = 0; n < count; ++n) {
    const auto parts = static_cast<double>(near[n].size());
    result[n] = {median_of<double>(near[n]), parts / (parts + of_object[n] + few)};
  }
  return result;
}

CoarseField NoiseLevel::map(std::span<const LocalNoise> air, double variance) const {
  constexpr std::int64_t nodes = 8;
  CoarseField map{{}, {}};
  for (int axis = 0; axis < 3; ++axis) map.size[axis] = std::min(extent_[axis], nodes);
  const std::vector<AirNear> near = air_near(air, variance, map.size);
  if (!varies_ && !varies(near)) return {};
  for (std::int64_t i = 0; i < map.size.voxels(); ++i) {
    const AirNear& here = near[static_cast<std::size_t>(i)];
    const double level = log_variance_at(place_of_node(i, map.size)) + here.share * here.excess;
    map.values.push_back(static_cast<float>(std::exp(0.5 * level)));
  }
  return map;
}

bool NoiseLevel::varies(std::span<const AirNear> air) {
  constexpr double least_share = 0.5;
  constexpr double least = 0.7 * least_variation;  // without structure, less is clear
  std::vector<double> levels;
  for (const AirNear& here : air) {
    if (here.share > least_share) levels.push_back(here.excess);
  }
  return 0.5 * deviation_of(levels) >= least;
}

}  // namespace quietvox
