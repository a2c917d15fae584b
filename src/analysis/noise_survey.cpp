// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise_survey.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <span>

#include "analysis/median_of.hpp"

namespace quietvox {
namespace {

constexpr std::int64_t most_sampled = 2048;  // bricks

/// The step of which all voxels are multiples; 0 where there is none that shows.
double quantisation_step(const NoiseBricks& bricks) {
  constexpr std::size_t most_values = std::size_t{1} << 14;
  std::vector<float> values;
  const std::int64_t all = bricks.count() * bricks.voxels();
  const std::int64_t stride = all / static_cast<std::int64_t>(most_values) + 1;
  for (std::int64_t i = 0; i < all; i += stride) {
    if (std::isfinite(bricks.brick(0)[i])) values.push_back(bricks.brick(0)[i]);
  }
  const std::size_t sampled = values.size();
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() < 2 || 4 * values.size() > sampled) return 0;
  double step = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < values.size(); ++i) {
    step = std::min(step, static_cast<double>(values[i]) - static_cast<double>(values[i - 1]));
  }
  std::size_t multiples = 0;
  for (const float value : values) {
    const double above = static_cast<double>(value) - static_cast<double>(values.front());
    const double steps = above / step;
    if (std::abs(steps - std::nearbyint(steps)) >= 0.05) continue;
    ++multiples;
    if (steps > 0.5) step = above / std::nearbyint(steps);  // floats that lie far apart know it better
  }
  return 10 * multiples >= 9 * values.size() ? step : 0;
}

/// Values of whole bricks that lie farther from those of nearly all other voxels than these do from each other.
FillValues far_values(const NoiseBricks& bricks, const std::map<double, std::int64_t>& bricks_of_value) {
  constexpr std::int64_t apart = 7;
  constexpr double outliers = 0.001;
  std::vector<float> others;
  for (std::int64_t i = 0; !bricks_of_value.empty() && i < bricks.count() * bricks.voxels(); i += apart) {
    const float voxel = bricks.brick(0)[i];
    if (std::isfinite(voxel) && !bricks_of_value.contains(static_cast<double>(voxel))) others.push_back(voxel);
  }
  if (others.empty()) return {};
  const double low = quantile_of(std::span(others), outliers), high = quantile_of(std::span(others), 1 - outliers);
  const double range = high - low;
  FillValues far;
  for (const auto& [value, bricks_of_it] : bricks_of_value) {
    const bool is_far = value > high + range || value < low - range;
    if (!is_far || !(range > 0)) continue;
    far.values.push_back(static_cast<float>(value));
    if (value < low) far.begin = low;
  }
  return far;
}

/// The share of a brick's voxels for which this is true.
template <class Is>
double share_of(const NoiseBricks& bricks, std::int64_t i, const Is& is) {
  const auto found = std::count_if(bricks.brick(i), bricks.brick(i) + bricks.voxels(), is);
  return static_cast<double>(found) / static_cast<double>(bricks.voxels());
}

constexpr double part = 0.2;  // of a brick's voxels, that chance hardly makes one value

/// Values of many bricks that hold one each, where most others hold none of these, as they do in an image of few values
/// without noise.
std::vector<float> find_uniform_values(const NoiseBricks& bricks, const std::map<double, std::int64_t>& bricks_of_value,
                                       double all_bricks) {
  constexpr double many = 0.01, fewest = 8, most_partly = 0.5;
  std::vector<float> found;
  for (const auto& [value, bricks_of_it] : bricks_of_value) {
    if (static_cast<double>(bricks_of_it) >= std::max(many * all_bricks, fewest)) {
      found.push_back(static_cast<float>(value));
    }
  }
  if (found.empty()) return {};
  const std::vector<std::int64_t> some = from_all_over(bricks.count(), most_sampled);
  const auto is_of_one = [&](float voxel) {
    return std::isfinite(voxel) && bricks_of_value.contains(static_cast<double>(voxel));
  };
  const auto partly =
      std::ranges::count_if(some, [&](std::int64_t i) { return share_of(bricks, i, is_of_one) >= part; });
  return static_cast<double>(partly) > most_partly * static_cast<double>(some.size()) ? std::vector<float>() : found;
}

