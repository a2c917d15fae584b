// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <iostream>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/metrics.hpp"
#include "cli/command.hpp"
#include "cli/comparison_picture.hpp"
#include "cli/json.hpp"
#include "cli/message_text.hpp"
#include "cli/thread_options.hpp"
#include "io/axis_map.hpp"
#include "io/geometry_mismatch.hpp"
#include "io/output/atomic_output.hpp"
#include "workflow/input_output.hpp"
#include "workflow/mask.hpp"
#include "workflow/masked_source.hpp"
#include "workflow/memory_budget.hpp"
#include "workflow/series_choice.hpp"

namespace quietvox::cli {
namespace {

struct CompareOptions {
  std::optional<double> data_range;
  std::string mask, picture;
  std::optional<Triple<int>> picture_from, picture_size;
  std::optional<double> window_center;
  std::optional<double> window_width;
  bool force = false;

  static constexpr std::string_view name = "compare", title = "Comparison";
  static consteval auto fields() {
    return std::tuple{
        field("data-range", &CompareOptions::data_range, {1e-30, 1e30}, "intensity",
              "Range of values that PSNR and SSIM refer to; auto: largest minus smallest value of A."),
        field("mask", &CompareOptions::mask, NoRange{}, "FILE",
              "Image of the same extent as A; where it is 0, voxels do not count, except in the picture."),
        field("picture", &CompareOptions::picture, NoRange{}, "FILE.png",
              "Also write a slice of A, of B and of B - A side by side, in windows of the same width."),
        field("picture-from", &CompareOptions::picture_from, {0, 1 << 24}, "voxel",
              "First voxel of the picture, counted from 0; auto: of the middle slice."),
        field("picture-size", &CompareOptions::picture_size, {1, 1 << 24}, "voxel",
              "Voxels of each part of the picture, which is one slice: XxYx1; auto: to the end of the slice."),
        field("window-center", &CompareOptions::window_center, {-1e30, 1e30}, "intensity",
              "Middle of the picture's grey values; auto: of the middle 98 % of those of A in the picture."),
        field("window-width", &CompareOptions::window_width, {1e-30, 1e30}, "intensity",
              "Width of the picture's grey values; auto: of the middle 98 % of those of A in the picture."),
        field("force", &CompareOptions::force, "Replace an existing picture."),
    };
  }
};

/// JSON knows no infinity: the PSNR of equal volumes is null.
Json to_json(const Comparison& result) {
  return {{"voxels", result.voxels},
          {"different", result.different},
          {"in_one_only", result.in_one_only},
          {"data_range", result.data_range},
          {"mse", result.mse},
          {"nrmse", result.nrmse},
          {"psnr", result.psnr},
          {"ssim", result.ssim},
          {"max_error", result.max_error},
          {"edge_preservation", result.edge_preservation},
          {"residual_whiteness", result.residual_whiteness}};
}

void print_text(const Comparison& result) {
  const auto line = [](const char* name, double value, const char* unit) {
    if (std::isnan(value)) return void(std::printf("%-20s none\n", name));
    std::printf("%-20s %.6g%s\n", name, value, unit);
  };
  const auto count = [](const char* name, std::int64_t voxels) {
    std::printf("%-20s %lld\n", name, static_cast<long long>(voxels));
  };
  count("voxels", result.voxels);
  count("different", result.different);
  if (result.in_one_only > 0) count("in one only", result.in_one_only);
  line("data range", result.data_range, "");
  line("MSE", result.mse, "");
  line("NRMSE", result.nrmse, " of the root mean square of A");
  line("PSNR", result.psnr, " dB");
  line("SSIM", result.ssim, "");
  line("largest difference", result.max_error, "");
  line("edge preservation", result.edge_preservation, "");
  line("residual whiteness", result.residual_whiteness, "");
}

/// The part of a slice that the picture shows.
struct PictureRegion {
  std::vector<float> voxels;
  Extent extent;
  VolumeView<const float> view() const { return {voxels.data(), extent}; }
};

/// Where the picture begins and how large it is. Throws Error(invalid_argument) where that is not within a slice.
std::pair<Index3, Extent> picture_place(const CompareOptions& options, const Extent& whole) {
  const Triple<int> from = options.picture_from.value_or(Triple<int>{0, 0, static_cast<int>(whole.z / 2)});
  Extent extent{{whole.x - from.x, whole.y - from.y, 1}};
  if (options.picture_size) extent = {{options.picture_size->x, options.picture_size->y, options.picture_size->z}};
  for (int axis = 0; axis < 3; ++axis) {
    if (extent[axis] >= 1 && from[axis] + extent[axis] <= whole[axis] && extent.z == 1) continue;
    using Text = FieldType<Triple<int>>;
    Message what = "compare: " + Parameter{"picture-from"} + " = " + Text::format(from);
    if (options.picture_size) what += ", " + Parameter{"picture-size"} + " = " + Text::format(*options.picture_size);
    throw Error(Errc::invalid_argument, what + " is not within one slice; A has " + describe_extent(whole) + " voxels");
  }
  return {{from.x, from.y, from.z}, extent};
}

PictureRegion cut_out(VolumeView<const float> volume, const Index3& from, const Extent& extent) {
  PictureRegion region{{}, extent};
  for (std::int64_t y = 0; y < extent.y; ++y) {
    const float* row = volume.row(from.y + y, from.z) + from.x;
    region.voxels.insert(region.voxels.end(), row, row + extent.x);
  }
  return region;
}

/// The window asked for, each half from the slice where it was not, of values that are less `offset`.
Window picture_window(const CompareOptions& options, double offset, VolumeView<const float> slice) {
  const Window usual = usual_window(slice);
  const double center = options.window_center ? *options.window_center - offset : (usual.low + usual.high) / 2;
  const double width = options.window_width.value_or(usual.high - usual.low);
  return {center - width / 2, center + width / 2};
}

/// The voxels of B as those of A lie: in another order, where its axes are others.
std::vector<float> read_along(VolumeSource& b, const Extent& extent, const io::AxisMap& map) {
  std::vector<float> voxels = read_whole(b, map == io::AxisMap{} ? 1 : 2);  // beside A
  if (map == io::AxisMap{}) return voxels;
  const io::ReorderedVoxels order(b.extent(), map);
  std::vector<float> reordered;
  reordered.reserve(voxels.size());
  for (std::int64_t z = 0; z < extent.z; ++z) {
    for (std::int64_t y = 0; y < extent.y; ++y) {
      const float* const row = voxels.data() + order.first + z * order.step.z + y * order.step.y;
      for (std::int64_t x = 0; x < extent.x; ++x) reordered.push_back(row[x * order.step.x]);
    }
  }
  return reordered;
}

/// How the voxels of B are put in the order of those of A, for each volume: by their places, where both say them. Where
/// the axes are the same and places are not, those of the same index are compared, and a warning tells.
std::vector<io::AxisMap> axis_maps(const io::Image& a, const io::Image& b, Console& console) {
  bool has_warned = false;
  const auto refuse = [](const std::string& what, const std::string& remedy) {
    throw Error(Errc::invalid_argument, "compare: " + what, remedy);
  };
  std::vector<io::AxisMap> maps;
  for (std::size_t volume = 0; volume < a.volume_count(); ++volume) {
    const bool has_it = volume < b.volume_count() && a.volume_count() == b.volume_count();
    const io::Geometry &place_a = a.geometry(volume), &place_b = b.geometry(has_it ? volume : 0);
    const io::AxisMap& map = maps.emplace_back(map_onto(place_b, place_a));
    const io::Geometry reordered = io::reordered(place_b, map);
    if (!has_it || reordered.extent != place_a.extent) {
      refuse("A is " + describe_extent(a) + ", B is " + describe_extent(b), "both must have the same extent");
    }
    if (!place_a.is_placed || !place_b.is_placed) continue;
    std::string what = io::geometry_mismatch(reordered, place_a);
    const io::SlicePositions slices_a = io::slice_positions(a, volume, place_a),
                             slices_b = io::slice_positions(b, volume, place_b, map);
    const bool is_near = io::farthest(reordered, slices_b, place_a, slices_a) <= io::same_voxel;
    if (what.empty() && !is_near) what = io::mismatched_slice(place_a, slices_b, slices_a);
    if (what.empty()) continue;
    if (map == io::AxisMap{}) {
      if (!std::exchange(has_warned, true)) {
        console.warning("compare: B lies elsewhere than A: " + what + "; voxels of the same index are compared");
      }
    } else if (!is_near) {
      refuse("the axes of B are not those of A, and its voxels lie elsewhere: along the axes of A, " + what,
             "bring both onto one grid");
    }
  }
  return maps;
}

void compare_images(const Arguments& arguments, Context& context) {
  const auto options = arguments.params<CompareOptions>();
  const auto in = arguments.params<InputOptions>();
  const std::string &path_a = arguments.operand(0), &path_b = arguments.operand(1);
  if (!options.picture.empty()) {
    if (!options.picture.ends_with(".png")) {
      throw Error(Errc::invalid_argument,
                  "compare: " + Parameter{"picture"} + " = '" + options.picture + "' is not a PNG file",
                  "give FILE.png");
    }
    refuse_overlaps({options.picture}, {{path_a}, {path_b}, {options.mask, "mask"}});
    io::AtomicOutput(options.picture, io::AtomicOutput::Kind::file, options.force, {});
  }
  const int threads = arguments.params<ThreadOptions>().threads;
  const Execution reading = context.background(threads);
  const auto [in_a, in_b] = options_of_both(path_a, path_b, in, reading);
  const auto a = open_input(path_a, in_a, reading), b = open_input(path_b, in_b, reading);
  context.console.warnings(a->warnings(), path_a);
  if (path_b != path_a) context.console.warnings(b->warnings(), path_b);
  const std::vector<io::AxisMap> maps = axis_maps(*a, *b, context.console);
  std::vector<Message> of_mask;
  const auto mask = open_mask(options.mask, *a, reading, of_mask);
  if (mask) {
    const auto empty = empty_mask_warning(*mask, empty_volumes(*mask, *a), options.mask, "compared");
    of_mask.insert(of_mask.end(), empty.begin(), empty.end());
  }
  for (const Message& warning : of_mask) context.console.warning(warning);
  if (!options.picture.empty()) (void)picture_place(options, a->geometry(0).extent);
  const Execution execution = execution_of({.threads = threads}, context.observer());
  std::vector<Comparison> results;
  PictureRegion region_a, region_b;
  for (std::size_t volume = 0; volume < a->volume_count(); ++volume) {
    const auto source_a = a->volume(volume, io::VoxelDomain::real_less_offset);
    const auto source_b = b->volume(volume, io::VoxelDomain::real_less_offset);
    std::vector<float> voxels_a = read_whole(*source_a);
    std::vector<float> voxels_b = read_along(*source_b, source_a->extent(), maps[volume]);
    if (const double apart = b->offset() - a->offset(); apart != 0) {
      for (float& voxel : voxels_b) voxel = static_cast<float>(voxel + apart);
    }
    const VolumeView<const float> view_a{voxels_a.data(), source_a->extent(), source_a->spacing()};
    const VolumeView<const float> view_b{voxels_b.data(), source_a->extent(), source_a->spacing()};
    if (volume == 0 && !options.picture.empty()) {
      const auto [from, extent] = picture_place(options, view_a.extent);
      region_a = cut_out(view_a, from, extent);
      region_b = cut_out(view_b, from, extent);
    }
    if (mask) {
      const std::vector<float> inside = read_whole(*mask_of_volume(*mask, *a, volume), 2);
      for (std::size_t i = 0; i < inside.size(); ++i) {
        if (!is_inside(inside[i])) voxels_a[i] = voxels_b[i] = std::numeric_limits<float>::quiet_NaN();
      }
    }
    const double index = static_cast<double>(volume), count = static_cast<double>(a->volume_count());
    results.push_back(
        compare(view_a, view_b, options.data_range, execution.part(index / count, (index + 1) / count), a->offset()));
  }
  context.console.end_progress();
  context.console.warnings(a->warnings_of_voxels(), path_a);
  if (path_b != path_a) context.console.warnings(b->warnings_of_voxels(), path_b);
  for (std::size_t volume = 0; volume < results.size(); ++volume) {
    const std::string where = results.size() > 1 ? "compare: volume " + std::to_string(volume + 1) + ": " : "compare: ";
    if (const std::int64_t count = results[volume].in_one_only; count > 0) {
      context.console.warning(where + std::to_string(count) +
                              " voxels are missing in one image, not in the other, and are left out");
    }
    if (results[volume].voxels == 0)
      context.console.warning(where + "no voxel is present in both images" + (mask ? " and inside the mask" : ""));
  }
  if (!options.picture.empty()) {
    write_picture(options.picture, region_a.view(), region_b.view(),
                  picture_window(options, a->offset(), region_a.view()), options.force,
                  io::access_of(*a, options.picture) & io::access_of(*b, options.picture), reading);
    context.console.note("wrote picture to " + options.picture);
  }
  if (context.json) {
    Json volumes = Json::array();
    for (const Comparison& result : results) volumes.push_back(to_json(result));
    print_json({{"a", path_a}, {"b", path_b}, {"volumes", volumes}, {"warnings", context.console.said_warnings()}});
    return;
  }
  for (std::size_t volume = 0; volume < results.size(); ++volume) {
    if (results.size() > 1) std::printf("volume %zu\n", volume + 1);
    print_text(results[volume]);
  }
}

}  // namespace

Command compare_command() {
  return {"compare",
          "How far B is from A: PSNR, SSIM, NRMSE, edge preservation, residual whiteness.",
          {{"A", "The reference."}, {"B", "An image of the same extent."}},
          {option_group<CompareOptions>(), option_group<InputOptions>(), option_group<ThreadOptions>()},
          compare_images};
}

}  // namespace quietvox::cli
