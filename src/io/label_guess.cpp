// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/label_guess.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "core/swapped_volume.hpp"
#include "io/display_format.hpp"
#include "io/voxel_loops.hpp"

namespace quietvox::io {
namespace {

constexpr double least_share_equal = 0.9;
constexpr double most_share_equal_of_noise = 0.3;
constexpr std::size_t few_numbers = 8;  // as no scan has, and many images of labels
constexpr double least_share_equal_of_few = 0.5;
constexpr std::int64_t least_pairs = 100;
constexpr std::int64_t least_voxels_of_few = 4096;  // a tiny image may have few numbers by chance

/// How often each of some whole numbers occurs.
class NumberCounts {
 public:
  explicit NumberCounts(std::span<const float> numbers) {
    const auto [low, high] = std::ranges::minmax(numbers);
    if (high - low < most_in_a_row) {
      low_ = low;
      in_a_row_.resize(static_cast<std::size_t>(high - low) + 1);
      for (const float number : numbers) ++in_a_row_[place_of(number)];
    } else {
      for (const float number : numbers) ++any_[number];
    }
  }

  std::int64_t of(float number) const { return in_a_row_.empty() ? any_.at(number) : in_a_row_[place_of(number)]; }
  /// Calls `take` with each number that occurs, and how often.
  template <class Take>
  void for_each(const Take& take) const {
    for (const auto& [number, times] : any_) take(number, times);
    for (std::size_t i = 0; i < in_a_row_.size(); ++i) {
      if (in_a_row_[i] > 0) take(low_ + static_cast<float>(i), in_a_row_[i]);
    }
  }

 private:
  static constexpr float most_in_a_row = 65536;  // of which an array is faster than a table

  std::size_t place_of(float number) const { return static_cast<std::size_t>(number - low_); }

  float low_ = 0;
  std::vector<std::int64_t> in_a_row_;
  std::unordered_map<float, std::int64_t> any_;
};

/// Neighbours along x and y, in slices of whole numbers.
class Pairs {
 public:
  explicit Pairs(const Extent& extent)
      : extent_(extent),
        columns_(static_cast<std::size_t>(extent.x)),
        rows_(static_cast<std::size_t>(extent.y)),
        is_common_(static_cast<std::size_t>(extent.slice())) {}

  void add(VolumeView<const float> slice) {
    ++slices_;
    const float background = count(slice);
    const auto look = [&](std::int64_t x, std::int64_t y, std::int64_t before, Line& line) {
      const std::int64_t at = y * extent_.x + x;
      const float a = slice.data[before], b = slice.data[at];
      if (a == background && b == background) return;
      ++all_;
      equal_ += a == b ? 1 : 0;
      line.has_pairs = true;
      line.has_edges = line.has_edges || a != b;
      if (is_common_[static_cast<std::size_t>(before)] || is_common_[static_cast<std::size_t>(at)]) return;
      ++rare_;
      if (a != b) jumps_.push_back(std::abs(a - b));
    };
    for (std::int64_t y = 0; y < extent_.y; ++y) {
      for (std::int64_t x = 0; x < extent_.x; ++x) {
        if (x > 0) look(x, y, y * extent_.x + x - 1, columns_[static_cast<std::size_t>(x)]);
        if (y > 0) look(x, y, (y - 1) * extent_.x + x, rows_[static_cast<std::size_t>(y)]);
      }
    }
  }
  void add_uniform(float number) { numbers_.insert(number); }

  std::size_t numbers() const { return numbers_.size(); }
  /// True where so many neighbours differ that no other slices could make labels of it.
  bool are_noise() const { return all_ >= slices_ * extent_.slice() / 2 && share_equal() < most_share_equal_of_noise; }
  /// Why they are labels; empty where these slices do not tell.
  std::string why() {
    if (all_ >= least_pairs && share_equal() >= least_share_equal && may_tell()) {
      return "whole numbers without noise, of which neighbours are equal";
    }
    return rare_ >= least_pairs && numbers() > few_numbers && are_names()
               ? "whole numbers of which most neighbours are equal, and others differ by any number"
               : "";
  }
  /// The same, once all slices were looked at.
  std::string why_of_whole_volume() {
    const bool are_few = numbers() == 2 ||
                         (numbers() <= few_numbers && all_ >= least_pairs && share_equal() >= least_share_equal_of_few);
    if (numbers() > 1 && are_few && may_tell()) return "only " + std::to_string(numbers()) + " different whole numbers";
    return why();
  }
  /// True where other slices could tell more.
  bool are_too_few() const { return numbers() <= few_numbers || rare_ < least_pairs; }

