// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/filter_job.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "cli/all_series.hpp"
#include "cli/images.hpp"
#include "cli/json.hpp"
#include "cli/mask.hpp"
#include "cli/noise_of_volume.hpp"
#include "cli/voxel_output.hpp"
#include "cli/voxel_sources.hpp"
#include "cli/work.hpp"
#include "core/series_noise.hpp"
#include "io/files/path_overlap.hpp"
#include "io/files/paths.hpp"
#include "io/gzip_packer.hpp"
#include "io/noise_json.hpp"
#include "io/provenance_json.hpp"
#include "io/rescale.hpp"
#include "quality/measure_noise.hpp"

namespace quietvox::cli {
namespace fs = std::filesystem;
namespace {

/// Files that parameters name.
std::vector<Source> named_files(const std::vector<Settings>& chain) {
  std::vector<Source> sources;
  for (const Settings& step : chain) {
    for (const FieldInfo& field : step.filter().fields) {
      if (field.kind != FieldKind::text) continue;
      const std::string value = step.get(field.name);
      if (std::error_code ignored; fs::exists(value, ignored)) sources.push_back({value, field.name});
    }
  }
  return sources;
}

/// Everything that is read.
std::vector<Source> sources_of(const Job& job) {
  std::vector<Source> sources = named_files(job.chain);
  if (!job.mask.mask.empty()) sources.insert(sources.begin(), {job.mask.mask, "mask"});
  sources.insert(sources.begin(), {job.input});
  return sources;
}

/// Who may read the mask and the files that parameters name: the output shows something of them.
io::Access access_of_others(const Job& job, const io::Image* mask, const fs::path& output) {
  std::vector<fs::path> files;
  for (const Source& source : named_files(job.chain)) files.push_back(source.path);
  const io::Access access = io::access_of(files, output);
  return mask ? access & io::access_of(*mask, output) : access;
}

/// Everything about the names that can be wrong, before anything is read.
void check_paths(const Job& job) {
  check_input(job.input);
  const io::Format format = output_format(job.out.output_format, job.output, std::nullopt);
  const auto output = files_of_output(job.output, format, job.out.compress);
  refuse_overlaps(output, sources_of(job));
  check_output(job.output, format, job.out.force, job.input);
  if (!job.mask.residual.empty()) {
    output_format(OutputFormat::nifti, job.mask.residual, std::nullopt);
    check_output(job.mask.residual, io::Format::nifti, job.out.force, job.input);
    io::refuse_overlap(job.output, job.mask.residual, "residual");
    const fs::path sidecar = io::sidecar_of(job.mask.residual);
    if (format != io::Format::dicom && io::real_path(sidecar) == io::real_path(io::sidecar_of(job.output))) {
      throw Error(Errc::invalid_argument, "--residual " + job.mask.residual +
                                              ": what was done to it and to the output would both stand in " +
                                              sidecar.string() + "; give another name");
    }
    const auto files = files_of_output(job.mask.residual, io::Format::nifti, std::nullopt);
    refuse_overlaps(files, sources_of(job));
    for (const fs::path& file : files) {
      for (const fs::path& other : output) io::refuse_overlap(other, file, "residual");
    }
  }
}

/// Throws Error(invalid_argument) where --codec says what cannot be.
void check_codec(const OutputOptions& options, io::Format format) {
  if (!options.codec) return;
  if (format != io::Format::dicom) {
    throw Error(Errc::invalid_argument,
                "--codec is for DICOM, and the output is " + io::to_string(format) + "; --compress is enough");
  }
  if (options.compress == false) {
    throw Error(Errc::invalid_argument, "--codec and --no-compress contradict each other; give one of them");
  }
}

/// About how long the CPU would filter.
double cpu_seconds(const io::Image& image, const Summary& summary, const Execution& execution) {
  double seconds = 0;
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    seconds += quietvox::cpu_seconds(summary.resolved[volume], image.geometry(volume).extent, execution);
  }
  return seconds;
}

/// Finds outputs that would place irregular slices where they do not lie.
void check_formats(const Job& job, const io::Image& image, Summary& summary) {
  const bool residual = !job.mask.residual.empty();
  if (summary.format != io::Format::dicom) {
    const std::string instead = residual ? "write DICOM, without --residual" : "write DICOM";
    check_places(image, job.input, job.in, summary.format, instead, summary.warnings);
  } else if (residual) {
    check_places(image, job.input, job.in, io::Format::nifti, "leave out --residual", summary.warnings);
  }
}

/// Finds windows that do not fit, or that would reach across irregular slices, without reading a voxel. What the voxels
/// are never sets the size of a window.
void check_windows(const Job& job, const io::Image& image, Summary& summary) {
  bool warned = false;
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    const auto source = image.volume(volume, io::Values::stored);
    const auto& chain = summary.resolved.emplace_back(resolve_by_header(job.chain, *source));
    const std::string why = image.why_2d_only(volume);
    if (total_halo(chain).z > 0 && !why.empty() && !job.in.allow_gaps) {
      throw Error(Errc::irregular,
                  job.input.string() + ": " + why +
                      "; a window of radius 0 along z filters slice by slice, --allow-gaps across all the same");
    }
    for (const Settings& step : chain) {
      const std::string warning = thick_axis_warning(step, header_facts(*source));
      if (!warned && !warning.empty()) summary.warnings.push_back(warning);
      warned = warned || !warning.empty();
    }
  }
}

