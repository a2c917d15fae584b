// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/denoise.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "analysis/measure_noise.hpp"
#include "core/memory_volume.hpp"
#include "core/refusal.hpp"
#include "core/series_noise.hpp"
#include "filters/registry.hpp"
#include "io/files/gzip_writer.hpp"
#include "io/files/path_overlap.hpp"
#include "io/files/paths.hpp"
#include "io/format_text.hpp"
#include "io/not_finite.hpp"
#include "io/output/provenance_json.hpp"
#include "io/rescale.hpp"
#include "workflow/blank_slices.hpp"
#include "workflow/mask.hpp"
#include "workflow/masked_source.hpp"
#include "workflow/memory_budget.hpp"
#include "workflow/noise_of_volume.hpp"
#include "workflow/rounding.hpp"
#include "workflow/scan_files.hpp"
#include "workflow/voxel_output.hpp"

namespace quietvox {
namespace fs = std::filesystem;
namespace {

/// Files that parameters name.
std::vector<Source> named_files(const std::vector<FilterConfig>& chain) {
  std::vector<Source> sources;
  for (const FilterConfig& step : chain) {
    for (const FieldInfo& field : step.filter().fields) {
      if (field.kind != FieldKind::text) continue;
      const std::string value = step.get(field.name);
      if (std::error_code ignored; fs::exists(value, ignored)) sources.push_back({value, field.name});
    }
  }
  return sources;
}

/// Everything that is read.
std::vector<Source> sources_of(const DenoiseRequest& request) {
  std::vector<Source> sources = named_files(request.filters);
  if (!request.mask.mask.empty()) sources.insert(sources.begin(), {request.mask.mask, "mask"});
  sources.insert(sources.begin(), {request.input});
  return sources;
}

/// Who may read the mask and the files that parameters name: the output shows something of them.
io::Access access_of_others(const DenoiseRequest& request, const io::Image* mask, const fs::path& output) {
  std::vector<fs::path> files;
  for (const Source& source : named_files(request.filters)) files.push_back(source.path);
  const io::Access access = io::access_of(files, output);
  return mask ? access & io::access_of(*mask, output) : access;
}

/// Throws Error(invalid_argument) where --codec says what cannot be.
void check_codec(const OutputOptions& options, io::Format format) {
  if (!options.codec) return;
  if (format != io::Format::dicom) {
    throw Error(Errc::invalid_argument,
                Parameter{"codec"} + " is for DICOM, and the output is " + io::to_string(format),
                Parameter{"compress"} + " is enough");
  }
  if (options.compress == false) {
    throw Error(Errc::invalid_argument,
                Parameter{"codec"} + " and " + Parameter{"no-compress"} + " contradict each other", "give one of them");
  }
}

/// Finds outputs that would place irregular slices where they do not lie.
void check_formats(const DenoiseRequest& request, const io::Image& image, DenoiseReport& report) {
  const bool residual = !request.mask.residual.empty();
  if (report.format != io::Format::dicom) {
    const Message instead = residual ? "write DICOM, without " + Parameter{"residual"} : Message("write DICOM");
    check_places(image, request.input, request.scan, report.format, instead, report.warnings);
  } else if (residual) {
    check_places(image, request.input, request.scan, io::Format::nifti, "leave out " + Parameter{"residual"},
                 report.warnings);
  }
}

/// The volumes whose numbers cannot be filtered, such as phases beside magnitudes: they stay as they are. Each is
/// judged when it comes by, since a look at it may take unpacking all before it.
class UnfilteredVolumes {
 public:
  explicit UnfilteredVolumes(std::span<const FilterConfig> chain) : chain_(chain) {}

  bool hold(std::size_t volume, const VolumeSource& source) {
    const auto why = refusal(chain_, source.header());
    if (why) volumes_[why->problem().text()].insert(volume);
    return why.has_value();
  }
  void warn(std::vector<Message>& warnings) const {
    for (const auto& [why, volumes] : volumes_) {
      std::string list;
      for (const std::size_t volume : volumes) list += (list.empty() ? "" : ", ") + std::to_string(volume + 1);
      warnings.push_back((volumes.size() == 1 ? "volume " + list + " is left as it is: "
                                              : "volumes " + list + " are left as they are: ") +
                         why);
    }
  }

