// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/measure_noise.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>

#include "analysis/air.hpp"
#include "analysis/dct_energies.hpp"
#include "analysis/median_of.hpp"
#include "analysis/noise_across_slices.hpp"
#include "analysis/noise_impulses.hpp"
#include "analysis/noise_signal.hpp"
#include "analysis/noise_spectrum_fit.hpp"
#include "analysis/rician.hpp"
#include "analysis/simple_noise_estimators.hpp"
#include "analysis/white_noise_in_structure.hpp"
#include "core/swapped_volume.hpp"

namespace quietvox {
namespace {

constexpr double least_floor = 0.5;               // of noise, which has about 0.8; less is structure
constexpr double least_between_neighbours = 0.1;  // of sigma, that noise shows there; less is structure
constexpr double spoilt = 0.6;                    // flatness below which structure is as strong as the noise

constexpr std::int64_t many_parts_tell = 1000;
constexpr const char* few_parts_tell = "few parts of the image tell of the noise";

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
    const double steps = (static_cast<double>(value) - static_cast<double>(values.front())) / step;
    multiples += std::abs(steps - std::nearbyint(steps)) < 0.05;
  }
  return 10 * multiples >= 9 * values.size() ? step : 0;
}

/// Values that stand for none, far from all others.
struct FillValues {
  double end = std::numeric_limits<double>::infinity(), begin = -end;  ///< bricks of means beyond these hold some
  std::vector<float> values;

  bool is_one(double value) const { return std::ranges::find(values, static_cast<float>(value)) != values.end(); }
  bool are_in(double mean) const { return mean < begin || mean > end; }
  bool in(const NoiseBricks& bricks, std::int64_t i) const {
    const auto is_fill = [&](float voxel) { return is_one(static_cast<double>(voxel)); };
    return are_in(bricks.mean(i)) ||
           (!values.empty() && std::any_of(bricks.brick(i), bricks.brick(i) + bricks.voxels(), is_fill));
  }
};

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

/// What the bricks of a volume show before any is left out.
struct Survey {
  Impulses impulses;
  FillValues fill;
  bool is_clipped = false;  ///< at the top
  bool masked = false;
  float background = 0;       ///< the most frequent value of bricks that hold only one
  double darkest = 0;         ///< of the bricks' means
  double middle = 0;          ///< between dark and bright bricks
  std::vector<bool> object;   ///< bricks that show noise, if there is any
  std::int64_t constant = 0;  ///< bricks that hold only one value, without background and saturation
  std::int64_t partly = 0;    ///< bricks that are part background, part object
};

constexpr double most_background = 0.02;  // of a brick that shows noise