/// Rank filters work on the stored numbers, unless real ones are needed. Where floats would lose digits of real values,
/// all filters work around the middle of these.
io::Values choose_values(const Job& job, const io::Image& image, io::Format format) {
  if (const double offset = image.offset(); offset != 0) {
    if (format == image.format() && job.out.output_type == OutputType::same) return io::Values::real_less_offset;
    throw io::far_from_zero(job.input.string(), offset);
  }
  bool stored = format == image.format() && job.mask.residual.empty() && job.out.output_type == OutputType::same;
  for (const Settings& step : job.chain) stored = stored && step.filter().commutes_with_rescale;
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    stored = stored && image.can_filter_stored(volume);
  }
  return stored ? io::Values::stored : io::Values::real;
}

/// Where no noise was found, or none to be trusted, filters that go by it change nothing, and people ought to know.
void warn_of_no_noise(const std::vector<Settings>& by_header, const std::vector<Settings>& chain,
                      const std::vector<NoiseModel>& noise, const std::string& volume, bool is_denoise,
                      std::vector<std::string>& warnings) {
  std::size_t measured = 0;
  for (std::size_t step = 0; step < chain.size(); ++step) {
    const std::string filter = volume + chain[step].filter().name + ": ";
    const NoiseModel* model = nullptr;
    for (const Waiting& waiting : by_header[step].waiting()) {
      if (waiting.fact != VoxelFact::noise) continue;
      if (model == nullptr) model = &noise.at(measured++);
      if (chain[step].get(waiting.field) != "0") continue;
      const std::string why =
          model->sigma > 0 ? "the noise cannot be told (" + model->reason + ")" : "no noise was found";
      warnings.push_back(filter + why +
                         (is_denoise ? ", so that nothing was changed"
                                     : ", so that --" + waiting.field +
                                           " = auto became 0; give a number if it ought to change something"));
    }
    if (model != nullptr && model->confidence == Confidence::low) {
      warnings.push_back(filter + "the noise was measured with low confidence (" + model->reason +
                         "); look at the result");
    }
  }
}

/// True where a filter goes by the measured noise alone: no intensity was given by hand, nor a model of the noise.
bool goes_by_noise_alone(const Settings& given, const Settings& by_header) {
  const auto is_given = [&](const FieldInfo& field) {
    const bool is_intensity = field.unit == "intensity" && field.default_text == "auto";
    return (is_intensity || field.name == "noise-model") && given.get(field.name) != field.default_text;
  };
  return std::ranges::any_of(by_header.waiting(), [](const Waiting& one) { return one.fact == VoxelFact::noise; }) &&
         std::ranges::none_of(given.filter().fields, is_given);
}

/// Why voxels are no magnitudes; empty where they may be.
std::string why_no_magnitudes(const Job& job, const io::Image& image, VolumeSource& source) {
  const HeaderFacts facts = source.header();
  if (facts.kind && *facts.kind != DataKind::magnitude) return facts.kind_source;
  if (image.offset() != 0) return "voxels lie far from 0";
  return intensities(source).min < 0 ? "voxels of " + job.input.string() + " are negative" : "";
}

