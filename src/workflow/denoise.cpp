// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/denoise.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>

#include "analysis/measure_noise.hpp"
#include "core/memory_volume.hpp"
#include "filters/registry.hpp"
#include "io/files/path_overlap.hpp"
#include "io/files/paths.hpp"
#include "io/voxel_kind.hpp"
#include "workflow/blank_slices.hpp"
#include "workflow/input_output.hpp"
#include "workflow/mask.hpp"
#include "workflow/masked_source.hpp"
#include "workflow/memory_budget.hpp"
#include "workflow/noise_of_volume.hpp"
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

/// What is said of the voxels of a volume in memory, or what they look like. Less an offset, all look like phases,
/// whose range is even about 0.
HeaderFacts facts_of(VolumeView<const float> volume, HeaderFacts said) {
  if (said.kind && said.kind_source.empty()) {
    said.kind_source = io::facts_given({.series_uid = {}, .kind = said.kind}).kind_source;
  }
  if (said.kind) return said;
  const auto as_source = [&](std::size_t) { return std::make_unique<MemoryVolume>(volume); };
  HeaderFacts looks = io::KindByVoxels(1).get(0, said, {}, as_source);
  return said.offset != 0 && looks.kind == DataKind::phase ? said : looks;
}

void check_options(const DenoiseRequest& request) {
  validate(request.scan);
  validate(request.mask);
  validate(request.out);
  validate(request.execution);
}

void check_voxels(const VolumeView<const float>& input) {
  for (int axis = 0; axis < 3; ++axis) {
    if (input.extent[axis] < 1)
      throw Error(Errc::invalid_argument, "the input is empty", "give voxels along every axis");
    const double spacing = input.spacing[axis];
    if (spacing > 0 && std::isfinite(spacing)) continue;
    throw Error(Errc::invalid_argument, "the spacing " + FieldType<double>::format(spacing) + " is no length",
                "give mm, above 0");
  }
  if (!input.data) throw Error(Errc::invalid_argument, "the input has no voxels in memory");
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
  const bool is_chosen = asked_for.filters.empty();
  DenoiseRequest request = asked_for;
  request.filters = filters_of(asked_for);
  DenoiseReport report;
  report.requested = request.filters;
  report.stabilise = request.stabilise;
  report.format = output_format(request.out.output_format, request.output, image.format());
  check_format(request.out, report.format);
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
    ScanFilter(request, is_chosen, {image, mask.get(), inputs}, unfiltered, backend, observer, report).run();
  });
  report.backend = backend.name();
  report.backend_reason = backend.why();
  unfiltered.warn(report.warnings);
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

VolumeReport denoise(VolumeView<const float> input, VolumeView<float> output, const VolumeRequest& request,
                     const Observer& observer) try {
  check_voxels(input);
  if (!output.data) throw Error(Errc::invalid_argument, "the output has no voxels in memory");
  if (output.extent != input.extent) throw Error(Errc::invalid_argument, "the output differs from the input in extent");
  validate(request.execution);
  const bool is_chosen = request.filters.empty();
  const std::vector filters = is_chosen ? std::vector{denoising_filter(request.strength)} : request.filters;
  std::vector<Message> warnings;
  Execution execution = execution_of(request.execution, observer);
  const HeaderFacts header = facts_of(input, request.header);
  auto slices = std::make_unique<BlankSlices>(std::make_unique<MemoryVolume>(input, header), execution);
  if (execution.memory_limit) slices->judge_ahead();
  const BlankSlices& blanks = *slices;
  std::unique_ptr<VolumeSource> source = std::move(slices);
  if (request.mask.data) {
    if (request.mask.extent != input.extent) {
      throw Error(Errc::invalid_argument, Parameter{"mask"} + " differs from the input in extent");
    }
    source = std::make_unique<MaskedSource>(std::move(source), std::make_unique<MemoryVolume>(request.mask));
    if (std::none_of(request.mask.data, request.mask.data + request.mask.extent.voxels(), is_inside)) {
      warnings.push_back(empty_mask_warning());
    }
  }
  const auto by_header = resolve_by_header(filters, *source);
  BackendSelector backends(request.execution.backend, filters);
  const StartingBackend& backend =
      backends.of([&] { return quietvox::cpu_seconds(by_header, input.extent, execution); });
  if (execution.memory_limit) {
    const MemoryDemand demand = memory_demand({by_header, request.stabilise, is_chosen}, *source, backend, execution);
    const std::size_t blocks = request.mask.data ? 2 : 0;
    reserve_memory(execution, request.execution, demand.besides + blocks * block_bytes(input.extent), demand.least);
  }
  const NoiseMeasure measure = [&](VolumeSource& reaching, const Execution& step) {
    if (&reaching != source.get()) return measure_noise(reaching, step);
    NoiseModel model = measure_noise_for(request.stabilise, reaching, step);
    if (!request.mask.data) return model;
    return of_masked(std::move(model), reaching.header(), [&] {
      BlankSlices whole(std::make_unique<MemoryVolume>(input, header), step);
      return measure_noise_for(request.stabilise, whole, step);
    });
  };
  const VolumeFilter filter({filters, request.stabilise, is_chosen}, *source, backend, execution, measure);
  filter.run([&](VolumeView<const float> filtered) {
    const float* const before = input.row(0, filtered.origin.z);
    const float* const mask = request.mask.data ? request.mask.row(0, filtered.origin.z) : nullptr;
    float* const after = output.row(0, filtered.origin.z);
    for (std::int64_t i = 0; i < filtered.extent.voxels(); ++i) {
      const bool keeps = !std::isfinite(filtered.data[i]) || (mask && !is_inside(mask[i]));
      after[i] = keeps ? before[i] : filtered.data[i];
    }
  });
  std::ranges::move(filter.warnings(), std::back_inserter(warnings));
  warn_of_thick_axis(by_header, *source, warnings);
  LostSlices lost;
  lost.add(blanks, [](std::int64_t) { return ""; });
  lost.warn(warnings);
  return {{filter.resolved(), filter.noise(), filter.stabilised()}, backend.name(), warnings};
} catch (const std::exception& exception) {
  rethrow(exception);
}

}  // namespace quietvox
