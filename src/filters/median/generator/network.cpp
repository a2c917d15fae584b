// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/median/generator/network.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace quietvox::selection {
namespace {

/// Sorted values, ascending, out of a set from which `below` smaller and `above` greater ones were dropped.
struct List {
  std::vector<int> values;
  int below = 0, above = 0;

  int seen() const { return static_cast<int>(values.size()) + below + above; }
};

/// A comparator's two results stand next to each other: the smaller first.
class Comparators {
 public:
  int load(Place place) {
    steps_.push_back({StepKind::load, -1, -1, place});
    return static_cast<int>(steps_.size()) - 1;
  }

  /// Batcher's odd-even merge of two ascending lists of any lengths.
  std::vector<int> merge(const std::vector<int>& a, const std::vector<int>& b) {
    if (a.empty()) return b;
    if (b.empty()) return a;
    if (a.size() == 1 && b.size() == 1) return compare(a[0], b[0]);
    const std::vector<int> even = merge(every_second(a, 0), every_second(b, 0));
    const std::vector<int> odd = merge(every_second(a, 1), every_second(b, 1));
    std::vector<int> merged{even[0]};
    std::size_t i = 0;
    for (; i < odd.size() && i + 1 < even.size(); ++i) {
      for (const int value : compare(odd[i], even[i + 1])) merged.push_back(value);
    }
    merged.insert(merged.end(), odd.begin() + static_cast<std::ptrdiff_t>(i), odd.end());
    if (i + 1 < even.size()) merged.insert(merged.end(), even.begin() + static_cast<std::ptrdiff_t>(i + 1), even.end());
    return merged;
  }

  /// The steps that the outputs need, each just before its first use; everything else falls away.
  Network network(const std::vector<std::pair<int, Place>>& outputs) const {
    std::vector<bool> needed(steps_.size(), false);
    for (const auto& [step, place] : outputs) needed[static_cast<std::size_t>(step)] = true;
    for (std::size_t i = steps_.size(); i-- > 0;) {  // operands come before their users
      if (!needed[i] || steps_[i].kind == StepKind::load) continue;
      needed[static_cast<std::size_t>(steps_[i].a)] = needed[static_cast<std::size_t>(steps_[i].b)] = true;
    }
    Network result;
    std::vector<int> number(steps_.size(), -1);
    for (const auto& [step, place] : outputs) {
      schedule(step, needed, number, result);
      result.push_back({StepKind::store, number[static_cast<std::size_t>(step)], -1, place});
    }
    return result;
  }

 private:
  std::vector<int> compare(int a, int b) {
    steps_.push_back({StepKind::min, a, b, {}});
    steps_.push_back({StepKind::max, a, b, {}});
    const int greater = static_cast<int>(steps_.size()) - 1;
    return {greater - 1, greater};
  }

  static std::vector<int> every_second(const std::vector<int>& list, std::size_t first) {
    std::vector<int> part;
    for (std::size_t i = first; i < list.size(); i += 2) part.push_back(list[i]);
    return part;
  }

  void schedule(int index, const std::vector<bool>& needed, std::vector<int>& number, Network& result) const {
    const auto at = static_cast<std::size_t>(index);
    if (number[at] >= 0) return;
    Step step = steps_[at];
    if (step.kind == StepKind::load) {
      number[at] = static_cast<int>(result.size());
      result.push_back(step);
      return;
    }
    schedule(step.a, needed, number, result);
    schedule(step.b, needed, number, result);
    const std::size_t smaller = step.kind == StepKind::min ? at : at - 1;
    for (const std::size_t half : {smaller, smaller + 1}) {  // both results of the comparator together
      if (!needed[half]) continue;
      number[half] = static_cast<int>(result.size());
      result.push_back(
          {steps_[half].kind, number[static_cast<std::size_t>(step.a)], number[static_cast<std::size_t>(step.b)], {}});
    }
  }

  std::vector<Step> steps_;
};

struct Interval {
  int first, last;  // both included
};

/// Where a list comes from: per axis one coordinate, or `core`, all those that the windows of a tile have in common.
constexpr int core = -1;
using Source = std::array<int, 3>;
constexpr Source whole_core{core, core, core};
using Lists = std::map<Source, List>;

class TileMedian {
 public:
  TileMedian(Triple<int> window, Triple<int> tile)
      : window_(window), tile_(tile), size_(window.x * window.y * window.z) {}

