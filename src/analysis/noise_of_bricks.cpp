// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise_of_bricks.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/dct_energies.hpp"
#include "analysis/median_of.hpp"
#include "analysis/noise_across_slices.hpp"
#include "analysis/noise_confidence.hpp"
#include "analysis/noise_corrections.hpp"
#include "analysis/noise_of_counts.hpp"
#include "analysis/noise_signal.hpp"
#include "analysis/noise_spectrum_fit.hpp"
#include "analysis/noise_survey.hpp"
#include "analysis/rician.hpp"
#include "analysis/white_noise_in_structure.hpp"

namespace quietvox {
namespace {

constexpr double noise_kurtosis = 3;
constexpr double much_finer = 0.4;          // of sigma
constexpr double may_be_flat = 0.3;         // of the object's bricks
constexpr double most_below_tissue = 0.78;  // of sigma, that air is still the same noise
// floor() above which the flattest bricks hold noise alone; a slice without structure lies just above.
constexpr double noise_alone = 0.75;
constexpr std::int64_t few_parts = 1700;  // of which none may be flat

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

/// The kurtosis of the voxels of each brick; not finite where some are missing or all are of one value.
std::vector<double> kurtosis_of(std::span<const Moments> moments) {
  std::vector<double> kurtosis;
  for (const Moments& one : moments) kurtosis.push_back(one.fourth / (one.variance * one.variance));
  return kurtosis;
}

/// The median of the kurtosis of these bricks, of those that have one.
double median_kurtosis(std::span<const double> kurtosis, std::span<const std::size_t> bricks) {
  std::vector<double> all;
  for (const std::size_t i : bricks) {
    if (std::isfinite(kurtosis[i])) all.push_back(kurtosis[i]);
  }
  return all.empty() ? noise_kurtosis : median_of(std::span(all));
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

/// Whether parts differ in their means by more than noise of this spectrum makes them differ. Smooth noise leaves some
/// parts dark and calm by chance, which looks like counts.
bool have_several_signals(const std::vector<NoisyPart>& parts, const NoiseSpectrumFit& fit, std::int64_t voxels) {
  constexpr double least_range = 9;  // deviations of the means of noise, roughly; noise alone has 3 to 6.5
  std::vector<double> signals;
  for (const NoisyPart& part : parts) signals.push_back(part.signal);
  if (signals.empty()) return false;
  const double range = quantile_of(std::span(signals), 0.95) - quantile_of(std::span(signals), 0.05);
  const Triple<double> length = fit.spectrum().length();
  const double variance = fit.variance() * length.x * length.y * length.z / static_cast<double>(voxels);
  return range * range > least_range * least_range * variance;
}

/// Finds how the noise of these bricks would follow the signal, and whether it clearly does.
void set_signal_variance(NoiseModel& model, const NoiseBricks& bricks, const NoiseSpectrumFit& fit, double darkest,
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
  if (!have_several_signals(parts, fit, bricks.voxels()) || !best.is_clear(best.misfit_of_uniform)) return;
  if (!best.is_clear(NoiseLevel(bricks).misfit_of(chosen, log_variance, like_noise.spread))) return;
  model.distribution = is_speckle ? NoiseDistribution::speckle : NoiseDistribution::poisson;
}

/// The mean over bricks of the variance that their signal gives.
double mean_variance(const NoiseBricks& bricks, const SignalVariance& variance) {
  double sum = 0;
  for (std::int64_t i = 0; i < bricks.count(); ++i) sum += variance.at(bricks.mean(i));
  return sum / static_cast<double>(bricks.count());
}

/// Whether the noise of tissue agrees with that of air. Noise that grows with the signal, such as that of counts, may
/// look like air where the signal is weak, but is stronger where it is not.
enum class Agreement { none, perhaps, yes };
Agreement agreement(double signal, double sigma, double air, bool masked) {
  constexpr double strong = 3, alike = 2;
  if (!(sigma < alike * air && most_of_air(masked) * sigma > air)) return Agreement::none;
  return signal >= strong * air ? Agreement::yes : Agreement::perhaps;
}

struct WhiteNoise {
  double sigma = 0;  ///< 0 where bricks are too few, or their noise is not white
  double kurtosis = noise_kurtosis;
};

WhiteNoise white_noise_of(NoiseBricks bricks, const Execution& execution) {
  constexpr std::int64_t enough = 250;
  constexpr std::int64_t share = 10;
  constexpr double white = 0.8;
  if (bricks.count() < enough) return {};
  const std::vector<double> kurtosis = kurtosis_of(moments_of(bricks));
  take_apart(bricks, {}, execution);
  NoiseSpectrumFit fit(bricks, static_cast<std::size_t>(bricks.count() / share), may_be_flat, false);
  fit.run();
  const bool is_noise = fit.floor() >= least_floor && fit.finest_variance() >= white * white * fit.variance();
  if (!is_noise) return {};
  return {std::sqrt(fit.variance()), median_kurtosis(kurtosis, fit.chosen())};
}

/// The fit to the usual number of bricks, and that to fewer, if it comes nearer to the noise.
struct Fits {
  NoiseSpectrumFit usual;
  std::optional<NoiseSpectrumFit> of_fewer;

  const NoiseSpectrumFit& best() const { return of_fewer ? *of_fewer : usual; }
};

/// How the noise of bricks is measured, step by step.
class BrickMeasure {
 public:
  BrickMeasure(NoiseBricks& bricks, const KnownOfVolume& known, const Execution& execution)
      : bricks_(bricks),
        known_(known),
        execution_(execution),
        found_(bricks, {known.is_difference, known.object_is_dark, known.may_have_borders}) {}

  BrickMeasure(const BrickMeasure&) = delete;
  BrickMeasure& operator=(const BrickMeasure&) = delete;

  NoiseOfBricks run() &&;

 private:
  bool take_counts();
  void look_at_surroundings();
  bool keep_object();
  void take_object_apart();
  NoiseSpectrumFit fit(std::size_t chosen) const;
  Fits fit() const;
  void compare_air();
  bool is_air(double sigma) const;
  double sigma_by_air() const;
  bool is_like_structure() const;
  bool few_parts_differ() const;
  void follow_signal();
  void follow_slices();
  bool are_magnitudes_without_air() const;
  void take_fit();
  void take_structure_off();
  bool are_random_numbers() const;
  std::string seeming_noise() const;
  void take_texture_off();
  void take_texture_for_signal(double sigma, std::int64_t parts);
  void take_noise_of_air();
  void use_air();

  const NoiseSpectrumFit& best() const { return fits_->best(); }

  NoiseBricks& bricks_;  ///< of voxels, then of energies
  const KnownOfVolume& known_;
  const Execution& execution_;
  NoiseSurvey found_;
  NoiseOfBricks measured_;
  NoiseModel& model_ = measured_.model;
  Air air_;
  Agreement agrees_ = Agreement::none;  ///< of the noise of tissue with that of air
  bool is_as_air_ = false;              ///< it is as strong as that of the air, which is the same everywhere
  double by_air_ = 0;                   ///< its sigma, where structure was taken for noise and air tells better
  std::optional<NoiseBricks> others_;   ///< on the other side of the middle
  std::optional<NoiseBricks> sample_;   ///< from all over
  std::optional<NoiseBricks> voxels_;   ///< some of the object's bricks, as they were
  std::vector<Moments> moments_;        ///< of the object's bricks, as they were
  std::vector<double> kurtosis_;        ///< of their voxels
  std::optional<Fits> fits_;
  double finest_ = 0;  ///< sigma by the highest frequencies
};

NoiseOfBricks BrickMeasure::run() && {
  if (take_counts()) return std::move(measured_);
  look_at_surroundings();
  if (!keep_object()) return std::move(measured_);
  take_object_apart();
  check_stop(execution_.stop);
  fits_.emplace(fit());
  compare_air();
  follow_signal();
  follow_slices();
  take_fit();
  take_structure_off();
  take_texture_off();
  if (by_air_ > 0 && air_.sigma > 0) {
    take_noise_of_air();
  } else if (measured_.are_magnitudes && model_.confidence >= Confidence::medium) {
    model_.distribution = NoiseDistribution::rician;
    set_sigma(model_, rician_sigma(measured_.signal, model_.sigma));
    model_.map = {};  // it follows the signal
  } else {
    use_air();
  }
  return std::move(measured_);
}

bool BrickMeasure::take_counts() {
  if (known_.may_follow_signal && !known_.is_difference) {
    if (auto of_counts = noise_of_counts(bricks_, found_.step, found_.object, found_.middle)) {
      measured_.is_of_counts = true;
      model_ = *std::move(of_counts);
    }
  }
  model_.masked = found_.masked;
  model_.background = found_.background;
  model_.uniform_values = found_.uniform_values;
  if (model_.masked) std::erase(model_.uniform_values, model_.background);
  model_.step = found_.step;
  return measured_.is_of_counts;
}

void BrickMeasure::look_at_surroundings() {
  if (!known_.is_difference && known_.magnitudes != Magnitudes::no) {
    air_ = find_air(bricks_, found_.middle, known_.magnitudes == Magnitudes::yes);
  }
  if (!known_.is_difference && !known_.object_is_dark) others_ = found_.other_side(bricks_);
  if (known_.may_follow_signal) sample_ = found_.sample_of(bricks_);
}

/// Returns false where it shows no noise.
bool BrickMeasure::keep_object() {
  constexpr double most_constant = 0.05;
  bricks_.keep([&](std::int64_t i) { return static_cast<bool>(found_.object[static_cast<std::size_t>(i)]); });
  const std::int64_t object = bricks_.count(), all = object + found_.constant;
  if (object > 0 && static_cast<double>(found_.constant) <= most_constant * static_cast<double>(all)) {
    return true;
  }
  model_.impulses = found_.impulses.share;
  lower_confidence(model_, Confidence::none,
                   "the flat parts of the object hold one value each: there is no noise, or less than a step of the "
                   "values");
  return false;
}

/// Leaves energies.
void BrickMeasure::take_object_apart() {
  measured_.object = bricks_.count();
  const bool has_impulses = found_.impulses.share > 0;
  moments_ = moments_of(bricks_);
  kurtosis_ = kurtosis_of(moments_);
  if (!known_.is_difference && !has_impulses && bricks_.size().z > 1) voxels_ = some_of(bricks_);
  const std::vector<double> repaired = take_apart(bricks_, found_.impulses, execution_);
  if (has_impulses) {
    model_.impulses = std::accumulate(repaired.begin(), repaired.end(), 0.0) / static_cast<double>(bricks_.count());
  } else if (constexpr double fewest = 0.0005; bricks_.extremes() >= fewest) {  // clean scans have a few
    model_.impulses = bricks_.extremes();
  }
}

NoiseSpectrumFit BrickMeasure::fit(std::size_t chosen) const {
  NoiseSpectrumFit fitted(bricks_, chosen, known_.is_difference ? 1 : may_be_flat, found_.impulses.share > 0,
                          kurtosis_);
  fitted.run();
  return fitted;
}

Fits BrickMeasure::fit() const {
  constexpr double flattest = 0.03, calmest = 0.25;  // of the object's bricks, of those of a difference
  constexpr std::size_t fewest_chosen = 60;
  constexpr std::int64_t many_parts = 2500;
  constexpr double quiet = 0.9;  // of what neighbours show
  const auto all = static_cast<std::size_t>(bricks_.count());
  const auto share =
      static_cast<std::size_t>((known_.is_difference ? calmest : flattest) * static_cast<double>(bricks_.count()));
  Fits fits{fit(std::max(share, std::min(fewest_chosen, (all + 2) / 3))), {}};
  // Of few parts even the flattest may hold structure. Then the very flattest come nearer to the noise; but where
  // noise varies they are those with the least of it, less than neighbours show.
  if (!known_.is_difference && bricks_.count() < many_parts && all > fewest_chosen &&
      fits.usual.floor() < noise_alone) {
    const NoiseSpectrumFit of_fewer = fit(fewest_chosen / 6);
    const double least = quiet * known_.sigma_between_neighbours();
    const double variance = of_fewer.variance();
    if (variance < fits.usual.variance() && variance >= least * least) fits.of_fewer.emplace(of_fewer);
  }
  return fits;
}

/// Whether what looks like air is air, where the noise of tissue has that sigma.
bool BrickMeasure::is_air(double sigma) const {
  // Dark tissue that has a signal of two thirds of sigma looks louder than this.
  constexpr double alike = 1.1;
  constexpr double strong = 5;  // sigmas, of the signal: of counts it would vary more
  if (air_.is_little) {
    return measured_.signal >= strong * air_.sigma && sigma < alike * air_.sigma && air_.sigma < alike * sigma;
  }
  if (known_.magnitudes != Magnitudes::yes) return agrees_ == Agreement::yes;
  // In a background that was cut out no air is left; a weak signal that looks like it is that of tissue.
  constexpr double weak = 3;  // sigmas
  if (found_.masked && measured_.signal < weak * air_.sigma) return false;
  return !is_dark_tissue(air_, measured_.signal, best(), bricks_.extent(), found_.masked);
}

void BrickMeasure::compare_air() {
  double sum = 0;
  for (const std::size_t i : best().chosen()) sum += bricks_.mean(static_cast<std::int64_t>(i));
  measured_.signal = sum / static_cast<double>(best().chosen().size());
  by_air_ = sigma_by_air();
  const double sigma = by_air_ > 0 ? by_air_ : std::sqrt(best().variance());
  agrees_ = agreement(measured_.signal, sigma, air_.sigma, found_.masked);
  if (air_.sigma > 0 && !is_air(sigma)) air_ = {};
}

/// Sigma of noise as in even air, where what even the flattest parts show is structure; else 0. If it were noise of the
/// air's spectrum, as that of parallel imaging, which is louder in tissue, diagonal neighbours would differ as much.
double BrickMeasure::sigma_by_air() const {
  constexpr double least_left = 0.1;  // of the variance, in their differences
  constexpr double clearly_more = 1.25;
  const double more = few_parts_differ() ? 1 : clearly_more;  // than these show
  // Of the air's sigma: they show structure too, but no less than noise. Counts may look like air where they are few.
  const bool is_sure = known_.magnitudes == Magnitudes::yes;
  const double least = is_sure ? 0.8 : 0.92, most = is_sure ? 4 : 2;
  const double shown = std::sqrt(best().median_variance());  // as neighbours show it, which is a median
  if (!air_.is_even || air_.is_little || air_.diagonal_share < least_left || found_.impulses.share > 0 ||
      shown < more * air_.sigma) {
    return 0;
  }
  const double at_most = known_.sigma_between_neighbours() / std::sqrt(air_.diagonal_share);
  if (at_most < least * air_.sigma || at_most > most * air_.sigma) return 0;
  if (shown < more * at_most) return 0;
  // Noise may be louder in tissue, but structure that is far stronger shows in neighbours, too.
  constexpr double far_more = 2;
  const bool is_structure = at_most > clearly_more * air_.sigma && shown > far_more * at_most;
  return is_structure ? air_.sigma : std::max(at_most, air_.sigma);
}

/// Whether what few parts show may as well be structure: it is as smooth along all axes, and usual parts hold far more
/// of it, so that none may be flat (PET of a brain in large voxels).
bool BrickMeasure::is_like_structure() const {
  constexpr double smooth = 1.75;  // voxels
  constexpr double far_more = 2.4;
  if (known_.is_difference || air_.sigma != 0 || bricks_.count() >= few_parts || fits_->usual.floor() >= noise_alone) {
    return false;
  }
  const Triple<double> length = best().spectrum().length();
  return std::min({length.x, length.y, length.z}) >= smooth &&
         bricks_.median_variance() > (1 + far_more * far_more) * best().variance();
}

/// Whether the flattest of few parts, as of few thick slices, differ by more than even noise makes them. There
/// structure is everywhere, and shows from a higher floor() on than in many parts.
bool BrickMeasure::few_parts_differ() const {
  constexpr double least = 0.68;
  constexpr double far_more = 4.7;  // than noise, structure must be to matter
  return !known_.is_difference && bricks_.size().z > 1 && bricks_.count() < few_parts && fits_->usual.floor() < least &&
         bricks_.median_variance() > (1 + far_more * far_more) * best().variance() && !best().map().varies() &&
         !model_.map.varies();
}

/// Finds whether the noise follows the signal; if it does, fits again, as if it did not.
void BrickMeasure::follow_signal() {
  model_.map = best().map();
  if (!sample_ || air_.sigma != 0 || is_like_structure()) return;
  take_apart(*sample_, found_.impulses, execution_);
  const auto follow = [&](NoiseModel& to) {
    set_signal_variance(to, *sample_, best(), found_.darkest, known_.magnitudes != Magnitudes::no);
  };
  follow(model_);
  if (!model_.signal_variance()) return;
  bricks_.make_even([&](std::int64_t i) { return model_.signal_variance()->at(bricks_.mean(i)); });
  fits_.emplace(fit());
  model_.signal_map = best().map();
  NoiseModel again;  // the flattest bricks were the darkest, where structure is as strong as the noise
  follow(again);
  if (again.distribution == model_.distribution) {
    model_.poisson = again.poisson;
    model_.speckle = again.speckle;
  }
}

/// Finds whether the noise is louder in some slices; if it is, fits again, as if it were not.
void BrickMeasure::follow_slices() {
  constexpr double repeated = 2;  // slices of the same noise: how many of them a brick has says how it varies there
  if (known_.is_difference || air_.sigma != 0 || model_.signal_variance() || best().spectrum().length().z >= repeated) {
    return;
  }
  NoiseAcrossSlices across(bricks_);
  if (!across.varies()) return;
  // A small difference, or one beside a map, counts only where the flattest bricks then stand out clearly less.
  constexpr double much = 0.4;     // of logarithms of sigma
  constexpr double nearer = 0.05;  // by which floor() rises
  const bool is_sure = across.range() >= much && !model_.map.varies();
  std::optional<NoiseBricks> bricks_before;
  if (!is_sure) bricks_before = bricks_;
  const Fits before = *fits_;
  across.make_even(bricks_);
  fits_.emplace(fit());
  if (!is_sure && fits_->usual.floor() < before.usual.floor() + nearer) {
    bricks_ = *std::move(bricks_before);
    fits_.emplace(before);
    return;
  }
  model_.map = across.times(best().map());
}

/// Whether, in a volume of MR of which no air is left, weak signals are those of magnitudes. These seldom come near 0:
/// how often, Rice's distribution tells. Real numbers that were folded or cut off come near it more often.
bool BrickMeasure::are_magnitudes_without_air() const {
  constexpr double weak = 3;                 // sigmas
  constexpr double fewest = 20;              // voxels that are expected there
  constexpr double least = 0.5, most = 1.5;  // of these
  constexpr double flat = 1.15;              // times the variance of the noise, at most
  constexpr double most_skewed = 0.8;        // noise alone has 0.63
  const bool may_be =
      known_.magnitudes == Magnitudes::yes || (known_.magnitudes == Magnitudes::perhaps && known_.is_of_mr);
  const double shown = std::sqrt(best().variance());
  if (!may_be || !voxels_ || air_.sigma != 0 || measured_.signal >= weak * shown) return false;
  const double sigma = rician_sigma(measured_.signal, shown);
  // Near 0, in sigmas; whole numbers up to one of them stand for all that lies within half a step.
  const double step = found_.step / sigma, near = step > 0 ? (std::floor(0.3 / step) + 0.5) * step : 0.3;
  const auto count = static_cast<double>(voxels_->voxels());
  double expected = 0, found = 0, cubes = 0, bricks = 0;
  for (std::int64_t i = 0; i < voxels_->count(); ++i) {
    const std::span brick(voxels_->brick(i), static_cast<std::size_t>(voxels_->voxels()));
    const double mean = voxels_->mean(i);
    double variance = 0, third = 0;
    for (const float voxel : brick) {
      const double from_mean = static_cast<double>(voxel) - mean;
      variance += from_mean * from_mean / count;
      third += from_mean * from_mean * from_mean / count;
    }
    // The mean square is signal^2 + 2 sigma^2.
    const double snr_squared = std::max((mean * mean + variance) / (sigma * sigma) - 2, 0.0);
    if (!(variance > 0 && variance < flat * sigma * sigma * rician_variance(std::sqrt(snr_squared)))) continue;
    // The density of small x, in sigmas, is nearly x exp(-snr^2 / 2) (1 + (snr^2 / 4 - 1 / 2) x^2).
    expected += count * std::exp(-snr_squared / 2) * near * near / 2 * (1 + (snr_squared / 8 - 0.25) * near * near);
    found += static_cast<double>(
        std::ranges::count_if(brick, [&](float voxel) { return static_cast<double>(voxel) < near * sigma; }));
    cubes += third / std::pow(variance, 1.5);
    ++bricks;
  }
  return expected >= fewest && found >= least * expected && found <= most * expected && cubes <= most_skewed * bricks;
}

/// What the fit says, and how far it is to be trusted.
void BrickMeasure::take_fit() {
  constexpr double weak = 3;  // sigmas
  const SignalVariance* const by_signal = model_.signal_variance();
  measured_.steepness = best().steepness();
  measured_.floor = fits_->usual.floor();
  measured_.sigma_of_flat = std::sqrt(fits_->usual.variance());
  model_.sigma = std::sqrt(by_signal ? mean_variance(bricks_, *by_signal) : best().variance());
  model_.contrast = std::sqrt(std::max(bricks_.median_variance() - best().variance(), 0.0));
  model_.spectrum = best().spectrum();
  model_.places = std::ssize(best().chosen());
  finest_ = std::sqrt(fits_->usual.finest_variance());
  measured_.are_magnitudes = !by_signal && are_magnitudes_without_air();
  const bool may_be_magnitudes = !known_.is_difference && known_.magnitudes != Magnitudes::no && air_.sigma == 0;
  if (measured_.are_magnitudes) {
    measured_.why_magnitudes = "without air, magnitudes were told by their weak signals";
  } else if (may_be_magnitudes && known_.magnitudes == Magnitudes::perhaps && agrees_ == Agreement::perhaps) {
    measured_.why_magnitudes = "the air looks like that of magnitudes, but the signal is too weak to tell";
  } else if (may_be_magnitudes && !by_signal && bricks_.lowest() >= 0 && measured_.signal < weak * model_.sigma) {
    measured_.why_magnitudes =
        known_.magnitudes == Magnitudes::yes
            ? "the signal is weak where it was measured, and noise of magnitudes looks weaker there than it is"
            : "the signal is weak: if these are magnitudes, their noise is stronger than this";
  }
  constexpr double loudest_air = 1.2;
  is_as_air_ = air_.is_even && air_.sigma > most_below_tissue * model_.sigma && air_.sigma < loudest_air * model_.sigma;
  judge(model_, {fits_->usual, finest_, measured_.object, found_.partly, few_parts_differ(), is_as_air_,
                 measured_.why_magnitudes});
  if (!by_signal && is_like_structure()) {
    take_as_white(model_, model_.sigma);  // which spares what is smooth
    model_.map = {};
    lower_confidence(model_, Confidence::low,
                     "the object has few parts, and what looks like noise there is as smooth as structure");
  }
}

void BrickMeasure::take_structure_off() {
  if (model_.signal_variance()) return;
  // Structure that is weaker than the noise is not taken for noise.
  if (voxels_ && !is_correlated_across_slices(model_) && model_.contrast > model_.sigma &&
      (model_.confidence == Confidence::low || known_.has_large_voxels)) {
    measured_.of_quiet = white_noise_in_structure(*voxels_, std::min(found_.darkest, 0.0));
  }
  // Structure is as strong as the noise, or everywhere. If the noise is white, or few parts agree, the highest
  // frequencies, which structure hardly reaches, come nearer to it. Repaired voxels spoil these.
  const bool white = is_white(model_, finest_);
  const bool is_finer =
      fits_->usual.flatness() < spoilt ? white || measured_.floor < least_floor : white && few_parts_differ();
  if (model_.confidence == Confidence::low && found_.impulses.share == 0 && air_.sigma == 0 && is_finer) {
    measured_.most = std::min(model_.sigma, finest_);
    take_as_white(model_, less_structure(measured_.most, measured_.of_quiet));
    model_.map = {};
    if (model_.sigma == 0) model_.confidence = Confidence::none;
    model_.reason += ", so that only the highest frequencies were measured";
  }
}

/// Whether the object holds uniform random numbers, as the air of maps does where fits failed. They are white, which
/// slopes are not, and reach over the values of the other side; noise of the object does not.
bool BrickMeasure::are_random_numbers() const {
  constexpr double white = 0.8;
  constexpr double least_kurtosis = 1.7, most_kurtosis = 1.95;  // uniform numbers have 1.8
  constexpr double reach = 1.8;                                 // of sigma; that of uniform numbers is the root of 3
  std::vector<std::size_t> all(kurtosis_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<double> means;
  for (std::int64_t i = 0; i < others_->count(); ++i) means.push_back(others_->mean(i));
  const double kurtosis = median_kurtosis(kurtosis_, all);
  return finest_ >= white * model_.sigma && kurtosis > least_kurtosis && kurtosis < most_kurtosis && !means.empty() &&
         std::abs(median_of(std::span(means)) - measured_.signal) < reach * model_.sigma;
}

/// What the bright parts hold that may be no noise, though it looks like noise; empty where nothing says so.
std::string BrickMeasure::seeming_noise() const {
  // Impulses, and noise of which few voxels lie far from the rest, are white: 0.75 of sigma and more.
  constexpr double finer = 0.65, sparse_kurtosis = 8;
  if (!others_) return "";
  if (finest_ < much_finer * model_.sigma) return "a texture";
  if (finest_ < finer * model_.sigma && median_kurtosis(kurtosis_, fits_->usual.chosen()) > sparse_kurtosis) {
    return "thin lines or points";
  }
  return are_random_numbers() ? "random numbers" : "";
}

void BrickMeasure::take_texture_off() {
  constexpr double much_finer_still = 0.2;  // of sigma
  // Speckle is a texture, too, but is noise.
  if (known_.is_difference || air_.sigma != 0 || model_.distribution == NoiseDistribution::speckle) return;
  // Parts on the other side of the middle may hold white noise that is far weaker: then all else is a texture, such as
  // that of spongy bone beside its marrow, or the edges of vessels, or what failed fits left.
  if (const std::string what = seeming_noise(); !what.empty()) {
    const std::int64_t count = others_->count();
    const auto [sigma, kurtosis] = white_noise_of(*std::move(others_), execution_);
    if (sigma > model_.step && sigma < much_finer * model_.sigma) {
      take_texture_for_signal(sigma, count);
      model_.impulses = 0;  // the others hold none
      // Where values went through a power, as by the gamma of a display, the air of magnitudes has 8 and more.
      constexpr double as_behind_a_gamma = 5;
      model_.confidence = kurtosis < as_behind_a_gamma ? Confidence::medium : Confidence::low;
      model_.reason = "bright parts hold " + what + ", so that the dark ones were measured";
    }
  }
  // A texture that is everywhere.
  if (bricks_.are_of_neighbours() && found_.impulses.share == 0 && finest_ < much_finer_still * model_.sigma &&
      are_of_two_kinds(moments_, fits_->usual.chosen())) {
    take_texture_for_signal(finest_, measured_.object);
    model_.confidence = finest_ > model_.step ? Confidence::low : Confidence::none;
    model_.reason = "even the flattest parts hold a texture, so that only the highest frequencies tell of noise";
  }
}

void BrickMeasure::take_texture_for_signal(double sigma, std::int64_t parts) {
  take_as_white(model_, sigma);
  measured_.are_magnitudes = false;  // as was judged by the texture
  model_.distribution = NoiseDistribution::gaussian;
  model_.poisson = {};
  model_.speckle = {};
  model_.map = model_.signal_map = {};
  measured_.steepness = measured_.floor = 1;
  measured_.sigma_of_flat = sigma;
  measured_.object = parts;
}

void BrickMeasure::take_noise_of_air() {
  take_as_white(model_, by_air_);
  model_.spectrum = air_.spectrum;
  model_.distribution = NoiseDistribution::rician;
  model_.map = {};
  model_.places = std::ssize(air_.parts);
  measured_.steepness = measured_.floor = 1;
  measured_.is_by_air = true;
  measured_.sigma_of_flat = by_air_;
  measured_.air = {.sigma = air_.sigma, .is_even = air_.is_even};
  if (model_.confidence == Confidence::none) return;
  model_.confidence = Confidence::medium;
  model_.reason = "even the flattest parts hold more structure than noise; the air was measured instead";
}

void BrickMeasure::use_air() {
  constexpr double most_above_tissue = 1.05;  // of sigma, that is chance: air, of many voxels, knows it better
  // If sigma may be mostly structure, air that is much quieter speaks against it.
  const bool is_refuted = model_.sigma > 2 * air_.sigma && model_.confidence <= Confidence::low;
  if (air_.sigma > 0 && !is_refuted) {
    measured_.is_by_air = correct_rician(model_, measured_.signal, air_);
    // Where structure hides how the noise of the object varies, that of the air, which is even, tells.
    const bool is_even = measured_.is_by_air || (is_as_air_ && fits_->usual.flatness() < spoilt);
    model_.map = is_even ? CoarseField() : best().map(air_.parts, model_.sigma);
  }
  const bool is_uniform = model_.map.values.size() == 1;
  measured_.air = {.sigma = air_.sigma, .is_even = air_.is_even};
  if (air_.sigma > model_.sigma && air_.sigma < most_above_tissue * model_.sigma && is_uniform) {
    set_sigma(model_, air_.sigma);
  }
  if (air_.sigma > most_below_tissue * model_.sigma && air_.sigma < model_.sigma && (is_uniform || is_as_air_) &&
      model_.confidence <= Confidence::low) {
    measured_.is_by_air = true;
    set_sigma(model_, air_.sigma);
    model_.map = {};
    model_.reason += "; the air was measured instead";
  }
}

}  // namespace

NoiseOfBricks noise_of_bricks(NoiseBricks& bricks, const KnownOfVolume& known, const Execution& execution) {
  return BrickMeasure(bricks, known, execution).run();
}

}  // namespace quietvox
