// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "phantom/phantom.hpp"

#include <optional>

#include "cli/command.hpp"
#include "cli/commands/negative_voxel_warning.hpp"
#include "cli/filter_job/filter_job.hpp"
#include "cli/json.hpp"
#include "cli/options_as_filter.hpp"
#include "core/input_limits.hpp"
#include "core/memory_volume.hpp"
#include "phantom/scanner_noise.hpp"
#include "workflow/input_output.hpp"
#include "workflow/result_writer.hpp"

namespace quietvox::cli {
namespace {

struct PhantomOptions {
  PhantomKind kind = PhantomKind::ct;
  std::optional<Triple<int>> size;
  std::string noise = "none";
  int seed = 1;

  static constexpr std::string_view name = "phantom", title = "Phantom";
  static consteval auto fields() {
    return std::tuple{
        field("kind", &PhantomOptions::kind, "What the made-up scan looks like."),
        field("size", &PhantomOptions::size, {1, 8192}, "voxel",
              "Voxels per axis; auto: 256x256x40 (ct), 192x192x96 (mr), 1024x1280x1 (mammogram)."),
        field("noise", &PhantomOptions::noise, NoRange{}, "KIND:AMOUNT",
              "Noise to add, such as gaussian:20 or rician:15; kinds and amounts as in 'quietvox add-noise --help'."),
        field("seed", &PhantomOptions::seed, {0, 2147483647}, "", "Same seed, same noise."),
    };
  }
};

struct PhantomOutput {
  std::optional<bool> compress;
  bool force = false;

  static constexpr std::string_view name = "", title = "Output";
  static consteval auto fields() {
    return std::tuple{field("compress", &PhantomOutput::compress, "Compress the output; auto: by its ending."),
                      field("force", &PhantomOutput::force, "Replace an existing output.")};
  }
};

Extent phantom_extent(const PhantomOptions& options) {
  if (!options.size) return usual_extent(options.kind);
  if (options.kind == PhantomKind::mammogram && options.size->z != 1) {
    throw Error(Errc::invalid_argument,
                "phantom: " + Parameter{"size"} + " = " + FieldType<Triple<int>>::format(*options.size) +
                    " is not allowed, as a mammogram has one slice",
                "give XxYx1");
  }
  return {{options.size->x, options.size->y, options.size->z}};
}

/// `gaussian:20`; none for `none`.
std::optional<NoiseParams> noise_params(const PhantomOptions& options) {
  if (options.noise == "none") return std::nullopt;
  NoiseParams params;
  const std::size_t colon = options.noise.find(':');
  const auto refuse = [&](const Message& remedy) {
    throw Error(Errc::invalid_argument, "phantom: " + Parameter{"noise"} + " = '" + options.noise + "' is not allowed",
                remedy);
  };
  if (colon == std::string::npos) refuse("give none or KIND:AMOUNT, as in gaussian:20");
  try {
    set_field(params, "kind", options.noise.substr(0, colon));
    set_field(params, "amount", options.noise.substr(colon + 1));
    params.seed = options.seed;
    check_noise(params);
  } catch (const Error& error) {
    refuse(error.remedy());
  }
  return params;
}

std::string modality(PhantomKind kind) {
  switch (kind) {
    case PhantomKind::ct: return "CT";
    case PhantomKind::mr: return "MR";
    case PhantomKind::mammogram: return "MG";
  }
  return "";
}

void make(const Arguments& arguments, Context& context) {
  const std::string& output = arguments.operand(0);
  const auto options = arguments.params<PhantomOptions>();
  const auto noise = noise_params(options);
  const Extent extent = phantom_extent(options);
  const auto out = arguments.params<PhantomOutput>();
  const io::Format format = output_format(OutputFormat::automatic, output, std::nullopt);
  check_output(output, format, out.force, {});

  const std::uint64_t copies = noise ? 2 : 1;
  check_memory("the phantom", copies * static_cast<std::uint64_t>(extent.voxels()) * sizeof(float),
               context.background());
  Phantom phantom = make_phantom(options.kind, extent);
  const VolumeView<float> view = phantom.view();
  if (noise) {
    const std::vector<float> clean = phantom.voxels;
    MemoryVolume source({clean.data(), extent, phantom.spacing});
    NegativeVoxelWarning negative_voxels(noise->kind);
    negative_voxels.look_at(view);
    negative_voxels.warn(context.console);
    NoiseAdder(source, *noise, context.background()).add(view);
  }
  io::WriteOptions write;
  write.force = out.force;
  write.compress = out.compress;
  write.execution = context.background();
  const io::Geometry geometry{.extent = extent, .spacing = phantom.spacing};
  const auto writer = create_image(format, output, geometry, 1, modality(options.kind), write);
  static const Filter filter = options_as_filter<PhantomOptions>("A made-up scan.");
  writer->begin_volume(0, {recorded(filter, options), recorded(filter, options), "cpu"});
  for (std::int64_t z = 0; z < extent.z; ++z) {
    writer->write(view.slices(z, 1));
    context.console.progress(static_cast<double>(z + 1) / static_cast<double>(extent.z));
  }
  const io::WriteReport report = commit_both(*writer, nullptr, {}, write.execution);
  context.console.end_progress();
  context.console.warnings(report.warnings);
  if (report.clamped > 0) context.console.warning(output + ": " + describe_clamped(report.clamped));
  context.console.note(describe_chain(recorded(filter, options)) + "; wrote " + io::to_string(format) + " to " +
                       describe_files(output, report.files));
  if (!context.json) return;
  Json files = Json::array();
  for (const auto& file : report.files) files.push_back(file.string());
  print_json({{"output", output},
              {"format", io::to_string(format)},
              {"extent", {extent.x, extent.y, extent.z}},
              {"phantom", to_json(recorded(filter, options)[0])},
              {"files", files},
              {"warnings", context.console.said_warnings()}});
}

}  // namespace

Command phantom_command() {
  return {"phantom",
          "Makes a CT-, MR- or mammogram-like phantom with chosen noise.",
          {{"OUTPUT", "A new folder for a DICOM series, or a NIfTI, NRRD or MetaImage file."}},
          {option_group<PhantomOptions>(), option_group<PhantomOutput>()},
          make};
}

}  // namespace quietvox::cli