 private:
  std::span<const FilterConfig> chain_;
  std::map<std::string, std::set<std::size_t>> volumes_;  // by the reason
};

/// Slices of one value between those that hold an image.
class LostSlices {
 public:
  /// `name`: what else a slice is called.
  void add(const BlankSlices& slices, const std::function<std::string(std::int64_t z)>& name) {
    for (const std::int64_t z : slices.lost()) {
      if (++count_ > most_named) continue;
      names_ += (names_.empty() ? "" : ", ") + std::to_string(z + 1) + name(z);
    }
  }
  void add(const BlankSlices& slices, const io::Image& image, std::size_t volume) {
    add(slices, [&](std::int64_t z) {
      const std::string name = image.name_of_slice(volume, z);
      return (image.volume_count() > 1 ? " of volume " + std::to_string(volume + 1) : "") +
             (name.empty() ? "" : " (" + name + ")");
    });
  }
  void warn(std::vector<Message>& warnings) const {
    if (count_ == 0) return;
    const std::string more = count_ > most_named ? " and " + std::to_string(count_ - most_named) + " more" : "";
    warnings.push_back((count_ == 1 ? "slice " + names_ + " holds" : "slices " + names_ + more + " hold") +
                       " one value, where those beside it hold an image: it was left as it is, and counts for no other "
                       "slice");
  }

 private:
  static constexpr std::size_t most_named = 5;
  std::size_t count_ = 0;
  std::string names_;
};

/// A volume as it is to be filtered.
struct FilterInput {
  BlankSlices* slices;                   ///< what the source is or goes back to
  std::unique_ptr<VolumeSource> source;  ///< where there is a mask, less what it leaves out
};

/// Finds windows that do not fit, or that would reach across irregular slices, without reading more than what the first
/// volumes look like. What the voxels are never sets the size of a window. Throws where no volume can be filtered.
void check_windows(const DenoiseRequest& request, const io::Image& image, UnfilteredVolumes& unfiltered,
                   DenoiseReport& report) {
  bool warned = false;
  const std::size_t count = image.volume_count();
  const auto source_of = [&](std::size_t volume) { return image.volume(volume, io::VoxelDomain::stored); };
  std::size_t first = 0;
  while (first < count && unfiltered.hold(first, *source_of(first))) ++first;
  if (first == count) resolve_by_header(request.filters, *source_of(0));  // tells why
  report.volumes.resize(count);
  for (std::size_t volume = first; volume < count; ++volume) {
    if (volume > first && &image.geometry(volume) == &image.geometry(first)) {  // it will be judged later
      report.volumes[volume] = report.volumes[first];
      continue;
    }
    const auto source = source_of(volume);
    if (unfiltered.hold(volume, *source)) continue;
    const auto& chain = report.volumes[volume].filters = resolve_by_header(request.filters, *source);
    const std::string why = image.why_2d_only(volume);
    if (total_halo(chain).z > 0 && !why.empty() && !request.scan.allow_gaps) {
      throw Error(
          Errc::irregular, request.input.string() + ": " + why,
          "a window of radius 0 along z filters slice by slice, " + Parameter{"allow-gaps"} + " across all the same");
    }
    for (const FilterConfig& step : chain) {
      const std::string warning = thick_axis_warning(step, header_facts(*source));
      if (!warned && !warning.empty()) report.warnings.push_back(warning);
      warned = warned || !warning.empty();
    }
  }
}

/// Rank filters work on the stored numbers, unless real ones are needed. Where floats would lose digits of real values,
/// all filters work around the middle of these.
io::VoxelDomain choose_values(const DenoiseRequest& request, const io::Image& image, io::Format format) {
  if (const double offset = image.offset(); offset != 0) {
    if (format == image.format() && request.out.output_type == OutputType::same)
      return io::VoxelDomain::real_less_offset;
    throw io::far_from_zero(request.input.string(), offset);
  }
  bool stored =
      format == image.format() && request.mask.residual.empty() && request.out.output_type == OutputType::same;
  for (const FilterConfig& step : request.filters) stored = stored && step.filter().commutes_with_rescale;
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    stored = stored && image.can_filter_stored(volume);
  }
  return stored ? io::VoxelDomain::stored : io::VoxelDomain::real;
}

/// A volume whose smallest and largest voxel are remembered as it is read, where that is wanted.
class RangedSource final : public VolumeSource {
 public:
  RangedSource(VolumeSource& source, bool is_wanted) : source_(source), is_wanted_(is_wanted) {}

