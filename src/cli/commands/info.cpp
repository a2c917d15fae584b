// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/message_text.hpp"
#include "cli/thread_options.hpp"
#include "core/axis_swap.hpp"
#include "core/series_noise.hpp"
#include "filters/registry.hpp"
#include "io/dicom_folder.hpp"
#include "io/display_format.hpp"
#include "io/geometry_mismatch.hpp"
#include "io/provenance/noise_json.hpp"
#include "workflow/blank_slices.hpp"
#include "workflow/default_filters.hpp"
#include "workflow/input_output.hpp"
#include "workflow/noise_of_volume.hpp"
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

/// The noise by which filters work: of a series with one noise, or of the first volume.
struct FoundNoise {
  std::string of_what = "noise";
  std::optional<NoiseModel> model{};
};

/// No model, and a warning that says why, if the voxels are of a kind that cannot be filtered: the rest is shown all
/// the same.
FoundNoise noise_of(const io::Image& image, const Execution& execution, std::vector<std::string>& warnings) {
  NoiseOfVolumes noise(image);
  const auto measure = [&](std::size_t volume) {
    BlankSlices source(image.volume(volume, io::VoxelDomain::real_less_offset), execution);
    return noise.measure(volume, source, execution);
  };
  const std::size_t volumes = image.volume_count();
  try {
    if (image.may_have_one_noise()) {
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

/// Volumes of which some lie elsewhere than the first, or hold another kind of numbers: what is told is the first
/// one's.
bool differ(const io::Image& image, const std::optional<DataKind>& kind_of_first) {
  constexpr std::size_t most = 8;  // to be asked for their kind, which may take a look at their voxels
  const io::Geometry& first = image.geometry(0);
  const auto kind = [&](std::size_t volume) { return image.volume(volume, io::VoxelDomain::stored)->header().kind; };
  for (std::size_t volume = 1; volume < image.volume_count(); ++volume) {
    const io::Geometry& other = image.geometry(volume);
    if (other.extent != first.extent || !io::geometry_mismatch(other, first).empty()) return true;
    if (image.volume_count() <= most && kind(volume) != kind_of_first) return true;
  }
  return false;
}

/// Whether windows extend along z.
struct AcrossSlices {
  std::string use;     ///< yes, no, or where asked for
  std::string reason;  ///< empty where they do
};

AcrossSlices windows_across_slices(const io::Image& image, const VolumeFacts& facts) {
  if (image.geometry(0).extent.z == 1) return {"no", "there is one slice"};
  if (std::string why = image.why_2d_only(0); !why.empty()) return {"no", std::move(why)};
  const int across = AxisSwap(facts).axis();
  if (!facts.is_thick(across)) return {"yes", ""};
  return {"where asked for", "slices lie " + rounded(facts.spacing[across]) + " mm apart, voxels within them " +
                                 rounded(facts.in_plane_spacing()) + " mm"};
}

/// The resolved values of parameters that are `auto` by default, without those that only a run finds out.
std::vector<std::pair<const FieldInfo*, std::string>> resolved_defaults(const FilterConfig& resolved) {
  std::vector<std::pair<const FieldInfo*, std::string>> values;
  for (const FieldInfo& field : resolved.filter().fields) {
    const std::string value = resolved.get(field.name);
    if (field.default_text == "auto" && value != "auto") values.emplace_back(&field, value);
  }
  return values;
}

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string from_to(std::pair<int, int> range) {
  const auto [first, last] = range;
  return first == last ? std::to_string(first) : std::to_string(first) + " to " + std::to_string(last);
}

/// The plane that slices are closest to; they lie along `across`.
std::string plane(const io::Geometry& geometry, int across) {
  const auto column = static_cast<std::size_t>(across);
  const double x = std::abs(geometry.direction[column]), y = std::abs(geometry.direction[3 + column]),
               z = std::abs(geometry.direction[6 + column]);
  return z >= x && z >= y ? "axial" : y >= x ? "coronal" : "sagittal";
}

std::string described(const std::optional<io::Rescale>& rescale, const std::optional<io::DicomInfo>& dicom) {
  if (dicom && dicom->lut) return "Modality LUT, to " + from_to(*dicom->lut);
  if (!rescale) return "not the same in all slices";
  if (rescale->identity()) return "none";
  const std::string scaled = rescale->slope == 1 ? "stored" : io::format_number(rescale->slope) + " * stored";
  const std::string sign = rescale->inter < 0 ? " - " : " + ";
  return rescale->inter == 0 ? scaled : scaled + sign + io::format_number(std::abs(rescale->inter));
}

using Lines = std::vector<std::pair<std::string, std::string>>;

/// What headers say, in the order in which it is to be read.
Lines lines_of(const io::Image& image, const VolumeFacts& facts) {
  const io::ImageInfo info = image.info();
  const io::Geometry& place = image.geometry(0);
  Lines lines;
  const auto add = [&lines](const std::string& name, const std::string& value) {
    if (!value.empty()) lines.emplace_back(name, value);
  };
  std::string format = io::to_string(image.format());
  if (info.version) format += "-" + std::to_string(*info.version);
  if (info.dicom || info.files > 1) format += ", " + counted(info.files, "file");
  if (!info.dicom && info.encoding != "raw") format += ", " + info.encoding;
  add("format", format);
  if (info.dicom) {
    add("modality", info.dicom->modality);
    add("series description", info.dicom->series_description);
    add("series", info.dicom->series_uid);
    add("presentation intent", info.dicom->presentation_intent);
  }
  add("volumes", std::to_string(image.volume_count()));
  add("extent", io::format_extent(place.extent) + " voxels");
  add("spacing", io::format_spacing(place.spacing));
  if (place.is_placed) {
    add("orientation", plane(place, AxisSwap(facts).axis()));
    add("origin", io::format_point(place.origin));
  }
  std::string type(to_string(info.type));
  if (info.dicom) {
    const io::DicomInfo& dicom = *info.dicom;
    if (dicom.frames > 1) add("frames", std::to_string(dicom.frames) + " in one file");
    if (dicom.mosaic) {
      add("mosaic", std::to_string(dicom.mosaic->first) + " x " + std::to_string(dicom.mosaic->second) +
                        " pixels hold the slices side by side");
    }
    type += ", " + std::to_string(dicom.bits_stored) + " of " + std::to_string(dicom.bits_allocated) + " bits, " +
            dicom.photometric;
  }
  add("stored type", type);
  add("rescale", described(info.rescale, info.dicom));
  if (info.dicom) {
    if (info.dicom->padding) add("padding", from_to(*info.dicom->padding));
    add("transfer syntax", info.encoding);
  }
  const HeaderFacts& header = facts.header;
  if (header.kind) add("kind", FieldType<DataKind>::format(*header.kind) + ": " + header.kind_source);
  const auto [use, reason] = windows_across_slices(image, facts);
  add("windows across slices", reason.empty() ? use : use + ": " + reason);
  add("written as", info.dicom ? counted(info.files, "file") + ", DICOM, " + info.dicom->output_syntax
                               : io::to_string(image.format()) + " like the input");
  return lines;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json pair_json(const std::string& first, const std::string& second, const auto& pair) {
  return pair ? Json{{first, pair->first}, {second, pair->second}} : Json();
}

Json to_json(const io::DicomInfo& dicom) {
  return {{"modality", dicom.modality},
          {"series_description", dicom.series_description},
          {"series_uid", dicom.series_uid},
          {"presentation_intent", text_or_null(dicom.presentation_intent)},
          {"frames", dicom.frames},
          {"mosaic", pair_json("columns", "rows", dicom.mosaic)},
          {"bits_allocated", dicom.bits_allocated},
          {"bits_stored", dicom.bits_stored},
          {"photometric_interpretation", dicom.photometric},
          {"modality_lut", pair_json("min", "max", dicom.lut)},
          {"padding", pair_json("first", "last", dicom.padding)},
          {"output_transfer_syntax", dicom.output_syntax}};
}

/// What headers say of how the image is stored, and what follows for filters.
void add_json(Json& document, const io::Image& image, const VolumeFacts& facts) {
  const io::ImageInfo info = image.info();
  document["format_version"] = info.version ? Json(*info.version) : Json();
  document["file_count"] = info.files;
  document["encoding"] = info.encoding;
  document["stored_type"] = std::string(to_string(info.type));
  document["rescale"] =
      info.rescale ? Json{{"slope", info.rescale->slope}, {"intercept", info.rescale->inter}} : Json();
  document["dicom"] = info.dicom ? to_json(*info.dicom) : Json();
  const HeaderFacts& header = facts.header;
  document["data_kind"] =
      header.kind ? Json{{"name", FieldType<DataKind>::format(*header.kind)}, {"source", header.kind_source}} : Json();
  const auto [use, reason] = windows_across_slices(image, facts);
  document["windows_across_slices"] = {{"use", use}, {"reason", text_or_null(reason)}};
}

void print_series(const std::string& path, const io::DicomFolder& folder, Context& context) {
  std::vector<std::string> warnings = folder.warnings();
  for (const Error& unassigned : folder.unassigned())
    warnings.push_back(as_text(unassigned.message()) + "; only --all-series goes on without it");
  context.console.warnings(warnings);
  const auto list = folder.series();
  if (context.json) {
    Json series = Json::array();
    for (const io::SeriesSummary& each : list) {
      series.push_back({{"series_uid", each.uid},
                        {"modality", each.modality},
                        {"number", each.number},
                        {"view", each.view},
                        {"kind", FieldType<io::SeriesKind>::format(each.kind)},
                        {"description", each.description},
                        {"place", each.place.string()},
                        {"file_count", each.files},
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
}

void print_info(const Arguments& arguments, Context& context) {
  const std::string& path = arguments.operand(0);
  const auto options = arguments.params<InputOptions>();
  check_input(path);
  const Execution execution = context.background(arguments.params<ThreadOptions>().threads);
  std::unique_ptr<io::Image> image;
  std::vector<std::string> warnings;
  if (options.series.empty() && !chooses_by_header(options) && std::filesystem::is_directory(path)) {
    io::DicomFolder folder(path, execution);
    if (folder.series().size() > 1) return print_series(path, folder, context);
    if (folder.any_dicom()) {
      image = std::move(folder).open_alone(
          {.allow_gaps = options.allow_gaps, .series_uid = {}, .kind = options.force_kind, .execution = execution});
    }
  }
  if (!image) image = open_input(path, options, execution);
  for (const std::string& warning : image->warnings()) warnings.push_back(warning);
  const auto& [of_what, noise] = noise_of(*image, execution, warnings);
  for (const std::string& warning : image->warnings_of_voxels()) warnings.push_back(warning);
  const VolumeFacts facts = header_facts(*image->volume(0, io::VoxelDomain::stored));
  if (differ(*image, facts.header.kind)) {
    warnings.emplace_back("the volumes differ in geometry or kind; this is of the first");
  }
  const std::vector<FilterConfig> defaults = default_filters(*image, noise, execution);
  context.console.warnings(warnings);

  if (context.json) {
    const io::Geometry& geometry = image->geometry(0);
    Json document{{"input", path},
                  {"format", io::to_string(image->format())},
                  {"volume_count", image->volume_count()},
                  {"extent", {geometry.extent.x, geometry.extent.y, geometry.extent.z}},
                  {"spacing", {geometry.spacing.x, geometry.spacing.y, geometry.spacing.z}},
                  {"origin", geometry.is_placed ? Json(geometry.origin) : Json()},
                  {"direction", geometry.is_placed ? Json(geometry.direction) : Json()},
                  {"noise_sigma", noise ? Json(noise->sigma) : Json()},
                  {"noise", noise ? to_json(*noise) : Json()},
                  {"defaults", to_json(defaults)},
                  {"warnings", warnings}};
    add_json(document, *image, facts);
    print_json(document);
    return;
  }
  Lines lines = lines_of(*image, facts);
  lines.emplace_back(of_what, noise ? noise->describe() : "unknown");
  for (const FilterConfig& filter : defaults) {
    std::string text;
    for (const auto& [field, value] : resolved_defaults(filter)) {
      text += (text.empty() ? "" : ", ") + field->name + " " + rounded(*field, value);
    }
    if (!text.empty()) lines.emplace_back(filter.filter().name + " by default", text);
  }
  std::size_t width = 0;
  for (const auto& [name, value] : lines) width = std::max(width, name.size());
  for (const auto& [name, value] : lines) {
    std::cout << name << std::string(width - name.size() + 2, ' ') << one_line(value) << "\n";
  }
}

}  // namespace

Command info_command() {
  return {"info",
          "What an input is: geometry, voxel type, noise, what would be written.",
          {{"INPUT", "A DICOM, NIfTI, NRRD or MetaImage file, or a folder with a DICOM series."}},
          {option_group<InputOptions>(), option_group<ThreadOptions>()},
          print_info};
}

}  // namespace quietvox::cli
