// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/denoise.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <optional>

#include "filters/registry.hpp"
#include "io/files/path_overlap.hpp"
#include "io/files/paths.hpp"
#include "io/float_precision.hpp"
#include "workflow/input_output.hpp"
#include "workflow/mask.hpp"
#include "workflow/memory_budget.hpp"
#include "workflow/memory_image.hpp"
#include "workflow/resource_error.hpp"
#include "workflow/scan_filter.hpp"
#include "workflow/unfiltered_volumes.hpp"

namespace quietvox {
namespace fs = std::filesystem;
namespace {

/// All files that a run reads.
std::vector<Source> sources_of(const DenoiseRequest& request) {
  std::vector<Source> sources{{request.input}, {request.mask.mask, "mask"}};
  std::ranges::move(named_files(request.filters), std::back_inserter(sources));
  return sources;
}

/// Refuses outputs that would place irregular slices where they do not lie, or warns of them.
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

/// Warns of the first window that extends along an axis whose voxels lie far apart, if there is one.
bool warn_of_thick_axis(std::span<const FilterConfig> chain, const VolumeSource& source,
                        std::vector<Message>& warnings) {
  for (const FilterConfig& step : chain) {
    const std::string warning = thick_axis_warning(step, header_facts(source));
    if (warning.empty()) continue;
    warnings.emplace_back(warning);
    return true;
  }
  return false;
}

/// Rank filters work on stored numbers, unless real values are needed, as for stabilisation. If floats would lose
/// digits of the real values, all filters work on these minus Image::offset(); throws if the output has another type
/// or format.
io::VoxelDomain choose_domain(const DenoiseRequest& request, const io::Image& image, const DenoiseReport& report) {
  const bool keeps_type = report.format == image.format() && request.out.output_type == OutputType::same;
  if (const double offset = image.offset(); offset != 0) {
    if (keeps_type) return io::VoxelDomain::real_less_offset;
    throw io::far_from_zero_error(request.input.string(), offset);
  }
  bool stored = keeps_type && request.mask.residual.empty() && !is_asked_for(request.stabilise);
  for (const FilterConfig& step : request.filters) stored = stored && step.filter().commutes_with_rescale;
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    stored = stored && image.can_filter_stored(volume);
  }
  return stored ? io::VoxelDomain::stored : io::VoxelDomain::real;
}

/// Writers of the files that a request names.
ScanWriters make_writers(const DenoiseRequest& request, const io::Image& image, const io::Image* mask,
                         const DenoiseReport& report, const Execution& background) {
  // Who may read the mask and the files that parameters name: the output shows something of them.
  std::vector<fs::path> named;
  for (const Source& source : named_files(request.filters)) named.push_back(source.path);
  const auto options_of = [&](const OutputOptions& out, const fs::path& output) {
    io::WriteOptions options = write_options(out, request.input, background);
    options.access = io::access_of(named, output);
    if (mask) options.access = options.access & io::access_of(*mask, output);
    return options;
  };
  ScanWriters writers{.image = nullptr, .residual = nullptr, .domain = choose_domain(request, image, report)};
  writers.image =
      make_writer(image, report.format, request.output, writers.domain, options_of(request.out, request.output));
  if (!request.mask.residual.empty()) {
    OutputOptions usual;
    usual.force = request.out.force;
    io::WriteOptions options = options_of(usual, request.mask.residual);
    options.are_differences = true;
    writers.residual = make_writer(image, io::Format::nifti, request.mask.residual, io::VoxelDomain::real, options);
  }
  return writers;
}

void check_options(const DenoiseRequest& request) {
  validate(request.scan);
  validate(request.mask);
  validate(request.out);
  validate(request.execution);
}

void check_volumes(std::span<const VolumeView<const float>> input, std::span<const VolumeView<float>> output,
                   const VolumeRequest& request) {
  const auto refuse = [](const Message& what) { throw Error(Errc::invalid_argument, what); };
  if (input.empty()) refuse("there is no volume");
  if (input.size() != output.size()) refuse("the outputs are not as many as the inputs");
  for (std::size_t i = 0; i < input.size(); ++i) {
    check_volume(input[i].extent, input[i].spacing);
    if (!input[i].data) refuse("the input has no voxels in memory");
    if (!output[i].data) refuse("the output has no voxels in memory");
    if (output[i].extent != input[i].extent) refuse("the output differs from the input in extent");
    if (input[i].extent != input[0].extent) refuse("the volumes differ in extent");
    if (input[i].spacing != input[0].spacing) refuse("the volumes differ in spacing");
  }
  if (!request.mask.data && request.mask.extent != Extent()) refuse(Parameter{"mask"} + " has no voxels in memory");
  if (request.mask.data && request.mask.extent != input[0].extent) {
    refuse(Parameter{"mask"} + " differs from the input in extent");
  }
}

/// Refuses windows that do not fit, or that would reach across irregular slices. No value of a voxel makes a window
/// too large, so this reads only what is needed to judge the kind of the first volumes. Throws if no volume can be
/// filtered.
void check_windows(const DenoiseRequest& request, const io::Image& image, UnfilteredVolumes& unfiltered,
                   DenoiseReport& report) {
  bool warned = false;
  const std::size_t count = image.volume_count();
  const auto source_of = [&](std::size_t volume) { return image.volume(volume, io::VoxelDomain::stored); };
  std::size_t first = 0;
  while (first < count && unfiltered.leave_out(first, *source_of(first))) ++first;
  if (first == count) resolve_by_header(request.filters, *source_of(0));  // tells why
  report.volumes.resize(count);
  for (std::size_t volume = first; volume < count; ++volume) {
    if (volume > first && &image.geometry(volume) == &image.geometry(first)) {  // it will be judged later
      report.volumes[volume] = report.volumes[first];
      continue;
    }
    const auto source = source_of(volume);
    if (unfiltered.leave_out(volume, *source)) continue;
    const auto& chain = report.volumes[volume].filters = resolve_by_header(request.filters, *source);
    const std::string why = image.why_2d_only(volume);
    if (total_halo(chain).z > 0 && !why.empty() && !request.scan.allow_gaps) {
      throw Error(Errc::irregular, request.input.string() + ": " + why,
                  "use a window of radius 0 along z to filter slice by slice, or " + Parameter{"allow-gaps"} +
                      " to filter across slices anyway");
    }
    warned = warned || warn_of_thick_axis(chain, *source, report.warnings);
  }
}

/// Roughly how long the CPU would take to filter.
double cpu_seconds(const io::Image& image, const DenoiseReport& report, const Execution& execution) {
  double seconds = 0;
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    seconds += quietvox::cpu_seconds(report.volumes[volume].filters, image.geometry(volume).extent, execution);
  }
  return seconds;
}

