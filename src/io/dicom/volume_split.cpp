// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/volume_split.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <type_traits>

namespace quietvox::io::dicom {
namespace {

constexpr double same_contrast = 0.02;  // of the value
constexpr double same_trigger_ms = 10;  // of images at one place: what heart beats differ by
constexpr double same_phase_ms = 20;    // of neighbours: less changes no picture
constexpr double same_step = 0.01;      // of the step

constexpr std::size_t most_course_steps = 10'000'000;  // some seconds

/// Images by their places.
using Places = std::vector<std::vector<const SliceHeader*>>;

/// A number of the header, and how far apart it may be in images of one volume.
struct Trait {
  std::function<std::optional<double>(const SliceHeader&)> of;
  double absolute = 0, relative = 0;

  bool same(double a, double b) const {
    return std::abs(a - b) <= absolute + relative * std::max(std::abs(a), std::abs(b));
  }
};

/// A number that orders images of one place.
struct Order {
  Trait trait;
  bool needs_pattern = true;  ///< to be believed, it must rise from volume to volume or from place to place
  bool is_clock = false;      ///< also tells when images were made that belong to one moment: the last to be asked
};

const Trait tube_voltage{&SliceHeader::tube_voltage, 0, same_contrast};
const Trait contrasts[] = {
    {&SliceHeader::inversion_time, 0, same_contrast}, {&SliceHeader::flip_angle, 0, same_contrast}, tube_voltage};

const Trait makers_b_value{&SliceHeader::makers_b_value, 0, same_contrast};
const Trait stack{&SliceHeader::stack, 0.5};
const Trait repetition_time{&SliceHeader::repetition_time, 0, same_contrast};
const Trait slice_thickness{&SliceHeader::slice_thickness, 0, same_contrast};

const Order orders[] = {
    {{&SliceHeader::inversion_time, 0, same_contrast}, false},
    {{&SliceHeader::trigger_time, same_trigger_ms}, false},
    {{&SliceHeader::cardiac_phase_percent, 0.5}, false},
    {{&SliceHeader::reference_time, 0.5}},
    {{&SliceHeader::acquired_at}, true, true},
    {{&SliceHeader::content_time}, true, true},
    {{&SliceHeader::acquisition}},
    {{running_number}},
};

/// Whether an image has any of some texts, which are joined by bars.
bool says(const std::string& texts) { return texts.find_first_not_of('|') != std::string::npos; }

/// What images have in common: those of one label are alike.
using Labels = std::map<const SliceHeader*, int>;

constexpr int silent = -1;  ///< label of images that do not say

/// Numbers of which each is close to the next one have one label; labels rise with them.
Labels labels_by(const Places& places, const Trait& trait) {
  Labels labels;
  std::vector<std::pair<double, const SliceHeader*>> numbers;
  for (const auto& place : places) {
    for (const SliceHeader* image : place) {
      labels[image] = silent;
      if (const auto number = trait.of(*image)) numbers.emplace_back(*number, image);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  int label = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0 && !trait.same(numbers[i - 1].first, numbers[i].first)) ++label;
    labels[numbers[i].second] = label;
  }
  return labels;
}

/// The same for a text, or what else can be ordered.
template <class Value>
Labels labels_by(const Places& places, Value SliceHeader::*member) {
  std::map<Value, std::vector<const SliceHeader*>> images;
  for (const auto& place : places) {
    for (const SliceHeader* image : place) images[image->*member].push_back(image);
  }
  Labels labels;
  int label = 0;
  for (const auto& [value, alike] : images) {
    bool is_silent = false;
    if constexpr (std::is_same_v<Value, std::string>) is_silent = !says(value);
    for (const SliceHeader* image : alike) labels[image] = is_silent ? silent : label;
    ++label;
  }
  return labels;
}

std::size_t most_at_a_place(const Places& places) {
  return std::ranges::max_element(places, {}, &std::vector<const SliceHeader*>::size)->size();
}

/// True where labels part the images in the same way at every place: there are no more of them than images at a place,
/// several where the most images are, and each stands equally often at each place where it stands. What differs by
/// chance, or from place to place, does not: it has more labels, or puts now one, now several images of a place
/// together, or all of them.
bool are_parted_alike(const Places& places, const Labels& labels) {
  std::map<int, std::set<int>> counts;  // of each label, at the places where it stands
  const std::size_t most = most_at_a_place(places);
  bool are_parted = true;
  for (const auto& place : places) {
    std::map<int, int> here;
    for (const SliceHeader* image : place) ++here[labels.at(image)];
    for (const auto& [label, count] : here) counts[label].insert(count);
    are_parted = are_parted && (place.size() < most || here.size() > 1);
  }
  return are_parted && counts.size() <= most &&
         std::all_of(counts.begin(), counts.end(), [](const auto& count) { return count.second.size() == 1; });
}

/// The first image of each place and its label, along the places. A single one that does not say is left out: it is
/// like those around it.
std::vector<std::pair<const SliceHeader*, int>> along(const Places& places, const Labels& labels) {
  std::vector<std::pair<const SliceHeader*, int>> images;
  for (const auto& place : places) images.emplace_back(place.front(), labels.at(place.front()));
  const auto is_silent = [](const auto& image) { return image.second == silent; };
  if (std::ranges::count_if(images, is_silent) == 1) std::erase_if(images, is_silent);
  return images;
}

/// The images between which a label comes back along the places after another one; none where it never does.
std::optional<std::pair<const SliceHeader*, const SliceHeader*>> alternation(const Places& places,
                                                                             const Labels& labels) {
  std::map<int, std::size_t> last;
  const auto images = along(places, labels);
  for (std::size_t i = 0; i < images.size(); ++i) {
    const int label = images[i].second;
    const auto before = last.find(label);
    if (before != last.end() && before->second + 1 < i) return std::pair(images[i - 1].first, images[i].first);
    last[label] = i;
  }
  return std::nullopt;
}

double distance(const SliceHeader& a, const SliceHeader& b) {
  const Vector3 way = minus(*a.position, *b.position);
  return std::sqrt(dot(way, way));
}

std::vector<Places> parted(const Places& places, const Labels& labels) {
  std::map<int, Places> by_label;
  for (const auto& place : places) {
    std::map<int, std::vector<const SliceHeader*>> here;
    for (const SliceHeader* image : place) here[labels.at(image)].push_back(image);
    for (auto& [label, images] : here) by_label[label].push_back(std::move(images));
  }
  std::vector<Places> parts;
  for (auto& [label, part] : by_label) parts.push_back(std::move(part));
  return parts;
}

/// True where labels alternate and each stands at even steps, as those of scans whose slices lie between each other's.
/// What differs from slice to slice for other reasons, such as repetition times that follow the heart, does not.
bool interleave(const Places& places, const Labels& labels) {
  constexpr std::size_t fewest = 3;
  const auto is_even = [](const Places& part) {
    if (part.size() < fewest) return false;
    const double step = distance(*part[0].front(), *part[1].front());
    for (std::size_t i = 2; i < part.size(); ++i) {
      const double gap = distance(*part[i - 1].front(), *part[i].front());
      if (std::abs(gap - step) > std::max(same_step * step, same_place_mm)) return false;
    }
    return true;
  };
  return alternation(places, labels) && std::ranges::all_of(parted(places, labels), is_even);
}

/// True where labels alternate, and are not merely those of some odd slices in a row.
bool alternate(const Places& places, const Labels& labels) {
  constexpr std::size_t most_changes = 2;
  const auto images = along(places, labels);
  std::size_t changes = 0;
  for (std::size_t i = 1; i < images.size(); ++i) changes += images[i].second != images[i - 1].second;
  return changes > most_changes && alternation(places, labels);
}

double lowest_number(const Places& places) {
  double lowest = std::numeric_limits<double>::max();
  for (const auto& place : places) {
    for (const SliceHeader* image : place) lowest = std::min(lowest, *running_number(*image));
  }
  return lowest;
}

/// How a number behaves that the images of each place were sorted by.
enum class Pattern {
  none,          ///< in no order that can be seen: it says nothing of volumes
  of_places,     ///< numbers of different places do not overlap, or rise by the same steps at every place
  of_volumes,    ///< every number of a volume lies below every number of the next volume
  of_one_value,  ///< and each volume has but one
};

Pattern pattern_of(const Places& ranked, const Trait& trait) {
  const auto number = [&](std::size_t place, std::size_t rank) { return *trait.of(*ranked[place][rank]); };
  const std::size_t volumes = ranked.front().size();
  bool by_volume = true, by_steps = true;
  for (std::size_t rank = 1; rank < volumes; ++rank) {
    double last = number(0, rank - 1), first = number(0, rank);
    const double step = number(0, rank) - number(0, 0);
    for (std::size_t place = 1; place < ranked.size(); ++place) {
      last = std::max(last, number(place, rank - 1));
      first = std::min(first, number(place, rank));
      by_steps = by_steps && std::abs(number(place, rank) - number(place, 0) - step) <= same_step * step;
    }
    by_volume = by_volume && first > last && !trait.same(first, last);
  }
  if (by_volume)
    return are_parted_alike(ranked, labels_by(ranked, trait)) ? Pattern::of_one_value : Pattern::of_volumes;
  std::vector<std::pair<double, double>> runs;
  for (std::size_t place = 0; place < ranked.size(); ++place)
    runs.emplace_back(number(place, 0), number(place, volumes - 1));
  std::sort(runs.begin(), runs.end());
  const bool by_place = std::adjacent_find(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
                          return b.first <= a.second;
                        }) == runs.end();
  return by_place || by_steps ? Pattern::of_places : Pattern::none;
}

/// The images of each place in the order of a number.
struct Ranking {
  const Order* order;
  Places places;
  Pattern pattern;