/// How the Rician noise of a volume is turned into Gaussian noise; none where it is not.
std::optional<Stabilisation> stabilisation_of(const Job& job, const Settings& by_header, const io::Image& image,
                                              VolumeSource& source, const std::function<NoiseModel()>& measure) {
  const bool asked_for = job.stabilise == Stabilise::rician;
  if (job.stabilise == Stabilise::none) return std::nullopt;
  if (job.chain.size() > 1 || !goes_by_noise_alone(job.chain.front(), by_header)) {
    if (!asked_for) return std::nullopt;
    throw Error(Errc::invalid_argument,
                "--stabilise rician is for a single filter that goes by the measured noise: "
                "leave its sigmas auto, or leave out --stabilise");
  }
  if (const std::string why = asked_for ? why_no_magnitudes(job, image, source) : ""; !why.empty()) {
    throw Error(Errc::invalid_argument,
                "--stabilise rician is for magnitudes, which are never negative, but " + why + "; leave it out");
  }
  NoiseModel noise = measure();
  if (asked_for) noise.distribution = NoiseDistribution::rician;
  if (noise.trusted_sigma() == 0 || !(asked_for || Stabilisation::helps(noise))) return std::nullopt;
  if (!asked_for && !why_no_magnitudes(job, image, source).empty()) return std::nullopt;
  return Stabilisation(noise, source.extent());
}

void filter_image(const Job& job, const io::Image& image, const io::Image* mask, std::span<const io::FileState> inputs,
                  const ChosenBackend& chosen, Context& context, Summary& summary) {
  const io::Values values = choose_values(job, image, summary.format);
  const Execution background = quietvox::cli::background(job.work, context);
  const auto options_of = [&](const OutputOptions& out, const fs::path& output) {
    io::WriteOptions options = write_options(out, job.input, background);
    options.access = access_of_others(job, mask, output);
    return options;
  };
  auto writer = make_writer(image, summary.format, job.output, values, options_of(job.out, job.output));
  std::unique_ptr<io::ImageWriter> residual;
  if (!job.mask.residual.empty()) {
    OutputOptions usual;
    usual.force = job.out.force;
    io::WriteOptions options = options_of(usual, job.mask.residual);
    options.are_differences = true;
    residual = make_writer(image, io::Format::nifti, job.mask.residual, io::Values::real, options);
  }
  if (job.out.dry_run) return;  // the writers have checked what can be checked, and vanish without a trace
  const std::string mask_identity = mask ? identify_mask(*mask) : "";
  const bool restore = mask || residual || summary.format != image.format();
  Execution whole = execution(job.work, context);
  if (whole.memory_limit) {
    const Extent extent = image.geometry(0).extent;
    const std::vector<Settings>& chain = summary.resolved[0];
    std::size_t aside = block_bytes(extent) * ((job.stabilise != Stabilise::none ? 1 : 0) + (mask ? 2 : 0) +
                                               (restore ? 2 : 0) + (residual ? 1 : 0)) +
                        io::GzipPacker::memory(background) * (residual ? 2 : 1);
    std::size_t working = 0;  // filters run one after another
    for (const Settings& step : chain) working = std::max(working, step.working_bytes(extent, thread_count(whole)));
    if (chosen.backend->name() == "cpu") aside += working;
    set_aside(whole, aside, least_memory(extent, chain, whole));
  }
  const auto source_of = [&](std::size_t volume) {
    std::unique_ptr<VolumeSource> source = image.volume(volume, values);
    if (mask) source = std::make_unique<MaskedSource>(std::move(source), mask_of_volume(*mask, volume));
    return source;
  };
  const auto measure_of = [&](std::size_t volume, const VolumeSource& unfiltered) -> NoiseMeasure {
    return [&, volume](VolumeSource& reaching, const Execution& how) {
      return &reaching == &unfiltered ? noise_of_volume(image, volume, reaching, how) : measure_noise(reaching, how);
    };
  };
  std::optional<SeriesNoise> of_series;
  if (image.is_time_series()) {
    of_series = SeriesNoise::measure(job.chain, image.volume_count(), source_of, *chosen.backend, whole, measure_of);
    if (of_series) summary.noise_source = of_series->describe();
  }
  std::vector<Settings> identified;
  for (const Settings& step : job.chain) identified.push_back(step.identified());
  const double volumes = static_cast<double>(image.volume_count());
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    const std::unique_ptr<VolumeSource> source = source_of(volume);
    const double index = static_cast<double>(volume);
    const Execution part = whole.part(index / volumes, (index + 1) / volumes);
    std::vector<NoiseModel> noise;
    const auto measure = [&, find = of_series ? of_series->told() : measure_of(volume, *source)](VolumeSource& reaching,
                                                                                                 const Execution& how) {
      return noise.emplace_back(find(reaching, how));
    };
    const std::optional<Stabilisation> stabilisation =
        stabilisation_of(job, summary.resolved[volume].front(), image, *source, [&] { return measure(*source, part); });
    std::optional<StabilisedSource> stabilised;
    if (stabilisation) stabilised.emplace(*source, *stabilisation, part);
    VolumeSource& filtered = stabilised ? static_cast<VolumeSource&>(*stabilised) : *source;
    const auto measured = [&](VolumeSource& reaching, const Execution& how) {
      if (stabilisation) return stabilisation->noise_after();
      return &reaching == source.get() && !noise.empty() ? noise.front() : measure(reaching, how);
    };
    const auto resolved = resolve_chain(job.chain, filtered, *chosen.backend, part, measured);
    const Provenance provenance{
        .requested = identified,
        .resolved = resolved,
        .backend = chosen.backend->name(),
        .mask = mask_identity,
        .noise = noise,
        .noise_source = summary.noise_source,
        .stabilise = job.stabilise == Stabilise::none ? "" : FieldType<Stabilise>::format(job.stabilise),
        .stabilised = stabilisation ? "Rician noise" : ""};
    summary.stabilised.push_back(provenance.stabilised);
    if (whole.memory_limit) give_back_freed_memory();  // of estimates
    if (!of_series || volume == 0) {
      const std::string which = volumes > 1 && !of_series ? "volume " + std::to_string(volume + 1) + ": " : "";
      warn_of_no_noise(summary.resolved[volume], provenance.resolved, noise, which, job.is_denoise, summary.warnings);
    }
    summary.resolved[volume] = provenance.resolved;
    context.console.detail("volume " + std::to_string(volume + 1) + ": " + describe_chain(provenance.resolved));
    if (volume > 0 && !of_series) {  // the first is told of with the result
      for (const NoiseModel& model : noise) context.console.detail("noise: " + model.describe());
    }
    summary.noise.push_back(noise);
    writer->begin_volume(volume, provenance);
    if (residual) residual->begin_volume(volume, provenance);
    const io::Values original = values == io::Values::real ? io::Values::real_with_padding : values;
    VoxelOutput output(*writer, residual.get(), restore ? image.volume(volume, original) : nullptr,
                       mask ? mask_of_volume(*mask, volume) : nullptr);
    filter_volume(filtered, provenance.resolved, *chosen.backend, part, [&](VolumeView<const float> slices) {
      if (!stabilisation) return output.write(slices);
      const std::int64_t together = slices_in_block(slices.extent);
      std::vector<float> block;
      for (std::int64_t z = 0; z < slices.extent.z; z += together) {
        const VolumeView<const float> some = slices.slices(z, std::min(together, slices.extent.z - z));
        block.assign(some.data, some.data + some.extent.voxels());
        const VolumeView<float> back{block.data(), some.extent, some.spacing, some.origin};
        stabilisation->undo(back, part);
        output.write(back);
      }
    });
  }
  const io::WriteReport report = commit_both(*writer, residual.get(), inputs, background);
  summary.files = report.files;
  summary.clamped = report.clamped;
  if (report.clamped > 0 && job.out.output_type != OutputType::same) {
    summary.warnings.push_back(job.output.string() + ": " + std::to_string(report.clamped) +
                               " voxels did not fit into --output-type and were clamped; float32 holds all");
  }
  summary.warnings.insert(summary.warnings.end(), report.warnings.begin(), report.warnings.end());
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f s", seconds);
  return text;
}