  Extent extent() const override { return source_.extent(); }
  Spacing spacing() const override { return source_.spacing(); }
  HeaderFacts header() const override { return source_.header(); }
  void read(VolumeView<float> slices) override {
    source_.read(slices);
    if (!is_wanted_) return;
    const auto [min, max] = finite_range({slices.data, static_cast<std::size_t>(slices.extent.voxels())});
    min_ = std::min(min_, min);
    max_ = std::max(max_, max);
  }
  /// Where floats made one value of all, it counts as far from 32768 on.
  double middle_if_far() const {
    if (min_ == max_) return std::abs(min_) >= 32768 ? min_ : 0;
    return min_ > max_ ? 0 : quietvox::middle_if_far({min_, max_});
  }

 private:
  VolumeSource& source_;
  bool is_wanted_;
  float min_ = std::numeric_limits<float>::infinity(), max_ = -std::numeric_limits<float>::infinity();
};

/// The image, and where it is asked for, the residual.
struct Writers {
  std::unique_ptr<io::ImageWriter> image, residual;
};

Writers make_writers(const DenoiseRequest& request, const io::Image& image, const io::Image* mask, io::Format format,
                     io::VoxelDomain values, const Execution& execution) {
  const auto options_of = [&](const OutputOptions& out, const fs::path& output) {
    io::WriteOptions options = write_options(out, request.input, execution);
    options.access = access_of_others(request, mask, output);
    return options;
  };
  Writers writers;
  writers.image = make_writer(image, format, request.output, values, options_of(request.out, request.output));
  if (!request.mask.residual.empty()) {
    OutputOptions usual;
    usual.force = request.out.force;
    io::WriteOptions options = options_of(usual, request.mask.residual);
    options.are_differences = true;
    writers.residual = make_writer(image, io::Format::nifti, request.mask.residual, io::VoxelDomain::real, options);
  }
  return writers;
}

/// Takes from a memory limit what is needed besides the voxels that filter_volume() counts.
void reserve_memory(Execution& execution, const Extent& extent, const std::vector<FilterConfig>& chain,
                    std::size_t bytes, bool on_cpu) {
  std::size_t working = 0;  // filters run one after another
  for (const FilterConfig& step : chain)
    working = std::max(working, step.working_bytes(extent, thread_count(execution)));
  reserve_memory(execution, bytes + (on_cpu ? working : 0), least_memory(extent, chain, execution));
}

/// In a dry run: throws what a run would throw for these voxels, as far as that can be told before they are filtered.
void check_voxels(const DenoiseRequest& request, const io::Image& image, DenoiseReport& report,
                  UnfilteredVolumes& unfiltered, LostSlices& lost, Stabilise stabilise, io::VoxelDomain values,
                  const std::function<FilterInput(std::size_t volume)>& input_of, const io::ImageWriter& writer,
                  const Backend& backend, const Execution& execution) {
  Rounding rounding(request.output, report.format, image.volume_count(), execution);
  const std::span<const FilterConfig> all = request.filters;
  const auto asks = [](const Waiting& waiting) { return waiting.fact == VoxelFact::intensities; };
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    const auto source = input_of(volume).source;
    const bool asked_for = is_asked_for(stabilise);
    const bool stays = unfiltered.hold(volume, *source);
    if (stays) report.volumes[volume] = {};
    if (!stays && (asked_for || std::ranges::any_of(resolve_by_header(all, *source).front().waiting(), asks))) {
      const VolumeChain chain{asked_for ? all : all.first(1), asked_for ? stabilise : Stabilise::none, false};
      const VolumeFilter checked(chain, *source, backend, execution, measure_noise);
    }
    // A type that the input has holds its values.
    const auto integers = request.out.output_type == OutputType::same ? std::nullopt : writer.integers(volume);
    const bool checks_type = integers.has_value();
    rounding.begin_volume(source->extent(), integers);
    BlankSlices voxels(image.volume(volume, checks_type ? io::VoxelDomain::real_with_padding : values));
    const auto check = [&](VolumeView<const float> slices) {
      if (!checks_type) return;
      const float* const end = slices.data + slices.extent.voxels();
      if (!std::all_of(slices.data, end, [](float value) { return std::isfinite(value); })) {
        with_error_context(request.output.string(),
                           [&] { throw io::not_finite(FieldType<OutputType>::format(request.out.output_type)); });
      }
      rounding.look_at(slices);
    };
    for_each_slab(voxels, [&](VolumeView<const float> slices) { voxels.with_values(slices, check); });
    if (!stays) lost.add(voxels, image, volume);
    rounding.end_volume();
  }
  rounding.check();
}

