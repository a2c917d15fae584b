// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <utility>

#include "analysis/simple_noise_estimators.hpp"
#include "cli/command.hpp"
#include "cli/filter_job/filter_job.hpp"
#include "cli/json.hpp"
#include "cli/options_as_filter.hpp"
#include "cli/thread_options.hpp"
#include "io/provenance/noise_json.hpp"
#include "workflow/blank_slices.hpp"
#include "workflow/input_output.hpp"
#include "workflow/mask.hpp"
#include "workflow/masked_source.hpp"
#include "workflow/noise_of_volume.hpp"
#include "workflow/result_writer.hpp"

namespace quietvox::cli {
namespace {

struct EstimateOptions {
  std::string map, mask;
  bool force = false;

  static constexpr std::string_view name = "estimate", title = "Estimate";
  static consteval auto fields() {
    return std::tuple{
        field("map", &EstimateOptions::map, NoRange{}, "FILE",
              "A NIfTI file to write: the standard deviation of the noise at each voxel."),
        field("mask", &EstimateOptions::mask, NoRange{}, "FILE",
              "Image of the same extent; where it is 0, voxels do not count."),
        field("force", &EstimateOptions::force, "Replace an existing map."),
    };
  }
};

/// How a map is made has nothing to set.
struct MapParams {
  static constexpr std::string_view name = "estimate";
  static consteval auto fields() { return std::tuple{}; }
};

/// How far the estimate of a method can be relied on, by its standard error.
const char* confidence_of(const NoiseEstimate& estimate) {
  if (estimate.blocks == 0 || estimate.sigma == 0) return "none";
  return estimate.standard_error < 0.01 ? "high" : estimate.standard_error < 0.05 ? "medium" : "low";
}

void print_text(const NoiseModel& model, const std::vector<NoiseEstimate>& estimates) {
  std::printf("model  %s\n", model.describe().c_str());
  for (const NoiseEstimate& estimate : estimates) {
    if (estimate.blocks == 0) {
      std::printf("%-6s no blocks to go by\n", FieldType<NoiseMethod>::format(estimate.method).c_str());
      continue;
    }
    std::printf("%-6s sigma %.4g, standard error %.2g %%, %lld blocks, confidence %s\n",
                FieldType<NoiseMethod>::format(estimate.method).c_str(), estimate.sigma, 100 * estimate.standard_error,
                static_cast<long long>(estimate.blocks), confidence_of(estimate));
  }
}

Json as_json(const NoiseModel& model, const std::vector<NoiseEstimate>& estimates) {
  Json methods = Json::object();
  for (const NoiseEstimate& estimate : estimates) {
    methods[FieldType<NoiseMethod>::format(estimate.method)] = {
        {"sigma", estimate.blocks > 0 ? Json(estimate.sigma) : Json()},
        {"standard_error", estimate.standard_error},
        {"blocks", estimate.blocks},
        {"confidence", confidence_of(estimate)}};
  }
  Json noise = to_json(model);
  noise["spectrum"] = to_json(model.spectrum);
  return {{"sigma", model.sigma},
          {"method", "model"},
          {"confidence", noise["confidence"]},
          {"noise", noise},
          {"methods", methods}};
}

class MapWriter {
 public:
  /// `mask` may be null.
  MapWriter(const io::Image& image, const io::Image* mask, const std::string& mask_hash, const std::string& input,
            const EstimateOptions& options, const Execution& execution)
      : path_(options.map), files_(image.files()) {
    static const Filter filter = options_as_filter<MapParams>("The noise of an image.");
    const std::vector<FilterConfig> step{FilterConfig(filter)};
    provenance_ = {.requested = step, .resolved = step, .backend = "cpu", .mask = mask_hash};
    io::WriteOptions write;
    write.force = options.force;
    write.execution = execution;
    write.are_differences = true;
    write.input = input;
    if (mask) {
      write.access = io::access_of(*mask, options.map);
      std::ranges::copy(mask->files(), std::back_inserter(files_));
    }
    writer_ = make_writer(image, io::Format::nifti, options.map, io::VoxelDomain::real, write);
  }

  void write(std::size_t volume, VolumeSource& source, const NoiseModel& model) {
    provenance_.noise = {model};
    writer_->begin_volume(volume, provenance_);
    map_noise(model, source, [&](VolumeView<const float> slices) { writer_->write(slices); });
  }

