// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/measure_noise.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/noise_confidence.hpp"
#include "analysis/noise_corrections.hpp"
#include "analysis/noise_impulses.hpp"
#include "analysis/noise_of_bricks.hpp"
#include "analysis/noise_pieces.hpp"
#include "analysis/noise_survey.hpp"
#include "analysis/simple_noise_estimators.hpp"
#include "core/swapped_volume.hpp"

namespace quietvox {
namespace {

constexpr double least_between_neighbours = 0.1;  // of sigma, that noise shows there; less is structure

/// So large that no part of a head is flat.
bool has_large_voxels(const VolumeSource& source) {
  constexpr double large_mm = 2.4;
  return std::min(source.spacing().x, source.spacing().y) >= large_mm;
}

/// The standard deviation that noise which follows the signal has in a dark object, root mean square.
double sigma_in_dark_object(const NoiseBricks& bricks, bool is_difference, const SignalVariance& variance) {
  const std::vector<bool> object = NoiseSurvey(bricks, {is_difference, true, true}).object;
  double sum = 0, count = 0;
  for (std::int64_t i = 0; i < bricks.count(); ++i) {
    if (!object[static_cast<std::size_t>(i)]) continue;
    sum += variance.at(bricks.mean(i));
    ++count;
  }
  return sum > 0 ? std::sqrt(sum / count) : 0;
}

/// Of a radiograph whose bright parts are air. If noise follows the signal, air, which is flat, tells best how; that of
/// counts does, though it may not show clearly, unless the object shows far more. Else air has noise of its own, as
/// behind a logarithm, and only the object's counts.
NoiseOfBricks noise_of_dark_object(NoiseBricks& bricks, KnownOfVolume known, bool are_counts,
                                   const Execution& execution) {
  constexpr double far_more = 4;  // structure makes it up to three times as much
  NoiseBricks energies = bricks;
  NoiseOfBricks by_air = noise_of_bricks(energies, known, execution);
  NoiseModel& model = by_air.model;
  known.object_is_dark = known.may_have_borders = true;
  const bool follows = model.signal_variance() != nullptr;
  if (!follows) {
    if (!are_counts || model.poisson.gain <= 0 || model.confidence < Confidence::medium) {
      return noise_of_bricks(bricks, known, execution);
    }
    model.distribution = NoiseDistribution::poisson;
  }
  const double expected = sigma_in_dark_object(bricks, known.is_difference, *model.signal_variance());
  if (!follows) {
    NoiseOfBricks by_object = noise_of_bricks(bricks, known, execution);
    if (by_object.model.sigma > far_more * expected) return by_object;
  }
  if (expected > 0) model.sigma = expected;
  return by_air;
}

/// A volume that is measured, and what its neighbouring voxels differ by, which takes long and is found once.
class MeasuredVolume {
 public:
  MeasuredVolume(VolumeSource& volume, const Execution& how) : source(volume), execution(how) {}

  /// As estimate_noise() has it.
  double sigma_between_neighbours() {
    if (!between_neighbours_) between_neighbours_ = estimate_noise(source, execution);
    return *between_neighbours_;
  }

  VolumeSource& source;
  const Execution& execution;

