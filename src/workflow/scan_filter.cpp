// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/scan_filter.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "analysis/measure_noise.hpp"
#include "analysis/median_of.hpp"
#include "analysis/simple_noise_estimators.hpp"
#include "io/files/gzip_writer.hpp"
#include "io/float_precision.hpp"
#include "io/image_type.hpp"
#include "io/provenance/provenance_sidecar.hpp"
#include "io/rescale.hpp"
#include "io/voxel_loops.hpp"
#include "workflow/input_output.hpp"
#include "workflow/mask.hpp"
#include "workflow/masked_source.hpp"
#include "workflow/memory_budget.hpp"
#include "workflow/result_writer.hpp"

namespace quietvox {
namespace {

/// A volume that, if `is_wanted`, remembers its smallest and largest voxel as it is read.
class RangedSource final : public VolumeSource {
 public:
  RangedSource(VolumeSource& source, bool is_wanted) : source_(source), is_wanted_(is_wanted) {}

  Extent extent() const override { return source_.extent(); }
  Spacing spacing() const override { return source_.spacing(); }
  HeaderFacts header() const override { return source_.header(); }
  void read(VolumeView<float> slices) override {
    source_.read(slices);
    if (!is_wanted_) return;
    const auto [min, max] = io::finite_range({slices.data, static_cast<std::size_t>(slices.extent.voxels())});
    min_ = std::min(min_, min);
    max_ = std::max(max_, max);
  }
  /// The middle of the range if it lies so far from 0 that floats lose digits there. Of a range that floats made one
  /// value, nothing says how much was lost: then 32768, the end of 16-bit integers, is far.
  double middle_if_far() const {
    if (min_ == max_) return std::abs(min_) >= 32768 ? min_ : 0;
    return min_ > max_ ? 0 : quietvox::middle_if_far({min_, max_});
  }

