// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/series_summary.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/fields.hpp"
#include "io/dicom/duplicates.hpp"
#include "io/dicom/patient_match.hpp"

namespace quietvox::io {
namespace dicom {
namespace {

/// The file, or the innermost folder that all the files lie below.
std::filesystem::path common_place(const std::set<std::filesystem::path>& files) {
  std::filesystem::path place = *files.begin();
  for (const std::filesystem::path& file : files) {
    while (std::mismatch(place.begin(), place.end(), file.begin(), file.end()).first != place.end()) {
      place = place.parent_path();
    }
  }
  return place;
}

/// What all images say that they are; images, where they do not agree.
SeriesKind kind_of(const std::vector<SliceHeader>& images) {
  const SeriesKind kind = images.front().series_kind;
  const bool agree = std::ranges::all_of(images, [&](const SliceHeader& image) { return image.series_kind == kind; });
  return agree ? kind : SeriesKind::images;
}

/// `R CC, L CC`
std::string views_of(const std::vector<SliceHeader>& images) {
  constexpr std::size_t most = 4;
  std::vector<std::string> views;
  for (const SliceHeader& image : images) {
    if (!image.view.empty() && std::ranges::find(views, image.view) == views.end()) views.push_back(image.view);
    if (views.size() > most) break;
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(most, views.size()); ++i) text += (i > 0 ? ", " : "") + views[i];
  return text + (views.size() > most ? ", ..." : "");
}

SeriesSummary summary_of(std::vector<SliceHeader> all, const std::filesystem::path& folder) {
  const SliceHeader first = all.front();
  const auto unusable = std::ranges::find_if(all, [](const SliceHeader& image) { return image.problem.has_value(); });
  const auto problem = unusable != all.end() ? unusable->problem : mixed_patients_error(all);
  const auto images = without_duplicate_uids(std::move(all));
  std::set<std::filesystem::path> files;
  for (const SliceHeader& image : images) files.insert(image.path);
  return {.uid = first.series,
          .modality = first.modality,
          .description = first.description,
          .number = first.series_number,
          .view = views_of(images),
          .kind = kind_of(images),
          .place = common_place(files).lexically_relative(folder),
          .files = files.size(),
          .images = images.size(),
          .columns = first.columns,
          .rows = first.rows,
          .problem = problem ? problem->what() : ""};
}

}  // namespace

std::vector<SeriesSummary> summaries_of(std::vector<SliceHeader> images, const std::filesystem::path& folder) {
  std::map<std::string, std::vector<SliceHeader>> series;
  for (SliceHeader& image : images) series[image.series].push_back(std::move(image));
  std::vector<SeriesSummary> list;
  for (auto& [uid, all] : series) list.push_back(summary_of(std::move(all), folder));
  return list;
}

}  // namespace dicom

std::string described(const SeriesSummary& series) {
  std::string text = series.modality;
  const auto add = [&](std::string_view between, const std::string& part) {
    if (!part.empty()) text.append(text.empty() ? "" : between).append(part);
  };
  add(" ", series.number);
  add(", ", series.view);
  if (series.kind != SeriesKind::images) add(", ", FieldType<SeriesKind>::format(series.kind));
  const std::string files = std::to_string(series.files) + (series.files == 1 ? " file" : " files");
  add(", ", std::to_string(series.images) + (series.images == 1 ? " image" : " images"));
  if (series.files != series.images) add(" in ", files);
  if (series.columns > 0 && series.rows > 0) {
    add(", ", std::to_string(series.columns) + " x " + std::to_string(series.rows) + " pixels");
  }
  add(", ", series.description);
  if (series.place != ".") add("; ", series.place.string());
  if (!series.problem.empty()) add("; ", "cannot be filtered: " + series.problem);
  return text;
}

std::string listed(std::span<const SeriesSummary> series) {
  constexpr std::size_t most = 20;
  std::string list;
  for (const SeriesSummary& each : series.first(std::min(most, series.size()))) {
    list += (list.empty() ? "" : ", ") + each.uid + " (" + described(each) + ")";
  }
  return series.size() > most ? list + " and " + std::to_string(series.size() - most) + " more" : list;
}

}  // namespace quietvox::io