 private:
  /// A column or row of pixels, before which there may be an edge.
  struct Line {
    bool has_pairs = false, has_edges = false;
  };

  double share_equal() const { return static_cast<double>(equal_) / static_cast<double>(all_); }
  bool may_tell() const { return numbers() > few_numbers || extent_.voxels() >= least_voxels_of_few; }

  /// Returns the number that most voxels have, and finds those that are common: of air or of what lies outside a circle
  /// a scan may have a few too, of which neighbours are equal.
  float count(VolumeView<const float> slice) {
    constexpr double common = 0.05;
    const std::span voxels(slice.data, is_common_.size());
    const NumberCounts counts(voxels);
    const double most = common * static_cast<double>(voxels.size());
    for (std::size_t i = 0; i < voxels.size(); ++i) is_common_[i] = static_cast<double>(counts.of(voxels[i])) > most;
    float usual = 0;
    std::int64_t of_usual = 0;
    counts.for_each([&](float number, std::int64_t times) {
      numbers_.insert(number);
      if (times > of_usual || (times == of_usual && number < usual)) {
        usual = number;
        of_usual = times;
      }
    });
    return usual;
  }

  /// True where rare neighbours are mostly equal, three quarters of them (in scans it is a half at most), and others
  /// differ by any number, or hardly any do. What differs by the smallest steps is smooth. Edges before few columns or
  /// rows are those of voxels that were drawn larger.
  bool are_names() {
    constexpr double least_equal = 0.75, nearly_all = 0.95, most_larger_voxels = 0.5;
    const auto count = static_cast<std::int64_t>(jumps_.size());
    const double share = static_cast<double>(rare_ - count) / static_cast<double>(rare_);
    const auto edges = [](const std::vector<Line>& lines) {
      return static_cast<double>(std::ranges::count_if(lines, &Line::has_edges)) /
             static_cast<double>(std::ranges::count_if(lines, &Line::has_pairs));
    };
    if (share < least_equal || edges(columns_) <= most_larger_voxels || edges(rows_) <= most_larger_voxels)
      return false;
    if (share >= nearly_all) return true;
    const auto middle = jumps_.begin() + count / 2;
    std::nth_element(jumps_.begin(), middle, jumps_.end());
    return *middle > 2 * *std::min_element(jumps_.begin(), middle + 1);
  }