 private:
  VolumeSource& source_;
  bool is_wanted_;
  float min_ = std::numeric_limits<float>::infinity(), max_ = -std::numeric_limits<float>::infinity();
};

std::string volume_name(std::size_t volume) { return "volume " + std::to_string(volume + 1) + ": "; }

}  // namespace

ScanFilter::ScanFilter(const DenoiseRequest& request, bool is_chosen, const Scan& scan, ScanWriters writers,
                       UnfilteredVolumes& unfiltered, const StartingBackend& backend, const Observer& observer,
                       DenoiseReport& report)
    : request_(request),
      is_chosen_(is_chosen),
      image_(scan.image),
      mask_(scan.mask),
      files_(scan.files),
      unfiltered_(unfiltered),
      backend_(backend),
      observer_(observer),
      report_(report),
      background_(background_of(request.execution, observer)),
      whole_(execution_of(request.execution, observer)),
      domain_(writers.domain),
      writers_(std::move(writers)),
      rounding_(request.output, report.format, image_.volume_count(), background_),
      restores_(mask_ || writers_.residual || report.format != image_.format()),
      noise_of_volumes_(image_, report.stabilise) {}

void ScanFilter::run() {
  if (whole_.memory_limit) reserve_memory();
  if (request_.out.dry_run) {
    if (image_.may_have_one_noise() && is_asked_for(report_.stabilise)) measure_series();
    for (std::size_t volume = 0; volume < count(); ++volume) check(volume);
    rounding_.check();
    lost_.warn(report_.warnings);
    if (!is_chosen_) {  // filters that were asked for are reported with what is known without the voxels
      if (mask_) warn_of_mask(empty_volumes(*mask_, image_));
      return;
    }
  }
  if (image_.may_have_one_noise() && !of_series_) measure_series();
  begin_provenance();
  for (std::size_t volume = 0; volume < count(); ++volume) filter(volume);
  add_warnings_of_volumes();
  if (!request_.out.dry_run) finish();
}

void ScanFilter::warn_of(std::size_t volume, const Message& warning) {
  const auto is_same = [&](const auto& other) { return other.first.text() == warning.text(); };
  const auto known = std::ranges::find_if(warnings_of_volumes_, is_same);
  if (known != warnings_of_volumes_.end()) {
    known->second.insert(volume);
  } else {
    warnings_of_volumes_.emplace_back(warning, std::set{volume});
  }
}

void ScanFilter::add_warnings_of_volumes() {
  for (const auto& [warning, volumes] : warnings_of_volumes_) {
    report_.warnings.push_back(count() > 1 ? describe_volumes(volumes) + ": " + warning : warning);
  }
}

ScanFilter::Input ScanFilter::input_of(std::size_t volume) const {
  auto slices = std::make_unique<BlankSlices>(image_.volume(volume, domain_), background_);
  if (background_.memory_limit) slices->judge_ahead();
  Input input{slices.get(), std::move(slices)};
  if (!mask_) return input;
  input.source = std::make_unique<MaskedSource>(std::move(input.source), mask_of_volume(*mask_, image_, volume));
  return input;
}

/// Measures the noise of what reaches a filter: of the volume as it is, by its neighbours too, or of what filters
/// before it made of it.
NoiseMeasure ScanFilter::measure_of(std::size_t volume, const VolumeSource& as_it_is) {
  return [this, volume, &as_it_is](VolumeSource& reaching, const Execution& execution) {
    if (&reaching != &as_it_is) return measure_noise(reaching, execution);
    if (!mask_) return noise_of_volumes_.measure(volume, reaching, execution);
    return noise_of_volumes_.measure_masked(volume, reaching, execution, [&] {
      return std::make_unique<BlankSlices>(image_.volume(volume, domain_), background_);
    });
  };
}

/// Throws what a run would throw for the voxels of a volume, as far as that can be foreseen without filtering.
void ScanFilter::check(std::size_t volume) {
  const auto source = input_of(volume).source;
  const bool stays = unfiltered_.leave_out(volume, *source);
  const Stabilise stabilise = is_asked_for(report_.stabilise) && !is_chosen_ ? report_.stabilise : Stabilise::none;
  if (stays) {
    report_.volumes[volume] = {};
  } else {
    const std::span<const FilterConfig> all = request_.filters;
    const auto asks = [](const Waiting& waiting) { return waiting.fact == VoxelFact::intensities; };
    const bool is_asked = is_asked_for(stabilise);
    if (is_asked || std::ranges::any_of(resolve_by_header(all, *source).front().waiting(), asks)) {
      const VolumeFilter checked({is_asked ? all : all.first(1), stabilise}, *source, backend_, background_,
                                 of_series_ ? of_series_->as_measure() : measure_of(volume, *source));
    }
  }
  // A type that the input has holds its values.
  const auto integers = request_.out.output_type == OutputType::same ? std::nullopt : writers_.image->integers(volume);
  const bool checks_type = integers.has_value();
  rounding_.begin_volume(source->extent(), integers);
  BlankSlices voxels(image_.volume(volume, checks_type ? io::VoxelDomain::real_with_padding : domain_), background_);
  const auto check = [&](VolumeView<const float> slices) {
    if (!checks_type) return;
    check_finite(slices, request_.out.output_type, request_.output);
    rounding_.look_at(slices);
  };
  for_each_slab(voxels, [&](VolumeView<const float> slices) { voxels.with_values(slices, check); });
  if (!stays) lost_.add(voxels, image_, volume);
  rounding_.end_volume();
}

/// Subtracts from the memory limit what is needed besides the voxels that filter_volume() counts, by the largest
/// volume.
void ScanFilter::reserve_memory() {
  MemoryDemand most;
  const io::Geometry* known = nullptr;
  for (std::size_t volume = 0; volume < count(); ++volume) {
    const std::vector<FilterConfig>& filters = report_.volumes[volume].filters;
    const io::Geometry& geometry = image_.geometry(volume);
    if (filters.empty() || (known && geometry.extent == known->extent && geometry.spacing == known->spacing)) continue;
    known = &geometry;
    const MemoryDemand demand =
        memory_demand({filters, report_.stabilise, is_chosen_}, *image_.volume(volume, domain_), backend_, whole_);
    const std::size_t blocks = (mask_ ? 2 : 0) + (restores_ ? 2 : 0) + (writers_.residual ? 1 : 0);
    most.besides = std::max(most.besides, demand.besides + block_bytes(geometry.extent) * blocks);
    most.least = std::max(most.least, demand.least);
  }
  if (mask_) most.besides += 2 * mask_bytes(*mask_, image_);
  for (const auto& writer : {writers_.image.get(), writers_.residual.get()}) {
    if (writer) most.besides += writer->packing_bytes(whole_);
  }
  quietvox::reserve_memory(whole_, request_.execution, most.besides, most.least);
}

void ScanFilter::measure_series() {
  of_series_ = SeriesNoise::measure(count(), [&](std::size_t volume) -> std::optional<std::vector<NoiseModel>> {
    const auto source = input_of(volume).source;
    if (unfiltered_.leave_out(volume, *source)) return std::nullopt;
    std::vector<NoiseModel> measured;
    if (!may_measure_noise(request_.filters, report_.stabilise, *source)) return measured;
    haar_[volume] = estimate_noise(*source, background_);
    const auto remember = [&, measure = measure_of(volume, *source)](VolumeSource& reaching, const Execution& part) {
      return measured.emplace_back(measure(reaching, part));
    };
    try {
      return VolumeFilter(chain(), *source, backend_, whole_.silent(), remember).noise();
    } catch (const Error& error) {
      // By its own noise one volume may not be stabilised as all are by that of the series.
      if (error.code() != Errc::invalid_argument || measured.empty()) throw;
      return measured;
    }
  });
  if (!of_series_) return;
  report_.noise_source = of_series_->describe();
  std::vector<double> haar;
  for (const auto& each : haar_) haar.push_back(each.second);
  usual_haar_ = median_of(std::span(haar));
}

/// A volume's filters by its own noise, if that is much stronger or weaker than that of the series, as the first filter
/// that asks sees it. One volume may be spoilt, as by motion, or be the mean of others; by the noise of the series it
/// would stay as it is, or lose what it shows. Differences of voxels may be those of structure, too; the measure of the
/// volume knows better. But where only the surest volumes tell the noise of the series, more of it with low confidence
/// is structure.
std::unique_ptr<const VolumeFilter> ScanFilter::unlike_series(std::size_t volume, VolumeSource& source,
                                                              const MakeFilter& by_own_noise) {
  constexpr double much = 1.5, some = 1.15;
  const auto known = haar_.find(volume);
  const double haar = known != haar_.end() ? known->second : estimate_noise(source, background_);
  const auto exceeds = [](double a, double times, double b) { return b > 0 && a > times * b; };
  // Times are to be filtered alike. Of directions, some may have been averaged less, and noise that stays costs most.
  const double least = image_.is_time_series() ? much : some;
  const bool is_smeared = of_series_->smears(volume);
  const bool is_louder = exceeds(haar, least, usual_haar_), is_quieter = exceeds(usual_haar_, much, haar);
  if (!is_louder && !is_quieter && !is_smeared) return nullptr;
  std::unique_ptr<const VolumeFilter> made;
  try {
    made = by_own_noise();
  } catch (const Error& error) {
    // By its own noise it may not be stabilised as it is by that of the series.
    if (error.code() != Errc::invalid_argument || is_smeared) throw;
    return nullptr;
  }
  if (made->noise().empty()) return nullptr;
  const NoiseModel& own = made->noise().front();
  const double sigma = own.trusted_sigma(), of_series = of_series_->first().sigma;
  const bool is_sure =
      own.confidence >= Confidence::medium || (!of_series_->is_by_surest() && exceeds(sigma, much, of_series));
  const bool is_unlike = is_louder ? is_sure && exceeds(sigma, least, of_series) : exceeds(of_series, much, sigma);
  if (!is_unlike && !is_smeared) return nullptr;
  warn_of(volume, std::string(own.sigma > of_series ? "noisier" : "quieter") +
                      " than the series, and therefore filtered by its own noise");
  return made;
}

void ScanFilter::warn_of_mask(const std::set<std::size_t>& empty) {
  std::ranges::move(empty_mask_warning(*mask_, empty, request_.mask.mask), std::back_inserter(report_.warnings));
}

void ScanFilter::begin_provenance() {
  if (mask_) {
    const bool is_recorded = !files_.empty();  // nothing records what is done in memory
    const MaskIdentity of_mask =
        is_recorded ? identify_mask(*mask_, image_) : MaskIdentity{.hash = {}, .empty = empty_volumes(*mask_, image_)};
    provenance_.mask = of_mask.hash;
    warn_of_mask(of_mask.empty);
  }
  if (report_.stabilise != Stabilise::automatic) {
    provenance_.stabilise = FieldType<Stabilise>::format(report_.stabilise);
  }
  for (const FilterConfig& step : request_.filters) provenance_.requested.push_back(step.with_content_hashes());
  if (is_chosen_) provenance_.by = "denoise";
}

void ScanFilter::filter(std::size_t volume) {
  const auto [slices, unranged] = input_of(volume);
  const HeaderFacts header = unranged->header();
  provenance_.kind = header.kind;
  provenance_.modality = io::modality_of(header);
  if (unfiltered_.leave_out(volume, *unranged)) return write_unfiltered(volume, *slices, *unranged);
  // The offset of the image is that of its first volume. A mask may leave little of a range.
  RangedSource source(*unranged,
                      volume > 0 && !mask_ && domain_ != io::VoxelDomain::stored && image_.may_lose_digits());
  const double index = static_cast<double>(volume), volumes = static_cast<double>(count());
  const auto filter_by = [&](const NoiseMeasure& measure) {
    return std::make_unique<const VolumeFilter>(chain(), source, backend_,
                                                whole_.part(index / volumes, (index + 1) / volumes), measure);
  };
  const NoiseMeasure measure = measure_of(volume, source);
  std::unique_ptr<const VolumeFilter> made;
  if (of_series_) made = unlike_series(volume, source, [&] { return filter_by(measure); });
  const bool is_by_series = of_series_ && !made;
  if (!made) made = filter_by(is_by_series ? of_series_->as_measure() : measure);
  const VolumeFilter& filter = *made;
  if (whole_.memory_limit) trim_heap();  // of estimates
  if (!is_by_series || !std::exchange(is_series_warned_of_, true)) {
    for (const Message& warning : filter.warnings()) {
      if (is_by_series) {
        report_.warnings.push_back(warning);
      } else {
        warn_of(volume, warning);
      }
    }
  }
  const DenoisedVolume& done =
      report_.volumes[volume] = {filter.resolved(), filter.noise(), filter.stabilised(), is_by_series};
  if (observer_.detail) {
    observer_.detail(volume_name(volume) + describe_chain(done.filters));
    if (volume > 0 && !is_by_series) {  // that of the first is said with the result
      for (const NoiseModel& model : done.noise) observer_.detail(volume_name(volume) + "noise: " + model.describe());
    }
  }
  if (request_.out.dry_run) return;
  provenance_.resolved = done.filters;
  provenance_.noise = done.noise;
  provenance_.noise_source = is_by_series ? report_.noise_source : "";
  provenance_.stabilised = done.stabilised;
  write(volume, *slices, [&](const WriteSlices& write) { filter.run(write); });
  lost_.add(*slices, image_, volume);
  if (const double middle = source.middle_if_far(); middle != 0) {
    warn_of(volume,
            "voxels lie around " + FieldType<double>::format(middle + image_.offset()) +
                ", far from those of volume 1, and 32-bit floats lose digits of them; filter such a volume in a "
                "file of its own");
  }
}

void ScanFilter::write_unfiltered(std::size_t volume, const BlankSlices& slices, VolumeSource& source) {
  report_.volumes[volume] = {};
  if (observer_.detail) observer_.detail(volume_name(volume) + "left as it is");
  if (request_.out.dry_run) return;
  provenance_.resolved.clear();
  provenance_.noise.clear();
  provenance_.noise_source = report_.noise_source;
  provenance_.stabilised.clear();
  write(volume, slices, [&](const WriteSlices& write) { for_each_slab(source, write); });
}

/// Writes the results of `run` for a volume.
void ScanFilter::write(std::size_t volume, const BlankSlices& slices,
                       const std::function<void(const WriteSlices&)>& run) {
  const auto begin = [&] {
    provenance_.backend = backend_.name();
    writers_.image->begin_volume(volume, provenance_);
    if (writers_.residual) {
      Provenance of_residual = provenance_;
      of_residual.kind = DataKind::scalar;
      writers_.residual->begin_volume(volume, of_residual);
    }
    const bool stays = report_.volumes[volume].filters.empty() && request_.out.output_type == OutputType::same &&
                       report_.format == image_.format();
    const bool is_real = domain_ == io::VoxelDomain::real;
    rounding_.begin_volume(image_.geometry(volume).extent,
                           is_real && !stays ? writers_.image->integers(volume) : std::nullopt);
    const io::VoxelDomain original = is_real ? io::VoxelDomain::real_with_padding : domain_;
    return ResultWriter(*writers_.image, writers_.residual.get(), restores_ ? image_.volume(volume, original) : nullptr,
                        mask_ ? mask_of_volume(*mask_, image_, volume) : nullptr);
  };
  std::optional<ResultWriter> output;  // is made when a backend has started, not waited for before
  run([&](VolumeView<const float> filtered) {
    if (!output) output.emplace(begin());
    slices.with_values(filtered, [&](VolumeView<const float> some) {
      rounding_.look_at(some);
      output->write(some);
    });
  });
  rounding_.end_volume();
}

void ScanFilter::finish() {
  lost_.warn(report_.warnings);
  if (!mask_) rounding_.check();  // else a picture is left outside the mask, and the warning tells of the rest
  const io::WriteReport written = commit_both(*writers_.image, writers_.residual.get(), files_, background_);
  report_.files = written.files;
  report_.clamped = written.clamped;
  constexpr double many_clamped = 1e-3;
  double all = 0;
  for (std::size_t volume = 0; volume < count(); ++volume) {
    all += static_cast<double>(image_.geometry(volume).extent.voxels());
  }
  const bool is_asked_for = request_.out.output_type != OutputType::same;
  if (static_cast<double>(written.clamped) > (is_asked_for ? 0 : many_clamped * all)) {
    report_.warnings.push_back(
        request_.output.string() + ": " + std::to_string(written.clamped) +
        (written.clamped == 1 ? " voxel" : " voxels") + " did not fit into " +
        (is_asked_for ? Message(Parameter{"output-type"}) : "the type of the input") +
        (written.clamped == 1 ? " and was clamped; to keep it, " : " and were clamped; to keep them, ") +
        float_remedy(report_.format));
  }
  if (const Message warning = rounding_.warning(); !warning.empty()) report_.warnings.push_back(warning);
  report_.warnings.insert(report_.warnings.end(), written.warnings.begin(), written.warnings.end());
}

}  // namespace quietvox
