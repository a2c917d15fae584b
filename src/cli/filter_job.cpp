// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/filter_job.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "cli/exit_code.hpp"
#include "cli/images.hpp"
#include "cli/json.hpp"
#include "cli/mask.hpp"
#include "cli/voxel_output.hpp"
#include "cli/voxel_sources.hpp"
#include "cli/work.hpp"
#include "io/atomic_output.hpp"
#include "io/provenance_json.hpp"
#include "quality/noise_estimate.hpp"

namespace quietvox::cli {
namespace fs = std::filesystem;
namespace {

/// Everything that was asked for.
struct Job {
  fs::path input, output;
  std::vector<Settings> chain;
  InputOptions in;
  SeriesOptions series;
  MaskOptions mask;
  OutputOptions out;
  WorkOptions work;
};

/// What was done, for people and for programs.
struct Summary {
  io::Format format{};
  std::string extent, backend, backend_why;
  std::vector<std::vector<Settings>> resolved;  ///< per volume
  std::vector<fs::path> files;
  std::vector<std::string> warnings;
  std::int64_t clamped = 0;
  double seconds = 0;
};

/// Everything about the names that can be wrong, before anything is read.
void check_paths(const Job& job) {
  check_input(job.input);
  const io::Format format = output_format(job.out.output_format, job.output, std::nullopt);
  check_output(job.output, format, job.out.force, job.input);
  if (!job.mask.residual.empty()) {
    output_format(OutputFormat::nifti, job.mask.residual, std::nullopt);
    check_output(job.mask.residual, io::Format::nifti, job.out.force, job.input);
    io::refuse_overlap(job.output, job.mask.residual, "residual");
    const fs::path sidecar = io::sidecar_of(job.mask.residual);
    if (format != io::Format::dicom &&
        fs::weakly_canonical(sidecar) == fs::weakly_canonical(io::sidecar_of(job.output))) {
      throw Error(Errc::invalid_argument, "--residual " + job.mask.residual +
                                              ": what was done to it and to the output would both stand in " +
                                              sidecar.string() + "; give another name");
    }
  }
  if (job.mask.mask.empty()) return;
  io::refuse_overlap(job.output, job.mask.mask, "mask");
  if (!job.mask.residual.empty()) io::refuse_overlap(job.mask.residual, job.mask.mask, "mask");
}

/// Finds windows that do not fit, or that would reach across irregular slices, without reading a voxel. What the voxels
/// are never sets the size of a window.
void check_windows(const Job& job, const io::Image& image) {
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    const io::Geometry& geometry = image.geometry(volume);
    std::vector<Settings> resolved;
    for (const Settings& step : job.chain) {
      resolved.push_back(step.resolved({geometry.extent, geometry.spacing, [] { return 1.0; },
                                        [] {
                                          return Range<double>{0, 1};
                                        }}));
    }
    const std::string why = image.why_2d_only(volume);
    if (total_halo(resolved).z > 0 && !why.empty() && !job.in.allow_gaps) {
      throw Error(Errc::irregular, job.input.string() + ": " + why +
                                       "; give a window of radius 0 along z, or --allow-gaps to filter all the same");
    }
  }
}

/// Rank filters work on the stored numbers, unless real ones are needed.
io::Values choose_values(const Job& job, const io::Image& image, io::Format format) {
  bool stored = format == image.format() && job.mask.residual.empty() && job.out.output_type == OutputType::same;
  for (const Settings& step : job.chain) stored = stored && step.filter().commutes_with_rescale;
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    stored = stored && image.can_filter_stored(volume);
  }
  return stored ? io::Values::stored : io::Values::real;
}

