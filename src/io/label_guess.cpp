// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/label_guess.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "io/format_text.hpp"

namespace quietvox::io {
namespace {

constexpr double least_share_equal = 0.9;
constexpr double least_share_inside = 0.85;  // of neighbours of which none is background; in scans it is a half at most
constexpr double most_share_equal_of_noise = 0.3;
constexpr std::size_t few_numbers = 8;  // as no scan has, and many images of labels
constexpr double least_share_equal_of_few = 0.5;
constexpr std::int64_t least_pairs = 100;
constexpr std::int64_t least_voxels_of_few = 4096;  // a tiny image may have few numbers by chance

/// Neighbours along x and y of which one at least is no background.
struct Pairs {
  std::int64_t all = 0, equal = 0, inside = 0;
  std::vector<float> jumps;  // from one that is no background to another one

  /// `low`, `high`: of the slice; where a window was cut out of a scan, many neighbours have these.
  void add(float a, float b, float background, float low, float high, bool keeps_jumps) {
    if (a == background && b == background) return;
    ++all;
    equal += a == b ? 1 : 0;
    const auto is_inside = [&](float number) { return number != background && number != low && number != high; };
    if (!is_inside(a) || !is_inside(b)) return;
    ++inside;
    if (a != b && keeps_jumps) jumps.push_back(std::abs(a - b));
  }
  double share_equal() const { return static_cast<double>(equal) / static_cast<double>(all); }
  /// True where so many neighbours differ that no other slices could make labels of it.
  bool are_noise(std::int64_t voxels) const { return all >= voxels / 2 && share_equal() < most_share_equal_of_noise; }
  /// True where neighbours are mostly equal, and else differ by any number. What differs by the smallest steps is
  /// smooth.
  bool are_names() {
    const auto count = static_cast<std::int64_t>(jumps.size());
    if (count == 0 || static_cast<double>(inside - count) < least_share_inside * static_cast<double>(inside))
      return false;
    const auto middle = jumps.begin() + count / 2;
    std::nth_element(jumps.begin(), middle, jumps.end());
    return *middle > 2 * *std::min_element(jumps.begin(), middle + 1);
  }
};

/// Signs of phases in real numbers.
class Turns {
 public:
  void add(VolumeView<const float> slice, Rescale to_real) {
    const auto real = [&](std::int64_t x, std::int64_t y) { return to_real.slope * slice.at(x, y, 0) + to_real.inter; };
    for (std::int64_t y = 0; y < slice.extent.y; ++y) {
      for (std::int64_t x = 0; x < slice.extent.x; ++x) {
        const double phase = real(x, y);
        if (!std::isfinite(phase)) continue;
        low_ = std::min(low_, phase);
        high_ = std::max(high_, phase);
        if (x > 0) add_jump(phase - real(x - 1, y));
        if (y > 0) add_jump(phase - real(x, y - 1));
      }
    }
  }
  /// Why the numbers are phases; empty where they are none.
  std::string why() const {
    for (std::size_t i = 0; i < turns.size(); ++i) {
      const auto [low, high] = turns[i];
      const double inside = 0.01 * (high - low);
      if (!is_within(i) || low_ > low + inside || high_ < high - inside || jumps_[i] < least_jumps) continue;
      return "they reach from " + format_text(low) + " to " + format_text(high) +
             ", and neighbours jump between the ends";
    }
    return {};
  }
  /// True where other slices may show it.
  bool are_likely() const {
    for (std::size_t i = 0; i < turns.size(); ++i) {
      if (is_within(i) && jumps_[i] > 0) return true;
    }
    return false;
  }

 private:
  // Radians, and the whole numbers of Siemens.
  static constexpr auto turns =
      std::to_array<Range<double>>({{-std::numbers::pi, std::numbers::pi}, {0, 2 * std::numbers::pi}, {-4096, 4096}});
  static constexpr std::int64_t least_jumps = 20;

  bool is_within(std::size_t turn) const {
    const auto [low, high] = turns[turn];
    const double outside = 0.0005 * (high - low);
    return low_ >= low - outside && high_ <= high + outside;
  }
  void add_jump(double jump) {
    for (std::size_t i = 0; i < turns.size(); ++i)
      jumps_[i] += std::abs(jump) > 0.9 * (turns[i].max - turns[i].min) ? 1 : 0;
  }