  bool is_of_volumes() const { return pattern >= Pattern::of_volumes; }
  bool is_heard() const { return is_of_volumes() || (pattern == Pattern::of_places && !order->is_clock); }
  /// Images of the same rank have one label.
  Labels labels() const {
    Labels labels;
    for (const auto& place : places) {
      for (std::size_t rank = 0; rank < place.size(); ++rank) labels[place[rank]] = static_cast<int>(rank);
    }
    return labels;
  }
  /// False where labels part the ranks of each place in the same way.
  bool contradicts(const Labels& labels) const {
    const auto same_label = [&](const SliceHeader* a, const SliceHeader* b) { return labels.at(a) == labels.at(b); };
    return !std::all_of(places.begin(), places.end(), [&](const auto& place) {
      return std::equal(place.begin(), place.end(), places.front().begin(), same_label);
    });
  }
};

/// Ranks the images at each place by a number. None if places hold different counts of images, if an image lacks the
/// number, or if two images at one place have almost the same.
std::optional<Ranking> ranking_by(const Order& order, Places places) {
  for (auto& place : places) {
    std::vector<std::pair<double, const SliceHeader*>> numbers;
    for (const SliceHeader* image : place) {
      const auto number = order.trait.of(*image);
      if (!number || place.size() != places.front().size()) return std::nullopt;
      numbers.emplace_back(*number, image);
    }
    std::sort(numbers.begin(), numbers.end());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (i > 0 && order.trait.same(numbers[i - 1].first, numbers[i].first)) return std::nullopt;
      place[i] = numbers[i].second;
    }
  }
  const Pattern pattern = pattern_of(places, order.trait);
  return Ranking{&order, std::move(places), pattern};
}