/// With the filters that a request without any asks for.
DenoiseRequest with_filters(const DenoiseRequest& asked_for, DenoiseReport& report) {
  DenoiseRequest request = asked_for;
  request.filters = filters_of(asked_for);
  report.requested = request.filters;
  report.stabilise = request.stabilise;
  return request;
}

/// Filters the volumes of a scan into writers, which are made once all is checked that needs no voxels.
void filter_volumes(const DenoiseRequest& request, bool is_chosen, const ScanFilter::Scan& scan,
                    BackendSelector& backends, const Observer& observer, DenoiseReport& report,
                    const std::function<ScanWriters()>& make_writers) {
  UnfilteredVolumes unfiltered(request.filters);
  check_windows(request, scan.image, unfiltered, report);
  const Execution background = background_of(request.execution, observer);
  const StartingBackend& backend = backends.of([&] { return cpu_seconds(scan.image, report, background); });
  backend.check();
  io::with_change_check(scan.files, [&] {
    ScanFilter(request, is_chosen, scan, make_writers(), unfiltered, backend, observer, report).run();
  });
  report.backend = backend.name();
  report.backend_reason = backend.why();
  unfiltered.warn(report.warnings);
}

/// The exception that is being handled; as an Error where memory or threads ran out.
[[noreturn]] void rethrow(const std::exception& exception) {
  if (const auto error = resource_error(exception)) throw *error;
  throw;
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
  check_options(asked_for);
  DenoiseReport report;
  const DenoiseRequest request = with_filters(asked_for, report);
  report.format = output_format(request.out.output_format, request.output, image.format());
  check_format(request.out, report.format);
  report.extent = describe_extent(image);
  for (const std::string& warning : image.warnings()) report.warnings.emplace_back(warning);
  const Execution background = background_of(request.execution, observer);
  const auto mask = open_mask(request.mask.mask, image, background, report.warnings);
  check_formats(request, image, report);
  std::vector<io::FileStamp> inputs = image.files();
  if (mask) std::ranges::copy(mask->files(), std::back_inserter(inputs));
  const bool is_chosen = asked_for.filters.empty();
  filter_volumes(request, is_chosen, {image, mask.get(), inputs}, backends, observer, report,
                 [&] { return make_writers(request, image, mask.get(), report, background); });
  for (const std::string& warning : image.warnings_of_voxels()) report.warnings.emplace_back(warning);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

DenoiseReport denoise(const DenoiseRequest& request, const Observer& observer) try {
  check_options(request);
  BackendSelector backends(request.execution.backend, filters_of(request));
  check_paths(request);
  const auto image = open_input(request.input, request.scan, background_of(request.execution, observer));
  return denoise(request, *image, backends, observer);
} catch (const std::exception& exception) {
  rethrow(exception);
}

SeriesReport denoise(std::span<const VolumeView<const float>> input, std::span<const VolumeView<float>> output,
                     const VolumeRequest& request, const Observer& observer) try {
  check_volumes(input, output, request);
  DenoiseRequest asked_for;
  asked_for.filters = request.filters;
  asked_for.strength = request.strength;
  asked_for.stabilise = request.stabilise;
  asked_for.execution = request.execution;
  check_options(asked_for);
  DenoiseReport report;
  const DenoiseRequest as_scan = with_filters(asked_for, report);
  const MemoryImage image({input, output}, request.header, request.are_times);
  report.format = image.format();
  std::optional<MemoryImage> mask;
  if (request.mask.data) {
    mask.emplace(MemoryImage::Volumes{{&request.mask, 1}}, HeaderFacts{.kind = DataKind::labels});
  }
  BackendSelector backends(request.execution.backend, as_scan.filters);
  constexpr auto domain = io::VoxelDomain::real;
  filter_volumes(as_scan, request.filters.empty(), {image, mask ? &*mask : nullptr, {}}, backends, observer, report,
                 [&] {
                   return ScanWriters{image.writer({}, domain, {}), nullptr, domain};
                 });
  return {report.volumes, report.noise_source, report.backend, report.warnings};
} catch (const std::exception& exception) {
  rethrow(exception);
}

VolumeReport denoise(VolumeView<const float> input, VolumeView<float> output, const VolumeRequest& request,
                     const Observer& observer) {
  const SeriesReport report = denoise({&input, 1}, {&output, 1}, request, observer);
  return {report.volumes.front(), report.backend, report.warnings};
}

}  // namespace quietvox