/// Adds to `fill` what the means of all bricks tell: if few bricks lie far above all others, they hold fill values;
/// more are an object in much air, however bright it is.
FillValues find_fill_values(std::vector<double> means, FillValues fill, const NoiseBricks& bricks) {
  constexpr double spreads = 64, most_spreads = 1e6, few = 0.002, fewest = 5;
  const double first = quantile_of(std::span(means), 0.25), third = quantile_of(std::span(means), 0.75);
  if (!(third > first)) return fill;
  const double end = third + spreads * (third - first);
  std::int64_t beyond = 0;
  for (std::int64_t i = 0; i < bricks.count(); ++i) beyond += bricks.mean(i) > end && !fill.in(bricks, i);
  const bool is_object = static_cast<double>(beyond) >= std::max(few * static_cast<double>(means.size()), fewest);
  fill.end = is_object ? third + most_spreads * (third - first) : end;
  return fill;
}

/// True if the highest value is far more frequent than the next lower one.
bool is_clipped_at_top(const NoiseBricks& bricks) {
  constexpr std::int64_t far_more = 4;
  const auto count_of = [&](float value) {
    return bricks.count() == 0 ? 0 : std::count(bricks.brick(0), bricks.brick(bricks.count()), value);
  };
  float next = -std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < bricks.count() * bricks.voxels(); ++i) {
    const float voxel = bricks.brick(0)[i];
    if (voxel < bricks.highest() && voxel > next) next = voxel;
  }
  return count_of(bricks.highest()) > far_more * count_of(next);
}

}  // namespace

bool FillValues::is_one(double value) const {
  return std::ranges::find(values, static_cast<float>(value)) != values.end();
}

bool FillValues::in(const NoiseBricks& bricks, std::int64_t i) const {
  const auto is_fill = [&](float voxel) { return is_one(static_cast<double>(voxel)); };
  return are_in(bricks.mean(i)) ||
         (!values.empty() && std::any_of(bricks.brick(i), bricks.brick(i) + bricks.voxels(), is_fill));
}

NoiseSurvey::NoiseSurvey(const NoiseBricks& bricks, const Known& known)
    : step(quantisation_step(bricks)),
      is_clipped(!known.is_difference && is_clipped_at_top(bricks)),
      is_difference_(known.is_difference) {
  look_at_means(bricks);
  if (known.may_have_borders) leave_borders_out(bricks, known.object_is_dark);
  // A bright background that is clipped (X-ray images stored inverted) shows no noise: then the dark is looked at.
  if (!find_object(bricks, !known.object_is_dark)) find_object(bricks, known.object_is_dark);
}

void NoiseSurvey::look_at_means(const NoiseBricks& bricks) {
  constexpr double masked_share = 0.05;
  std::vector<double> means;
  std::map<double, std::int64_t> bricks_of_value;
  for (std::int64_t i = 0; i < bricks.count(); ++i) means.push_back(bricks.mean(i));
  for (const NoiseBricks::Background& one : bricks.background()) {
    means.push_back(one.mean);
    if (one.constant) ++bricks_of_value[one.mean];
  }
  const double all_bricks = static_cast<double>(means.size());
  fill = find_fill_values(means, is_difference_ ? FillValues() : far_values(bricks, bricks_of_value), bricks);
  means.clear();
  for (std::int64_t i = 0; i < bricks.count(); ++i) {
    if (!fill.in(bricks, i)) means.push_back(bricks.mean(i));
  }
  for (const NoiseBricks::Background& one : bricks.background()) {
    if (!is_fill(one)) means.push_back(one.mean);
  }
  if (means.empty()) means.push_back(0);
  darkest = std::ranges::min(means);
  brightest_ = std::ranges::max(means);
  if (is_difference_) {
    left_out_ = {0};  // what both volumes hold alike
  } else {
    uniform_values = find_uniform_values(bricks, bricks_of_value, all_bricks);
    const auto is_between = [&](double value) { return value > darkest && value < brightest_; };
    // What is saturated is left out only beside others: by itself it may be most of what is bright.
    if (std::ranges::any_of(uniform_values, is_between)) {
      left_out_ = uniform_values;
      std::erase_if(left_out_, [&](double value) { return value <= darkest; });
      std::erase_if(means, [&](double mean) { return is_left_out(mean); });
    }
  }
  double sum = 0, count = 0;
  for (const double mean : means) {
    if (!(mean > darkest)) continue;
    sum += mean;
    ++count;
  }
  middle = count > 0 ? sum / count : darkest;
  std::int64_t one_value = 0, most_bricks = 0;
  for (const auto& [value, bricks_of_it] : bricks_of_value) {
    one_value += bricks_of_it;
    if (bricks_of_it > most_bricks) background = static_cast<float>(value);
    most_bricks = std::max(most_bricks, bricks_of_it);
  }
  // A panel may be larger than what lies around the image.
  const auto darkest_value = static_cast<float>(darkest);
  if (is_left_out(static_cast<double>(background)) &&
      std::ranges::find(uniform_values, darkest_value) != uniform_values.end()) {
    background = darkest_value;
  }
  partly = std::ssize(bricks.background()) - one_value;
  masked = static_cast<double>(one_value) > masked_share * all_bricks;
}