 private:
  std::optional<double> between_neighbours_;
};

NoiseOfBricks measure(MeasuredVolume& volume, VolumeSource* neighbour, std::int64_t apart) {
  VolumeSource& source = volume.source;
  const Execution& execution = volume.execution;
  check_volume(source.extent(), source.spacing());
  NoiseBricks bricks(source, neighbour, apart);
  check_stop(execution.stop);
  bricks.keep([&](std::int64_t i) {
    const float* const brick = bricks.brick(i);
    const auto missing =
        std::count_if(brick, brick + bricks.voxels(), [](float value) { return !std::isfinite(value); });
    return static_cast<double>(missing) <= ImpulseRepair::max_flagged_share * static_cast<double>(bricks.voxels());
  });
  if ((bricks.count() == 0 && bricks.background().empty()) || bricks.size().slice() == 1) {
    NoiseOfBricks nothing;
    nothing.nothing_to_go_by = true;
    return nothing;
  }
  const HeaderFacts header = source.header();
  const std::optional<DataKind> kind = header.kind;
  const bool is_said = kind == DataKind::magnitude;
  const double scale = bricks.normalise();
  const KnownOfVolume known{
      .magnitudes = is_said ? Magnitudes::yes
                    : kind  ? Magnitudes::no
                            : Magnitudes::perhaps,
      .is_of_mr = header.are_of_mr,
      .may_follow_signal = !is_said && !header.are_ct_numbers && !header.are_of_mr && header.offset == 0,
      .may_have_borders = header.is_radiograph && !header.object_is_dark,
      .has_large_voxels = has_large_voxels(source),
      .is_difference = neighbour != nullptr,
      .sigma_between_neighbours = [&volume, scale] { return scale * volume.sigma_between_neighbours(); }};
  NoiseOfBricks measured = header.object_is_dark ? noise_of_dark_object(bricks, known, header.are_counts, execution)
                                                 : noise_of_bricks(bricks, known, execution);
  scale_by(measured.model, 1 / scale);
  measured.sigma_of_flat /= scale;
  measured.most /= scale;
  measured.of_quiet /= scale;
  measured.signal /= scale;
  measured.air.sigma /= scale;
  return measured;
}

/// Noise of frequencies so low that neighbours in a brick share it shows in voxels that lie further apart. So does
/// structure: where those do not clearly show noise, no more than twice as much is taken for it.
void add_noise_of_voxels_apart(NoiseOfBricks& near, MeasuredVolume& volume, VolumeSource* neighbour) {
  constexpr double steep = 5.5;
  constexpr double little = 2, most = 4;  // times sigma
  constexpr double clear_floor = 0.68;
  constexpr std::int64_t least_extent = 64, least_object = 1000, furthest = 4;
  const Extent extent = volume.source.extent();
  // In a slice, correlated noise has medium confidence at most.
  const Confidence least_confidence = extent.z == 1 ? Confidence::medium : Confidence::high;
  double steepness = near.steepness;
  for (std::int64_t apart = 2; apart <= furthest; apart *= 2) {
    if (steepness <= steep || near.is_by_air || near.model.confidence < Confidence::medium ||
        near.object < least_object || std::min(extent.x, extent.y) < least_extent * apart / 2) {
      return;
    }
    const NoiseOfBricks far = measure(volume, neighbour, apart);
    const bool is_clear = far.model.confidence >= least_confidence && far.floor >= clear_floor;
    if (!is_clear && apart > 2) return;
    const double sigma = far.model.sigma;
    if (sigma <= near.model.sigma || sigma >= (is_clear ? most : little) * near.model.sigma) return;
    add_low_frequencies(near.model, sigma);
    if (!is_clear) return;
    steepness = far.steepness;
  }
}

NoiseOfBricks measure(MeasuredVolume& volume, VolumeSource* neighbour) {
  NoiseOfBricks near = measure(volume, neighbour, 1);
  add_noise_of_voxels_apart(near, volume, neighbour);
  if (near.floor < least_floor && volume.sigma_between_neighbours() < least_between_neighbours * near.sigma_of_flat) {
    set_sigma(near.model, near.sigma_of_flat * std::sqrt(near.floor));
    near.model.confidence = Confidence::none;
    near.model.reason = "neighbouring voxels show no noise, and few flat regions agree on the noise level";
  }
  if (near.nothing_to_go_by) {
    near.model.sigma = volume.sigma_between_neighbours();
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
/// are large, and no quiet pieces show white noise, it is truly smooth, and the model stays. If they hardly differ, in
/// a slice or where parts are few, structure was measured; so it was where noise that is said to be white hardly shows
/// in them.
NoiseModel with_finest_differences(NoiseOfBricks measured, MeasuredVolume& volume) {
  VolumeSource& source = volume.source;
  NoiseModel& model = measured.model;
  // The darkest voxel alone is more than most_background.
  const bool is_tiny = most_background * static_cast<double>(source.extent().voxels()) < 1;
  if (is_tiny && model.confidence == Confidence::none) model.reason = "there are too few voxels to measure noise";
  if (model.sigma == 0) {
    constexpr double more_than_rounding = 0.5, little = 0.01;  // of a step; of the range where no step is known
    const double fine = volume.sigma_between_neighbours();
    const Range<double> range = fine > 0 ? intensities(source) : Range<double>{};
    if (fine <= (model.step > 0 ? more_than_rounding * model.step : little * (range.max - range.min))) return model;
    model.sigma = fine;
    model.confidence = Confidence::none;
    if (!is_tiny) {
      model.reason =
          "flat parts of the object hold one value each, or nearly all parts hold the least value, as where counts are "
          "few or values were cut off";
    }
    return model;
  }
  const bool has_few_parts = measured.object < few_parts;
  constexpr double smooth = 0.5;
  const bool is_large = has_large_voxels(source);
  // A variance that follows the signal as noise does is no structure.
  const bool is_sure = measured.is_by_air || model.signal_variance() != nullptr;
  const bool is_slice = source.extent().z == 1;
  const bool is_low = model.confidence == Confidence::low;
  const bool is_doubtful = (is_low && has_few_parts) || (is_slice && model.confidence <= Confidence::medium);
  // Thin struts look like impulses, and what is left of them like noise.
  const bool may_be_structure = (is_low && model.spectrum.size.voxels() == 1) || model.impulses > many_impulses;
  if (model.confidence == Confidence::none || is_sure ||
      !(is_large || has_few_parts || is_doubtful || may_be_structure)) {
    return model;
  }
  const double fine = volume.sigma_between_neighbours();
  constexpr double rounding = 0.75;   // of a step: estimate_noise() where the median difference is half a step
  constexpr double of_medium = 0.06;  // of sigma: slopes leave as much in a slice without noise
  // Slices that were enlarged leave less, too, but their noise is even.
  constexpr double uneven = 5, of_uneven = 0.15;
  const auto [weakest, strongest] = std::ranges::minmax(model.map.values);
  const double of_low = strongest > uneven * weakest ? of_uneven : least_between_neighbours;
  // Of what neighbours can show: low frequencies may have been added since.
  const double near = std::min(model.sigma, measured.sigma_of_flat);
  const double no_noise = is_low ? std::max(of_low * near, rounding * model.step) : of_medium * near;
  constexpr double hardly = 0.25;
  const bool is_hardly_there = may_be_structure && fine < hardly * model.sigma;
  if ((is_doubtful && fine <= (has_few_parts ? 0 : no_noise)) || (is_hardly_there && fine <= model.step)) {
    model.confidence = Confidence::none;
    model.reason = "neighbouring voxels show no noise, and " + model.reason;
    return model;
  }
  const bool is_used = is_hardly_there ||
                       (has_few_parts ? fine > 0 : is_large && (fine > smooth * model.sigma || measured.of_quiet > 0));
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
            .uniform_values = model.uniform_values,
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
bool is_noisier(const NoiseModel& alone, const NoiseModel& difference, MeasuredVolume& volume,
                MeasuredVolume& neighbour) {
  constexpr double much = 1.25;  // times the variance that the difference says
  constexpr double some = 1.05;  // times the differences of voxels next to each other, which take little time
  constexpr double quiet = 0.5;  // of these differences: such a neighbour may be blank, or a filter's result
  const auto variance = [](const NoiseModel& model) { return model.sigma * model.sigma; };
  if (alone.confidence < Confidence::medium || variance(alone) <= much * variance(difference)) return false;
  const double fine = volume.sigma_between_neighbours(), of_neighbour = neighbour.sigma_between_neighbours();
  if (fine <= some * of_neighbour) return false;
  const NoiseModel other = measure(neighbour, nullptr).model;
  if (other.trusted_sigma() == 0) return of_neighbour < quiet * fine;
  return variance(difference) + (variance(alone) - variance(other)) / 2 > much * variance(difference);
}

NoiseModel noise_with_neighbour(VolumeSource& source, VolumeSource& other, const Execution& execution) {
  MeasuredVolume volume(source, execution), neighbour(other, execution);
  const NoiseOfBricks by_itself = measure(volume, nullptr);
  const NoiseModel& alone = by_itself.model;
  if (by_itself.is_of_counts) return with_last_doubts(alone);
  const NoiseOfBricks difference = measure(volume, &other);
  NoiseModel model = difference.model;
  // Times sigma: less means that one volume was made from the other, and shares its noise.
  const double shared = model.confidence <= Confidence::low ? 0.25 : 0.16;
  std::optional<NoiseModel> own;
  const auto without_neighbour = [&]() -> NoiseModel& {
    if (!own) own = with_last_doubts(with_finest_differences(by_itself, volume));
    return *own;
  };
  const auto share_noise = [&] {
    return alone.confidence >= Confidence::medium && model.sigma < shared * alone.sigma &&
           model.sigma < shared * without_neighbour().sigma;
  };
  constexpr double more_than_noise = 0.6;  // of sigma; two volumes that differ by noise alone: 0.2 at most
  constexpr double by_chance = 1.1, alike = 1.25;
  const bool is_sure = model.confidence == Confidence::high;
  const bool is_of_noise = model.confidence == Confidence::medium && model.contrast <= more_than_noise * model.sigma;
  const bool is_alone_unsure = alone.confidence <= Confidence::low;
  // Where the difference says what the volume says, chance decides which says more.
  const double as_much = is_sure && !is_alone_unsure ? alike : is_of_noise ? by_chance : 1;
  // Sigma of a volume that is not sure is often that of its highest frequencies: no bound where noise is correlated.
  const bool is_clear =
      is_alone_unsure && model.confidence >= Confidence::medium && model.contrast <= more_than_noise * model.sigma;
  const double most = std::max({as_much * alone.sigma, by_itself.most, is_clear ? alike * by_itself.sigma_of_flat : 0});
  if (!(model.sigma > 0 && model.sigma < most) || share_noise() || is_noisier(alone, model, volume, neighbour)) {
    return without_neighbour();
  }
  // If parts are few, or the volumes differ by motion or contrast, the difference holds structure besides noise: the
  // smaller of both counts. But what was measured by the highest frequencies alone, or not to be trusted, may be small.
  const bool holds_structure = model.contrast > more_than_noise * model.sigma ||
                               (model.confidence == Confidence::low && difference.object < few_parts);
  const bool is_hidden = model.confidence == Confidence::none;  // as by what both volumes hold alike in many places
  const bool may_be_small = difference.most > 0 || is_hidden;
  const double bound = may_be_small ? alike * std::max(model.sigma, difference.sigma_of_flat) : model.sigma;
  if ((holds_structure || is_hidden) && without_neighbour().trusted_sigma() > 0 && own->sigma <= bound &&
      (!is_sure || own->confidence > Confidence::low)) {
    return *own;
  }
  if (alone.distribution == NoiseDistribution::rician || by_itself.are_magnitudes) {
    const bool is_by_air = correct_rician(model, difference.signal, by_itself.air);
    if (is_by_air || by_itself.air.sigma == 0) model.map = {};  // without air it would follow the signal
  }
  model.contrast =
      std::sqrt(std::max(alone.contrast * alone.contrast + alone.sigma * alone.sigma - model.sigma * model.sigma, 0.0));
  if (!by_itself.why_magnitudes.empty() && model.confidence > Confidence::medium) {
    model.confidence = Confidence::medium;
    model.reason = by_itself.why_magnitudes;
  }
  // Noise in air is no structure. Parts of k-space that volumes share (keyhole) leave no difference.
  constexpr double far_less = 0.6;
  if (by_itself.air.sigma > 0 && alone.confidence >= Confidence::medium &&
      model.sigma < far_less * std::min(alone.sigma, by_itself.air.sigma)) {
    lower_confidence(model, Confidence::low,
                     "each volume shows more noise than neighbours differ by: they may share it");
  }
  model.impulses = alone.impulses;
  model.step = alone.step;
  model.masked = alone.masked;
  model.background = alone.background;
  model.uniform_values = alone.uniform_values;
  return with_last_doubts(std::move(model));
}

}  // namespace

std::size_t memory_to_measure_noise(const Extent& extent) {
  constexpr std::int64_t usual = std::int64_t{24} << 20;
  // Where slices are few and large, most bricks of the two layers that are read at once are not kept.
  constexpr std::int64_t kept = std::int64_t{20} << 20, most_looked_at = 1 << 15, voxels_of_each = 16;
  const std::int64_t layers = std::max<std::int64_t>(extent.z / 2 - 1, 1);
  const std::int64_t of_layer = std::min(extent.slice() / voxels_of_each, most_looked_at / layers) << 10;
  const auto most = static_cast<std::size_t>(std::max(usual, kept + std::min<std::int64_t>(layers, 2) * of_layer));
  constexpr std::size_t bricks_of_voxel = 8;  // they overlap by half along each axis
  return std::min(most, bricks_of_voxel * static_cast<std::size_t>(extent.voxels()) * sizeof(float)) +
         PieceKeeper::bytes(extent);
}

NoiseModel measure_noise(VolumeSource& source, const Execution& execution) {
  if (const AxisSwap swap(header_facts(source)); swap) {
    SwappedVolume swapped(source, swap, execution);
    return swap(measure_noise(swapped, execution));
  }
  PieceKeeper keeper(source);
  MeasuredVolume volume(keeper, execution);
  NoiseModel model = with_last_doubts(with_finest_differences(measure(volume, nullptr), volume));
  model.pieces = keeper.pieces_of_object();
  return model;
}

NoiseModel measure_noise_with_neighbour(VolumeSource& source, VolumeSource& neighbour, const Execution& execution) {
  if (const AxisSwap swap(header_facts(source)); swap) {
    SwappedVolume swapped(source, swap, execution), swapped_neighbour(neighbour, swap, execution);
    return swap(measure_noise_with_neighbour(swapped, swapped_neighbour, execution));
  }
  PieceKeeper keeper(source);
  NoiseModel model = noise_with_neighbour(keeper, neighbour, execution);
  model.pieces = keeper.pieces_of_object();
  return model;
}

}  // namespace quietvox