void tell(const Job& job, const Summary& summary, Context& context) {
  const std::string backend = summary.backend + (summary.backend_why.empty() ? "" : " (" + summary.backend_why + ")");
  const std::vector<Settings>& chain = summary.resolved[0];
  const std::string what = describe_chain(chain);
  for (const std::string& warning : summary.warnings) context.console.warning(warning);
  if (!summary.noise.empty() && !summary.noise[0].empty()) {
    const bool is_stabilised = !summary.stabilised.empty() && !summary.stabilised[0].empty();
    context.console.note("noise: " + summary.noise[0][0].describe() +
                         (is_stabilised ? "; its bias was taken out" : ""));
  }
  if (job.out.dry_run) {
    const bool by_voxels = std::ranges::any_of(chain, [](const Settings& step) {
      return std::ranges::any_of(step.waiting(), [&](const Waiting& one) { return step.get(one.field) == "auto"; });
    });
    context.console.note(what + (by_voxels ? " (auto: found from the voxels when it runs); " : "; ") + summary.extent +
                         ", backend " + backend);
    context.console.note("would write " + io::to_string(summary.format) + " to " + job.output.string() +
                         (job.mask.residual.empty() ? "" : ", residual to " + job.mask.residual) + "; nothing written");
    return;
  }
  const std::string more = summary.resolved.size() > 1 ? " (volume 1; --verbose lists all)" : "";
  context.console.note(what + more + "; " + summary.extent + ", backend " + backend + ", " +
                       seconds_text(summary.seconds));
  context.console.note("wrote " + io::to_string(summary.format) + " to " + describe_files(job.output, summary.files) +
                       (summary.clamped > 0 && job.out.output_type == OutputType::same
                            ? "; " + std::to_string(summary.clamped) + " voxels clamped to the stored range"
                            : ""));
}

}  // namespace