void filter_scan(const DenoiseRequest& request, bool is_chosen, const io::Image& image, const io::Image* mask,
                 std::span<const io::FileStamp> inputs, UnfilteredVolumes& unfiltered, const StartingBackend& backend,
                 const Observer& observer, DenoiseReport& report) {
  const Execution background = background_of(request.execution, observer);
  const io::VoxelDomain values = choose_values(request, image, report.format);
  const Writers writers = make_writers(request, image, mask, report.format, values, background);
  Rounding rounding(request.output, report.format, image.volume_count(), background);
  const auto input_of = [&](std::size_t volume) {
    auto slices = std::make_unique<BlankSlices>(image.volume(volume, values));
    FilterInput input{slices.get(), std::move(slices)};
    if (!mask) return input;
    input.source = std::make_unique<MaskedSource>(std::move(input.source), mask_of_volume(*mask, image, volume));
    return input;
  };
  LostSlices lost;
  if (request.out.dry_run) {
    check_voxels(request, image, report, unfiltered, lost, is_chosen ? Stabilise::none : report.stabilise, values,
                 input_of, *writers.image, backend, background);
    lost.warn(report.warnings);
  }
  // The writers have checked what can be checked, and vanish without a trace.
  if (request.out.dry_run && !is_chosen) return;

  const bool restore = mask || writers.residual || report.format != image.format();
  Execution whole = execution_of(request.execution, observer);
  if (whole.memory_limit) {
    const Extent& extent = image.geometry(0).extent;
    const std::size_t blocks = (report.stabilise != Stabilise::none || is_chosen ? 1 : 0) + (mask ? 2 : 0) +
                               (restore ? 2 : 0) + (writers.residual ? 1 : 0);
    const std::size_t marks = is_chosen ? static_cast<std::size_t>(extent.voxels()) / 8 +
                                              static_cast<std::size_t>(extent.slice() * 8 * thread_count(whole))
                                        : 0;
    reserve_memory(whole, extent, report.first().filters,
                   block_bytes(extent) * blocks + marks + (mask ? 2 * mask_bytes(*mask, image) : 0) +
                       io::GzipWriter::memory(whole) * (writers.residual ? 2 : 1),
                   backend.name() == "cpu");
  }
  NoiseOfVolumes noise_of_volumes(image);
  const auto measure_of = [&](std::size_t volume, const VolumeSource& unfiltered) -> NoiseMeasure {
    return [&, volume](VolumeSource& reaching, const Execution& how) {
      return &reaching == &unfiltered ? noise_of_volumes.measure(volume, reaching, how) : measure_noise(reaching, how);
    };
  };
  std::optional<SeriesNoise> of_series;
  if (image.is_time_series()) {
    const auto filtered = [&](std::size_t volume) {
      auto source = input_of(volume).source;
      return unfiltered.hold(volume, *source) ? nullptr : std::move(source);
    };
    of_series = SeriesNoise::measure(request.filters, image.volume_count(), filtered, backend, whole, measure_of);
    if (of_series) report.noise_source = of_series->describe();
  }
  const MaskIdentity of_mask = mask ? identify_mask(*mask, image) : MaskIdentity{.is_empty = false};
  if (of_mask.is_empty) {
    report.warnings.push_back(Parameter{"mask", request.mask.mask} +
                              ": no voxel is inside, so that nothing was changed");
  }
  Provenance provenance{
      .mask = of_mask.hash,
      .noise_source = report.noise_source,
      .stabilise = report.stabilise == Stabilise::none ? "" : FieldType<Stabilise>::format(report.stabilise)};
  for (const FilterConfig& step : request.filters) provenance.requested.push_back(step.with_content_hashes());
  const double volumes = static_cast<double>(image.volume_count());
  const auto output_of = [&](std::size_t volume) {
    provenance.backend = backend.name();
    writers.image->begin_volume(volume, provenance);
    if (writers.residual) {
      Provenance of_residual = provenance;
      of_residual.kind = DataKind::scalar;
      writers.residual->begin_volume(volume, of_residual);
    }
    const bool stays = report.volumes[volume].filters.empty() && request.out.output_type == OutputType::same &&
                       report.format == image.format();
    rounding.begin_volume(image.geometry(volume).extent,
                          values == io::VoxelDomain::real && !stays ? writers.image->integers(volume) : std::nullopt);
    const io::VoxelDomain original = values == io::VoxelDomain::real ? io::VoxelDomain::real_with_padding : values;
    return VoxelOutput(*writers.image, writers.residual.get(), restore ? image.volume(volume, original) : nullptr,
                       mask ? mask_of_volume(*mask, image, volume) : nullptr);
  };
  const auto write_all = [&](const BlankSlices& slices, std::size_t volume, const auto& run) {
    std::optional<VoxelOutput> output;  // is made when a backend has started, not waited for before
    run([&](VolumeView<const float> filtered) {
      if (!output) output.emplace(output_of(volume));
      slices.with_values(filtered, [&](VolumeView<const float> some) {
        rounding.look_at(some);
        output->write(some);
      });
    });
    rounding.end_volume();
  };
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    const auto [blanks, unranged] = input_of(volume);
    provenance.kind = unranged->header().kind;
    if (unfiltered.hold(volume, *unranged)) {
      report.volumes[volume] = {};
      if (observer.detail) observer.detail("volume " + std::to_string(volume + 1) + ": left as it is");
      if (request.out.dry_run) continue;
      provenance.resolved.clear();
      provenance.noise.clear();
      provenance.stabilised.clear();
      write_all(*blanks, volume, [&](const auto& write) { for_each_slab(*unranged, write); });
      continue;
    }
    // The offset of the image is that of its first volume. A mask may leave little of a range.
    RangedSource source(*unranged, volume > 0 && !mask && values != io::VoxelDomain::stored && image.may_lose_digits());
    const double index = static_cast<double>(volume);
    const VolumeFilter filter({request.filters, report.stabilise, is_chosen}, source, backend,
                              whole.part(index / volumes, (index + 1) / volumes),
                              of_series ? of_series->as_measure() : measure_of(volume, source));
    if (whole.memory_limit) trim_heap();  // of estimates
    if (!of_series || volume == 0) {
      const std::string which = volumes > 1 && !of_series ? "volume " + std::to_string(volume + 1) + ": " : "";
      for (const Message& warning : filter.warnings()) report.warnings.push_back(which + warning);
    }
    report.volumes[volume] = {filter.resolved(), filter.noise(), filter.stabilised()};
    if (observer.detail) {
      observer.detail("volume " + std::to_string(volume + 1) + ": " + describe_chain(filter.resolved()));
      if (volume > 0 && !of_series) {  // the first is told of with the result
        for (const NoiseModel& model : filter.noise()) observer.detail("noise: " + model.describe());
      }
    }
    if (request.out.dry_run) continue;
    provenance.resolved = filter.resolved();
    provenance.noise = filter.noise();
    provenance.stabilised = filter.stabilised();
    write_all(*blanks, volume, [&](const auto& write) { filter.run(write); });
    lost.add(*blanks, image, volume);
    if (const double middle = source.middle_if_far(); middle != 0) {
      report.warnings.push_back("volume " + std::to_string(volume + 1) + ": its voxels lie around " +
                                FieldType<double>::format(middle + image.offset()) +
                                ", far from those of volume 1, and 32-bit floats lose digits of them; filter it in a "
                                "file of its own");
    }
  }
  if (request.out.dry_run) return;
  lost.warn(report.warnings);
  rounding.check();
  const io::WriteReport written = commit_both(*writers.image, writers.residual.get(), inputs, background);
  report.files = written.files;
  report.clamped = written.clamped;
  constexpr double many_clamped = 1e-3;
  double all = 0;
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    all += static_cast<double>(image.geometry(volume).extent.voxels());
  }
  const bool is_asked_for = request.out.output_type != OutputType::same;
  if (static_cast<double>(written.clamped) > (is_asked_for ? 0 : many_clamped * all)) {
    report.warnings.push_back(request.output.string() + ": " + std::to_string(written.clamped) +
                              " voxels did not fit into " +
                              (is_asked_for ? Message(Parameter{"output-type"}) : "the type of the input") +
                              " and were clamped; to keep them, " + float_remedy(report.format));
  }
  if (const Message warning = rounding.warning(); !warning.empty()) report.warnings.push_back(warning);
  report.warnings.insert(report.warnings.end(), written.warnings.begin(), written.warnings.end());
}