  Extent extent_;
  std::int64_t slices_ = 0;
  std::int64_t all_ = 0, equal_ = 0;  // of which one at least is no background
  std::int64_t rare_ = 0;             // of which none is common
  std::vector<float> jumps_;          // of those
  std::vector<Line> columns_, rows_;
  std::vector<bool> is_common_;  // voxels of a slice
  std::unordered_set<float> numbers_;
};

/// Signs of phases: angles of all sizes, of which neighbours jump from one end of a turn to the other.
class Turns {
 public:
  void add(VolumeView<const float> slice, Rescale to_real) {
    const std::span voxels(slice.data, static_cast<std::size_t>(slice.extent.slice()));
    const auto range = finite_range(voxels);
    const float low = range.first, high = range.second;
    if (!(low < high)) return;
    const auto is_cut_at = [&](float end) {
      constexpr double least_share = 0.001, near = 0.02;  // of the voxels; of the range
      const auto at_end = std::ranges::count(voxels, end);
      const auto is_near = [&](float voxel) { return std::abs(voxel - end) < near * (high - low); };
      return static_cast<double>(at_end) > least_share * static_cast<double>(voxels.size()) &&
             3 * at_end > 2 * std::ranges::count_if(voxels, is_near);
    };
    if (is_cut_at(low) && is_cut_at(high)) ++cut_;
    ++slices_;
    for (const float end : {low, high}) {
      stored_.add(end);
      real_.add(to_real.slope * end + to_real.inter);
    }
    const Slice looked_at{low, high - low, std::abs(to_real.slope)};
    const std::int64_t columns = slice.extent.x, rows = slice.extent.y;
    for (std::int64_t y = 0; y < rows; ++y) {
      const float* const row = slice.row(y, 0);
      add_row(looked_at, row + 1, columns - 1, 1, [&](std::int64_t x) { return x >= 2 && x + 3 < columns; });
      if (y == 0) continue;
      add_row(looked_at, row, columns, columns, [&](std::int64_t) { return y >= 3 && y + 2 < rows; });
    }
  }
  /// Why the numbers are phases; empty where they are none.
  std::string why() const {
    constexpr std::int64_t least = 20;
    if (2 * cut_ > slices_) return {};
    for (std::size_t i = 0; i < turns.size(); ++i) {
      const auto [low, high] = turns[i];
      const double inside = 0.01 * (high - low);
      if (!is_within(i) || real_.low > low + inside || real_.high < high - inside || jumps_[i] < least) continue;
      return "they reach from " + format_number(low) + " to " + format_number(high) +
             ", and neighbours jump between the ends";
    }
    // Edges of any other height are rare between smooth parts, which have numbers of all sizes.
    constexpr double least_of_edges = 0.5, least_of_mean = 0.1;
    const auto all = static_cast<double>(std::accumulate(levels_.begin(), levels_.end(), std::int64_t{0}));
    const auto fewest = static_cast<double>(*std::ranges::min_element(levels_));
    const bool are_wrapped =
        wraps_ >= least && static_cast<double>(wraps_) >= least_of_edges * static_cast<double>(edges_);
    // The air of magnitudes lies just above 0. Angles that crowd there lie just below a whole turn, too.
    constexpr double much = 0.3, least_share = 1.0 / 16;
    const bool are_dark = static_cast<double>(at_bottom_) > much * all &&
                          static_cast<double>(at_top_) < least_share * static_cast<double>(at_bottom_);
    if (!are_wrapped || are_dark || !(real_.is_turn() || stored_.is_turn()) ||
        fewest < least_of_mean * all / static_cast<double>(levels_.size()))
      return {};
    return "they reach from " + format_number(real_.low) + " to " + format_number(real_.high) +
           ", and go on at one end where they leave the other";
  }
  /// True where other slices may show it.
  bool are_likely() const {
    constexpr std::int64_t some = 10;
    return large_jumps_ >= some;
  }

 private:
  struct Slice {
    float low, range;
    double slope;  ///< real numbers are as many times as far apart
  };
  /// Of all numbers.
  struct Ends {
    double low = std::numeric_limits<double>::infinity(), high = -low;

    void add(double number) {
      low = std::min(low, number);
      high = std::max(high, number);
    }
    /// True where they begin at 0 or lie about it, as angles do.
    bool is_turn() const {
      const double near = 0.05 * (high - low);
      return std::abs(low) <= near || std::abs(low + high) <= near;
    }
  };
  // Radians, and the whole numbers of Siemens and GE; degrees.
  static constexpr auto turns = std::to_array<Range<double>>(
      {{-std::numbers::pi, std::numbers::pi}, {0, 2 * std::numbers::pi}, {-4096, 4096}, {-3142, 3142}, {-180, 180}});

  bool is_within(std::size_t turn) const {
    const auto [low, high] = turns[turn];
    const double outside = 0.0005 * (high - low);
    return real_.low >= low - outside && real_.high <= high + outside;
  }

  static constexpr float small = 0.1F, edge = 0.25F, large = 0.75F;  // of the range

  /// `count` voxels and what lies `step` before each; `has_sides(x)`: two more lie on either side.
  template <class HasSides>
  void add_row(const Slice& slice, const float* here, std::int64_t count, std::int64_t step,
               const HasSides& has_sides) {
    const float* const before = here - step;
    constexpr std::int64_t between = 4;  // every fourth voxel shows well enough which numbers occur
    for (std::int64_t x = 0; x < count; x += between) {
      const float jump = std::abs(here[x] - before[x]);
      if (jump > 0 && jump < small * slice.range) add_level(slice, before[x]);
    }
    std::int32_t edges = 0;  // without an early end, so that the compiler makes vectors of it
    for (std::int64_t x = 0; x < count; ++x) edges += std::abs(here[x] - before[x]) > edge * slice.range ? 1 : 0;
    if (edges == 0) return;
    for (std::int64_t x = 0; x < count; ++x) {
      const float jump = std::abs(here[x] - before[x]);
      if (jump > edge * slice.range && jump <= slice.range) add_edge(slice, here + x, step, jump, has_sides(x));
    }
  }