void filter_image(const Job& job, const io::Image& image, const io::Image* mask, const ChosenBackend& chosen,
                  Context& context, Summary& summary) {
  const io::Values values = choose_values(job, image, summary.format);
  const Execution background = context.background(job.work.threads);
  auto writer = make_writer(image, summary.format, job.output, values, write_options(job.out, job.input, background));
  std::unique_ptr<io::ImageWriter> residual;
  if (!job.mask.residual.empty()) {
    OutputOptions usual;
    usual.force = job.out.force;
    residual = create_like(image, io::Format::nifti, job.mask.residual, write_options(usual, job.input, background));
  }
  if (job.out.dry_run) return;  // the writers have checked what can be checked, and vanish without a trace
  const std::string mask_identity = mask ? identify_mask(*mask) : "";
  const bool restore = mask || residual || summary.format != image.format();
  Execution whole = execution(job.work, context);
  if (whole.memory_limit) {
    const std::size_t aside = block_bytes(image.geometry(0).extent) * ((mask ? 2 : 0) + (restore ? 2 : 0));
    *whole.memory_limit -= std::min(*whole.memory_limit, aside);
  }
  std::vector<Settings> identified;
  for (const Settings& step : job.chain) identified.push_back(step.identified());
  const double volumes = static_cast<double>(image.volume_count());
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    const auto open_masking = [&] { return mask->volume(mask->volume_count() == 1 ? 0 : volume, io::Values::real); };
    std::unique_ptr<VolumeSource> source = image.volume(volume, values);
    if (mask) source = std::make_unique<MaskedSource>(std::move(source), open_masking());
    const double index = static_cast<double>(volume);
    const Execution part = whole.part(index / volumes, (index + 1) / volumes);
    const Provenance provenance{identified, resolve_chain(job.chain, *source, *chosen.backend, part, estimate_noise),
                                chosen.backend->name(), mask_identity};
    summary.resolved.push_back(provenance.resolved);
    context.console.detail("volume " + std::to_string(volume + 1) + ": " + describe_chain(provenance.resolved));
    writer->begin_volume(volume, provenance);
    if (residual) residual->begin_volume(volume, provenance);
    const io::Values original = values == io::Values::stored ? values : io::Values::real_with_padding;
    VoxelOutput output(*writer, residual.get(), restore ? image.volume(volume, original) : nullptr,
                       mask ? open_masking() : nullptr);
    filter_volume(*source, provenance.resolved, *chosen.backend, part,
                  [&](VolumeView<const float> slices) { output.write(slices); });
  }
  const io::WriteReport report = commit_both(*writer, residual.get(), background);
  summary.files = report.files;
  summary.clamped = report.clamped;
  summary.warnings.insert(summary.warnings.end(), report.warnings.begin(), report.warnings.end());
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f s", seconds);
  return text;
}

void tell(const Job& job, const Summary& summary, Context& context) {
  const std::string backend = summary.backend + (summary.backend_why.empty() ? "" : " (" + summary.backend_why + ")");
  const std::string what = describe_chain(summary.resolved.empty() ? job.chain : summary.resolved[0]);
  for (const std::string& warning : summary.warnings) context.console.warning(warning);
  if (job.out.dry_run) {
    context.console.note(what + "; " + summary.extent + ", backend " + backend);
    context.console.note("would write " + io::to_string(summary.format) + " to " + job.output.string() +
                         (job.mask.residual.empty() ? "" : ", residual to " + job.mask.residual) + "; nothing written");
    return;
  }
  const std::string more = summary.resolved.size() > 1 ? " (volume 1; --verbose lists all)" : "";
  context.console.note(what + more + "; " + summary.extent + ", backend " + backend + ", " +
                       seconds_text(summary.seconds));
  context.console.note(
      "wrote " + io::to_string(summary.format) + " to " + job.output.string() +
      (job.mask.residual.empty() ? "" : ", residual to " + job.mask.residual) +
      (summary.files.size() > 1 ? ", " + std::to_string(summary.files.size()) + " files" : "") +
      (summary.clamped > 0 ? "; " + std::to_string(summary.clamped) + " voxels moved back into the stored range" : ""));
}

Json described(const Job& job, const Summary& summary) {
  Json volumes = Json::array();
  for (const auto& chain : summary.resolved) volumes.push_back({{"filters", to_json(chain)}});
  Json files = Json::array();
  for (const fs::path& file : summary.files) files.push_back(file.string());
  return {{"input", job.input.string()},
          {"output", job.output.string()},
          {"residual", job.mask.residual},
          {"format", io::to_string(summary.format)},
          {"dry_run", job.out.dry_run},
          {"requested", to_json(job.chain)},
          {"volumes", volumes},
          {"backend", summary.backend},
          {"backend_reason", summary.backend_why},
          {"files", files},
          {"clamped", summary.clamped},
          {"warnings", summary.warnings},
          {"seconds", summary.seconds}};
}

/// Filters an opened image and tells of it.
Summary run_job(const Job& job, const io::Image& image, const ChosenBackend& chosen, Context& context) {
  const auto start = std::chrono::steady_clock::now();
  Summary summary;
  summary.format = output_format(job.out.output_format, job.output, image.format());
  summary.extent = describe_extent(image);
  summary.backend = chosen.backend->name();
  summary.backend_why = chosen.why;
  summary.warnings = image.warnings();
  const auto mask = open_mask(job.mask.mask, image, context.background(job.work.threads), summary.warnings);
  check_windows(job, image);
  filter_image(job, image, mask.get(), chosen, context, summary);
  context.console.end_progress();
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  tell(job, summary, context);
  return summary;
}

void check_all_series(const Job& job) {
  const auto refuse = [](const std::string& why) { throw Error(Errc::invalid_argument, "--all-series " + why); };
  check_input(job.input);
  if (!fs::is_directory(job.input)) refuse("needs a folder, and " + job.input.string() + " is none");
  if (!job.in.series.empty()) refuse("and --series exclude each other");
  if (!job.mask.mask.empty() || !job.mask.residual.empty()) {
    refuse("knows no --mask and no --residual; filter series by series, with --series UID");
  }
  if (output_format(job.out.output_format, job.output, std::nullopt) != io::Format::dicom) {
    refuse("writes folders of DICOM; give OUTPUT a name without an ending");
  }
  check_output(job.output, io::Format::dicom, job.out.force, job.input);
}