/// About how long the CPU would filter.
double cpu_seconds(const io::Image& image, const DenoiseReport& report, const Execution& execution) {
  double seconds = 0;
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    seconds += quietvox::cpu_seconds(report.volumes[volume].filters, image.geometry(volume).extent, execution);
  }
  return seconds;
}

}  // namespace

const DenoisedVolume& DenoiseReport::first() const {
  return *std::ranges::find_if(volumes, [](const DenoisedVolume& volume) { return !volume.filters.empty(); });
}

FilterConfig denoising_filter(DenoiseStrength strength) {
  FilterConfig filter(find_filter("bm4d"));
  if (strength == DenoiseStrength::light) filter.set("strength", "0.5");
  if (strength == DenoiseStrength::strong) filter.set("strength", "1.5");
  return filter;
}

std::vector<FilterConfig> filters_of(const DenoiseRequest& request) {
  return request.filters.empty() ? std::vector{denoising_filter(request.strength)} : request.filters;
}

void check_paths(const DenoiseRequest& request) {
  check_input(request.input);
  const io::Format format = output_format(request.out.output_format, request.output, std::nullopt);
  const auto output = files_of_output(request.output, format, request.out.compress);
  refuse_overlaps(output, sources_of(request));
  check_output(request.output, format, request.out.force, request.input);
  if (!request.mask.residual.empty()) {
    output_format(OutputFormat::nifti, request.mask.residual, std::nullopt);
    check_output(request.mask.residual, io::Format::nifti, request.out.force, request.input);
    io::refuse_overlap(request.output, request.mask.residual, "residual");
    const fs::path sidecar = io::sidecar_of(request.mask.residual);
    if (format != io::Format::dicom && io::real_path(sidecar) == io::real_path(io::sidecar_of(request.output))) {
      throw Error(Errc::invalid_argument,
                  Parameter{"residual", request.mask.residual} + ": it and the output would share the JSON file " +
                      sidecar.string(),
                  "give another name");
    }
    const auto files = files_of_output(request.mask.residual, io::Format::nifti, std::nullopt);
    refuse_overlaps(files, sources_of(request));
    for (const fs::path& file : files) {
      for (const fs::path& other : output) io::refuse_overlap(other, file, "residual");
    }
  }
}