void NoiseSurvey::leave_borders_out(const NoiseBricks& bricks, bool object_is_dark) {
  constexpr double alike = 0.1, few = 0.05;
  constexpr std::int64_t fewest = 100;
  const double up = object_is_dark ? 1 : -1;  // from the border to the object
  const auto level = [&](std::int64_t i) { return up * bricks.mean(i); };
  const auto count = static_cast<std::size_t>(bricks.count());
  std::vector<bool> border(count);
  for (const int axis : {0, 1}) {
    const auto bands =
        static_cast<std::size_t>(std::max<std::int64_t>(bricks.extent()[axis] / (2 * bricks.size()[axis]), 1));
    std::vector<std::vector<std::int64_t>> in_band(bands);
    for (std::int64_t i = 0; i < bricks.count(); ++i) {
      const double at = (bricks.place(i)[axis] + 1) / 2 * static_cast<double>(bands);
      in_band[std::min(static_cast<std::size_t>(std::max(at, 0.0)), bands - 1)].push_back(i);
    }
    for (const bool from_end : {false, true}) {
      if (from_end) std::ranges::reverse(in_band);
      std::vector<double> at_edge;
      for (const std::int64_t i : in_band.front()) at_edge.push_back(level(i));
      if (at_edge.empty()) continue;
      const double edge = median_of<double>(at_edge), most = edge + alike * (up * middle - edge);
      const auto is_border = [&](const std::vector<std::int64_t>& band) {
        const auto others = std::ranges::count_if(band, [&](std::int64_t i) { return level(i) > most; });
        return static_cast<double>(others) <= few * static_cast<double>(band.size());
      };
      const auto inner = std::ranges::find_if_not(in_band, is_border);
      if (inner == in_band.begin()) continue;
      // Bricks next to it may be part border, part object.
      for (auto band = in_band.begin(); band != in_band.end() && band <= inner; ++band) {
        for (const std::int64_t i : *band) border[static_cast<std::size_t>(i)] = true;
      }
    }
  }
  std::vector<double> means;
  for (std::int64_t i = 0; i < bricks.count(); ++i) {
    if (!border[static_cast<std::size_t>(i)] && !fill.in(bricks, i)) means.push_back(bricks.mean(i));
  }
  if (means.size() == count || means.empty()) return;
  const double inner = std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(means.size());
  if (std::ranges::count_if(means, [&](double mean) { return up * mean < up * inner; }) < fewest) return;
  middle = inner;
  border_ = std::move(border);
}

