// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom_repeats.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

namespace quietvox::io::dicom {
namespace {

constexpr double same_contrast = 0.02;  // of the value
constexpr double same_trigger_ms = 10;  // of images at one place: what heart beats differ by
constexpr double same_phase_ms = 20;    // of neighbours: less changes no picture
constexpr double same_step = 0.01;      // of the step

/// Images by their places.
using Places = std::vector<std::vector<const Slice*>>;

/// A number of the header, and how far apart it may be in images of one volume.
struct Trait {
  std::function<std::optional<double>(const Slice&)> of;
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

const Trait contrasts[] = {{&Slice::inversion_time, 0, same_contrast},
                           {&Slice::flip_angle, 0, same_contrast},
                           {&Slice::tube_voltage, 0, same_contrast}};

const Order orders[] = {
    {{&Slice::inversion_time, 0, same_contrast}, false},
    {{&Slice::trigger_time, same_trigger_ms}, false},
    {{&Slice::cycle_share, 0.5}, false},
    {{&Slice::reference_time, 0.5}},
    {{&Slice::acquired_at}, true, true},
    {{&Slice::made_at}, true, true},
    {{&Slice::acquisition}},
    {{[](const Slice& slice) {
      const double frame = static_cast<double>(slice.frame) / static_cast<double>(slice.frames);
      return std::optional(slice.instance_number.value_or(0) + frame);
    }}},
};

/// What images have in common: those of one label are alike.
using Labels = std::map<const Slice*, int>;

/// Numbers of which each is close to the next one have one label; labels rise with them.
Labels labels_by(const Places& places, const Trait& trait) {
  Labels labels;
  std::vector<std::pair<double, const Slice*>> numbers;
  for (const auto& place : places) {
    for (const Slice* image : place) {
      labels[image] = -1;
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

Labels labels_by(const Places& places, const std::string Slice::*text) {
  std::map<std::string, std::vector<const Slice*>> images;
  for (const auto& place : places) {
    for (const Slice* image : place) images[image->*text].push_back(image);
  }
  Labels labels;
  int label = 0;
  for (const auto& [value, alike] : images) {
    for (const Slice* image : alike) labels[image] = label;
    ++label;
  }
  return labels;
}

/// True where labels part the images in the same way at every place: there are no more of them than images at a place,
/// and each stands equally often at each place where it stands. What differs by chance, or from place to place, does
/// not: it has more labels, or puts now one, now several images of a place together.
bool tell(const Places& places, const Labels& labels) {
  std::map<int, std::set<int>> counts;  // of each label, at the places where it stands
  std::size_t most = 0;
  for (const auto& place : places) {
    std::map<int, int> here;
    for (const Slice* image : place) ++here[labels.at(image)];
    for (const auto& [label, count] : here) counts[label].insert(count);
    most = std::max(most, place.size());
  }
  return counts.size() > 1 && counts.size() <= most &&
         std::all_of(counts.begin(), counts.end(), [](const auto& count) { return count.second.size() == 1; });
}

/// Where a label comes back along the places after another one; none where it never does.
std::optional<std::size_t> alternation(const Places& places, const Labels& labels) {
  std::map<int, std::size_t> last;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const int label = labels.at(places[i].front());
    const auto before = last.find(label);
    if (before != last.end() && before->second + 1 < i) return i;
    last[label] = i;
  }
  return std::nullopt;
}

std::optional<double> lowest_number(const Places& places) {
  auto lowest = places.front().front()->instance_number;
  for (const auto& place : places) {
    for (const Slice* image : place) lowest = std::min(lowest, image->instance_number);
  }
  return lowest;
}

std::vector<Places> parted(const Places& places, const Labels& labels) {
  std::map<int, Places> by_label;
  for (const auto& place : places) {
    std::map<int, std::vector<const Slice*>> here;
    for (const Slice* image : place) here[labels.at(image)].push_back(image);
    for (auto& [label, images] : here) by_label[label].push_back(std::move(images));
  }
  std::vector<Places> parts;
  for (auto& [label, part] : by_label) parts.push_back(std::move(part));
  return parts;
}

/// How far a number is to be believed that orders the images of each place.
enum class Pattern { none, of_places, of_volumes, of_one_value };

/// The pattern in which ordered numbers go on: from one volume to the next, all images of one before any of the next,
/// or even with one value for each; or from one place to the next, or by the same steps at every place.
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
  if (by_volume) return tell(ranked, labels_by(ranked, trait)) ? Pattern::of_one_value : Pattern::of_volumes;
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
    const auto same_label = [&](const Slice* a, const Slice* b) { return labels.at(a) == labels.at(b); };
    return !std::all_of(places.begin(), places.end(), [&](const auto& place) {
      return std::equal(place.begin(), place.end(), places.front().begin(), same_label);
    });
  }
};

/// None where the places hold different counts of images, where the number is missing in one, or is too much alike in
/// two of one place.
std::optional<Ranking> ranking_by(const Order& order, Places places) {
  for (auto& place : places) {
    std::vector<std::pair<double, const Slice*>> numbers;
    for (const Slice* image : place) {
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

/// Labels of what times and numbers tell apart at each place; none where they do not tell.
std::optional<Labels> labels_by_order(const Places& places) {
  std::vector<Ranking> rankings;
  for (const Order& order : orders) {
    if (auto ranking = ranking_by(order, places)) rankings.push_back(std::move(*ranking));
  }
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
    if (tell(places, labels)) return unless(labels, &Ranking::is_heard);
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
  return std::nullopt;
}

class Teller {
 public:
  explicit Teller(std::vector<Slice>& images) : images_(images) {}

  void part(const Places& places, bool by_time) {
    const bool are_repeated =
        std::any_of(places.begin(), places.end(), [](const auto& place) { return place.size() > 1; });
    if (part_by_contrast(places, are_repeated, by_time)) return;
    const auto labels = are_repeated ? labels_by_order(places) : std::nullopt;
    if (!labels) return result_.push_back({take(places), by_time});
    for (const Places& each : parted(places, *labels)) part(each, true);
  }
  std::vector<Repeat> result() { return std::move(result_); }

 private:
  /// The images themselves; each is in one part only.
  std::vector<Slice> take(const Places& places) {
    std::vector<Slice> slices;
    for (const auto& place : places) {
      for (const Slice* image : place) {
        slices.push_back(std::move(images_[static_cast<std::size_t>(image - images_.data())]));
      }
    }
    return slices;
  }

  bool part_by_contrast(const Places& places, bool are_repeated, bool by_time) {
    const auto part_by = [&](const Labels& labels, bool may_alternate = false) {
      const bool do_tell = are_repeated ? tell(places, labels) : may_alternate && alternation(places, labels);
      if (!do_tell) return false;
      auto parts = parted(places, labels);
      std::stable_sort(parts.begin(), parts.end(),
                       [](const Places& a, const Places& b) { return lowest_number(a) < lowest_number(b); });
      for (const Places& each : parts) part(each, by_time);
      return true;
    };
    for (const Trait& contrast : contrasts) {
      if (part_by(labels_by(places, contrast), true)) return true;
    }
    if (part_by(labels_by(places, &Slice::sequence), true) || part_by(labels_by(places, &Slice::making))) return true;
    for (std::size_t i = 0; i < places.front().front()->dimension_indices.size(); ++i) {
      const Trait index{[i](const Slice& slice) {
        return i < slice.dimension_indices.size() ? std::optional(slice.dimension_indices[i]) : std::nullopt;
      }};
      if (part_by(labels_by(places, index))) return true;
    }
    return false;
  }

  std::vector<Slice>& images_;
  std::vector<Repeat> result_;
};

Places by_place(const std::vector<Slice>& slices) {
  Places places;
  for (const Slice& slice : slices) {
    const auto distance = [&](const Slice& other) {
      const Vector3 way = minus(*slice.position, *other.position);
      return std::sqrt(dot(way, way));
    };
    if (places.empty() || distance(*places.back().front()) > same_place_mm) places.emplace_back();
    places.back().push_back(&slice);
  }
  return places;
}

}  // namespace

std::vector<Repeat> tell_apart(std::vector<Slice> images) {
  Teller teller(images);
  teller.part(by_place(images), false);
  return teller.result();
}

std::string mixed_times(const std::vector<Slice>& slices) {
  Places places;
  for (const Slice& slice : slices) places.push_back({&slice});
  const std::pair<Trait, const char*> numbers[] = {{{&Slice::trigger_time, same_phase_ms}, "trigger times"},
                                                   {{&Slice::acquisition}, "acquisition numbers"}};
  for (const auto& [trait, name] : numbers) {
    if (const auto i = alternation(places, labels_by(places, trait))) {
      return std::string("slices of different ") + name + " alternate: " + slices[*i - 1].name.string() + " and " +
             slices[*i].name.string();
    }
  }
  return {};
}

}  // namespace quietvox::io::dicom