/// A name for the results of a series: its UID, unless that is no good name for a folder.
std::string folder_name(const std::string& uid, std::size_t number) {
  const bool is_plain = uid.find_first_not_of("0123456789.") == std::string::npos && uid.size() <= 64 && uid[0] != '.';
  return is_plain ? uid : "series-" + std::to_string(number);
}

/// Does one piece of work, and makes an Error of whatever goes wrong in it; a stop request goes through.
template <class Work>
std::optional<Error> failure_of(const Work& work) {
  try {
    work();
    return std::nullopt;
  } catch (const Error& error) {
    if (error.code() == Errc::cancelled) throw;
    return error;
  } catch (const std::bad_alloc&) {
    return Error(Errc::out_of_memory, "out of memory; --memory-limit makes filters work in slabs");
  } catch (const std::exception& error) {
    return Error(Errc::internal, std::string("internal error: ") + error.what());
  }
}

/// The folder that results of several series go to. One that this made goes again where nothing came to lie in it.
class OutputFolder {
 public:
  explicit OutputFolder(const fs::path& path) : path_(path) {
    std::error_code error;
    made_ = fs::create_directory(path, error);
    if (error) throw Error(Errc::not_writable, path.string() + ": cannot be made: " + error.message());
  }
  ~OutputFolder() {
    std::error_code ignored;
    if (made_) fs::remove(path_, ignored);
  }
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

 private:
  fs::path path_;
  bool made_ = false;
};

/// What cannot be filtered is named and left out; it does not keep others from being filtered.
void filter_all_series(const Job& job, const ChosenBackend& chosen, Context& context) {
  check_all_series(job);
  const Execution background = context.background(job.work.threads);
  const io::DicomFolder folder(job.input, background);
  const auto list = folder.series();
  if (list.empty() && folder.strays().empty()) {
    throw Error(Errc::no_input, job.input.string() + ": holds no DICOM image");
  }
  for (const std::string& warning : folder.warnings()) context.console.warning(warning);
  Json results = Json::array();
  std::optional<Error> first;
  std::size_t failures = 0;
  const auto fail = [&](const std::string& uid, const Error& error) {
    context.console.end_progress();
    context.console.error(uid.empty() ? error.what() : "series " + uid + ": " + error.what());
    results.push_back({{"series", uid}, {"error", error.what()}, {"status", exit_code(error.code())}});
    if (failures++ == 0) first = error;
  };
  for (const Error& stray : folder.strays()) fail("", stray);
  const OutputFolder output(job.output);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string& uid = list[i].uid;
    Job part = job;
    part.output /= folder_name(uid, i + 1);
    const auto error = failure_of([&] {
      const auto image = folder.open({.allow_gaps = job.in.allow_gaps, .series_uid = uid, .execution = background});
      Json result = described(part, run_job(part, *image, chosen, context));
      result["series"] = uid;
      results.push_back(std::move(result));
    });
    if (error) fail(uid, *error);
  }
  if (context.json) {
    print_json({{"input", job.input.string()},
                {"output", job.output.string()},
                {"series", results},
                {"warnings", folder.warnings()}});
  }
  if (!first) return;
  const std::size_t done = list.size() + folder.strays().size() - failures;
  throw Error(first->code(), job.input.string() + ": " + std::to_string(failures) +
                                 (failures == 1 ? " series or file" : " series or files") + " could not be filtered, " +
                                 std::to_string(done) + " series could");
}

}  // namespace

std::vector<Operand> filter_operands() {
  return {{"INPUT", "A DICOM, NIfTI, NRRD or MetaImage file, or a folder with a DICOM series."},
          {"OUTPUT", "The file to write, or the folder for a DICOM series."}};
}

std::vector<OptionGroup> filter_option_groups() {
  return {option_group<InputOptions>(), option_group<SeriesOptions>(), option_group<MaskOptions>(),
          option_group<OutputOptions>(), option_group<WorkOptions>()};
}

void run_filters(const std::vector<Settings>& chain, const Arguments& arguments, Context& context) {
  const Job job{arguments.operand(0),
                arguments.operand(1),
                chain,
                arguments.params<InputOptions>(),
                arguments.params<SeriesOptions>(),
                arguments.params<MaskOptions>(),
                arguments.params<OutputOptions>(),
                arguments.params<WorkOptions>()};
  const ChosenBackend chosen = choose_backend(job.work.backend, chain);
  if (job.series.all_series) return filter_all_series(job, chosen, context);
  check_paths(job);
  const auto image = open_input(job.input, job.in, context.background(job.work.threads));
  const Summary summary = run_job(job, *image, chosen, context);
  if (context.json) print_json(described(job, summary));
}

}  // namespace quietvox::cli