  void add_level(const Slice& slice, float number) {
    constexpr float end = 1.0F / 32;
    const float share = (number - slice.low) / slice.range, level = share * static_cast<float>(levels_.size());
    at_bottom_ += share < end;
    at_top_ += share > 1 - end;
    ++levels_[std::min(static_cast<std::size_t>(level), levels_.size() - 1)];
  }

  /// `here` and what lies `step` before it differ by `jump`, which is much.
  void add_edge(const Slice& slice, const float* here, std::int64_t step, float jump, bool has_sides) {
    if (jump > large * slice.range) {
      ++large_jumps_;
      for (std::size_t i = 0; i < turns.size(); ++i)
        jumps_[i] += slice.slope * jump > 0.9 * (turns[i].max - turns[i].min) ? 1 : 0;
    }
    if (!has_sides) return;
    const std::array steps{std::abs(here[-2 * step] - here[-3 * step]), std::abs(here[-step] - here[-2 * step]),
                           std::abs(here[step] - *here), std::abs(here[2 * step] - here[step])};
    const auto is_small = [&](float side) { return side < small * slice.range; };
    // Where numbers were cut off, both sides may be flat.
    if (!std::ranges::all_of(steps, is_small) || steps[1] == 0 || steps[2] == 0) return;
    if (jump <= large * slice.range) {
      ++edges_;
    } else if (slice.range - jump <= 2 * *std::ranges::max_element(steps)) {
      ++wraps_;
    }
  }