bool NoiseSurvey::find_object(const NoiseBricks& bricks, bool is_bright) {
  constexpr double most_background_with_impulses = 0.6;
  const auto on_this_side = [&](double mean) { return (mean >= middle) == is_bright; };
  std::vector<std::int64_t> side;
  for (std::int64_t i = 0; i < bricks.count(); ++i) {
    const bool is_border = !border_.empty() && border_[static_cast<std::size_t>(i)];
    if (on_this_side(bricks.mean(i)) && !is_border && !fill.in(bricks, i) && !is_partly_left_out(bricks, i)) {
      side.push_back(i);
    }
  }
  impulses = find_impulses(bricks, side);
  const double most = impulses.share > 0 ? most_background_with_impulses : most_background;
  object.assign(static_cast<std::size_t>(bricks.count()), false);
  ImpulseRepair repair(bricks.size());
  std::vector<float> brick;
  const auto is_left_by_impulses = [&](std::int64_t i) {
    if (impulses.share == 0) return true;
    brick.clear();
    std::copy_if(bricks.brick(i), bricks.brick(i) + bricks.voxels(), std::back_inserter(brick),
                 [](float value) { return std::isfinite(value); });
    constexpr double part_of_panel = 0.4;  // that impulses leave, if they are less than half of it
    const auto usual = static_cast<float>(median_of<float>(brick));
    if (share_of(bricks, i, [&](float value) { return value == usual; }) < part_of_panel) return true;
    brick.assign(bricks.brick(i), bricks.brick(i) + bricks.voxels());
    if (repair.repair_brick(brick.data(), impulses) > ImpulseRepair::max_flagged_share) return false;
    const auto [least, most_of_brick] = std::ranges::minmax(brick);
    return least < most_of_brick;
  };
  for (const std::int64_t i : side) {
    object[static_cast<std::size_t>(i)] = background_share(bricks, i) <= most && is_left_by_impulses(i);
  }
  const auto noisy = std::ranges::count(object, true);
  constant = 0;
  std::int64_t all_constant = 0;
  for (const NoiseBricks::Background& one : bricks.background()) {
    if (!one.constant || is_fill(one) || is_left_out(one.mean) || !on_this_side(one.mean)) continue;
    ++all_constant;
    const bool is_background = masked && static_cast<float>(one.mean) == background;
    const bool is_cut = (one.mean == darkest || one.mean == brightest_ || is_background) && darkest < brightest_;
    constant += !is_cut;
  }
  if (noisy == 0 || all_constant > noisy) return false;
  partly += std::ssize(side) - noisy;
  return true;
}

bool NoiseSurvey::is_fill(const NoiseBricks::Background& one) const {
  return fill.are_in(one.mean) || (one.constant && fill.is_one(one.mean));
}

bool NoiseSurvey::is_left_out(double value) const {
  return !is_difference_ && std::ranges::find(left_out_, static_cast<float>(value)) != left_out_.end();
}

bool NoiseSurvey::is_partly_left_out(const NoiseBricks& bricks, std::int64_t i) const {
  return std::ranges::any_of(left_out_, [&](float one) {
    const double share = share_of(bricks, i, [&](float value) { return value == one; });
    if (share < part) return false;
    // Tissue of that value, whose noise is of few steps, holds as much of the values next to it.
    constexpr double more = 2;
    return share > more * share_next_to(bricks, i, one);
  });
}

double NoiseSurvey::share_next_to(const NoiseBricks& bricks, std::int64_t i, float one) const {
  return share_of(bricks, i, [&](float value) {
    return value != one && std::abs(static_cast<double>(value) - static_cast<double>(one)) < 1.5 * step;
  });
}

double NoiseSurvey::background_share(const NoiseBricks& bricks, std::int64_t i) const {
  if (is_difference_) {
    // Of whole numbers, 0 comes by chance too: then the next numbers are about as frequent.
    constexpr double more = 1.25;
    const double share = share_of(bricks, i, [](float value) { return value == 0; });
    return share > more * share_next_to(bricks, i, 0) ? share : 0;
  }
  return share_of(bricks, i, [&](float value) {
    return value == bricks.lowest() || (is_clipped && value == bricks.highest()) || (masked && value == background);
  });
}

bool NoiseSurvey::shows_noise(const NoiseBricks& bricks, std::int64_t i) const {
  return background_share(bricks, i) <= most_background && !fill.in(bricks, i);
}

NoiseBricks NoiseSurvey::sample_of(const NoiseBricks& bricks) const {
  std::vector<std::int64_t> chosen;
  for (const std::int64_t i : from_all_over(bricks.count(), most_sampled)) {
    if (shows_noise(bricks, i)) chosen.push_back(i);
  }
  return bricks.some(chosen);
}

NoiseBricks NoiseSurvey::other_side(const NoiseBricks& bricks) const {
  std::vector<std::int64_t> all, chosen;
  for (std::int64_t i = 0; i < bricks.count(); ++i) {
    if (!object[static_cast<std::size_t>(i)] && shows_noise(bricks, i)) all.push_back(i);
  }
  for (const std::int64_t n : from_all_over(std::ssize(all), most_sampled)) {
    chosen.push_back(all[static_cast<std::size_t>(n)]);
  }
  return bricks.some(chosen);
}

std::vector<std::int64_t> from_all_over(std::int64_t count, std::int64_t most) {
  const std::int64_t taken = std::min(most, count);
  std::vector<std::int64_t> chosen;
  for (std::int64_t n = 0; n < taken; ++n) chosen.push_back(n * count / taken);
  return chosen;
}

}  // namespace quietvox