/// Labels of volumes of which images are missing, by a number that goes on from volume to volume: each volume goes
/// through the places in the order in which a whole one does. None where that makes more volumes than images at a
/// place, or may have begun in the midst of one.
std::optional<Labels> labels_by_course(const Places& places, const Trait& trait) {
  struct Made {
    double number;
    std::size_t place;
    const SliceHeader* image;
  };
  std::vector<Made> course;
  for (std::size_t place = 0; place < places.size(); ++place) {
    for (const SliceHeader* image : places[place]) {
      const auto number = trait.of(*image);
      if (!number) return std::nullopt;
      course.push_back({*number, place, image});
    }
  }
  std::ranges::sort(course, {}, &Made::number);
  if (std::ranges::adjacent_find(course, {}, &Made::number) != course.end()) return std::nullopt;

  std::set<std::vector<std::size_t>> turns;  // of each place, in runs that meet all
  std::vector<std::size_t> turn(places.size());
  std::vector<std::size_t> met_in(places.size());  // the run in which a place was met last
  for (std::size_t i = 0, run = 1, length = 0; i < course.size(); ++i) {
    const std::size_t place = course[i].place;
    if (met_in[place] == run) ++run, length = 0;
    met_in[place] = run;
    turn[place] = length++;
    if (length == places.size()) turns.insert(turn);
    if (turns.size() * course.size() > most_course_steps) return std::nullopt;  // no scanner made them so
  }
  std::optional<Labels> result;
  for (const auto& each : turns) {
    Labels labels;
    int label = 0;
    for (std::size_t i = 0; i < course.size(); ++i) {
      if (i > 0 && each[course[i].place] <= each[course[i - 1].place]) ++label;
      labels[course[i].image] = label;
    }
    const bool ends_whole = each[course.back().place] + 1 == places.size();
    const bool begins_whole = course.front().image->instance_number.value_or(2) <= 1;
    if (static_cast<std::size_t>(label) + 1 != most_at_a_place(places) || (!ends_whole && !begins_whole)) continue;
    if (result) return std::nullopt;
    result = std::move(labels);
  }
  return result;
}