  Ends stored_, real_;
  int slices_ = 0, cut_ = 0;                        // of which so many were cut off at both ends, as a window is
  std::array<std::int64_t, turns.size()> jumps_{};  // by nearly a whole turn
  std::int64_t large_jumps_ = 0;
  std::int64_t edges_ = 0, wraps_ = 0;       // between smooth parts: by a part of the range, by about all of it
  std::array<std::int64_t, 8> levels_{};     // numbers of neighbours that differ by little, by size
  std::int64_t at_bottom_ = 0, at_top_ = 0;  // of these, at the ends of the range
};

/// True where so many neighbours differ that the others could not make labels of a slice, whatever is background.
bool is_full_of_noise(VolumeView<const float> slice) {
  std::int64_t differing = 0;  // without an early end, so that the compiler makes vectors of it
  for (std::int64_t y = 0; y < slice.extent.y; ++y) {
    const float *const row = slice.row(y, 0), *const above = y > 0 ? slice.row(y - 1, 0) : row;
    std::int32_t in_row = 0;
    for (std::int64_t x = 0; x < slice.extent.x; ++x) in_row += row[x] != above[x];
    for (std::int64_t x = 1; x < slice.extent.x; ++x) in_row += row[x] != row[x - 1];
    differing += in_row;
  }
  return static_cast<double>(differing) >
         (1 - most_share_equal_of_noise) * 2 * static_cast<double>(slice.extent.slice());
}

/// Those at the quarters of a volume first.
std::vector<std::int64_t> slices_in_turn(std::int64_t count) {
  std::vector<std::int64_t> slices{count / 4};
  for (const std::int64_t z : {count / 2, count * 3 / 4}) {
    if (z > slices.back()) slices.push_back(z);
  }
  const std::vector<std::int64_t> first = slices;
  for (std::int64_t z = 0; z < count; ++z) {
    if (std::ranges::find(first, z) == first.end()) slices.push_back(z);
  }
  return slices;
}

}  // namespace

NumberLooks looks_of(VolumeSource& stored, Rescale to_real) {
  if (const AxisSwap swap({.extent = stored.extent(), .spacing = stored.spacing()}); swap) {
    constexpr std::size_t room = std::size_t{8} << 20;  // small beside any memory limit
    SwappedVolume swapped(stored, swap, room, {});
    return looks_of(swapped, to_real);
  }
  constexpr int enough = 3;  // slices that hold more than one number
  const Extent extent = stored.extent();
  std::vector<float> voxels(static_cast<std::size_t>(extent.slice()));
  Turns turns;
  Pairs pairs(extent);
  int looked_at = 0;
  bool may_be_labels = true;
  constexpr float most_of_labels = 16777216;  // beyond that, 32-bit floats are all whole
  const auto is_whole = [](float voxel) {
    return voxel == std::trunc(voxel) &&
           (std::abs(voxel) < most_of_labels || voxel == std::numeric_limits<float>::lowest());
  };
  for (const std::int64_t z : slices_in_turn(extent.z)) {
    const VolumeView<float> slice{voxels.data(), {{extent.x, extent.y, 1}}, stored.spacing(), {0, 0, z}};
    stored.read(slice);
    if (looked_at < enough) turns.add(slice, to_real);
    for (float& voxel : voxels) {
      if (std::isnan(voxel)) voxel = std::numeric_limits<float>::lowest();  // a background
    }
    if (std::ranges::all_of(voxels, [&](float voxel) { return voxel == voxels.front(); })) {
      pairs.add_uniform(voxels.front());
      continue;
    }
    ++looked_at;
    may_be_labels = may_be_labels && !is_full_of_noise(slice) && std::ranges::all_of(voxels, is_whole);
    if (may_be_labels) pairs.add(slice);
    may_be_labels = may_be_labels && !pairs.are_noise();
    if (!may_be_labels && (looked_at >= enough || !turns.are_likely())) break;
    if (looked_at < enough) continue;
    if (std::string why = turns.why(); !why.empty()) return {.why_phases = std::move(why)};
    if (std::string why = pairs.why(); !why.empty()) return {.why_labels = std::move(why)};
    if (!pairs.are_too_few()) return {};
  }
  if (std::string why = turns.why(); !why.empty()) return {.why_phases = std::move(why)};
  if (!may_be_labels) return {};
  return {.why_labels = pairs.why_of_whole_volume()};
}

bool are_vectors(std::array<VolumeSource*, 3> volumes) {
  constexpr std::size_t least_pairs_of_vectors = 100;
  constexpr double most_of_jumps = 0.1;  // of numbers that are noise: 0.15
  const Extent extent = volumes[0]->extent();
  std::array<std::vector<float>, 3> parts;
  bool has_signs = false;  // of one part at least: their directions may all be of one hemisphere
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (volumes[i]->extent() != extent) return false;
    parts[i].resize(static_cast<std::size_t>(extent.slice()));
    volumes[i]->read({parts[i].data(), {{extent.x, extent.y, 1}}, volumes[i]->spacing(), {0, 0, extent.z / 2}});
    const auto [low, high] = std::ranges::minmax(parts[i]);
    if (!(low >= -1.001F && high <= 1.001F)) return false;
    has_signs = has_signs || low < 0;
  }
  if (!has_signs) return false;
  const auto dot = [&](std::size_t a, std::size_t b) {
    return std::inner_product(parts.begin(), parts.end(), parts.begin(), 0.0, std::plus<>(),
                              [&](const auto& part, const auto& same) { return double{part[a]} * same[b]; });
  };
  std::size_t pairs = 0;
  double of_lengths = 0, of_vectors = 0;
  const auto add = [&](std::size_t a, std::size_t b) {
    const double a_a = dot(a, a), b_b = dot(b, b);
    if (a_a == 0 || b_b == 0) return true;
    ++pairs;
    of_lengths += std::pow(std::sqrt(a_a) - std::sqrt(b_b), 2);
    of_vectors += a_a + b_b - 2 * dot(a, b);
    return std::max(a_a, b_b) <= 1.002;
  };
  for (std::int64_t y = 0; y < extent.y; ++y) {
    for (std::int64_t x = 0; x < extent.x; ++x) {
      const auto at = static_cast<std::size_t>(y * extent.x + x);
      if (x > 0 && !add(at - 1, at)) return false;
      if (y > 0 && !add(at - static_cast<std::size_t>(extent.x), at)) return false;
    }
  }
  return pairs >= least_pairs_of_vectors && of_lengths < most_of_jumps * of_vectors;
}

}  // namespace quietvox::io
