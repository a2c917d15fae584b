// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/filter_job/filter_job.hpp"

#include <algorithm>
#include <cstdio>

#include "cli/exit_code.hpp"
#include "cli/filter_job/all_series.hpp"
#include "cli/message_text.hpp"
#include "io/files/paths.hpp"
#include "workflow/input_output.hpp"
#include "workflow/memory_budget.hpp"
#include "workflow/report_json.hpp"

namespace quietvox::cli {
namespace {

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f s", seconds);
  return text;
}

/// True if a parameter that is `auto` is still to be found from the voxels; others may wait for a check of their value.
bool waits_for_voxels(const FilterConfig& filter) {
  return std::ranges::any_of(filter.waiting(),
                             [&](const Waiting& waiting) { return filter.get(waiting.field) == "auto"; });
}

void print_report(const DenoiseRequest& request, const DenoiseReport& report, Console& console) {
  const std::string backend =
      report.backend + (report.backend_reason.empty() ? "" : " (" + as_text(report.backend_reason) + ")");
  const DenoisedVolume& first = report.first();
  const std::string what = describe_chain(first.filters);
  for (const Message& warning : report.warnings) console.warning(warning);
  const std::string number = std::to_string(&first - report.volumes.data() + 1);
  if (!first.noise.empty()) {
    const bool is_one_of_several = report.volumes.size() > 1 && !first.is_by_series;
    console.note("noise: " + first.noise[0].describe() + (is_one_of_several ? " (volume " + number + ")" : "") +
                 (first.stabilised.empty() ? "" : "; made Gaussian, without its bias"));
  }
  const std::string more = report.volumes.size() > 1 ? " (volume " + number + "; --verbose lists all)" : "";
  if (request.out.dry_run) {
    const bool by_voxels = std::ranges::any_of(first.filters, waits_for_voxels);
    console.note(what + (request.filters.empty() ? more : "") +
                 (by_voxels ? " (auto: found from the voxels when it runs); " : "; ") + report.extent + ", backend " +
                 backend);
    console.note("would write " + io::to_string(report.format) + " to " + request.output.string() +
                 (request.mask.residual.empty() ? "" : ", residual to " + request.mask.residual) + "; nothing written");
    return;
  }
  console.note(what + more + "; " + report.extent + ", backend " + backend + ", " + seconds_text(report.seconds));
  console.note("wrote " + io::to_string(report.format) + " to " + describe_files(request.output, report.files) +
               (report.clamped > 0 && request.out.output_type == OutputType::same
                    ? "; " + describe_clamped(report.clamped)
                    : ""));
}

/// Opens the scan. If a folder holds several, only the command line can offer to take them all, where it could.
std::unique_ptr<io::Image> open_scan(const DenoiseRequest& request, const Execution& execution) {
  try {
    return open_input(request.input, request.scan, execution);
  } catch (const Error& error) {
    const Parameter* const parameter = error.remedy().parameter();
    const bool is_choice = parameter && parameter->name == "series";
    const bool may_take_all =
        request.mask.mask.empty() && request.mask.residual.empty() && request.scan.series.empty() &&
        output_format(request.out.output_format, request.output, std::nullopt) == io::Format::dicom;
    if (!is_choice || !may_take_all) throw;
    throw Error(error.code(), error.problem(), error.remedy() + ", or take all by " + Parameter{"all-series"});
  }
}

}  // namespace

std::vector<Operand> filter_operands() {
  return {{"INPUT", "A DICOM, NIfTI, NRRD or MetaImage file, or a folder with a DICOM series."},
          {"OUTPUT", "The file to write, or the folder for a DICOM series."}};
}

std::vector<OptionGroup> filter_option_groups() {
  return {option_group<InputOptions>(), option_group<SeriesOptions>(), option_group<MaskOptions>(),
          option_group<OutputOptions>(), option_group<ExecutionOptions>()};
}

Job job_of(const Arguments& arguments) {
  return {.request = {.input = arguments.operand(0),
                      .output = arguments.operand(1),
                      .scan = arguments.params<InputOptions>(),
                      .mask = arguments.params<MaskOptions>(),
                      .out = arguments.params<OutputOptions>(),
                      .execution = arguments.params<ExecutionOptions>()},
          .series = arguments.params<SeriesOptions>()};
}

Json filter_and_report(const DenoiseRequest& request, const io::Image& image, BackendSelector& backends,
                       Context& context) {
  const DenoiseReport report = denoise(request, image, backends, context.observer());
  if (!context.is_worker) claim_the_end();  // the outputs are there: a thread that fails now changes nothing
  context.console.end_progress();
  print_report(request, report, context.console);
  return to_json(request, report, as_option);
}

void run_filters(const Job& job, Context& context) {
  if (job.series.all_series) return filter_all_series(job, context);
  if (!job.series.include.empty()) {
    throw Error(Errc::invalid_argument, Parameter{"include"} + " needs " + Parameter{"all-series"});
  }
  const DenoiseRequest& request = job.request;
  BackendSelector backends(request.execution.backend, filters_of(request));
  check_paths(request);
  const auto image = open_scan(request, background_of(request.execution, context.observer()));
  const Json document = filter_and_report(request, *image, backends, context);
  if (context.json) print_json(document);
}

std::string describe_clamped(std::int64_t voxels) {
  const bool is_one = voxels == 1;
  return std::to_string(voxels) + (is_one ? " voxel" : " voxels") +
         " came out beyond the range of the stored type and " + (is_one ? "was" : "were") + " clamped to it";
}

std::string describe_files(const std::filesystem::path& output, const std::vector<std::filesystem::path>& files) {
  const bool is_folder = std::filesystem::is_directory(output);
  const std::filesystem::path folder = (output / "").parent_path();
  std::size_t inside = 0;
  std::string others;
  for (const std::filesystem::path& file : files) {
    if (is_folder && io::is_inside(file, folder)) {
      ++inside;
    } else if (file != output) {
      const bool is_beside = file.parent_path() == folder.parent_path();
      others += (others.empty() ? " with " : ", ") + (is_beside ? file.filename() : file).string();
    }
  }
  if (!is_folder) return output.string() + others;
  return output.string() + ", " + std::to_string(inside) + (inside == 1 ? " file" : " files") + others;
}

}  // namespace quietvox::cli
