// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/series.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <numbers>
#include <set>
#include <span>
#include <tuple>

#include "io/dicom/duplicates.hpp"
#include "io/dicom/patient_match.hpp"
#include "io/dicom/series_summary.hpp"
#include "io/dicom/toolkit.hpp"
#include "io/dicom/volume_split.hpp"
#include "io/display_format.hpp"

namespace quietvox::io::dicom {
namespace {

constexpr double uneven_share = 0.01;  // of the slice distance
constexpr double uneven_mm = 0.01;
constexpr double coarse_mm = 0.1;                // some scanners round positions to this
constexpr double rounding_mm = 1.5 * coarse_mm;  // so two equal positions may differ by this, all axes together
constexpr double tilt_degrees = 0.1;
constexpr double same_direction = 1e-4;  // of direction cosines
constexpr double like_direction = 2e-3;  // a tenth of a degree
constexpr double same_spacing = 1e-4;    // of the spacing
constexpr double same_time = 1e-3;  // times that differ by less than this share are equal; so are diffusion weights
constexpr double same_gradient = 1e-3;
constexpr std::uint64_t most_comparisons = 1'000'000'000;  // of pairs of images: a few seconds

std::string mm(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g mm", value);
  return text;
}

bool close(const Vector3& a, const Vector3& b, double most = same_direction) {
  for (int i = 0; i < 3; ++i) {
    if (std::abs(a[i] - b[i]) > most) return false;
  }
  return true;
}

bool same_times(double a, double b) { return std::abs(a - b) <= same_time * std::max(std::abs(a), std::abs(b)); }

bool same_numbers(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b ? same_times(*a, *b) : a == b;
}

bool same_gradients(const SliceHeader& a, const SliceHeader& b) {
  return std::equal(a.gradient.begin(), a.gradient.end(), b.gradient.begin(), b.gradient.end(),
                    [](double x, double y) { return std::abs(x - y) <= same_gradient; });
}

/// In what two images differ that slices of one volume have in common, wherever they lie; null where in nothing.
/// `direction`: how far cosines may differ. They may store numbers in different ways, but then must be alike in what
/// derived pictures differ in.
const char* difference(const SliceHeader& a, const SliceHeader& b, double direction = same_direction) {
  if (a.temporal_position != b.temporal_position) return "temporal position";
  if (!same_numbers(a.echo_time, b.echo_time)) return "echo time";
  if (!same_numbers(a.b_value, b.b_value) || !same_gradients(a, b) || a.directionality != b.directionality)
    return "diffusion weighting";
  if (a.rows != b.rows || a.columns != b.columns) return "size";
  if (a.photometric != b.photometric) return "photometric interpretation";
  if (a.intent != b.intent) return "presentation intent";
  if (a.contrast != b.contrast) return "image type or units";
  if (a.modality_lut != b.modality_lut) return "modality LUT";
  if (a.format != b.format &&
      (a.image_type != b.image_type || a.says_slope != b.says_slope || a.says_intercept != b.says_intercept)) {
    return "pixel format";
  }
  if (a.frame_of_reference != b.frame_of_reference) return "frame of reference";
  if (a.patient_position != b.patient_position) return "patient position";
  for (int axis = 0; axis < 2; ++axis) {
    if (std::abs(a.spacing[axis] - b.spacing[axis]) > same_spacing * a.spacing[axis]) return "pixel spacing";
  }
  const bool are_parallel =
      close(a.axes->first, b.axes->first, direction) && close(a.axes->second, b.axes->second, direction);
  return are_parallel ? nullptr : "orientation";
}

bool has_place(const SliceHeader& slice) { return slice.position && slice.axes; }

/// How far slices lie along the normal of the first one, and how far aside of it, along a row and down a column.
struct Places {
  std::vector<double> along;
  std::vector<std::array<double, 2>> aside;
  bool are_rounded;  ///< and lie as evenly as such can: then their mean distance is the true one

  explicit Places(const std::vector<SliceHeader>& slices) {
    const auto& [row, column] = *slices.front().axes;
    const Vector3 normal = cross(row, column);
    for (const SliceHeader& slice : slices) {
      const Vector3 way = minus(*slice.position, *slices.front().position);
      along.push_back(dot(way, normal));
      aside.push_back({dot(way, row), dot(way, column)});
    }
    are_rounded = std::ranges::all_of(slices, has_coarse_position) && lie_evenly_but_for_rounding();
  }