/// The same by each number of the headers that goes on in such a way; none where two of them disagree.
std::optional<Labels> labels_by_course(const Places& places) {
  std::optional<Labels> result;
  for (const Order& order : orders) {
    auto labels = order.needs_pattern ? labels_by_course(places, order.trait) : std::nullopt;
    if (!labels) continue;
    if (result && *result != *labels) return std::nullopt;
    result = std::move(labels);
  }
  return result;
}

std::vector<Ranking> rankings_of(const Places& places) {
  std::vector<Ranking> rankings;
  for (const Order& order : orders) {
    if (auto ranking = ranking_by(order, places)) rankings.push_back(std::move(*ranking));
  }
  return rankings;
}

/// True where times or numbers say that labels mix volumes.
bool mix_volumes(const Places& places, const Labels& labels) {
  return std::ranges::any_of(rankings_of(places), [&](const Ranking& ranking) {
    return ranking.is_of_volumes() && ranking.contradicts(labels);
  });
}

/// Labels of what times and numbers tell apart at each place; none where they do not tell.
std::optional<Labels> labels_by_order(const Places& places) {
  const std::vector<Ranking> rankings = rankings_of(places);
  const auto unless = [&](const Labels& labels, bool (Ranking::*is_heard)() const) {
    const bool is_contradicted = std::any_of(rankings.begin(), rankings.end(), [&](const Ranking& each) {
      return (each.*is_heard)() && each.contradicts(labels);
    });
    return is_contradicted ? std::nullopt : std::optional(labels);
  };
  for (const Order& order : orders) {
    const bool has_ranking =
        std::any_of(rankings.begin(), rankings.end(), [&](const Ranking& each) { return each.order == &order; });
    if (has_ranking) continue;
    const Labels labels = labels_by(places, order.trait);  // each of several images of a place
    if (are_parted_alike(places, labels)) return unless(labels, &Ranking::is_heard);
  }
  const std::function<bool(const Ranking&)> beliefs[] = {
      [](const Ranking& each) { return each.is_of_volumes(); },
      [](const Ranking& each) { return each.is_heard() || !each.order->needs_pattern; },
      [](const Ranking& each) { return each.pattern == Pattern::of_places; }};
  for (const auto& is_believed : beliefs) {
    const auto leader = std::find_if(rankings.begin(), rankings.end(), is_believed);
    if (leader == rankings.end()) continue;
    return leader->pattern == Pattern::of_one_value ? unless(leader->labels(), &Ranking::is_of_volumes)
                                                    : unless(leader->labels(), &Ranking::is_heard);
  }
  const bool are_missing =
      std::ranges::any_of(places, [&](const auto& place) { return place.size() != places.front().size(); });
  return are_missing ? labels_by_course(places) : std::nullopt;
}

class VolumeSplit {
 public:
  explicit VolumeSplit(std::vector<SliceHeader>& images) : images_(images) {}

  void part(const Places& places, bool by_time) {
    const bool are_repeated =
        std::any_of(places.begin(), places.end(), [](const auto& place) { return place.size() > 1; });
    if (part_by_contrast(places, are_repeated, by_time)) return;
    const auto labels = are_repeated ? labels_by_order(places) : std::nullopt;
    if (!labels) return result_.push_back({take(places), by_time, lowest_number(places)});
    double before = std::numeric_limits<double>::lowest();
    for (const Places& each : parted(places, *labels)) {
      const std::size_t first = result_.size();
      part(each, true);
      double lowest = std::numeric_limits<double>::max();
      for (VolumePart& made : std::span(result_).subspan(first)) {
        made.number = std::max(made.number, before);
        lowest = std::min(lowest, made.number);
      }
      before = lowest;
    }
  }
  std::vector<VolumePart> result() { return std::move(result_); }

 private:
  /// The images themselves; each is in one part only.
  std::vector<SliceHeader> take(const Places& places) {
    std::vector<SliceHeader> slices;
    slices.reserve(std::accumulate(places.begin(), places.end(), std::size_t{0},
                                   [](std::size_t sum, const auto& place) { return sum + place.size(); }));
    for (const auto& place : places) {
      for (const SliceHeader* image : place) {
        slices.push_back(std::move(images_[static_cast<std::size_t>(image - images_.data())]));
      }
    }
    return slices;
  }

