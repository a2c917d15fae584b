// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iterator>

#include "cli/command.hpp"
#include "cli/commands/negative_voxel_warning.hpp"
#include "cli/filter_job/filter_job.hpp"
#include "cli/json.hpp"
#include "cli/options_as_filter.hpp"
#include "cli/thread_options.hpp"
#include "io/image_type.hpp"
#include "phantom/philox.hpp"
#include "phantom/scanner_noise.hpp"
#include "workflow/input_output.hpp"
#include "workflow/result_writer.hpp"
#include "workflow/rounding_check.hpp"

namespace quietvox::cli {
namespace {

const Filter& noise_filter() {
  static const Filter filter = options_as_filter<NoiseParams>("Seeded noise of a chosen kind, for experiments.");
  return filter;
}

/// Volumes have noise of their own, and share none with those of another seed.
NoiseParams params_of_volume(NoiseParams params, std::size_t volume) {
  if (volume == 0) return params;
  const auto number = static_cast<std::uint32_t>(volume), seed = static_cast<std::uint32_t>(params.seed);
  params.seed = static_cast<int>(philox({number, 0, 0, 0}, {seed, 0})[0] >> 1);
  return params;
}

bool is_lost_in_steps(const NoiseParams& params, double step) {
  constexpr NoiseKind of_other_units[] = {NoiseKind::poisson, NoiseKind::speckle, NoiseKind::salt_and_pepper,
                                          NoiseKind::quantisation};
  return params.amount > 0 && params.amount < 0.25 * std::abs(step) &&
         std::ranges::find(of_other_units, params.kind) == std::end(of_other_units);
}

void add_noise_to_image(const Arguments& arguments, Context& context) {
  const std::string &input = arguments.operand(0), &output = arguments.operand(1);
  const auto params = arguments.params<NoiseParams>();
  check_noise(params);
  const auto in = arguments.params<InputOptions>();
  const auto out = arguments.params<OutputOptions>();
  check_input(input);
  const io::Format wanted = output_format(out.output_format, output, std::nullopt);
  refuse_overlaps(files_of_output(output, wanted, out.compress), {{input}});
  check_output(output, wanted, out.force, input);
  const Execution execution = context.background(arguments.params<ThreadOptions>().threads);
  const auto image = open_input(input, in, execution);
  const io::Format format = output_format(out.output_format, output, image->format());
  check_format(out, format);
  std::vector<Message> warnings;
  if (format != io::Format::dicom) check_places(*image, input, in, format, "write DICOM", warnings);
  context.console.warnings(image->warnings());
  for (const Message& warning : warnings) context.console.warning(warning);
  const Provenance provenance{recorded(noise_filter(), params), recorded(noise_filter(), params), "cpu"};
  const std::string what = describe_chain(provenance.resolved) + "; " + describe_extent(*image);
  Json document{{"input", input},
                {"output", output},
                {"format", io::to_string(format)},
                {"dry_run", out.dry_run},
                {"added_noise", to_json(provenance.resolved[0])},
                {"files", Json::array()}};
  const auto print = [&] {
    document["warnings"] = context.console.said_warnings();
    print_json(document);
  };
  const auto writer = make_writer(*image, format, output, io::VoxelDomain::real, write_options(out, input, execution));
  if (out.dry_run) {
    for (std::size_t volume = 0; volume < image->volume_count(); ++volume) {
      if (out.output_type == OutputType::same || !writer->integers(volume)) continue;
      for_each_slab(*image->volume(volume, io::VoxelDomain::real_with_padding),
                    [&](VolumeView<const float> slab) { check_finite(slab, out.output_type, output); });
    }
    context.console.note(what + "; would write " + io::to_string(format) + " to " + output + "; nothing written");
    if (context.json) print();
    return;
  }
  io::WriteReport report;
  NegativeVoxelWarning negative_voxels(params.kind);
  bool is_lost = false;
  const std::vector<io::FileStamp> inputs = image->files();
  io::with_change_check(inputs, [&] {
    for (std::size_t volume = 0; volume < image->volume_count(); ++volume) {
      const auto source = image->volume(volume, io::VoxelDomain::real);
      const NoiseParams of_volume = params_of_volume(params, volume);
      NoiseAdder noise(*source, of_volume, execution);
      const auto integers = writer->integers(volume);
      is_lost = is_lost || (integers && is_lost_in_steps(params, integers->slope));
      const HeaderFacts header = source->header();
      writer->begin_volume(volume, {.requested = provenance.requested,
                                    .resolved = recorded(noise_filter(), of_volume),
                                    .backend = "cpu",
                                    .kind = header.kind,
                                    .modality = io::modality_of(header)});
      ResultWriter noisy(
          *writer, nullptr,
          format == image->format() ? nullptr : image->volume(volume, io::VoxelDomain::real_with_padding), nullptr);
      for_each_slab(*source, [&](VolumeView<float> slab) {
        negative_voxels.look_at(slab);
        noise.add(slab);
        noisy.write(slab);
        const double done =
            static_cast<double>(slab.origin.z + slab.extent.z) / static_cast<double>(source->extent().z);
        context.console.progress((static_cast<double>(volume) + done) / static_cast<double>(image->volume_count()));
      });
    }
    report = commit_both(*writer, nullptr, inputs, execution);
  });
  context.console.end_progress();
  if (is_lost) {
    context.console.warning(
        "noise of less than a quarter of a step of the stored values is mostly lost when they are rounded"
        "; to keep it, " +
        float_remedy(format));
  }
  context.console.warnings(image->warnings_of_voxels());
  context.console.warnings(report.warnings);
  negative_voxels.warn(context.console);
  if (report.clamped > 0) context.console.warning(describe_clamped(report.clamped));
  context.console.note(what + "; wrote " + io::to_string(format) + " to " + describe_files(output, report.files));
  if (!context.json) return;
  for (const auto& file : report.files) document["files"].push_back(file.string());
  document["clamped_voxels"] = report.clamped;
  print();
}

}  // namespace

Command add_noise_command() {
  return {"add-noise",
          noise_filter().summary,
          filter_operands(),
          {{"Noise", noise_filter().fields},
           option_group<InputOptions>(),
           option_group<OutputOptions>(),
           option_group<ThreadOptions>()},
          add_noise_to_image};
}

}  // namespace quietvox::cli
