// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/series_choice.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include "core/lower_case.hpp"

namespace quietvox {
namespace {

bool has_number(const io::SeriesSummary& series, int wanted) {
  int number = 0;
  const char* const end = series.number.data() + series.number.size();
  const auto [stop, error] = std::from_chars(series.number.data(), end, number);
  return error == std::errc{} && stop == end && number == wanted;
}

}  // namespace

bool chooses_by_header(const InputOptions& options) {
  return !options.modality.empty() || options.series_number || !options.series_description.empty();
}

bool is_chosen(const io::SeriesSummary& series, const InputOptions& options) {
  return (options.series.empty() || series.uid == options.series) &&
         (options.modality.empty() || in_lower_case(series.modality) == in_lower_case(options.modality)) &&
         (!options.series_number || has_number(series, *options.series_number)) &&
         in_lower_case(series.description).find(in_lower_case(options.series_description)) != std::string::npos;
}

std::string only_chosen_series(const io::DicomFolder& folder, const std::filesystem::path& path,
                               const InputOptions& options) {
  const auto all = folder.series();
  std::vector<io::SeriesSummary> chosen;
  std::ranges::copy_if(all, std::back_inserter(chosen),
                       [&](const io::SeriesSummary& series) { return is_chosen(series, options); });
  // Localizers, pictures of documents and results of quietvox are meant only where nothing else is.
  const auto is_of_images = [](const io::SeriesSummary& series) { return series.kind == io::SeriesKind::images; };
  if (std::ranges::count_if(chosen, is_of_images) == 1) return std::ranges::find_if(chosen, is_of_images)->uid;
  if (chosen.size() == 1) return chosen.front().uid;
  throw Error(Errc::invalid_argument,
              path.string() + ": " +
                  (chosen.empty() ? "no series matches; there are " + io::listed(all)
                                  : std::to_string(chosen.size()) + " series match: " + io::listed(chosen)),
              "choose one by " + Parameter{"series", "UID"});
}

std::pair<InputOptions, InputOptions> options_of_both(const std::filesystem::path& first,
                                                      const std::filesystem::path& second, const InputOptions& options,
                                                      const Execution& execution) {
  if (options.series.empty() && !chooses_by_header(options)) return {options, options};
  InputOptions without_choice = options;
  without_choice.series.clear();
  without_choice.modality.clear();
  without_choice.series_number.reset();
  without_choice.series_description.clear();
  if (!std::filesystem::is_directory(second)) return {options, without_choice};
  if (!std::filesystem::is_directory(first)) return {without_choice, options};
  const bool is_only_one = io::DicomFolder(second, execution).series().size() == 1;
  return {options, is_only_one ? without_choice : options};
}

std::set<io::SeriesKind> included_kinds(const std::string& words) {
  std::set<io::SeriesKind> kinds{io::SeriesKind::images};
  for (std::size_t begin = 0; !words.empty() && begin <= words.size();) {
    const std::size_t end = std::min(words.find(',', begin), words.size());
    const std::string word = words.substr(begin, end - begin);
    const auto kind = FieldType<io::SeriesKind>::parse(word);
    if (!kind || *kind == io::SeriesKind::images) {
      throw Error(Errc::invalid_argument, Parameter{"include"} + " = '" + word + "' is not known",
                  "give processed, localizer, secondary-capture, or several "
                  "with commas between");
    }
    kinds.insert(*kind);
    begin = end + 1;
  }
  return kinds;
}

}  // namespace quietvox
