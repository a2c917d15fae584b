// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/thread_options.hpp"
#include "core/memory_volume.hpp"
#include "core/provenance.hpp"
#include "core/swapped_volume.hpp"
#include "filters/quadratic/coefficients.hpp"
#include "filters/quadratic/training.hpp"
#include "io/axis_map.hpp"
#include "io/files/byte_stream.hpp"
#include "io/geometry_mismatch.hpp"
#include "io/output/atomic_output.hpp"
#include "workflow/input_output.hpp"
#include "workflow/masked_source.hpp"
#include "workflow/memory_budget.hpp"
#include "workflow/series_choice.hpp"

namespace quietvox::cli {
namespace {

enum class WindowSize { three, five };
constexpr std::array<std::string_view, 2> choices(WindowSize) { return {"3x3", "5x5"}; }

struct TrainOptions {
  WindowSize size = WindowSize::three;
  double ridge = QuadraticTraining{}.ridge;
  bool keep_flat = true;
  bool force = false;

  static constexpr std::string_view name = "train-quadratic", title = "Training";
  static consteval auto fields() {
    return std::tuple{
        field("size", &TrainOptions::size, "Window of the filter."),
        field("ridge", &TrainOptions::ridge, {0, 1e6}, "",
              "Ridge penalty, relative to each term's sum of squares; larger values learn less noise."),
        field("keep-flat", &TrainOptions::keep_flat,
              "Constrain the coefficients so that flat areas stay as they are: sum h1 = 1, sum h2 = 0, h0 = 0."),
        field("force", &TrainOptions::force, "Replace an existing output."),
    };
  }
};

/// `unknown` where no voxels were held out.
void print_psnr(const char* name, double psnr) {
  std::isnan(psnr) ? std::printf("%-20s unknown\n", name) : std::printf("%-20s %.2f dB\n", name, psnr);
}

void print_text(const TrainedQuadratic& trained) {
  std::printf("%-20s %lld\n", "trained on", static_cast<long long>(trained.trained_on));
  std::printf("%-20s %lld\n", "held out", static_cast<long long>(trained.held_out));
  print_psnr("PSNR, noisy", trained.noisy_psnr);
  print_psnr("PSNR, linear", trained.linear_psnr);
  print_psnr("PSNR, quadratic", trained.quadratic_psnr);
}

/// The voxels of both are paired by their indices.
void check_places(const io::Geometry& noisy, const io::Geometry& clean, Context& context) {
  if (!noisy.is_placed || !clean.is_placed) return;
  const std::string what = io::geometry_mismatch(clean, noisy);
  if (what.empty()) return;
  if (io::map_onto(clean, noisy) != io::AxisMap{}) {
    throw Error(Errc::invalid_argument, "train-quadratic: the axes of CLEAN are not those of NOISY: " + what,
                "bring both onto one grid");
  }
  context.console.warning("train-quadratic: CLEAN and NOISY lie in different places: " + what +
                          "; voxels of the same index are paired");
}

void train(const Arguments& arguments, Context& context) {
  const auto options = arguments.params<TrainOptions>();
  const auto in = arguments.params<InputOptions>();
  const std::string &noisy_path = arguments.operand(0), &clean_path = arguments.operand(1);
  const std::string& output_path = arguments.operand(2);
  refuse_overlaps({output_path}, {{noisy_path, "noisy image"}, {clean_path, "clean image"}});
  const auto examine = [&](const std::filesystem::path& found, const Execution&) {
    if (std::filesystem::is_regular_file(found) && !is_trained_file(found)) {
      throw Error(Errc::exists, output_path + ": was not made by train-quadratic and is therefore not replaced",
                  "give another output");
    }
    return std::vector{found};
  };
  const io::AtomicOutput refused_or_free(output_path, io::AtomicOutput::Kind::file, options.force, noisy_path, {},
                                         examine);
  const int threads = arguments.params<ThreadOptions>().threads;
  const Execution reading = context.background(threads);
  const auto [of_noisy, of_clean] = options_of_both(noisy_path, clean_path, in, reading);
  const auto noisy = open_input(noisy_path, of_noisy, reading), clean = open_input(clean_path, of_clean, reading);
  context.console.warnings(noisy->warnings(), noisy_path);
  context.console.warnings(clean->warnings(), clean_path);
  if (noisy->geometry(0).extent != clean->geometry(0).extent) {
    throw Error(Errc::invalid_argument,
                "train-quadratic: NOISY is " + describe_extent(*noisy) + ", CLEAN is " + describe_extent(*clean),
                "both must have the same extent");
  }
  check_places(noisy->geometry(0), clean->geometry(0), context);
  const auto noisy_source = noisy->volume(0, io::VoxelDomain::real),
             clean_source = clean->volume(0, io::VoxelDomain::real);
  // As where the coefficients are used.
  const AxisSwap swap({.extent = noisy_source->extent(), .spacing = noisy_source->spacing()});
  const auto read = [&](VolumeSource& source, std::uint64_t others) {
    if (!swap) return read_whole(source, others);
    SwappedVolume swapped(source, swap, reading);
    return read_whole(swapped, others + 1);
  };
  const std::vector<float> noisy_voxels = read(*noisy_source, 0), clean_voxels = read(*clean_source, 1);
  context.console.warnings(noisy->warnings_of_voxels(), noisy_path);
  context.console.warnings(clean->warnings_of_voxels(), clean_path);
  MemoryVolume in_memory({noisy_voxels.data(), swap(noisy_source->extent()), swap(noisy_source->spacing())});
  const Range<double> range = intensities(in_memory);
  const Execution execution = execution_of({.threads = threads}, context.observer());
  TrainedQuadratic trained = with_error_context("train-quadratic", [&] {
    return train_quadratic({noisy_voxels.data(), swap(noisy_source->extent()), swap(noisy_source->spacing())},
                           {clean_voxels.data(), swap(clean_source->extent()), swap(clean_source->spacing())}, range,
                           {options.size == WindowSize::three ? 3 : 5, options.ridge, options.keep_flat}, execution);
  });
  context.console.end_progress();
  io::expect_unchanged(noisy->files());
  io::expect_unchanged(clean->files());
  const std::filesystem::path name(output_path);
  trained.coefficients.name = name.stem().string();
  trained.coefficients.provenance =
      "quietvox " + version() + " train-quadratic: noisy " + std::filesystem::path(noisy_path).filename().string() +
      ", clean " + std::filesystem::path(clean_path).filename().string() + ", ridge " +
      FieldType<double>::format(options.ridge) + ", keep-flat " + FieldType<bool>::format(options.keep_flat);
  io::AtomicOutput output(output_path, io::AtomicOutput::Kind::file, options.force, noisy_path,
                          io::access_of(*noisy, output_path) & io::access_of(*clean, output_path), examine);
  output.begin();
  const std::string text = to_json(trained.coefficients);
  io::ByteWriter file(output.staging(), false, output_path, reading);
  file.write(std::as_bytes(std::span(text)));
  file.close_and_verify();
  output.commit(reading);
  context.console.note("wrote coefficients to " + output_path);
  if (context.json) {
    print_json(
        {{"output", output_path},
         {"trained_on", trained.trained_on},
         {"held_out", trained.held_out},
         {"psnr_by_filter",
          {{"noisy", trained.noisy_psnr}, {"linear", trained.linear_psnr}, {"quadratic", trained.quadratic_psnr}}},
         {"warnings", context.console.said_warnings()}});
  } else {
    print_text(trained);
  }
}

}  // namespace

Command train_quadratic_command() {
  return {"train-quadratic",
          "Fits the coefficients of a quadratic filter to a noisy image and what it should be.",
          {{"NOISY", "An image with noise; of several volumes the first is used."},
           {"CLEAN", "The same image without noise; of several volumes the first is used."},
           {"OUTPUT", "The JSON file for quadratic --coefficients."}},
          {option_group<TrainOptions>(), option_group<InputOptions>(), option_group<ThreadOptions>()},
          train};
}

}  // namespace quietvox::cli
