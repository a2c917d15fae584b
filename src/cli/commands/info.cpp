// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <optional>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/spelling.hpp"
#include "core/axis_swap.hpp"
#include "core/series_noise.hpp"
#include "filters/registry.hpp"
#include "io/output/noise_json.hpp"
#include "workflow/blank_slices.hpp"
#include "workflow/noise_of_volume.hpp"
#include "workflow/scan_files.hpp"
#include "workflow/series_choice.hpp"

namespace quietvox::cli {
namespace {

std::string rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

/// A number, or one per axis, with few digits; other values as they are.
std::string rounded(const FieldInfo& field, const std::string& value) {
  if (field.kind == FieldKind::real) {
    if (const auto number = FieldType<double>::parse(value)) return rounded(*number);
  }
  if (field.kind == FieldKind::real_triple) {
    if (const auto three = FieldType<Triple<double>>::parse(value)) {
      return rounded(three->x) + "x" + rounded(three->y) + "x" + rounded(three->z);
    }
  }
  return value;
}

/// The noise by which filters work: of a time series, or of the first volume.
struct FoundNoise {
  std::string of_what = "noise";
  std::optional<NoiseModel> model{};
};

/// No model, with a warning that says why, where voxels are none that can be filtered: the header tells something all
/// the same.
FoundNoise noise_of(const io::Image& image, const Execution& execution, std::vector<std::string>& warnings) {
  NoiseOfVolumes noise(image);
  const auto measure = [&](std::size_t volume) {
    BlankSlices source(image.volume(volume, io::VoxelDomain::real_less_offset));
    return noise.measure(volume, source, execution);
  };
  const std::size_t volumes = image.volume_count();
  try {
    if (image.is_time_series()) {
      const auto of_volume = [&](std::size_t volume) -> std::optional<std::vector<NoiseModel>> {
        try {
          return std::vector{measure(volume)};
        } catch (const Error& error) {
          if (error.code() != Errc::unsupported) throw;
          return std::nullopt;
        }
      };
      if (const auto series = SeriesNoise::measure(volumes, of_volume)) return {"noise (series)", series->first()};
    }
    return {volumes > 1 ? "noise (volume 1)" : "noise", measure(0)};
  } catch (const Error& error) {
    if (error.code() != Errc::unsupported) throw;
    warnings.push_back(as_text(error.message()));
    return {};
  }
}

/// Whether windows may extend along z.
std::string windows_across_slices(const io::Image& image) {
  if (image.geometry(0).extent.z == 1) return "no: there is one slice";
  if (const std::string why = image.why_2d_only(0); !why.empty()) return "no: " + why;
  const VolumeFacts facts = header_facts(*image.volume(0, io::VoxelDomain::stored));
  const int across = AxisSwap(facts).axis();
  if (!facts.is_thick(across)) return "yes";
  return "yes, where asked for: slices lie " + rounded(facts.spacing[across]) + " mm apart, voxels within them " +
         rounded(facts.in_plane_spacing()) + " mm";
}

/// What became of the parameters of a filter that are `auto` by default, but for those that only a run finds out.
std::vector<std::pair<const FieldInfo*, std::string>> resolved_defaults(const FilterConfig& resolved) {
  std::vector<std::pair<const FieldInfo*, std::string>> values;
  for (const FieldInfo& field : resolved.filter().fields) {
    const std::string value = resolved.get(field.name);
    if (field.default_text == "auto" && value != "auto") values.emplace_back(&field, value);
  }
  return values;
}

/// Filters with their defaults for the first volume, by this noise.
std::vector<FilterConfig> defaults_for(const io::Image& image, const std::optional<NoiseModel>& noise) {
  VolumeFacts facts = header_facts(*image.volume(0, io::VoxelDomain::stored));
  if (noise) facts.noise = [&] { return *noise; };
  std::vector<FilterConfig> defaults;
  for (const Filter& filter : filters()) {
    try {
      defaults.push_back(resolve_by_facts(std::vector{FilterConfig(filter)}, facts).front());
    } catch (const Error&) {  // not for this image, as a run would say
    }
  }
  return defaults;
}

/// What the reader says, and what holds for every format where it does not say it itself.
io::Facts complete_facts(const io::Image& image) {
  io::Facts facts = image.facts();
  const auto add = [&facts](const std::string& name, const std::string& value) {
    if (std::none_of(facts.begin(), facts.end(), [&](const auto& fact) { return fact.first == name; })) {
      facts.emplace_back(name, value);
    }
  };
  const HeaderFacts header = image.volume(0, io::VoxelDomain::stored)->header();
  if (header.kind) add("kind", FieldType<DataKind>::format(*header.kind) + ": " + header.kind_source);
  add("windows across slices", windows_across_slices(image));
  add("written as", io::to_string(image.format()) + " like the input");
  return facts;
}

/// `CT 201, localizer, 14 images in 14 files, 512 x 512 pixels, Head; export/IM1`
std::string described(const io::SeriesSummary& series) {
  std::string text = series.modality;
  if (!series.number.empty()) text += (text.empty() ? "" : " ") + series.number;
  if (!text.empty()) text += ", ";
  if (series.kind != io::SeriesKind::images) text += FieldType<io::SeriesKind>::format(series.kind) + ", ";
  text += std::to_string(series.images) + (series.images == 1 ? " image" : " images");
  if (series.files != series.images)
    text += " in " + std::to_string(series.files) + (series.files == 1 ? " file" : " files");
  if (series.columns > 0 && series.rows > 0)
    text += ", " + std::to_string(series.columns) + " x " + std::to_string(series.rows) + " pixels";
  if (!series.description.empty()) text += ", " + series.description;
  if (series.place != ".") text += "; " + series.place.string();
  return series.problem.empty() ? text : text + "; cannot be filtered: " + series.problem;
}

void print_series(const std::string& path, const io::DicomFolder& folder, Context& context) {
  std::vector<std::string> warnings = folder.warnings();
  for (const Error& unassigned : folder.unassigned())
    warnings.push_back(as_text(unassigned.message()) + "; only --all-series goes on without it");
  const auto list = folder.series();
  if (context.json) {
    Json series = Json::array();
    for (const io::SeriesSummary& each : list) {
      series.push_back({{"series_uid", each.uid},
                        {"modality", each.modality},
                        {"number", each.number},
                        {"kind", FieldType<io::SeriesKind>::format(each.kind)},
                        {"description", each.description},
                        {"place", each.place.string()},
                        {"files", each.files},
                        {"images", each.images},
                        {"columns", each.columns},
                        {"rows", each.rows},
                        {"problem", each.problem}});
    }
    print_json({{"input", path}, {"format", "DICOM"}, {"series", series}, {"warnings", warnings}});
    return;
  }
  std::cout << list.size() << " series; choose one by --series UID, or filter all by --all-series\n";
  for (const io::SeriesSummary& each : list) std::cout << one_line(each.uid + "  " + described(each)) << "\n";
  for (const std::string& warning : warnings) context.console.warning(warning);
}

void print_info(const Arguments& arguments, Context& context) {
  const std::string& path = arguments.operand(0);
  const auto options = arguments.params<InputOptions>();
  check_input(path);
  std::unique_ptr<io::Image> image;
  std::vector<std::string> warnings;
  if (options.series.empty() && !chooses_by_header(options) && std::filesystem::is_directory(path)) {
    const io::DicomFolder folder(path, context.background());
    const std::size_t count = folder.series().size();
    if (count > 1) return print_series(path, folder, context);
    if (count == 1 && folder.unassigned().empty()) {
      image = folder.open({.allow_gaps = options.allow_gaps,
                           .series_uid = {},
                           .kind = options.force_kind,
                           .execution = context.background()});
      warnings = folder.warnings();
    }
  }
  if (!image) image = open_input(path, options, context.background());
  for (const std::string& warning : image->warnings()) warnings.push_back(warning);
  const auto& [of_what, noise] = noise_of(*image, context.background(), warnings);
  for (const std::string& warning : image->warnings_of_voxels()) warnings.push_back(warning);
  const std::vector<FilterConfig> defaults = defaults_for(*image, noise);

  if (context.json) {
    Json facts = Json::object();
    for (const auto& [name, value] : complete_facts(*image)) facts[json_key(name)] = value;
    const io::Geometry& geometry = image->geometry(0);
    print_json({{"input", path},
                {"format", io::to_string(image->format())},
                {"volume_count", image->volume_count()},
                {"extent", {geometry.extent.x, geometry.extent.y, geometry.extent.z}},
                {"spacing", {geometry.spacing.x, geometry.spacing.y, geometry.spacing.z}},
                {"origin", geometry.origin},
                {"direction", geometry.direction},
                {"noise_sigma", noise ? Json(noise->sigma) : Json()},
                {"noise", noise ? to_json(*noise) : Json()},
                {"defaults", to_json(defaults)},
                {"warnings", warnings},
                {"facts", facts}});
    return;
  }
  io::Facts facts = complete_facts(*image);
  facts.emplace_back(of_what, noise ? noise->describe() : "unknown");
  for (const FilterConfig& filter : defaults) {
    std::string text;
    for (const auto& [field, value] : resolved_defaults(filter)) {
      text += (text.empty() ? "" : ", ") + field->name + " " + rounded(*field, value);
    }
    if (!text.empty()) facts.emplace_back(filter.filter().name + " by default", text);
  }
  std::size_t width = 0;
  for (const auto& [name, value] : facts) width = std::max(width, name.size());
  for (const auto& [name, value] : facts) {
    std::cout << name << std::string(width - name.size() + 2, ' ') << one_line(value) << "\n";
  }
  for (const std::string& warning : warnings) context.console.warning(warning);
}

}  // namespace

Command info_command() {
  return {"info",
          "What an input is: geometry, voxel type, noise, what would be written.",
          {{"INPUT", "A DICOM, NIfTI, NRRD or MetaImage file, or a folder with a DICOM series."}},
          {option_group<InputOptions>()},
          print_info};
}

}  // namespace quietvox::cli