  Network network() {
    begin({Interval{0, tile_.x - 1}, Interval{0, tile_.y - 1}, Interval{0, tile_.z - 1}});
    if (tile_.x > window_.x) {  // rows were cut, and are stored as one all the same
      const auto place = [](const auto& output) {
        return std::tuple(output.second.z, output.second.y, output.second.x);
      };
      std::sort(outputs_.begin(), outputs_.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
    }
    return comparators_.network(outputs_);
  }

 private:
  using Outputs = std::array<Interval, 3>;

  /// A box of outputs, and the sorted lists of their core and of everything around it.
  struct Tile {
    Outputs outputs{};
    Lists lists;
  };

  static int length(Interval interval) { return interval.last - interval.first + 1; }
  static std::pair<Interval, Interval> halves(Interval both) {
    const int half = both.first + length(both) / 2;
    return {{both.first, half - 1}, {half, both.last}};
  }

  /// The outputs of a box, cut where it is longer than the window, so that the windows of each part have a core.
  void begin(const Outputs& outputs) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (length(outputs[axis]) <= window_[static_cast<int>(axis)]) continue;
      const auto [low, high] = halves(outputs[axis]);
      Outputs part = outputs;
      part[axis] = low;
      begin(part);
      part[axis] = high;
      return begin(part);
    }
    Tile tile{outputs, {}};
    std::array<std::vector<int>, 3> choices;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Interval common = core_of(tile, static_cast<int>(axis));
      choices[axis] = {core};
      for (int c = outputs[axis].first; c < outputs[axis].last + window_[static_cast<int>(axis)]; ++c) {
        if (c < common.first || c > common.last) choices[axis].push_back(c);
      }
    }
    std::erase_if(sorted_, [](const auto& known) { return std::count(known.first.begin(), known.first.end(), core); });
    for (const int z : choices[2]) {
      for (const int y : choices[1]) {
        for (const int x : choices[0]) tile.lists[{x, y, z}] = sorted(tile, {x, y, z});
      }
    }
    split(tile);
  }

  Interval core_of(const Tile& tile, int axis) const {
    const Interval outputs = tile.outputs[static_cast<std::size_t>(axis)];
    return {outputs.last, outputs.first + window_[axis] - 1};
  }

  /// Drops the values that cannot be the median of any window that contains the whole list: with u values of the
  /// window still unseen, the value at rank i ends at a rank from i to i + u.
  List cropped(List list) const {
    const int middle = size_ / 2, unseen = size_ - list.seen();
    const int count = static_cast<int>(list.values.size());
    const int first = std::max(0, middle - list.below - unseen), last = std::min(count - 1, middle - list.below);
    list.below += first;
    list.above += count - 1 - last;
    list.values = {list.values.begin() + first, list.values.begin() + last + 1};
    return list;
  }

  List merged(const List& a, const List& b) {
    return cropped({comparators_.merge(a.values, b.values), a.below + b.below, a.above + b.above});
  }

  /// Merges lists, the shortest first.
  List merged(std::vector<List> lists) {
    while (lists.size() > 1) {
      std::stable_sort(lists.begin(), lists.end(),
                       [](const List& a, const List& b) { return a.values.size() < b.values.size(); });
      List sum = merged(lists[0], lists[1]);
      lists.erase(lists.begin(), lists.begin() + 2);
      lists.push_back(std::move(sum));
    }
    return lists[0];
  }

  /// The sorted list of a source, made of the lists of its slices, those of its rows, and so on.
  const List& sorted(const Tile& tile, const Source& source) {
    const auto found = sorted_.find(source);
    if (found != sorted_.end()) return found->second;
    List list;
    const auto along = std::find(source.rbegin(), source.rend(), core);
    if (along == source.rend()) {
      list.values = {comparators_.load({source[0], source[1], source[2]})};
    } else {
      const auto axis = static_cast<std::size_t>(source.rend() - along) - 1;
      const Interval common = core_of(tile, static_cast<int>(axis));
      std::vector<List> parts;
      for (int c = common.first; c <= common.last; ++c) {
        Source part = source;
        part[axis] = c;
        parts.push_back(sorted(tile, part));
      }
      list = merged(std::move(parts));
    }
    return sorted_[source] = std::move(list);
  }

  void split(const Tile& tile) {
    const auto extent = [&](std::size_t axis) { return length(tile.outputs[axis]); };
    std::size_t axis = 2;
    for (const std::size_t other : {1U, 0U}) {
      if (extent(other) > extent(axis)) axis = other;
    }
    if (extent(axis) == 1) {
      outputs_.push_back({tile.lists.at(whole_core).values.at(0),
                          {tile.outputs[0].first, tile.outputs[1].first, tile.outputs[2].first}});
      return;
    }
    const auto [low, high] = halves(tile.outputs[axis]);
    split(part(tile, axis, low));
    split(part(tile, axis, high));
  }

  /// The part of a tile whose outputs along `axis` are those given: its core grows, and the lists around it are fewer.
  Tile part(const Tile& tile, std::size_t axis, Interval outputs) {
    Tile result{tile.outputs, {}};
    result.outputs[axis] = outputs;
    const Interval old_core = core_of(tile, static_cast<int>(axis));
    const Interval new_core = core_of(result, static_cast<int>(axis));
    for (const auto& [source, list] : tile.lists) {
      if (!within_reach(result, source)) continue;
      if (source[axis] != core) {
        if (source[axis] < new_core.first || source[axis] > new_core.last) result.lists[source] = list;
        continue;
      }
      std::vector<List> joining;
      for (int c = new_core.first; c <= new_core.last; ++c) {
        if (c == old_core.first) c = old_core.last + 1;
        if (c > new_core.last) break;
        Source neighbour = source;
        neighbour[axis] = c;
        joining.push_back(tile.lists.at(neighbour));
      }
      result.lists[source] = merged(list, merged(std::move(joining)));
    }
    return result;
  }

  bool within_reach(const Tile& tile, const Source& source) const {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Interval outputs = tile.outputs[axis];
      const int last = outputs.last + window_[static_cast<int>(axis)] - 1;
      if (source[axis] != core && (source[axis] < outputs.first || source[axis] > last)) return false;
    }
    return true;
  }

  Triple<int> window_, tile_;
  int size_;
  Comparators comparators_;
  Lists sorted_;
  std::vector<std::pair<int, Place>> outputs_;
};

}  // namespace

Network median_network(Triple<int> window, Triple<int> tile) { return TileMedian(window, tile).network(); }

}  // namespace quietvox::selection