DenoiseReport denoise(const DenoiseRequest& asked_for, const io::Image& image, BackendSelector& backends,
                      const Observer& observer) {
  const auto start = std::chrono::steady_clock::now();
  const bool is_chosen = asked_for.filters.empty();
  DenoiseRequest request = asked_for;
  request.filters = filters_of(asked_for);
  DenoiseReport report;
  report.requested = request.filters;
  report.stabilise = request.stabilise.value_or(is_chosen ? Stabilise::automatic : Stabilise::none);
  report.format = output_format(request.out.output_format, request.output, image.format());
  check_codec(request.out, report.format);
  report.extent = describe_extent(image);
  for (const std::string& warning : image.warnings()) report.warnings.emplace_back(warning);
  const Execution background = background_of(request.execution, observer);
  const auto mask = open_mask(request.mask.mask, image, background, report.warnings);
  check_formats(request, image, report);
  UnfilteredVolumes unfiltered(request.filters);
  check_windows(request, image, unfiltered, report);
  const StartingBackend& backend = backends.of([&] { return cpu_seconds(image, report, background); });
  backend.check();
  std::vector<io::FileStamp> inputs = image.files();
  if (mask) std::ranges::copy(mask->files(), std::back_inserter(inputs));
  io::with_change_check(inputs, [&] {
    filter_scan(request, is_chosen, image, mask.get(), inputs, unfiltered, backend, observer, report);
  });
  report.backend = backend.name();
  report.backend_reason = backend.why();
  unfiltered.warn(report.warnings);
  for (const std::string& warning : image.warnings_of_voxels()) report.warnings.emplace_back(warning);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

DenoiseReport denoise(const DenoiseRequest& request, const Observer& observer) {
  BackendSelector backends(request.execution.backend, filters_of(request));
  check_paths(request);
  const auto image = open_input(request.input, request.scan, background_of(request.execution, observer));
  return denoise(request, *image, backends, observer);
}

VolumeReport denoise(VolumeView<const float> input, VolumeView<float> output, const VolumeRequest& request,
                     const Observer& observer) {
  if (output.extent != input.extent) throw Error(Errc::invalid_argument, "the output differs from the input in extent");
  const bool is_chosen = request.filters.empty();
  const std::vector filters = is_chosen ? std::vector{denoising_filter(request.strength)} : request.filters;
  auto slices = std::make_unique<BlankSlices>(std::make_unique<MemoryVolume>(input, request.header));
  const BlankSlices& blanks = *slices;
  std::unique_ptr<VolumeSource> source = std::move(slices);
  if (request.mask.data) {
    if (request.mask.extent != input.extent) {
      throw Error(Errc::invalid_argument, "the mask differs from the input in extent");
    }
    source = std::make_unique<MaskedSource>(std::move(source), std::make_unique<MemoryVolume>(request.mask));
  }
  const auto by_header = resolve_by_header(filters, *source);
  const Execution execution = execution_of(request.execution, observer);
  BackendSelector backends(request.execution.backend, filters);
  const StartingBackend& backend =
      backends.of([&] { return quietvox::cpu_seconds(by_header, input.extent, execution); });
  const Stabilise stabilise = request.stabilise.value_or(is_chosen ? Stabilise::automatic : Stabilise::none);
  const VolumeFilter filter({filters, stabilise, is_chosen}, *source, backend, execution, measure_noise);
  filter.run([&](VolumeView<const float> filtered) {
    const float* const before = input.row(0, filtered.origin.z);
    const float* const mask = request.mask.data ? request.mask.row(0, filtered.origin.z) : nullptr;
    float* const after = output.row(0, filtered.origin.z);
    for (std::int64_t i = 0; i < filtered.extent.voxels(); ++i) {
      const bool keeps = !std::isfinite(filtered.data[i]) || (mask && !is_inside(mask[i]));
      after[i] = keeps ? before[i] : filtered.data[i];
    }
  });
  std::vector<Message> warnings = filter.warnings();
  LostSlices lost;
  lost.add(blanks, [](std::int64_t) { return ""; });
  lost.warn(warnings);
  return {{filter.resolved(), filter.noise(), filter.stabilised()}, backend.name(), warnings};
}

}  // namespace quietvox