  double mean_distance() const { return along.back() / static_cast<double>(along.size() - 1); }
  double shift(std::size_t slice) const { return std::hypot(aside[slice][0], aside[slice][1]); }
  double least_shift() const { return are_rounded ? rounding_mm : uneven_mm; }  ///< that counts
  /// Whether the slices lie on a slanting line. Two slices always do, so there must be more.
  bool are_tilted() const {
    const auto [x, y] = aside.back();
    const double allowed = std::max(least_shift(), uneven_share * shift(aside.size() - 1));
    for (std::size_t i = 0; i < along.size(); ++i) {
      const double share = along[i] / along.back();
      if (std::hypot(aside[i][0] - share * x, aside[i][1] - share * y) > allowed) return false;
    }
    return along.size() > 2;
  }

 private:
  static bool has_coarse_position(const SliceHeader& slice) {
    return std::ranges::all_of(*slice.position, [](double coordinate) {
      const double steps = coordinate / coarse_mm;
      return std::abs(steps - std::round(steps)) <= 1e-6;
    });
  }
  bool lie_evenly_but_for_rounding() const {
    const double distance = mean_distance();
    if (distance < 5 * coarse_mm) return false;
    for (std::size_t i = 0; i < along.size(); ++i) {
      if (std::abs(along[i] - static_cast<double>(i) * distance) > rounding_mm) return false;
    }
    return true;
  }
};

/// Images of a series. They are large, and sorted by where they are.
using Images = std::vector<SliceHeader*>;

/// Images and how far they lie along the normal of the first.
std::vector<std::pair<double, SliceHeader*>> places_along_normal(const Images& images) {
  const auto& [row, column] = *images.front()->axes;
  const Vector3 normal = cross(row, column);
  std::vector<std::pair<double, SliceHeader*>> placed;
  for (SliceHeader* const image : images) placed.emplace_back(dot(*image->position, normal), image);
  return placed;
}

void sort_along_normal(Images& slices) {
  auto placed = places_along_normal(slices);
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::ranges::transform(placed, slices.begin(), [](const auto& each) { return each.second; });
}

/// Moves the images out.
std::vector<SliceHeader> taken(const Images& images) {
  std::vector<SliceHeader> result;
  result.reserve(images.size());
  for (SliceHeader* const image : images) result.push_back(std::move(*image));
  return result;
}

/// If all images that have a value have the same one, the others take it too: there it was emptied or removed.
void fill_in(std::vector<SliceHeader>& images, std::string SliceHeader::*what) {
  std::set<std::string> known;
  for (const SliceHeader& image : images) {
    if (!(image.*what).empty()) known.insert(image.*what);
  }
  if (known.size() != 1) return;
  for (SliceHeader& image : images) image.*what = *known.begin();
}

/// Sorts images by time and number, or else by whatever tells their kinds apart. Images of one file stay together, in
/// their order, unless their times differ. Files of the same kind and number stay in the order of their names, not of
/// their UIDs: results have new UIDs, which would put them in another order than their source.
Images in_order(std::vector<SliceHeader>& images) {
  std::vector<Images> files;
  for (SliceHeader& image : images) {
    if (files.empty() || files.back().front()->name != image.name) files.emplace_back();
    files.back().push_back(&image);
  }
  const auto key = [](const Images& file) {
    const SliceHeader& first = *file.front();
    const PixelFormat& format = first.format;
    return std::tie(first.instance_number, first.echo_time, first.acquisition, first.trigger_time, first.b_value,
                    first.gradient, first.contrast, first.directionality, first.intent, first.photometric, first.rows,
                    first.columns, format.bits_allocated, format.bits_stored, format.high_bit, format.is_signed,
                    first.modality_lut, first.spacing, first.axes, first.patient_position, first.frame_of_reference);
  };
  std::stable_sort(files.begin(), files.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  Images ordered;
  for (const Images& file : files) ordered.insert(ordered.end(), file.begin(), file.end());
  std::stable_sort(ordered.begin(), ordered.end(), [](const SliceHeader* a, const SliceHeader* b) {
    return a->temporal_position < b->temporal_position;
  });
  return ordered;
}

std::string between(const SliceHeader& a, const SliceHeader& b) { return display_name(a) + " and " + display_name(b); }

/// What is wrong with the positions of sorted slices; empty if they make a volume.
std::string irregularity(const std::vector<SliceHeader>& slices, const Places& places, double distance) {
  std::set<std::size_t> counts;  // of images at a place
  std::size_t here = 1, repeated = 0;
  for (std::size_t i = 1; i <= slices.size(); ++i) {
    if (i < slices.size() && places.along[i] - places.along[i - 1] <= same_place_mm) {
      if (repeated == 0) repeated = i;
      ++here;
    } else {
      counts.insert(here);
      here = 1;
    }
  }
  if (repeated > 0) {
    return "slices " + between(slices[repeated - 1], slices[repeated]) +
           " lie at the same position, and nothing tells which volume each belongs to" +
           (counts.size() == 1 ? ""
                               : ": there are " + std::to_string(*counts.begin()) + " to " +
                                     std::to_string(*counts.rbegin()) + " images at a place");
  }
  for (std::size_t i = 1; i < slices.size() && !places.are_rounded; ++i) {
    const double gap = places.along[i] - places.along[i - 1];
    if (std::abs(gap - distance) <= std::max(uneven_share * distance, uneven_mm)) continue;
    const double steps = gap / distance;
    const bool missing = steps > 1.5 && std::abs(steps - std::round(steps)) <= 2 * uneven_share * steps;
    return (missing ? "slices are missing: " : "slices are unevenly spaced: ") + between(slices[i - 1], slices[i]) +
           " are " + mm(gap) + " apart, others " + mm(distance);
  }
  for (std::size_t i = 1; i < slices.size(); ++i) {
    const double allowed = std::tan(tilt_degrees * std::numbers::pi / 180) * places.along[i];
    if (places.shift(i) <= std::max(allowed, places.least_shift())) continue;
    const std::string by = between(slices.front(), slices[i]) + " by " + mm(places.shift(i));
    if (!places.are_tilted()) return "slices are shifted sideways: " + by;
    char degrees[32];
    std::snprintf(degrees, sizeof degrees, "%.3g",
                  std::atan2(places.shift(i), places.along[i]) * 180 / std::numbers::pi);
    return "slices are shifted sideways (gantry tilt): " + by + ", an angle of " + degrees + " degrees";
  }
  return {};
}

/// Median distance between neighbours at different positions; the mean if positions were rounded.
double slice_distance(const std::vector<SliceHeader>& slices, const Places& places) {
  if (places.are_rounded) return places.mean_distance();
  std::vector<double> gaps;
  for (std::size_t i = 1; i < slices.size(); ++i) {
    const double gap = places.along[i] - places.along[i - 1];
    if (gap > same_place_mm) gaps.push_back(gap);
  }
  if (gaps.empty()) return slices.front().thickness;
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>((gaps.size() - 1) / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return *middle;
}

/// Adds a day to times of day after midnight if dates do not say so, because they are missing or were all made the
/// same. Such images have times most of a day before all others, but higher acquisition numbers, or else instance
/// numbers.
void go_on_after_midnight(std::vector<SliceHeader>& images, std::optional<double> SliceHeader::*time) {
  constexpr double day = 86400, most_of_day = day / 2;
  std::vector<SliceHeader*> timed;
  for (SliceHeader& slice : images) {
    if (slice.*time) timed.push_back(&slice);
  }
  const auto at = [time](const SliceHeader* slice) { return *(slice->*time); };
  std::ranges::sort(timed, {}, at);
  if (timed.empty() || at(timed.back()) - at(timed.front()) >= day) return;
  const auto evening = std::ranges::adjacent_find(
      timed, [&](const SliceHeader* a, const SliceHeader* b) { return at(b) - at(a) > most_of_day; });
  if (evening == timed.end()) return;
  const auto goes_on = [&](const auto& number) {
    const auto is_less = [&](const SliceHeader* a, const SliceHeader* b) { return number(*a) < number(*b); };
    const auto first_of_morning = std::min_element(timed.begin(), evening + 1, is_less);
    const auto last_of_evening = std::max_element(evening + 1, timed.end(), is_less);
    return is_less(*last_of_evening, *first_of_morning);
  };
  if (!goes_on([](const SliceHeader& slice) { return slice.acquisition; }) && !goes_on(running_number)) return;
  for (auto slice = timed.begin(); slice != evening + 1; ++slice) *((*slice)->*time) += day;
}

/// Whether so many images as make a volume lie one distance apart, along the normal of the first.
bool lie_evenly(const Images& images) {
  std::vector<double> along;
  for (const auto& [place, image] : places_along_normal(images)) along.push_back(place);
  std::ranges::sort(along);
  const double distance = (along.back() - along.front()) / static_cast<double>(along.size() - 1);
  const double allowed = std::max(uneven_share * distance, uneven_mm);
  return along.size() > 2 && distance > same_place_mm &&
         std::ranges::adjacent_find(along, [&](double before, double after) {
           return std::abs(after - before - distance) > allowed;
         }) == along.end();
}

/// Joins kinds whose orientations differ by hundredths of a degree, if together they make a volume: some programs
/// compute the orientation of each slice anew. Volumes of a time series that were turned after the patient differ by as
/// little, but mostly make a volume each.
void join_alike(std::vector<Images>& kinds) {
  constexpr std::size_t most_kinds = 2000;  // whose pairs are soon compared
  if (kinds.size() > most_kinds) return;
  for (std::size_t first = 0; first < kinds.size(); ++first) {
    const SliceHeader& image = *kinds[first].front();
    const auto is_alike = [&](const Images& kind) {
      return has_place(image) && has_place(*kind.front()) && !difference(image, *kind.front(), like_direction);
    };
    Images all;
    std::size_t kinds_alike = 0, in_volumes = 0;
    for (std::size_t i = first; i < kinds.size(); ++i) {
      if (!is_alike(kinds[i])) continue;
      ++kinds_alike;
      all.insert(all.end(), kinds[i].begin(), kinds[i].end());
      if (lie_evenly(kinds[i])) in_volumes += kinds[i].size();
    }
    if (kinds_alike < 2 || 2 * in_volumes >= all.size() || !lie_evenly(all)) continue;
    kinds.erase(std::remove_if(kinds.begin() + static_cast<std::ptrdiff_t>(first) + 1, kinds.end(), is_alike),
                kinds.end());
    kinds[first] = std::move(all);
  }
}

/// The images of each kind. Those with a position are sorted by it.
std::vector<std::vector<SliceHeader>> by_kind(std::vector<SliceHeader> images, const std::stop_token& stop) {
  std::vector<Images> kinds;
  std::uint64_t comparisons = 0;
  for (SliceHeader* const slice : in_order(images)) {
    check_stop(stop);
    if (has_place(*slice)) comparisons += kinds.size();
    if (comparisons > most_comparisons) {
      throw Error(Errc::unsupported, slice->path.string() + ": the images of its series differ in too many ways: " +
                                         std::to_string(kinds.size()) +
                                         " kinds were found (by echo time, size, orientation, ...)");
    }
    const auto same = !has_place(*slice) ? kinds.end() : std::ranges::find_if(kinds, [&](const Images& kind) {
      return has_place(*kind.front()) && !difference(*kind.front(), *slice);
    });
    if (same == kinds.end()) {
      kinds.push_back({slice});
    } else {
      same->push_back(slice);
    }
  }
  join_alike(kinds);
  std::vector<std::vector<SliceHeader>> sorted;
  for (Images& kind : kinds) {
    if (has_place(*kind.front())) sort_along_normal(kind);
    sorted.push_back(taken(kind));
  }
  return sorted;
}

/// `NAME has WHAT`, `NAME and 2 more have WHAT`; empty for no images.
std::string have(const std::vector<const SliceHeader*>& images, const std::string& what) {
  if (images.empty()) return {};
  const std::string name = display_name(*images.front());
  return name + (images.size() == 1 ? " has " : " and " + std::to_string(images.size() - 1) + " more have ") + what;
}

/// Names single images that a volume may lack: those with another orientation, or those between its slices that differ
/// in something else.
std::string single_images(const std::vector<Volume>& volumes, const Volume& volume) {
  const SliceHeader &first = volume.slices.front(), &last = volume.slices.back();
  const Vector3 normal = cross(first.axes->first, first.axes->second);
  std::map<std::string, std::vector<const SliceHeader*>> found;
  for (const Volume& other : volumes) {
    const SliceHeader& image = other.slices.front();
    if (other.slices.size() > 1 || !has_place(image)) continue;
    const char* const what = difference(first, image);
    if (!what) continue;
    const double along = dot(minus(*image.position, *first.position), normal);
    const bool is_between = along > 0 && along < dot(minus(*last.position, *first.position), normal);
    if (is_between || what == std::string("orientation")) found[what].push_back(&image);
  }
  std::string text;
  for (const auto& [what, images] : found) text += (text.empty() ? "" : "; ") + have(images, "another " + what);
  return text;
}

Volume make_volume(std::vector<SliceHeader> slices) {
  Volume volume;
  const SliceHeader& first = slices.front();
  Geometry& geometry = volume.geometry;
  geometry.extent = {{first.columns, first.rows, static_cast<std::int64_t>(slices.size())}};
  geometry.spacing = {first.spacing[0], first.spacing[1], first.thickness};
  geometry.is_placed = has_place(first) && !first.is_place_assumed;
  if (geometry.is_placed) {
    const auto& [row, column] = *first.axes;
    const Vector3 normal = cross(row, column);
    geometry.origin = *first.position;
    for (int i = 0; i < 3; ++i) {
      geometry.direction[3 * i] = row[i];
      geometry.direction[3 * i + 1] = column[i];
      geometry.direction[3 * i + 2] = normal[i];
    }
  }
  if (slices.size() == 1) {
    volume.why_2d_only = "it is a single image";
  } else {
    const Places places(slices);
    geometry.spacing.z = slice_distance(slices, places);
    volume.why_uneven = irregularity(slices, places, geometry.spacing.z);
    volume.why_2d_only = volume.why_uneven;
    volume.is_irregular = !volume.why_uneven.empty();
  }
  volume.slices = std::move(slices);
  return volume;
}

}  // namespace

std::vector<SliceHeader> choose_series(std::vector<SliceHeader> images, const std::string& uid,
                                       const std::filesystem::path& path) {
  std::set<std::string> uids;
  for (const SliceHeader& slice : images) uids.insert(slice.series);
  if (uid.empty() ? uids.size() > 1 : !uids.contains(uid)) {
    const auto series = summaries_of(std::move(images), path);
    throw Error(Errc::invalid_argument,
                path.string() + ": holds " +
                    (uid.empty() ? std::to_string(series.size()) + " series: " : "no series " + uid + ", but ") +
                    listed(series),
                "choose one by " + Parameter{"series", "UID"});
  }
  if (!uid.empty()) std::erase_if(images, [&](const SliceHeader& slice) { return slice.series != uid; });
  for (const SliceHeader& slice : images) {
    if (slice.problem) throw *slice.problem;
  }
  if (const auto problem = mixed_patients_error(images)) {
    throw Error(problem->code(), path.string() + ": " + problem->problem(), problem->remedy());
  }
  return images;
}

std::string why_without_position(const std::vector<Volume>& volumes) {
  static const std::set<std::string> always_placed{"CT", "MR", "PT"};
  const auto first = [](const Volume& volume) -> const SliceHeader& { return volume.slices.front(); };
  const bool any_placed = std::ranges::any_of(volumes, has_place, first);
  std::vector<const SliceHeader*> lost;
  for (const Volume& volume : volumes) {
    const SliceHeader& image = first(volume);
    const bool ought_to_be = any_placed || always_placed.contains(image.modality);
    if (ought_to_be && !has_place(image) && image.frames == 1) lost.push_back(&image);
  }
  if (lost.empty() || volumes.size() == 1) return {};
  return have(lost, "no " + tag_name(lost[0]->position ? DCM_ImageOrientationPatient : DCM_ImagePositionPatient));
}

std::vector<std::string> incomplete_concatenations(const std::vector<Volume>& volumes) {
  std::map<std::string, std::map<double, const SliceHeader*>> found;
  for (const Volume& volume : volumes) {
    for (const SliceHeader& slice : volume.slices) {
      if (!slice.concatenation.empty() && slice.part) found[slice.concatenation].emplace(*slice.part, &slice);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [concatenation, parts] : found) {
    const SliceHeader& first = *parts.begin()->second;
    // The total need not be said.
    const double all = std::max(first.parts.value_or(0), parts.rbegin()->first);
    const auto missing = static_cast<std::int64_t>(all) - std::ssize(parts);
    if (missing <= 0) continue;
    const bool is_one = missing == 1;
    lines.push_back(first.name.string() + " is part of an image that was written in " +
                    std::to_string(std::llround(all)) + " files (concatenation), and " + std::to_string(missing) +
                    " of them " + (is_one ? "is" : "are") + " not here: " + (is_one ? "its" : "their") +
                    " frames are not read");
  }
  return lines;
}

void check_rescale(const std::vector<Volume>& volumes) {
  struct Element {
    const char* name;
    bool SliceHeader::*is_said;
    double SliceHeader::*number;
    double usual;
  };
  static const Element elements[] = {
      {"RescaleIntercept (0028,1052)", &SliceHeader::says_intercept, &SliceHeader::intercept, 0},
      {"RescaleSlope (0028,1053)", &SliceHeader::says_slope, &SliceHeader::slope, 1}};
  for (const Volume& volume : volumes) {
    for (const Element& element : elements) {
      const auto lacks = std::ranges::find(volume.slices, false, element.is_said);
      const auto other = std::ranges::find_if(
          volume.slices, [&](const SliceHeader& slice) { return slice.*element.number != element.usual; });
      if (lacks == volume.slices.end() || other == volume.slices.end()) continue;
      throw Error(Errc::irregular, display_name(*lacks) + " has no " + element.name + ", and " + display_name(*other) +
                                       ", of the same volume, has " + format_number((*other).*element.number) +
                                       "; add it, or take the image out");
    }
  }
}

std::vector<Volume> make_volumes(std::vector<SliceHeader> images, const std::stop_token& stop) {
  fill_in(images, &SliceHeader::frame_of_reference);
  fill_in(images, &SliceHeader::patient_position);
  go_on_after_midnight(images, &SliceHeader::acquired_at);
  go_on_after_midnight(images, &SliceHeader::content_time);
  std::vector<Volume> volumes;
  for (std::vector<SliceHeader>& kind : by_kind(std::move(images), stop)) {
    if (!has_place(kind.front())) {
      const double number = kind.front().instance_number.value_or(0);  // frames of a file stay together
      volumes.emplace_back(make_volume(std::move(kind))).number = number;
      continue;
    }
    for (auto& [slices, by_time, number] : tell_apart(std::move(kind))) {
      Volume& volume = volumes.emplace_back(make_volume(std::move(slices)));
      volume.number = number;
      if (by_time || volume.is_irregular) continue;
      if (std::string why = mixed_times(volume.slices); !why.empty()) {
        volume.why_2d_only = std::move(why);
        volume.is_irregular = true;
      }
    }
  }
  std::ranges::stable_sort(volumes, {}, [](const Volume& volume) {
    return std::pair(volume.slices.front().temporal_position, volume.number);
  });
  const auto is_placed = [](const Volume& volume) { return has_place(volume.slices.front()); };
  const std::string lost = std::ranges::any_of(volumes, is_placed) ? why_without_position(volumes) : "";
  for (Volume& volume : volumes) {
    if (!is_placed(volume)) {
      volume.why_uneven = lost;
    } else if (!volume.why_uneven.empty()) {
      for (const std::string& perhaps : {lost, single_images(volumes, volume)}) {
        if (!perhaps.empty()) volume.why_uneven += "; " + perhaps;
      }
      volume.why_2d_only = volume.why_uneven;
    }
  }
  return volumes;
}

std::vector<std::filesystem::path> files_of(const Series& series) {
  std::vector<std::filesystem::path> names;
  std::set<std::filesystem::path> known;
  for (const Volume& volume : series.volumes) {
    for (const SliceHeader& slice : volume.slices) {
      if (known.insert(slice.name).second) names.push_back(slice.name);
    }
  }
  return names;
}

}  // namespace quietvox::io::dicom