  void commit(const Execution& execution, Console& console) {
    const io::WriteReport report = commit_both(*writer_, nullptr, files_, execution);
    console.warnings(report.warnings);
    console.note("wrote NIfTI to " + describe_files(path_, report.files));
  }

 private:
  std::string path_;
  std::vector<io::FileStamp> files_;  ///< that the map was made from
  Provenance provenance_;
  std::unique_ptr<io::ImageWriter> writer_;
};

void check_map(const EstimateOptions& options, const std::string& input) {
  if (output_format(OutputFormat::automatic, options.map, std::nullopt) != io::Format::nifti) {
    throw Error(Errc::invalid_argument, "estimate: " + Parameter{"map"} + " = '" + options.map + "' is not allowed",
                "give a name that ends in .nii or .nii.gz");
  }
  check_input(input);
  refuse_overlaps(files_of_output(options.map, io::Format::nifti, std::nullopt), {{input}, {options.mask, "mask"}});
  check_output(options.map, io::Format::nifti, options.force, input);
}

void estimate_image(const Arguments& arguments, Context& context) {
  const std::string& path = arguments.operand(0);
  const auto options = arguments.params<EstimateOptions>();
  const auto in = arguments.params<InputOptions>();
  if (!options.map.empty()) check_map(options, path);
  const Execution execution = context.background(arguments.params<ThreadOptions>().threads);
  const auto image = open_input(path, in, execution);
  std::vector<Message> warnings;
  const auto mask = open_mask(options.mask, *image, execution, warnings);
  const MaskIdentity of_mask = mask ? identify_mask(*mask, *image) : MaskIdentity{};
  if (mask && of_mask.empty.size() == mask->volume_count()) {
    warnings.push_back(Parameter{"mask", options.mask} + ": no voxel is inside, so the whole volume was measured");
  }
  std::optional<MapWriter> map;
  if (!options.map.empty()) {
    if (image->format() == io::Format::dicom)
      check_places(*image, path, in, io::Format::nifti, "leave out " + Parameter{"map"}, warnings);
    map.emplace(*image, mask.get(), of_mask.hash, path, options, execution);
  }
  context.console.warnings(image->warnings());
  for (const Message& warning : std::exchange(warnings, {})) context.console.warning(warning);
  NoiseOfVolumes noise(*image);
  LostSlices lost;
  Json volumes = Json::array();
  for (std::size_t volume = 0; volume < image->volume_count(); ++volume) {
    const auto open_whole = [&] {
      return std::make_unique<BlankSlices>(image->volume(volume, io::VoxelDomain::real_less_offset), execution);
    };
    auto slices = open_whole();
    const BlankSlices& seen = *slices;
    std::unique_ptr<VolumeSource> source = std::move(slices);
    if (mask) source = std::make_unique<MaskedSource>(std::move(source), mask_of_volume(*mask, *image, volume));
    const NoiseModel model =
        mask ? noise.measure_masked(volume, *source, execution, open_whole) : noise.measure(volume, *source, execution);
    const auto estimates = estimate_noise_by_every_method(*source, execution);
    lost.add(seen, *image, volume);
    if (map) map->write(volume, mask ? *open_whole() : *source, model);
    if (context.json) {
      volumes.push_back(as_json(model, estimates));
      continue;
    }
    if (image->volume_count() > 1) std::printf("volume %zu\n", volume + 1);
    print_text(model, estimates);
  }
  lost.warn(warnings, "not measured");
  for (const Message& warning : warnings) context.console.warning(warning);
  context.console.warnings(image->warnings_of_voxels());
  if (map) map->commit(execution, context.console);
  if (context.json) {
    print_json({{"input", path}, {"volumes", volumes}, {"warnings", context.console.said_warnings()}});
  }
}

}  // namespace

Command estimate_command() {
  return {"estimate",
          "Estimates the noise of an image: how strong, how correlated, where. Filters go by the row 'model'; in a "
          "time or diffusion series by one for all volumes, which info tells.",
          {{"INPUT", "A DICOM, NIfTI, NRRD or MetaImage file, or a folder with a DICOM series."}},
          {option_group<InputOptions>(), option_group<EstimateOptions>(), option_group<ThreadOptions>()},
          estimate_image};
}

}  // namespace quietvox::cli
