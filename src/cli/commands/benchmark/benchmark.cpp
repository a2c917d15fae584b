// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <fstream>

#include "backends/choice.hpp"
#include "cli/command.hpp"
#include "cli/commands/benchmark/benchmark_command.hpp"
#include "cli/commands/benchmark/benchmark_filters.hpp"
#include "cli/json.hpp"
#include "cli/message_text.hpp"
#include "core/provenance.hpp"
#include "filters/simd/instruction_set.hpp"
#include "io/output/staging_folder.hpp"
#include "itk_adapters/peers/itk_filters.hpp"
#include "itk_adapters/peers/opencv_filters.hpp"
#include "phantom/noise.hpp"
#include "phantom/phantom.hpp"

namespace quietvox::cli {
namespace fs = std::filesystem;
namespace {

struct BenchmarkOptions {
  int threads = 0;
  double seconds = 0.5;
  int slices = 96;
  std::string folder;

  static constexpr std::string_view name = "benchmark", title = "Benchmark";
  static consteval auto fields() {
    return std::tuple{
        field("threads", &BenchmarkOptions::threads, {0, 4096}, "", "CPU threads, ITK's too; 0: one per core."),
        field("seconds", &BenchmarkOptions::seconds, {0, 600}, "s",
              "How long each figure of a filter is measured; the best run counts."),
        field("slices", &BenchmarkOptions::slices, {8, 2000}, "", "Slices of 512 x 512 voxels that are filtered."),
        field("folder", &BenchmarkOptions::folder, NoRange{}, "FOLDER",
              "Where to put the commands' test files, removed afterwards; default: the system's temporary folder."),
    };
  }
};

/// What was measured, and on what.
struct Report {
  std::string processor, instruction_set, itk, opencv, cuda, why_no_cuda;
  int threads = 0;
  Extent extent;
  std::vector<FilterRates> filters;
  std::vector<CommandTimes> commands;
};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

Phantom noisy_phantom(Extent extent, const Execution& execution) {
  Phantom phantom = make_phantom(PhantomKind::ct, extent);
  add_noise(phantom.view(), {}, 0, 0, execution);
  for (float& voxel : phantom.voxels) voxel = std::round(voxel);  // as a scanner would store them
  return phantom;
}

/// The filter with those parameters that are not as usual, and the size of its window.
std::string brief(const FilterConfig& settings) {
  std::string text = settings.filter().name;
  for (const FieldInfo& field : settings.filter().fields) {
    const std::string value = settings.get(field.name);
    const bool is_window = field.name == settings.filter().window_field(settings.params());
    if (value != field.default_text || is_window) text += " " + field.name + "=" + value;
  }
  return text;
}

void print_or_blank(int width, std::optional<double> value, double scale) {
  value ? std::printf("%*.4g", width, *value * scale) : std::printf("%*s", width, "");
}

void print(const Report& report) {
  std::printf("%s, %d threads, %s; ITK %s%s\n", report.processor.c_str(), report.threads,
              report.instruction_set.c_str(), report.itk.c_str(),
              report.opencv.empty() ? "" : (", OpenCV " + report.opencv).c_str());
  std::printf("%s\n\n", report.cuda.empty() ? ("no CUDA: " + report.why_no_cuda).c_str() : report.cuda.c_str());
  const bool cuda = !report.cuda.empty(), opencv = !report.opencv.empty();
  std::printf("Mvoxel/s, %lldx%lldx%lld voxels in memory%s\n", static_cast<long long>(report.extent.x),
              static_cast<long long>(report.extent.y), static_cast<long long>(report.extent.z),
              cuda ? ", cuda with both transfers" : "");
  std::printf("%12s%s%12s%s%10s%s%s  filter\n", "cpu", cuda ? "        cuda" : "", "ITK", opencv ? "      OpenCV" : "",
              "cpu/ITK", cuda ? "  cuda/ITK" : "", opencv ? "  cpu/OpenCV" : "");
  for (const FilterRates& rates : report.filters) {
    std::printf("%12.4g", rates.cpu / 1e6);
    if (rates.cuda) std::printf("%12.4g", *rates.cuda / 1e6);
    std::printf("%12.4g", rates.itk / 1e6);
    if (opencv) print_or_blank(12, rates.opencv, 1e-6);
    std::printf("%10.3g", rates.cpu / rates.itk);
    if (rates.cuda) std::printf("%10.3g", *rates.cuda / rates.itk);
    if (opencv) print_or_blank(12, rates.opencv ? std::optional(rates.cpu / *rates.opencv) : std::nullopt, 1);
    std::printf("  %s\n", brief(rates.settings).c_str());
  }
  std::printf("\nSeconds of a median of radius 1 from file to file; each step alone, then the whole command\n");
  std::printf("%8s%8s%8s%8s%8s%8s%8s%12s  input\n", "open", "read", "filter", "write", "finish", "whole", "copy",
              "whole/copy");
  const auto name = [](const CommandTimes& times) {
    return io::to_string(times.format) + (times.compressed ? ", gzip" : "") + "; " + times.backend;
  };
  for (const CommandTimes& times : report.commands) {
    for (const double time :
         {times.open, times.read, times.filter, times.write, times.finish, times.whole.seconds, times.copy}) {
      std::printf("%8.3f", time);
    }
    std::printf("%12.3g  %s, %zu file%s, %.0f MB\n", times.whole.seconds / times.copy, name(times).c_str(), times.files,
                times.files == 1 ? "" : "s", static_cast<double>(times.bytes) / 1e6);
  }
  std::printf("\nPercent of the whole command: each step is at work; and the other steps wait for it\n");
  std::printf("%8s%8s%8s%8s%8s%14s%8s%8s%8s%8s\n", "open", "read", "filter", "write", "finish", "waits: open", "read",
              "filter", "write", "finish");
  for (const CommandTimes& times : report.commands) {
    const auto& [seconds, open, finish, stages] = times.whole;
    for (const double busy : {open, stages.read.busy, stages.filter.busy, stages.consume.busy, finish}) {
      std::printf("%8.0f", 100 * busy / seconds);
    }
    std::printf("%14.0f", 100 * open / seconds);
    for (const double awaited : {stages.read.awaited, stages.filter.awaited, stages.consume.awaited, finish}) {
      std::printf("%8.0f", 100 * awaited / seconds);
    }
    std::printf("  %s\n", name(times).c_str());
  }
}

Json described(const Report& report) {
  Json filters = Json::array(), commands = Json::array();
  for (const FilterRates& rates : report.filters) {
    Json speed = {{"cpu", rates.cpu}}, ratio = {{"cpu", rates.cpu / rates.itk}};
    if (rates.cuda) {
      speed["cuda"] = *rates.cuda;
      ratio["cuda"] = *rates.cuda / rates.itk;
    }
    speed["itk"] = rates.itk;
    if (rates.opencv) speed["opencv"] = *rates.opencv;
    filters.push_back({{"filter", to_json(rates.settings)},
                       {"voxels_per_second", speed},
                       {"over_itk", ratio},
                       {"largest_difference", rates.largest_difference}});
  }
  for (const CommandTimes& times : report.commands) {
    const auto& [whole, open, finish, stages] = times.whole;
    commands.push_back({{"format", io::to_string(times.format)},
                        {"compressed", times.compressed},
                        {"backend", times.backend},
                        {"file_count", times.files},
                        {"bytes", times.bytes},
                        {"seconds_by_step",
                         {{"open", times.open},
                          {"read", times.read},
                          {"filter", times.filter},
                          {"write", times.write},
                          {"finish", times.finish},
                          {"whole", whole},
                          {"copy", times.copy}}},
                        {"busy",
                         {{"open", open / whole},
                          {"read", stages.read.busy / whole},
                          {"filter", stages.filter.busy / whole},
                          {"write", stages.consume.busy / whole},
                          {"finish", finish / whole}}},
                        {"awaited",
                         {{"open", open / whole},
                          {"read", stages.read.awaited / whole},
                          {"filter", stages.filter.awaited / whole},
                          {"write", stages.consume.awaited / whole},
                          {"finish", finish / whole}}},
                        {"over_copy", whole / times.copy}});
  }
  return {{"version", version()},
          {"processor", report.processor},
          {"threads", report.threads},
          {"instruction_set", report.instruction_set},
          {"itk", report.itk},
          {"opencv", report.opencv},
          {"cuda", report.cuda.empty() ? Json() : Json(report.cuda)},
          {"cuda_reason", report.why_no_cuda},
          {"extent", {report.extent.x, report.extent.y, report.extent.z}},
          {"filters", filters},
          {"commands", commands}};
}

void run_benchmark(const Arguments& arguments, Context& context) {
  const auto options = arguments.params<BenchmarkOptions>();
  std::error_code unusable;
  const fs::path folder = options.folder.empty() ? fs::temp_directory_path(unusable) : fs::path(options.folder);
  if (unusable) {
    throw Error(Errc::output_path, "benchmark: the system's temporary folder cannot be used: " + unusable.message(),
                "give another by " + Parameter{"folder"});
  }
  Execution execution = context.background(options.threads);
  execution.progress = [&](double fraction) { context.console.progress(0.8 * fraction); };

  Report report;
  report.processor = processor_name();
  report.instruction_set = instruction_set();
  report.itk = peers::itk_version();
  report.opencv = peers::opencv_version();
  report.threads = thread_count(execution);
  const auto cpu = make_backend("cpu");
  std::unique_ptr<Backend> cuda;
  try {
    cuda = make_backend("cuda");
    report.cuda = cuda->name();
  } catch (const Error& error) {
    if (error.code() != Errc::device) throw;
    report.why_no_cuda = as_text(error.message());
  }

  const io::StagingFolder scratch(folder / "quietvox-benchmark");
  report.extent = {{512, 512, options.slices}};
  const Phantom phantom = noisy_phantom(report.extent, execution.silent());
  const VolumeView<const float> volume{phantom.voxels.data(), report.extent};
  report.filters = measure_filters(volume, *cpu, cuda.get(), options.seconds, execution);
  for (const Backend* backend : {cpu.get(), cuda.get()}) {
    if (!backend) continue;
    for (const auto& [format, compressed] : {std::pair(io::Format::dicom, false), std::pair(io::Format::nifti, false),
                                             std::pair(io::Format::nifti, true)}) {
      const io::StagingFolder files(scratch / "files");
      report.commands.push_back(measure_command(format, compressed, volume, files / "", *backend, execution.silent()));
    }
  }
  context.console.progress(1);
  context.console.end_progress();
  if (context.json) {
    print_json(described(report));
  } else {
    print(report);
  }
}

}  // namespace

Command benchmark_command() {
  return {"benchmark",
          "Times the filters on this machine against ITK's, and shows where a command spends its time.",
          {},
          {option_group<BenchmarkOptions>()},
          run_benchmark};
}

}  // namespace quietvox::cli