  bool part_by_contrast(const Places& places, bool are_repeated, bool by_time) {
    const auto never = [](const Places&, const Labels&) { return false; };
    const auto part_by = [&](const Labels& labels, const auto& are_of_several) {
      const bool is_split = are_repeated ? are_parted_alike(places, labels) : are_of_several(places, labels);
      if (!is_split) return false;
      auto parts = parted(places, labels);
      std::stable_sort(parts.begin(), parts.end(),
                       [](const Places& a, const Places& b) { return lowest_number(a) < lowest_number(b); });
      for (const Places& each : parts) part(each, by_time);
      return true;
    };
    if (part_by(labels_by(places, &SliceHeader::format), never)) return true;
    if (part_by(labels_by(places, makers_b_value), never)) return true;
    for (const Trait& contrast : contrasts) {
      if (part_by(labels_by(places, contrast), alternate)) return true;
    }
    if (part_by(labels_by(places, &SliceHeader::sequence), alternate) ||
        part_by(labels_by(places, &SliceHeader::image_type), never) || part_by(labels_by(places, stack), interleave) ||
        part_by(labels_by(places, &SliceHeader::contrast_agent), interleave) ||
        part_by(labels_by(places, slice_thickness), interleave)) {
      return true;
    }
    // It follows the heart in some scans: by chance, that may part all places alike.
    const Labels by_repetition = labels_by(places, repetition_time);
    if (!(are_repeated && mix_volumes(places, by_repetition)) && part_by(by_repetition, interleave)) return true;
    for (std::size_t i = 0; i < places.front().front()->dimension_indices.size(); ++i) {
      const Trait index{[i](const SliceHeader& slice) {
        return i < slice.dimension_indices.size() ? std::optional(slice.dimension_indices[i]) : std::nullopt;
      }};
      if (part_by(labels_by(places, index), never)) return true;
    }
    return false;
  }

  std::vector<SliceHeader>& images_;
  std::vector<VolumePart> result_;
};

Places by_place(const std::vector<SliceHeader>& slices) {
  Places places;
  for (const SliceHeader& slice : slices) {
    if (places.empty() || distance(*places.back().front(), slice) > same_place_mm) places.emplace_back();
    places.back().push_back(&slice);
  }
  return places;
}

/// The first image of each instance number has one label, the second another, where so many follow each other by turns
/// that two scans must have been numbered alike; else all have one. In stations of a table that each begin with 1 they
/// come one after the other.
Labels labels_by_turn(const Places& places) {
  Labels labels;
  std::map<double, int> counts;
  std::size_t repeated = 0, changes = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const SliceHeader* const image = places[i].front();
    const int label = labels[image] = counts[*running_number(*image)]++;
    repeated += label > 0;
    changes += i > 0 && label != labels[places[i - 1].front()];
  }
  if (3 * repeated < places.size() || changes <= repeated) {
    for (auto& [image, label] : labels) label = 0;
  }
  return labels;
}

}  // namespace

std::vector<VolumePart> tell_apart(std::vector<SliceHeader> images) {
  VolumeSplit split(images);
  split.part(by_place(images), false);
  return split.result();
}

std::string mixed_times(const std::vector<SliceHeader>& slices) {
  Places places;
  for (const SliceHeader& slice : slices) places.push_back({&slice});
  const std::pair<Labels, const char*> signs[] = {
      {labels_by(places, {&SliceHeader::trigger_time, same_phase_ms}), "different trigger times"},
      {labels_by(places, {&SliceHeader::acquisition}), "different acquisition numbers"},
      {labels_by(places, &SliceHeader::contrast_agent), "different contrast agents"},
      {labels_by(places, slice_thickness), "different slice thicknesses"},
      {labels_by_turn(places), "the same instance numbers"}};
  for (const auto& [labels, name] : signs) {
    if (const auto between = alternation(places, labels)) {
      return std::string("slices of ") + name + " alternate: " + display_name(*between->first) + " and " +
             display_name(*between->second);
    }
  }
  return {};
}

std::string different_exposures(const std::vector<SliceHeader>& slices) {
  const SliceHeader *voltage = nullptr, *kernel = nullptr;  // the first that say them
  for (const SliceHeader& slice : slices) {
    const auto differ = [&](const char* what, const SliceHeader& first) {
      return std::string("slices of one volume have different ") + what +
             ", and so perhaps different noise: " + display_name(first) + " and " + display_name(slice);
    };
    if (slice.tube_voltage) {
      if (!voltage) voltage = &slice;
      if (!tube_voltage.same(*voltage->tube_voltage, *slice.tube_voltage)) return differ("tube voltages", *voltage);
    }
    if (slice.modality == "CT" && says(slice.sequence)) {
      if (!kernel) kernel = &slice;
      if (kernel->sequence != slice.sequence) return differ("convolution kernels", *kernel);
    }
  }
  return {};
}

}  // namespace quietvox::io::dicom