Json described(const Job& job, const Summary& summary) {
  Json volumes = Json::array();
  for (std::size_t volume = 0; volume < summary.resolved.size(); ++volume) {
    volumes.push_back({{"filters", to_json(summary.resolved[volume])}});
    if (volume >= summary.noise.size()) continue;
    for (const NoiseModel& noise : summary.noise[volume]) volumes.back()["noise"].push_back(to_json(noise));
    if (volume < summary.stabilised.size() && !summary.stabilised[volume].empty())
      volumes.back()["stabilised"] = summary.stabilised[volume];
  }
  Json files = Json::array();
  for (const fs::path& file : summary.files) files.push_back(file.string());
  Json document = {{"input", job.input.string()},
                   {"output", job.output.string()},
                   {"residual", job.mask.residual.empty() ? Json() : Json(job.mask.residual)},
                   {"format", io::to_string(summary.format)},
                   {"dry_run", job.out.dry_run},
                   {"requested", as_given(job.chain)},
                   {"volumes", volumes},
                   {"backend", summary.backend},
                   {"backend_reason", summary.backend_why},
                   {"files", files},
                   {"clamped", summary.clamped},
                   {"warnings", summary.warnings},
                   {"seconds", summary.seconds}};
  if (!summary.noise_source.empty()) document["noise_source"] = summary.noise_source;
  return document;
}

Summary run_job(const Job& job, const io::Image& image, BackendOfRuns& backends, Context& context) {
  const auto start = std::chrono::steady_clock::now();
  Summary summary;
  summary.format = output_format(job.out.output_format, job.output, image.format());
  check_codec(job.out, summary.format);
  summary.extent = describe_extent(image);
  summary.warnings = image.warnings();
  const auto mask = open_mask(job.mask.mask, image, background(job.work, context), summary.warnings);
  check_formats(job, image, summary);
  check_windows(job, image, summary);
  if (job.out.dry_run && job.is_denoise) {
    const auto first = image.volume(0, io::Values::real_less_offset);
    summary.noise.push_back({noise_of_volume(image, 0, *first, background(job.work, context))});
  }
  const ChosenBackend& chosen =
      backends.of([&] { return cpu_seconds(image, summary, context.background(job.work.threads)); });
  summary.backend = chosen.backend->name();
  summary.backend_why = chosen.why;
  std::vector<io::FileState> inputs = image.files();
  if (mask) std::ranges::copy(mask->files(), std::back_inserter(inputs));
  io::blaming_changes(inputs, [&] { filter_image(job, image, mask.get(), inputs, chosen, context, summary); });
  context.console.end_progress();
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  tell(job, summary, context);
  return summary;
}

std::vector<Operand> filter_operands() {
  return {{"INPUT", "A DICOM, NIfTI, NRRD or MetaImage file, or a folder with a DICOM series."},
          {"OUTPUT", "The file to write, or the folder for a DICOM series."}};
}

std::vector<OptionGroup> filter_option_groups() {
  return {option_group<InputOptions>(), option_group<SeriesOptions>(), option_group<MaskOptions>(),
          option_group<OutputOptions>(), option_group<WorkOptions>()};
}

Job job_of(const Arguments& arguments) {
  return {.input = arguments.operand(0),
          .output = arguments.operand(1),
          .in = arguments.params<InputOptions>(),
          .series = arguments.params<SeriesOptions>(),
          .mask = arguments.params<MaskOptions>(),
          .out = arguments.params<OutputOptions>(),
          .work = arguments.params<WorkOptions>()};
}

void run_filters(const Job& job, Context& context) {
  if (job.series.all_series) return filter_all_series(job, context);
  BackendOfRuns backends(job.work.backend, job.chain);
  check_paths(job);
  const auto image = open_input(job.input, job.in, background(job.work, context));
  const Summary summary = run_job(job, *image, backends, context);
  if (context.json) print_json(described(job, summary));
}

}  // namespace quietvox::cli