double background_share(const NoiseBricks& bricks, std::int64_t i, const Survey& found) {
  const auto background = std::count_if(bricks.brick(i), bricks.brick(i) + bricks.voxels(), [&](float value) {
    return value == bricks.lowest() || (found.is_clipped && value == bricks.highest()) ||
           (found.masked && value == found.background);
  });
  return static_cast<double>(background) / static_cast<double>(bricks.voxels());
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

/// `is_difference`: the bricks hold what two volumes differ by, their means are those of one volume.
Survey survey(const NoiseBricks& bricks, bool is_difference) {
  constexpr double most_background_with_impulses = 0.6, masked_share = 0.05;
  Survey result;
  result.is_clipped = !is_difference && is_clipped_at_top(bricks);
  std::vector<double> means;
  std::map<double, std::int64_t> bricks_of_value;
  for (std::int64_t i = 0; i < bricks.count(); ++i) means.push_back(bricks.mean(i));
  for (const NoiseBricks::Background& one : bricks.background()) {
    means.push_back(one.mean);
    if (one.constant) ++bricks_of_value[one.mean];
  }
  const double all_bricks = static_cast<double>(means.size());
  result.fill = find_fill_values(means, is_difference ? FillValues() : far_values(bricks, bricks_of_value), bricks);
  const FillValues& fill = result.fill;
  const auto is_fill = [&](const NoiseBricks::Background& one) {
    return fill.are_in(one.mean) || (one.constant && fill.is_one(one.mean));
  };
  means.clear();
  for (std::int64_t i = 0; i < bricks.count(); ++i) {
    if (!fill.in(bricks, i)) means.push_back(bricks.mean(i));
  }
  for (const NoiseBricks::Background& one : bricks.background()) {
    if (!is_fill(one)) means.push_back(one.mean);
  }
  if (means.empty()) means.push_back(0);
  const double darkest = std::ranges::min(means), brightest = std::ranges::max(means);
  double sum = 0, count = 0;
  for (const double mean : means) {
    if (!(mean > darkest)) continue;
    sum += mean;
    ++count;
  }
  result.middle = count > 0 ? sum / count : darkest;
  result.darkest = darkest;
  std::int64_t one_value = 0, most_bricks = 0;
  for (const auto& [value, bricks_of_it] : bricks_of_value) {
    one_value += bricks_of_it;
    if (bricks_of_it > most_bricks) result.background = static_cast<float>(value);
    most_bricks = std::max(most_bricks, bricks_of_it);
  }
  result.partly = std::ssize(bricks.background()) - one_value;
  result.masked = static_cast<double>(one_value) > masked_share * all_bricks;

  // A bright background that is clipped (X-ray images stored inverted) shows no noise: then the dark is looked at.
  for (const bool bright : {true, false}) {
    const auto on_this_side = [&](double mean) { return (mean >= result.middle) == bright; };
    std::vector<std::int64_t> side;
    for (std::int64_t i = 0; i < bricks.count(); ++i) {
      if (on_this_side(bricks.mean(i)) && !fill.in(bricks, i)) side.push_back(i);
    }
    result.impulses = find_impulses(bricks, side);
    const double most = result.impulses.share > 0 ? most_background_with_impulses : most_background;
    result.object.assign(static_cast<std::size_t>(bricks.count()), false);
    std::int64_t noisy = 0, partly = 0;
    for (const std::int64_t i : side) {
      if (background_share(bricks, i, result) > most) {
        ++partly;
        continue;
      }
      result.object[static_cast<std::size_t>(i)] = true;
      ++noisy;
    }
    result.constant = 0;
    std::int64_t constant = 0;
    for (const NoiseBricks::Background& one : bricks.background()) {
      if (!one.constant || is_fill(one) || !on_this_side(one.mean)) continue;
      ++constant;
      const bool is_background = result.masked && static_cast<float>(one.mean) == result.background;
      const bool cut = (one.mean == darkest || one.mean == brightest || is_background) && darkest < brightest;
      result.constant += !cut;
    }
    if (noisy > 0 && constant <= noisy) {
      result.partly += partly;
      break;
    }
  }
  return result;
}

/// Second and fourth central moments of the voxels of a brick; not finite where some are missing.
struct Moments {
  double variance, fourth;
};

std::vector<Moments> moments_of(const NoiseBricks& bricks) {
  std::vector<Moments> all;
  const auto voxels = static_cast<double>(bricks.voxels());
  for (std::int64_t i = 0; i < bricks.count(); ++i) {
    const std::span brick(bricks.brick(i), static_cast<std::size_t>(bricks.voxels()));
    const double mean = std::accumulate(brick.begin(), brick.end(), 0.0) / voxels;
    Moments moments{};
    for (const float voxel : brick) {
      const double square = (static_cast<double>(voxel) - mean) * (static_cast<double>(voxel) - mean);
      moments.variance += square / voxels;
      moments.fourth += square * square / voxels;
    }
    all.push_back(moments);
  }
  return all;
}

/// Whether the voxels of these bricks, taken together, are of two kinds, with few between: their kurtosis is below that
/// of noise, which is 3 whatever its spectrum, and more where it is skewed (speckle, counts after reconstruction).
bool are_of_two_kinds(std::span<const Moments> moments, std::span<const std::size_t> chosen) {
  constexpr std::size_t fewest = 60;
  constexpr double least_kurtosis = 2.3;
  if (chosen.size() < fewest) return false;
  double variances = 0, fourths = 0;
  for (const std::size_t i : chosen) {
    variances += moments[i].variance;
    fourths += moments[i].fourth;
  }
  return fourths * static_cast<double>(chosen.size()) < least_kurtosis * variances * variances;
}

/// Turns bricks into their energies, after replacing missing voxels and impulses. Returns each brick's share of
/// impulses.
std::vector<double> take_apart(NoiseBricks& bricks, const Impulses& impulses, const Execution& execution) {
  const DctEnergies cosine(bricks.size());
  std::vector<double> repaired(static_cast<std::size_t>(bricks.count()));
  parallel_for(execution.silent(), bricks.count(), 256, [&](std::int64_t begin, std::int64_t end) {
    ImpulseRepair repair(bricks.size());
    for (std::int64_t i = begin; i < end; ++i) {
      float* const brick = bricks.brick(i);
      const double share = std::min(repair.repair_brick(brick, impulses), ImpulseRepair::max_flagged_share);
      repaired[static_cast<std::size_t>(i)] = repair.share_of_impulses();
      cosine.energies(brick);
      const auto correction = static_cast<float>(1 / (1 - share));
      for (std::int64_t j = 0; j < bricks.voxels(); ++j) brick[j] *= correction;
    }
  });
  return repaired;
}

/// At most so many indices below `count`, from all over.
std::vector<std::int64_t> from_all_over(std::int64_t count, std::int64_t most) {
  const std::int64_t taken = std::min(most, count);
  std::vector<std::int64_t> chosen;
  for (std::int64_t n = 0; n < taken; ++n) chosen.push_back(n * count / taken);
  return chosen;
}

/// Bricks from all over a volume that show noise, dark ones too.
NoiseBricks sample_of(const NoiseBricks& bricks, const Survey& found) {
  std::vector<std::int64_t> chosen;
  for (const std::int64_t i : from_all_over(bricks.count(), 2048)) {
    if (background_share(bricks, i, found) <= most_background && !found.fill.in(bricks, i)) chosen.push_back(i);
  }
  return bricks.some(chosen);
}

/// Bricks of the other side of the middle than the object, without background.
NoiseBricks other_side(const NoiseBricks& bricks, const Survey& found) {
  std::vector<std::int64_t> all, chosen;
  for (std::int64_t i = 0; i < bricks.count(); ++i) {
    if (!found.object[static_cast<std::size_t>(i)] && !found.fill.in(bricks, i) &&
        background_share(bricks, i, found) <= most_background) {
      all.push_back(i);
    }
  }
  for (const std::int64_t n : from_all_over(std::ssize(all), 2048)) chosen.push_back(all[static_cast<std::size_t>(n)]);
  return bricks.some(chosen);
}

/// Some of the bricks, from all over.
NoiseBricks some_of(const NoiseBricks& bricks) { return bricks.some(from_all_over(bricks.count(), 1024)); }

/// How much louder than tissue air may be.
double most_of_air(bool masked) { return masked ? 1.15 : 1.3; }

/// The noise at these places, as `fit` tells it from tissue elsewhere.
double noise_at(std::span<const LocalNoise> places, const NoiseSpectrumFit& fit, const Extent& extent) {
  const CoarseField map = fit.map();
  std::vector<double> levels;
  for (const LocalNoise& one : places) {
    Index3 voxel;
    for (int axis = 0; axis < 3; ++axis) {
      voxel[axis] = std::llround((one.place[axis] + 1) / 2 * static_cast<double>(extent[axis] - 1));
    }
    levels.push_back(map.at(voxel, extent));
  }
  return median_of<double>(levels) * std::sqrt(fit.variance());
}

/// Whether what a header's word made air is louder than the noise of tissue, whose mean is `signal`: then it is dark
/// tissue, and its signal was taken for noise. Air may be louder, too. But bricks of dark tissue vary less than their
/// mean says, unless they hold structure; and where the background was cut out, air is what needs a reason.
bool is_dark_tissue(const Air& air, double signal, const NoiseSpectrumFit& fit, const Extent& extent, bool masked) {
  constexpr double as_air = 0.96;  // of the deviation that Rayleigh's distribution has; of a signal of one sigma 0.95
  if (!masked && air.deviation >= as_air * rayleigh_ratio) return false;
  return air.sigma > most_of_air(masked) * koay_sigma(signal, noise_at(air.parts, fit, extent));
}

/// Finds how the noise of these bricks would follow the signal, and whether it clearly does.
void follow_signal(NoiseModel& model, const NoiseBricks& bricks, const NoiseSpectrumFit& fit, double darkest,
                   bool may_be_magnitudes) {
  constexpr double least_signal = 4;            // standard deviations: where it is weaker, magnitudes vary less, too
  constexpr double as_good = 0.1;               // of a misfit
  const double level = std::min(darkest, 0.0);  // may have been taken off all voxels
  const NoiseSpectrumFit::LikeNoise like_noise = fit.like_noise(bricks);
  std::vector<NoisyPart> parts;
  std::vector<std::size_t> chosen;
  std::vector<double> log_variance;
  for (std::size_t j = 0; j < like_noise.bricks.size(); ++j) {
    const double signal = bricks.mean(static_cast<std::int64_t>(like_noise.bricks[j]));
    const double log = like_noise.log_variance[j];
    if (may_be_magnitudes && signal - level < least_signal * std::exp(0.5 * log)) continue;
    parts.push_back({signal, log});
    chosen.push_back(like_noise.bricks[j]);
    log_variance.push_back(log);
  }
  const auto poisson = fit_signal_variance(parts, like_noise.spread, darkest, 1);
  if (!poisson) return;  // what grows with the square grows
  const auto speckle = fit_signal_variance(parts, like_noise.spread, darkest, 2);
  model.poisson = poisson->variance;
  if (speckle) model.speckle = speckle->variance;
  const bool is_speckle = speckle && speckle->misfit < poisson->misfit - as_good;
  const SignalFit& best = is_speckle ? *speckle : *poisson;
  if (!best.is_clear(best.misfit_of_uniform)) return;
  if (!best.is_clear(NoiseLevel(bricks).misfit_of(chosen, log_variance, like_noise.spread))) return;
  model.distribution = is_speckle ? NoiseDistribution::speckle : NoiseDistribution::poisson;
}

/// The mean over bricks of the variance that their signal gives.
double mean_variance(const NoiseBricks& bricks, const SignalVariance& variance) {
  double sum = 0;
  for (std::int64_t i = 0; i < bricks.count(); ++i) sum += variance.at(bricks.mean(i));
  return sum / static_cast<double>(bricks.count());
}

/// The variance of white noise in a brick, by the differences along both diagonals of four voxels, which a slope leaves
/// as they are.
double variance_of_squares(const float* brick, const Extent& size) {
  double sum = 0;
  for (std::int64_t z = 0; z < size.z; ++z) {
    for (std::int64_t y = 0; y + 1 < size.y; ++y) {
      const float *const row = brick + (z * size.y + y) * size.x, *const next = row + size.x;
      for (std::int64_t x = 0; x + 1 < size.x; ++x) {
        const double difference = static_cast<double>(row[x] - row[x + 1] - next[x] + next[x + 1]);
        sum += difference * difference / 4;
      }
    }
  }
  return sum / static_cast<double>(size.z * (size.y - 1) * (size.x - 1));
}

/// Parts of counts, times a step.
struct CountedParts {
  std::size_t count;
  double mean;      ///< of those of the object
  double contrast;  ///< root of the median of their variance besides that of the noise
};

/// Parts whose noise has a variance of their mean times the step of the values, in dark ones and in bright ones alike:
/// then the voxels are counts. `object`: which bricks belong to it.
std::optional<CountedParts> parts_of_counts(const NoiseBricks& bricks, double step, const std::vector<bool>& object) {
  constexpr std::size_t fewest = 90, classes = 3;
  constexpr double fewest_counts = 16;        // of a part
  constexpr double least_range = 1.5;         // of means, from the darkest class to the brightest
  constexpr double least = 0.8, most = 1.12;  // of few squares, most dispersions are below 1
  const Extent& size = bricks.size();
  if (!(step > 0) || bricks.lowest() < 0 || size.x < 2 || size.y < 2) return std::nullopt;
  struct Part {
    double mean, dispersion;
  };
  std::vector<Part> parts;
  std::vector<double> means, besides;
  const auto voxels = static_cast<double>(bricks.voxels());
  for (std::int64_t i = 0; i < bricks.count(); ++i) {
    const float* const brick = bricks.brick(i);
    double sum = 0, squares = 0;
    for (std::int64_t j = 0; j < bricks.voxels(); ++j) {
      const auto voxel = static_cast<double>(brick[j]);
      sum += voxel;
      squares += voxel * voxel;
    }
    if (!(sum >= fewest_counts * step)) continue;  // nor where some are missing
    const double mean = sum / voxels;
    parts.push_back({mean, variance_of_squares(brick, size) / (mean * step)});
    besides.push_back(squares / voxels - mean * mean - step * mean);
    if (object[static_cast<std::size_t>(i)]) means.push_back(mean);
  }
  if (parts.size() < fewest || means.empty()) return std::nullopt;
  std::ranges::sort(parts, {}, &Part::mean);
  const std::size_t in_class = parts.size() / classes;
  if (parts[in_class / 2].mean * least_range > parts[parts.size() - 1 - in_class / 2].mean) return std::nullopt;
  for (std::size_t c = 0; c < classes; ++c) {
    std::vector<double> dispersions;
    for (std::size_t i = c * in_class; i < (c + 1) * in_class; ++i) dispersions.push_back(parts[i].dispersion);
    const double usual = shortest_half(dispersions).mean;
    if (usual < least || usual > most) return std::nullopt;
  }
  const double mean = std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(means.size());
  return CountedParts{parts.size(), mean, std::sqrt(std::max(median_of<double>(besides), 0.0))};
}

/// How many voxels of a slice carry the same noise.
double correlation_area(const NoiseSpectrum& spectrum) {
  const Triple<double> length = spectrum.length();
  return length.x * length.y;
}

/// Noise of CT is; white noise is not.
bool is_correlated_across_slices(const NoiseModel& model) {
  constexpr double most = 1.25;  // voxels
  return model.spectrum.length().z >= most;
}

/// Whether the highest frequencies, which structure hardly reaches, show more than structure alone leaves there: then
/// there is white noise besides. `finest`: sigma by these.
bool is_white(const NoiseModel& model, double finest) {
  constexpr double much = 0.6;  // of sigma
  return finest > much * model.sigma && !is_correlated_across_slices(model);
}

/// Sets the confidence, and why it is not high. `fit`: the one to the usual number of bricks. `finest`: sigma by its
/// highest frequencies. `why_magnitudes`: why they may be, though nothing says so for sure; empty if they are not.
void judge(NoiseModel& model, const NoiseSpectrumFit& fit, double finest, std::int64_t object, std::int64_t partly,
           const std::string& why_magnitudes) {
  constexpr double structure_alone = 0.35;
  constexpr double correlated = 1.5, hardly_white = 1.2;  // voxels of a slice that carry the same noise
  constexpr std::int64_t few = 100, many = many_parts_tell, mostly = 16;
  constexpr double weakest = 0.42;  // of a step: rounding leaves little of weaker noise
  model.confidence = Confidence::high;
  const double flatness = fit.flatness();
  const auto because = [&](Confidence confidence, std::string reason) {
    if (confidence >= model.confidence) return;
    model.confidence = confidence;
    model.reason = std::move(reason);
  };
  if (model.sigma < weakest * model.step) {
    because(Confidence::none, "the noise is weaker than the step of the voxels' values");
  }
  if (fit.is_pattern()) {
    because(Confidence::none, "a pattern repeats all over the image, such as lines of a grid, and hides the noise");
  }
  if (flatness < structure_alone && !is_white(model, finest)) {
    because(Confidence::none, "the flattest parts hold more structure than noise, if there is noise");
  }
  if (partly > mostly * object) {
    because(Confidence::none,
            "nearly all parts of the image hold voxels of its least, its greatest or the background's value");
  }
  if (flatness < spoilt) because(Confidence::low, "even the flattest parts hold structure as strong as the noise");
  if (object < few) because(Confidence::low, "the object has few parts to go by");
  if (model.spectrum.size.z == 1 && correlation_area(model.spectrum) > (object < many ? correlated : hardly_white)) {
    because(object < many ? Confidence::low : Confidence::medium,
            "in a single slice, texture looks like correlated noise");
  }
  if (fit.floor() < least_floor) because(Confidence::low, "few flat regions agree on the noise level");
  if (flatness < mixed_flatness) because(Confidence::medium, "even the flattest parts hold some structure");
  if (model.impulses > 0) because(Confidence::medium, "impulses were left out");
  if (object < many) because(Confidence::medium, few_parts_tell);
  if (!why_magnitudes.empty()) because(Confidence::medium, why_magnitudes);
}

/// `of_quiet` if it is much lower than `sigma`: then `sigma` is mostly structure. Else `sigma`, which rests on more
/// numbers.
double less_structure(double sigma, double of_quiet) {
  constexpr double much = 0.7;  // of sigma
  return of_quiet > 0 && of_quiet < much * sigma ? of_quiet : sigma;
}

void set_sigma(NoiseModel& model, double sigma) {
  const double factor = model.sigma > 0 ? sigma / model.sigma : 0;
  model.poisson = model.poisson.times(factor * factor);
  model.speckle = model.speckle.times(factor * factor);
  model.sigma = sigma;
}

/// Takes what the model has more than that, at most its own sigma, for structure.
void take_as_white(NoiseModel& model, double sigma) {
  model.contrast = std::hypot(model.contrast, std::sqrt(model.sigma * model.sigma - sigma * sigma));
  set_sigma(model, sigma);
  model.spectrum = {};
}

/// Where the signal is weak, Rician noise varies less than its sigma. Air shows how much less, if its noise is the same
/// everywhere and agrees with that of the signal; else the signal does, but there texture makes much of a difference.
/// Returns true if air showed it.
bool correct_rician(NoiseModel& model, double signal, const Air& air) {
  constexpr double weak = 5;  // sigmas
  constexpr double alike = 1.35;
  model.distribution = NoiseDistribution::rician;
  if (!(signal > 0)) return false;
  if (air.is_even && signal < weak * air.sigma) {
    const double ratio = model.sigma / rician_deviation(signal, air.sigma);
    if (ratio < alike && alike * ratio > 1) {
      set_sigma(model, air.sigma);
      return true;
    }
  }
  if (signal < weak * model.sigma) set_sigma(model, koay_sigma(signal, model.sigma));
  return false;
}

struct Measured {
  NoiseModel model;
  double steepness = 1, floor = 1;
  double sigma_of_flat = 0;    ///< by the usual number of bricks
  double most = 0;             ///< sigma before what structure adds was taken off, if it was
  double of_quiet = 0;         ///< sigma of white noise by quiet pieces; 0 if it is not white or was not looked for
  double signal = 0;           ///< mean of the volume where the noise was measured
  std::int64_t object = 0;     ///< bricks
  Air air{};                   ///< without its parts
  std::string why_magnitudes;  ///< why they may be, though nothing says so for sure
  bool nothing_to_go_by = false, is_by_air = false, is_of_counts = false;
};

/// What headers say of whether voxels are magnitudes, whose noise is Rician.
enum class Magnitudes { no, perhaps, yes };

/// What headers say of the noise, and of the voxels.
struct Said {
  Magnitudes magnitudes = Magnitudes::perhaps;
  bool may_follow_signal = true;
  bool has_large_voxels = false;
};

/// So large that no part of a head is flat.
bool has_large_voxels(const VolumeSource& source) {
  constexpr double large_mm = 2.4;
  return std::min(source.spacing().x, source.spacing().y) >= large_mm;
}

/// Whether the noise of tissue agrees with that of air. Noise that grows with the signal, such as that of counts, may
/// look like air where the signal is weak, but is stronger where it is not.
enum class Agreement { none, perhaps, yes };
Agreement agreement(double signal, double sigma, double air, bool masked) {
  constexpr double strong = 3, alike = 2;
  if (!(sigma < alike * air && most_of_air(masked) * sigma > air)) return Agreement::none;
  return signal >= strong * air ? Agreement::yes : Agreement::perhaps;
}

/// Sigma of these bricks, of which there are enough, if their noise is white; else 0. `may_be_flat`: the share of them.
double white_noise_of(NoiseBricks bricks, double may_be_flat, const Execution& execution) {
  constexpr std::int64_t enough = 250;
  constexpr std::int64_t share = 10;
  constexpr double white = 0.8;
  if (bricks.count() < enough) return 0;
  take_apart(bricks, {}, execution);
  NoiseSpectrumFit fit(bricks, static_cast<std::size_t>(bricks.count() / share), may_be_flat, false);
  fit.run();
  const bool is_noise = fit.floor() >= least_floor && fit.finest_variance() >= white * white * fit.variance();
  return is_noise ? std::sqrt(fit.variance()) : 0;
}

/// The fit to the usual number of bricks, and that to fewer, if it comes nearer to the noise.
struct Fits {
  NoiseSpectrumFit usual;
  std::optional<NoiseSpectrumFit> of_fewer;

  const NoiseSpectrumFit& best() const { return of_fewer ? *of_fewer : usual; }
};

/// `is_difference`: the bricks are what two volumes differ by. `between_neighbours` measures sigma by differences of
/// neighbours alone.
Measured measure(NoiseBricks& bricks, bool is_difference, const Said& said,
                 const std::function<double()>& between_neighbours, const Execution& execution) {
  constexpr double flattest = 0.03, may_be_flat = 0.3;  // of the object's bricks
  constexpr double calmest = 0.25;                      // of those of a difference
  constexpr double most_constant = 0.05;
  constexpr std::size_t fewest_chosen = 60;
  // floor() above which the flattest bricks hold noise alone; a slice without structure lies just above.
  constexpr double noise_alone = 0.75;
  constexpr std::int64_t many_parts = 2500;
  constexpr double quiet = 0.9;               // of what neighbours show
  constexpr double much_finer = 0.4;          // of sigma
  constexpr double much_finer_still = 0.2;    // of sigma
  constexpr double weak = 3;                  // sigmas
  constexpr double most_below_tissue = 0.78;  // of sigma, that air is still the same noise
  constexpr double most_above_tissue = 1.05;  // of sigma, that is chance: air, of many voxels, knows it better
  Measured measured;
  NoiseModel& model = measured.model;
  const Survey found = survey(bricks, is_difference);
  model.masked = found.masked;
  model.background = found.background;
  model.impulses = found.impulses.share;
  model.step = quantisation_step(bricks);
  const auto counted = said.may_follow_signal && !is_difference ? parts_of_counts(bricks, model.step, found.object)
                                                                : std::optional<CountedParts>();
  if (counted) {
    measured.is_of_counts = true;
    model.distribution = NoiseDistribution::poisson;
    model.poisson.gain = model.step;
    model.impulses = 0;
    model.sigma = std::sqrt(model.step * counted->mean);
    model.speckle = {model.step / (2 * counted->mean), model.step * counted->mean / 2, 2};  // that touches it there
    model.contrast = counted->contrast;
    model.places = static_cast<std::int64_t>(counted->count);
    model.confidence = Confidence::high;
    if (model.places < many_parts_tell) {
      model.confidence = Confidence::medium;
      model.reason = few_parts_tell;
    }
    return measured;
  }
  const bool may_have_air = !is_difference && said.magnitudes != Magnitudes::no;
  Air air;
  if (may_have_air) air = find_air(bricks, found.middle, said.magnitudes == Magnitudes::yes);
  std::optional<NoiseBricks> others;
  if (!is_difference) others = other_side(bricks, found);
  std::optional<NoiseBricks> sample;
  if (said.may_follow_signal) sample = sample_of(bricks, found);
  bricks.keep([&](std::int64_t i) { return static_cast<bool>(found.object[static_cast<std::size_t>(i)]); });
  const std::int64_t object = bricks.count();
  if (object == 0 ||
      static_cast<double>(found.constant) > most_constant * static_cast<double>(object + found.constant)) {
    model.reason =
        "the flat parts of the object hold one value each: there is no noise, or less than a step of the values";
    model.confidence = Confidence::none;
    return measured;
  }

  std::optional<NoiseBricks> voxels;
  if (!is_difference && bricks.size().z > 1 && found.impulses.share == 0) voxels = some_of(bricks);
  std::vector<Moments> moments;  // before bricks become energies
  if (!is_difference && bricks.are_of_neighbours() && found.impulses.share == 0) moments = moments_of(bricks);
  const std::vector<double> repaired = take_apart(bricks, found.impulses, execution);
  if (model.impulses > 0) {
    model.impulses = std::accumulate(repaired.begin(), repaired.end(), 0.0) / static_cast<double>(object);
  } else if (constexpr double fewest = 0.0005; bricks.extremes() >= fewest) {  // clean scans have a few
    model.impulses = bricks.extremes();
  }
  check_stop(execution.stop);

  const auto all = static_cast<std::size_t>(object);
  const auto share = static_cast<std::size_t>((is_difference ? calmest : flattest) * static_cast<double>(object));
  const auto run = [&](std::size_t chosen) {
    NoiseSpectrumFit fitted(bricks, chosen, is_difference ? 1 : may_be_flat, found.impulses.share > 0);
    fitted.run();
    return fitted;
  };
  const auto run_all = [&] {
    Fits fits{run(std::max(share, std::min(fewest_chosen, (all + 2) / 3))), {}};
    measured.sigma_of_flat = std::sqrt(fits.usual.variance());
    // Of few parts even the flattest may hold structure. Then the very flattest come nearer to the noise; but where
    // noise varies they are those with the least of it, less than neighbours show.
    if (!is_difference && object < many_parts && all > fewest_chosen && fits.usual.floor() < noise_alone) {
      const NoiseSpectrumFit of_fewer = run(fewest_chosen / 6);
      const double least = quiet * between_neighbours();
      const double variance = of_fewer.variance();
      if (variance < fits.usual.variance() && variance >= least * least) fits.of_fewer.emplace(of_fewer);
    }
    return fits;
  };
  std::optional<Fits> fits(run_all());
  double signal = 0;
  for (const std::size_t i : fits->best().chosen()) signal += bricks.mean(static_cast<std::int64_t>(i));
  signal /= static_cast<double>(fits->best().chosen().size());
  const Agreement agrees = agreement(signal, std::sqrt(fits->best().variance()), air.sigma, found.masked);
  if (air.sigma > 0 &&
      (said.magnitudes == Magnitudes::yes ? is_dark_tissue(air, signal, fits->best(), bricks.extent(), found.masked)
                                          : agrees != Agreement::yes)) {
    air = {};
  }
  model.map = fits->best().map();
  if (sample && air.sigma == 0) {
    take_apart(*sample, found.impulses, execution);
    const auto follow = [&](NoiseModel& to) {
      follow_signal(to, *sample, fits->best(), found.darkest, said.magnitudes != Magnitudes::no);
    };
    follow(model);
    if (model.signal_variance()) {
      bricks.make_even([&](std::int64_t i) { return model.signal_variance()->at(bricks.mean(i)); });
      fits.emplace(run_all());
      model.signal_map = fits->best().map();
      NoiseModel again;  // the flattest bricks were the darkest, where structure is as strong as the noise
      follow(again);
      if (again.distribution == model.distribution) {
        model.poisson = again.poisson;
        model.speckle = again.speckle;
      }
    }
  }
  constexpr double repeated = 2;  // slices of the same noise: how many of them a brick has says how it varies there
  if (!is_difference && air.sigma == 0 && !model.map.varies() && !model.signal_variance() &&
      fits->best().spectrum().length().z < repeated) {
    if (NoiseAcrossSlices across(bricks); across.varies()) {
      across.make_even(bricks);
      fits.emplace(run_all());
      model.map = across.times(fits->best().map());
    }
  }
  measured.steepness = fits->best().steepness();
  const SignalVariance* const by_signal = model.signal_variance();
  model.sigma = std::sqrt(by_signal ? mean_variance(bricks, *by_signal) : fits->best().variance());
  model.contrast = std::sqrt(std::max(bricks.median_variance() - fits->best().variance(), 0.0));
  model.spectrum = fits->best().spectrum();
  model.places = std::ssize(fits->best().chosen());
  const double finest = std::sqrt(fits->usual.finest_variance());
  std::string& why_magnitudes = measured.why_magnitudes;
  if (air.sigma == 0 && said.magnitudes == Magnitudes::perhaps && agrees == Agreement::perhaps) {
    why_magnitudes = "the air looks like that of magnitudes, but the signal is too weak to tell";
  } else if (may_have_air && air.sigma == 0 && !by_signal && bricks.lowest() >= 0 && signal < weak * model.sigma) {
    why_magnitudes =
        said.magnitudes == Magnitudes::yes
            ? "the signal is weak where it was measured, and noise of magnitudes looks weaker there than it is"
            : "the signal is weak: if these are magnitudes, their noise is stronger than this";
  }
  judge(model, fits->usual, finest, object, found.partly, why_magnitudes);
  // Structure that is weaker than the noise is not taken for noise.
  if (voxels && !by_signal && !is_correlated_across_slices(model) && model.contrast > model.sigma &&
      (model.confidence == Confidence::low || said.has_large_voxels)) {
    measured.of_quiet = white_noise_in_structure(*voxels);
  }
  // Structure is as strong as the noise. If the noise is white, or few parts agree, the highest frequencies, which
  // structure hardly reaches, come nearer to it. Repaired voxels spoil these.
  if (model.confidence == Confidence::low && found.impulses.share == 0 && air.sigma == 0 && !by_signal &&
      fits->usual.flatness() < spoilt && (is_white(model, finest) || fits->usual.floor() < least_floor)) {
    measured.most = std::min(model.sigma, finest);
    take_as_white(model, less_structure(measured.most, measured.of_quiet));
    model.map = {};
    if (model.sigma == 0) model.confidence = Confidence::none;
    model.reason += ", so that only the highest frequencies were measured";
  }
  measured.floor = fits->usual.floor();
  measured.signal = signal;
  measured.object = object;
  // Speckle is a texture, too, but is noise.
  const bool may_be_texture = !is_difference && air.sigma == 0 && model.distribution != NoiseDistribution::speckle;
  const auto take_texture_for_signal = [&](double sigma, std::int64_t parts) {
    take_as_white(model, sigma);
    model.distribution = NoiseDistribution::gaussian;
    model.poisson = {};
    model.speckle = {};
    model.map = model.signal_map = {};
    measured.steepness = measured.floor = 1;
    measured.sigma_of_flat = sigma;
    measured.object = parts;
  };
  // Parts on the other side of the middle hold white noise that is far weaker, and here the highest frequencies are as
  // weak: all else is a texture, such as that of spongy bone beside its marrow.
  if (may_be_texture && finest < much_finer * model.sigma) {
    const std::int64_t count = others->count();
    const double sigma = white_noise_of(*std::move(others), may_be_flat, execution);
    if (sigma > model.step && sigma < much_finer * model.sigma) {
      take_texture_for_signal(sigma, count);
      model.impulses = 0;  // the others hold none
      model.confidence = Confidence::medium;
      model.reason = "bright parts hold a texture, so that the dark ones were measured";
    }
  }
  // A texture that is everywhere.
  if (may_be_texture && !moments.empty() && finest < much_finer_still * model.sigma &&
      are_of_two_kinds(moments, fits->usual.chosen())) {
    take_texture_for_signal(finest, object);
    model.confidence = finest > model.step ? Confidence::low : Confidence::none;
    model.reason = "even the flattest parts hold a texture, so that only the highest frequencies tell of noise";
  }
  // If sigma may be mostly structure, air that is much quieter speaks against it.
  const bool is_refuted = model.sigma > 2 * air.sigma && model.confidence <= Confidence::low;
  if (air.sigma > 0 && !is_refuted) {
    measured.is_by_air = correct_rician(model, signal, air);
    model.map = measured.is_by_air ? CoarseField() : fits->best().map(air.parts, model.sigma);
  }
  const bool is_uniform = model.map.values.size() == 1;
  measured.air = {air.sigma, air.is_even, air.deviation, {}};
  if (air.sigma > model.sigma && air.sigma < most_above_tissue * model.sigma && is_uniform) {
    set_sigma(model, air.sigma);
  }
  if (air.sigma > most_below_tissue * model.sigma && air.sigma < model.sigma && is_uniform &&
      model.confidence <= Confidence::low) {
    measured.is_by_air = true;
    set_sigma(model, air.sigma);
    model.reason += "; the air was measured instead";
  }
  return measured;
}

void multiply(NoiseModel& model, double factor) {
  model.sigma *= factor;
  model.poisson = model.poisson.of_scaled(factor);
  model.speckle = model.speckle.of_scaled(factor);
  model.contrast *= factor;
  model.step *= factor;
  model.background *= static_cast<float>(factor);
}

Measured measure(VolumeSource& source, VolumeSource* neighbour, std::int64_t apart, const Execution& execution) {
  NoiseBricks bricks(source, neighbour, apart);
  check_stop(execution.stop);
  bricks.keep([&](std::int64_t i) {
    const float* const brick = bricks.brick(i);
    const auto missing =
        std::count_if(brick, brick + bricks.voxels(), [](float value) { return !std::isfinite(value); });
    return static_cast<double>(missing) <= ImpulseRepair::max_flagged_share * static_cast<double>(bricks.voxels());
  });
  if ((bricks.count() == 0 && bricks.background().empty()) || bricks.size().slice() == 1) {
    Measured nothing;
    nothing.nothing_to_go_by = true;
    return nothing;
  }
  const bool is_difference = neighbour != nullptr;
  const HeaderFacts header = source.header();
  const std::optional<DataKind> kind = header.kind;
  const bool is_said = kind == DataKind::magnitude;
  const Said said{.magnitudes = is_said ? Magnitudes::yes
                                : kind  ? Magnitudes::no
                                        : Magnitudes::perhaps,
                  .may_follow_signal = !is_said && !header.are_ct_numbers && header.offset == 0,
                  .has_large_voxels = has_large_voxels(source)};
  const double scale = bricks.normalise();
  const auto between_neighbours = [&] { return scale * estimate_noise(source); };
  Measured measured = measure(bricks, is_difference, said, between_neighbours, execution);
  multiply(measured.model, 1 / scale);
  measured.sigma_of_flat /= scale;
  measured.most /= scale;
  measured.of_quiet /= scale;
  measured.signal /= scale;
  measured.air.sigma /= scale;
  return measured;
}

/// Adds variance to the lowest frequencies, of which bricks of adjacent voxels see little.
void add_low_frequencies(NoiseModel& model, double sigma) {
  const double gain = (sigma / model.sigma) * (sigma / model.sigma);
  const std::vector<bool> lowest = NoiseBands(model.spectrum.size).lowest;
  const auto frequencies = static_cast<double>(lowest.size());
  const double more = (gain - 1) * frequencies / static_cast<double>(std::count(lowest.begin(), lowest.end(), true));
  for (std::size_t p = 0; p < lowest.size(); ++p) {
    const double power = static_cast<double>(model.spectrum.in_plane[p]) + (lowest[p] ? more : 0);
    model.spectrum.in_plane[p] = static_cast<float>(power / gain);
  }
  set_sigma(model, sigma);
}

Measured measure(VolumeSource& source, VolumeSource* neighbour, const Execution& execution) {
  constexpr double steep = 5.5;
  constexpr double most_below_bricks = 2;  // times sigma: more is structure
  constexpr std::int64_t least_extent = 64, least_object = 1000;
  Measured near = measure(source, neighbour, 1, execution);
  const Extent extent = source.extent();
  if (near.steepness > steep && near.model.confidence >= Confidence::medium && near.object >= least_object &&
      extent.x >= least_extent && extent.y >= least_extent) {
    const double far = measure(source, neighbour, 2, execution).model.sigma;
    if (far > near.model.sigma && far < most_below_bricks * near.model.sigma) add_low_frequencies(near.model, far);
  }
  if (near.floor < least_floor && estimate_noise(source) < least_between_neighbours * near.sigma_of_flat) {
    set_sigma(near.model, near.sigma_of_flat * std::sqrt(near.floor));
    near.model.confidence = Confidence::none;
    near.model.reason = "neighbouring voxels show no noise, and few flat regions agree on the noise level";
  }
  if (near.nothing_to_go_by) {
    near.model.sigma = estimate_noise(source);
    near.model.confidence = near.model.sigma > 0 ? Confidence::low : Confidence::none;
    near.model.reason = near.model.sigma > 0 ? "too much is missing for more than neighbouring voxels to be compared"
                                             : "there is no noise, or too much is missing";
  }
  return near;
}

constexpr std::int64_t few_parts = 250;  // of which none may be flat
constexpr double many_impulses = 0.1;    // of all voxels

/// If voxels are as large as the folds of a brain, no part is flat; of few parts, none may be. Then sigma is that of
/// diagonal neighbours, which differ least by structure. If they differ by much less than the model says, though voxels
/// are large, the noise is truly smooth, and the model stays. If they hardly differ, in a slice or where parts are few,
/// structure was measured; so it was where noise that is said to be white hardly shows in them.
NoiseModel with_finest_differences(Measured measured, VolumeSource& source) {
  NoiseModel& model = measured.model;
  // The darkest voxel alone is more than most_background.
  const bool is_tiny = most_background * static_cast<double>(source.extent().voxels()) < 1;
  if (is_tiny && model.confidence == Confidence::none) model.reason = "there are too few voxels to measure noise";
  if (model.sigma == 0) {
    constexpr double more_than_rounding = 0.5, little = 0.01;  // of a step; of the range where no step is known
    const double fine = estimate_noise(source);
    const Range<double> range = fine > 0 ? intensities(source) : Range<double>{};
    if (fine <= (model.step > 0 ? more_than_rounding * model.step : little * (range.max - range.min))) return model;
    model.sigma = fine;
    model.confidence = Confidence::none;
    if (!is_tiny) {
      model.reason = "flat parts of the object hold one value each, and others do not, as where counts are few";
    }
    return model;
  }
  const bool has_few_parts = measured.object < few_parts;
  constexpr double smooth = 0.5;
  const bool is_large = has_large_voxels(source);
  // A variance that follows the signal as noise does is no structure.
  const bool is_sure = measured.is_by_air || model.signal_variance() != nullptr;
  const bool is_doubtful = model.confidence == Confidence::low && (has_few_parts || source.extent().z == 1);
  // Thin struts look like impulses, and what is left of them like noise.
  const bool may_be_structure =
      (model.confidence == Confidence::low && model.spectrum.size.voxels() == 1) || model.impulses > many_impulses;
  if (model.confidence == Confidence::none || is_sure ||
      !(is_large || has_few_parts || is_doubtful || may_be_structure)) {
    return model;
  }
  const double fine = estimate_noise(source);
  constexpr double rounding = 0.75;  // of a step: estimate_noise() where the median difference is half a step
  const double no_noise = std::max(least_between_neighbours * model.sigma, rounding * model.step);
  constexpr double hardly = 0.25;
  const bool is_hardly_there = may_be_structure && fine < hardly * model.sigma;
  if ((is_doubtful && fine <= (has_few_parts ? 0 : no_noise)) || (is_hardly_there && fine <= model.step)) {
    model.confidence = Confidence::none;
    model.reason = "neighbouring voxels show no noise, and " + model.reason;
    return model;
  }
  const bool is_used = is_hardly_there || (has_few_parts ? fine > 0 : is_large && fine > smooth * model.sigma);
  const double sigma = less_structure(std::min(fine, model.sigma), measured.of_quiet);
  if (!is_used || sigma >= model.sigma) return model;
  take_as_white(model, sigma);
  if (is_hardly_there) model.map = {};
  model.confidence = Confidence::low;
  model.reason = std::string(has_few_parts     ? "the object has few parts to go by"
                             : is_hardly_there ? "even the flattest parts hold structure"
                                               : "voxels are so large that anatomy looks like noise") +
                 ", so that only the finest differences were measured";
  return model;
}

/// No noise if the model is not finite: numbers near the largest floats leave no digits for the noise of the others.
/// Low confidence where there are many impulses: between them, weak noise comes out up to 1.5 times too strong.
NoiseModel with_last_doubts(NoiseModel model) {
  if (!std::isfinite(model.sigma) || !std::isfinite(model.contrast)) {
    return {.impulses = model.impulses,
            .masked = model.masked,
            .background = model.background,
            .confidence = Confidence::none,
            .reason = "voxels lie so far from the others that the noise of these cannot be told"};
  }
  if (model.impulses > many_impulses && model.confidence > Confidence::low) {
    model.confidence = Confidence::low;
    model.reason = "more than a tenth of the voxels are impulses";
  }
  return model;
}

/// Whether a volume is so much noisier than its neighbour that their difference, half of whose variance is the
/// neighbour's, shows too little. More structure is no more noise: it is as strong in the neighbour.
bool is_noisier(const NoiseModel& alone, const NoiseModel& difference, VolumeSource& source, VolumeSource& neighbour,
                const Execution& execution) {
  constexpr double much = 1.25;  // times the variance that the difference says
  constexpr double some = 1.05;  // times the differences of voxels next to each other, which take little time
  constexpr double quiet = 0.5;  // of these differences: such a neighbour may be blank, or a filter's result
  const auto variance = [](const NoiseModel& model) { return model.sigma * model.sigma; };
  if (alone.confidence < Confidence::medium || variance(alone) <= much * variance(difference)) return false;
  const double fine = estimate_noise(source), of_neighbour = estimate_noise(neighbour);
  if (fine <= some * of_neighbour) return false;
  const NoiseModel other = measure(neighbour, nullptr, execution).model;
  if (other.trusted_sigma() == 0) return of_neighbour < quiet * fine;
  return variance(difference) + (variance(alone) - variance(other)) / 2 > much * variance(difference);
}

}  // namespace