  double low_ = std::numeric_limits<double>::infinity(), high_ = -low_;
  std::array<std::int64_t, turns.size()> jumps_{};
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

/// The number that most voxels have. Adds all to those that were met before.
float most_frequent(const std::vector<float>& voxels, std::unordered_set<float>& met) {
  std::unordered_map<float, std::int64_t> counts;
  std::pair<float, std::int64_t> most{};
  for (const float voxel : voxels) {
    if (const std::int64_t count = ++counts[voxel]; count > most.second) most = {voxel, count};
  }
  for (const auto& [number, count] : counts) met.insert(number);
  return most.first;
}

}  // namespace

NumberLooks looks_of(VolumeSource& stored, Rescale to_real) {
  const Extent extent = stored.extent();
  std::vector<float> voxels(static_cast<std::size_t>(extent.slice()));
  Turns turns;
  Pairs pairs;
  std::unordered_set<float> numbers;
  const auto is_whole = [](float voxel) { return voxel == std::trunc(voxel); };
  /// False where the slice shows that there are no labels.
  const auto look_at = [&](std::int64_t z, bool is_first_look) {
    const VolumeView<float> slice{voxels.data(), {{extent.x, extent.y, 1}}, stored.spacing(), {0, 0, z}};
    stored.read(slice);
    if (is_first_look) turns.add(slice, to_real);
    for (float& voxel : voxels) {
      if (std::isnan(voxel)) voxel = std::numeric_limits<float>::lowest();  // a background
    }
    if (is_full_of_noise(slice) || !std::ranges::all_of(voxels, is_whole)) return false;
    const auto [low, high] = std::ranges::minmax(voxels);
    const float background = most_frequent(voxels, numbers);
    for (std::int64_t y = 0; y < extent.y; ++y) {
      for (std::int64_t x = 0; x < extent.x; ++x) {
        if (x > 0) pairs.add(slice.at(x - 1, y, 0), slice.at(x, y, 0), background, low, high, is_first_look);
        if (y > 0) pairs.add(slice.at(x, y - 1, 0), slice.at(x, y, 0), background, low, high, is_first_look);
      }
    }
    return true;
  };
  bool may_be_labels = true;
  for (const std::int64_t z : std::set{extent.z / 4, extent.z / 2, extent.z * 3 / 4}) {
    may_be_labels = look_at(z, true) && may_be_labels;
    if ((!may_be_labels || pairs.are_noise(extent.slice())) && !turns.are_likely()) return {};
  }
  if (std::string why = turns.why(); !why.empty()) return {.why_phases = std::move(why)};
  if (!may_be_labels) return {};
  if (pairs.all >= least_pairs && pairs.share_equal() >= least_share_equal) {
    return {"whole numbers without noise, of which neighbours are equal"};
  }
  if (pairs.inside >= least_pairs && pairs.are_names()) {
    return {"whole numbers of which most neighbours are equal, and others differ by any number"};
  }
  // What is marked may lie in other slices.
  pairs = {};
  for (std::int64_t z = 0; z < extent.z && numbers.size() <= few_numbers; ++z) {
    if (!look_at(z, false)) return {};
  }
  if (numbers.size() == 1) return {};
  if (extent.voxels() < least_voxels_of_few) return {};
  const bool are_few = numbers.size() == 2 || (numbers.size() <= few_numbers && pairs.all >= least_pairs &&
                                               pairs.share_equal() >= least_share_equal_of_few);
  if (!are_few) return {};
  return {"only " + std::to_string(numbers.size()) + " different whole numbers"};
}

bool are_unit_vectors(std::array<VolumeSource*, 3> volumes) {
  constexpr std::int64_t least_vectors = 100;
  const Extent extent = volumes[0]->extent();
  std::vector<float> part(static_cast<std::size_t>(extent.slice())), squares(part.size());
  for (VolumeSource* volume : volumes) {
    volume->read({part.data(), {{extent.x, extent.y, 1}}, volume->spacing(), {0, 0, extent.z / 2}});
    const auto [low, high] = std::ranges::minmax(part);
    if (!(low < 0 && low >= -1.001F && high <= 1.001F)) return false;
    for (std::size_t i = 0; i < part.size(); ++i) squares[i] += part[i] * part[i];
  }
  const auto vectors = static_cast<std::int64_t>(part.size()) - std::ranges::count(squares, 0.F);
  const auto of_length_1 = std::ranges::count_if(squares, [](float square) { return std::abs(square - 1) < 0.01F; });
  return vectors >= least_vectors && static_cast<double>(of_length_1) >= 0.98 * static_cast<double>(vectors);
}

HeaderFacts LazyFacts::get(std::size_t volume,
                           const std::function<std::unique_ptr<VolumeSource>(std::size_t volume)>& stored) {
  if (header_.kind) return header_;
  const auto look = [&](std::size_t which) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = looks_.find(which); known != looks_.end()) return known->second;
    }
    NumberLooks looks;
    try {
      looks = looks_of(*stored(which), to_real_);
    } catch (const Error& error) {  // whoever filters the voxels will say what is wrong with them
      if (error.code() == Errc::cancelled) throw;
    }
    const std::lock_guard lock(mutex_);
    return looks_.emplace(which, looks).first->second;
  };
  const NumberLooks looks = look(volume);
  if (!looks.why_labels.empty()) {
    return {.kind = DataKind::labels, .kind_source = "the voxels look like labels: " + looks.why_labels};
  }
  HeaderFacts beside = beside_.of_volume(volume);
  if (beside.kind) return beside;
  if (!looks.why_phases.empty()) {
    return {.kind = DataKind::phase, .kind_source = "the voxels look like phases: " + looks.why_phases};
  }
  if (volumes_ == 3 && look_at_vectors(stored)) {
    return {.kind = DataKind::vectors, .kind_source = "the three volumes look like the parts of unit vectors"};
  }
  return beside;
}

bool LazyFacts::look_at_vectors(const std::function<std::unique_ptr<VolumeSource>(std::size_t volume)>& stored) {
  const std::lock_guard lock(mutex_);
  if (!are_vectors_) {
    are_vectors_ = false;
    try {
      const std::array parts{stored(0), stored(1), stored(2)};
      are_vectors_ = are_unit_vectors({parts[0].get(), parts[1].get(), parts[2].get()});
    } catch (const Error& error) {  // as above
      if (error.code() == Errc::cancelled) throw;
    }
  }
  return *are_vectors_;
}

}  // namespace quietvox::io