NoiseModel measure_noise(VolumeSource& source, const Execution& execution) {
  if (const AxisSwap swap(header_facts(source)); swap) {
    SwappedVolume swapped(source, swap, execution);
    return swap(measure_noise(swapped, execution));
  }
  return with_last_doubts(with_finest_differences(measure(source, nullptr, execution), source));
}

NoiseModel measure_noise_with_neighbour(VolumeSource& source, VolumeSource& neighbour, const Execution& execution) {
  if (const AxisSwap swap(header_facts(source)); swap) {
    SwappedVolume swapped(source, swap, execution), swapped_neighbour(neighbour, swap, execution);
    return swap(measure_noise_with_neighbour(swapped, swapped_neighbour, execution));
  }
  const Measured by_itself = measure(source, nullptr, execution);
  const NoiseModel& alone = by_itself.model;
  if (by_itself.is_of_counts) return with_last_doubts(alone);
  const Measured difference = measure(source, &neighbour, execution);
  NoiseModel model = difference.model;
  // Times sigma: less means that one volume was made from the other, and shares its noise.
  const double shared = model.confidence <= Confidence::low ? 0.25 : 0.16;
  std::optional<NoiseModel> own;
  const auto without_neighbour = [&]() -> NoiseModel& {
    if (!own) own = with_last_doubts(with_finest_differences(by_itself, source));
    return *own;
  };
  const auto share_noise = [&] {
    return alone.confidence >= Confidence::medium && model.sigma < shared * alone.sigma &&
           model.sigma < shared * without_neighbour().sigma;
  };
  if (!(model.sigma > 0 && model.sigma < std::max(alone.sigma, by_itself.most)) || share_noise() ||
      is_noisier(alone, model, source, neighbour, execution)) {
    return without_neighbour();
  }
  // If parts are few, the difference may hold structure: the smaller of both counts.
  if (model.confidence == Confidence::low && difference.object < few_parts && without_neighbour().trusted_sigma() > 0 &&
      own->sigma < model.sigma) {
    return *own;
  }
  if (alone.distribution == NoiseDistribution::rician && correct_rician(model, difference.signal, by_itself.air)) {
    model.map = {};
  }
  model.contrast =
      std::sqrt(std::max(alone.contrast * alone.contrast + alone.sigma * alone.sigma - model.sigma * model.sigma, 0.0));
  if (!by_itself.why_magnitudes.empty() && model.confidence > Confidence::medium) {
    model.confidence = Confidence::medium;
    model.reason = by_itself.why_magnitudes;
  }
  model.impulses = alone.impulses;
  model.step = alone.step;
  model.masked = alone.masked;
  model.background = alone.background;
  return with_last_doubts(std::move(model));
}

}  // namespace quietvox
