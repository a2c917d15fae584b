// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise_impulses.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <span>

#include "analysis/median_of.hpp"

namespace quietvox {
namespace {

/// Values that are far more frequent than the next smaller and larger ones: salt and pepper, but not quantised noise.
std::vector<float> atoms_of(std::vector<float> values) {
  constexpr std::ptrdiff_t times = 3;
  constexpr double least_share = 0.005;
  const double least = least_share * static_cast<double>(values.size());
  std::sort(values.begin(), values.end());
  std::vector<std::pair<float, std::ptrdiff_t>> runs;
  for (auto begin = values.begin(); begin != values.end();) {
    const auto end = std::upper_bound(begin, values.end(), *begin);
    runs.emplace_back(*begin, end - begin);
    begin = end;
  }
  std::vector<float> atoms;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::ptrdiff_t before = i > 0 ? runs[i - 1].second : 0, after = i + 1 < runs.size() ? runs[i + 1].second : 0;
    if (static_cast<double>(runs[i].second) > least && runs[i].second > times * std::max(before, after)) {
      atoms.push_back(runs[i].first);
    }
  }
  return atoms;
}

}  // namespace

double ImpulseRepair::scattered(const float* brick, std::map<float, int>& atoms) {
  if (atoms.empty()) return 0;
  constexpr double deviations = 1.4826;  // in median absolute deviations of normal numbers
  constexpr double far = 3;
  constexpr int few = 2;
  sorted_.clear();
  double present = 0;
  for (std::int64_t i = 0; i < size_.voxels(); ++i) {
    if (!std::isfinite(brick[i])) continue;
    ++present;
    if (!atoms.contains(brick[i])) sorted_.push_back(brick[i]);
  }
  std::vector<float> distances = sorted_;
  const double middle = median_of(std::span(distances));
  for (float& value : distances) value = std::abs(value - static_cast<float>(middle));
  const double deviation = deviations * median_of(std::span(distances));
  if (deviation == 0) return 0;
  double count = 0;
  for (auto& each : atoms) {
    const float atom = each.first;
    if (std::abs(static_cast<double>(atom) - middle) <= far * deviation) continue;
    double all = 0, scattered = 0;
    for (std::int64_t i = 0; i < size_.voxels(); ++i) {
      if (brick[i] != atom) continue;
      ++all;
      const float* const slice = brick + i / size_.slice() * size_.slice();
      int same = 0;
      for_each_neighbour(i % size_.slice(), [&](std::int64_t j) { same += slice[j] == atom ? 1 : 0; });
      scattered += same <= few ? 1 : 0;
    }
    const auto next_to_it = std::ranges::count_if(
        sorted_, [&](float value) { return std::abs(static_cast<double>(value - atom)) < deviation; });
    // At the edge of a background some of it is scattered. Noise that is cut off at a value is about as frequent next
    // to it.
    if (!(scattered > all / 2 && scattered > 2 * static_cast<double>(next_to_it))) continue;
    count += scattered;
    ++each.second;
  }
  return count / present;
}

double ImpulseRepair::repair_brick(float* brick, const Impulses& impulses) {
  if (impulses.share > 0) {
    flag(brick, impulses);
  } else if (std::all_of(brick, brick + size_.voxels(), [](float value) { return std::isfinite(value); })) {
    flags_.assign(static_cast<std::size_t>(size_.voxels()), false);
    missing_ = 0;
    return 0;
  } else {
    flags_.assign(static_cast<std::size_t>(size_.voxels()), false);
    for (std::size_t i = 0; i < flags_.size(); ++i) flags_[i] = !std::isfinite(brick[i]);
    missing_ = std::count(flags_.begin(), flags_.end(), true);
  }
  const double result = share();
  if (result == 0) return result;
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < flags_.size(); ++i) {
    if (flags_[i]) continue;
    sum += static_cast<double>(brick[i]);
    ++count;
  }
  for (std::int64_t z = 0; z < size_.z; ++z) {
    float* slice = brick + z * size_.slice();
    std::copy(slice, slice + size_.slice(), slice_.begin());
    for (std::int64_t i = 0; i < size_.slice(); ++i) {
      if (!flags_[static_cast<std::size_t>(z * size_.slice() + i)]) continue;
      double around = 0, neighbours = 0;
      for_each_neighbour(i, [&](std::int64_t j) {
        if (flags_[static_cast<std::size_t>(z * size_.slice() + j)]) return;
        around += static_cast<double>(slice_[static_cast<std::size_t>(j)]);
        ++neighbours;
      });
      slice[i] = static_cast<float>(neighbours > 0 ? around / neighbours : sum / count);
    }
  }
  return result;
}

template <class Body>
void ImpulseRepair::for_each_neighbour(std::int64_t i, const Body& body) const {
  const std::int64_t x = i % size_.x, y = i / size_.x;
  for (std::int64_t b = std::max<std::int64_t>(y - 1, 0); b <= std::min(y + 1, size_.y - 1); ++b) {
    for (std::int64_t a = std::max<std::int64_t>(x - 1, 0); a <= std::min(x + 1, size_.x - 1); ++a) {
      if (a != x || b != y) body(b * size_.x + a);
    }
  }
}

void ImpulseRepair::flag(const float* brick, const Impulses& impulses) {
  constexpr std::size_t nearest = 4;
  const auto voxels = static_cast<std::size_t>(size_.voxels());
  distances_.assign(voxels, 0);
  for (std::size_t i = 0; i < voxels; ++i) {
    const float* slice = brick + static_cast<std::int64_t>(i) / size_.slice() * size_.slice();
    std::array<float, 8> differences;
    std::size_t count = 0;
    for_each_neighbour(static_cast<std::int64_t>(i) % size_.slice(), [&](std::int64_t j) {
      const float difference = std::abs(slice[j] - brick[i]);
      if (std::isfinite(difference)) differences[count++] = difference;
    });
    const std::size_t taken = std::min(nearest, count);
    std::partial_sort(differences.begin(), differences.begin() + static_cast<std::ptrdiff_t>(taken),
                      differences.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t k = 0; k < taken; ++k) distances_[i] += differences[k] / static_cast<float>(taken);
  }
  sorted_.clear();
  for (std::size_t i = 0; i < voxels; ++i) {
    if (std::isfinite(brick[i])) sorted_.push_back(distances_[i]);
  }
  missing_ = static_cast<std::int64_t>(voxels - sorted_.size());
  const auto middle = sorted_.begin() + std::ssize(sorted_) / 2;
  std::nth_element(sorted_.begin(), middle, sorted_.end());
  usual_ = sorted_.empty() ? 0 : *middle;
  flags_.resize(voxels);
  for (std::size_t i = 0; i < voxels; ++i) {
    flags_[i] = !std::isfinite(brick[i]) || (!impulses.all_are_atoms && stands_out(i)) ||
                std::find(impulses.atoms.begin(), impulses.atoms.end(), brick[i]) != impulses.atoms.end();
  }
}

bool ImpulseRepair::stands_out(std::size_t i) const {
  constexpr float over_usual = 8, over_neighbours = 4;
  if (distances_[i] <= over_usual * usual_) return false;
  std::array<float, 8> around;
  std::size_t count = 0;
  const float* slice = distances_.data() + static_cast<std::int64_t>(i) / size_.slice() * size_.slice();
  for_each_neighbour(static_cast<std::int64_t>(i) % size_.slice(), [&](std::int64_t j) { around[count++] = slice[j]; });
  return static_cast<double>(distances_[i]) > over_neighbours * median_of(std::span(around).first(count));
}

double ImpulseRepair::share_of_impulses() const {
  const auto flagged = std::count(flags_.begin(), flags_.end(), true) - missing_;
  return static_cast<double>(flagged) / static_cast<double>(std::max<std::int64_t>(std::ssize(flags_) - missing_, 1));
}

double ImpulseRepair::share() const {
  return static_cast<double>(std::count(flags_.begin(), flags_.end(), true)) / static_cast<double>(flags_.size());
}

Impulses find_impulses(const NoiseBricks& bricks, const std::vector<std::int64_t>& chosen) {
  constexpr std::size_t most_bricks = 128;
  constexpr double fewest = 0.015, fewest_of_one_value = 0.003;
  constexpr std::size_t quarter = 4;
  ImpulseRepair repair(bricks.size());
  const std::size_t stride = std::max<std::size_t>(chosen.size() / most_bricks, 1);
  Impulses impulses;
  std::vector<float> values;
  for (std::size_t i = 0; i < chosen.size(); i += stride) {
    const float* const brick = bricks.brick(chosen[i]);
    std::copy_if(brick, brick + bricks.voxels(), std::back_inserter(values), [](float v) { return std::isfinite(v); });
  }
  impulses.atoms = atoms_of(values);
  std::map<float, int> scattered_in;  // so many bricks
  for (const float atom : impulses.atoms) scattered_in[atom] = 0;
  std::vector<double> standing_out, of_one_value, shares;
  for (std::size_t i = 0; i < chosen.size(); i += stride) {
    const float* const brick = bricks.brick(chosen[i]);
    standing_out.push_back(repair.standing_out(brick));
    of_one_value.push_back(repair.scattered(brick, scattered_in));
    shares.push_back(std::max(standing_out.back(), of_one_value.back()));
  }
  if (shares.empty()) return {};
  // Impulses are everywhere; what stands out in some bricks alone are edges.
  if (quantile_of(std::span(standing_out), 0.25) < fewest) {
    if (quantile_of(std::span(shares), 0.25) < fewest && median_of(std::span(of_one_value)) < fewest_of_one_value)
      return {};
    std::erase_if(impulses.atoms,
                  [&](float atom) { return quarter * static_cast<std::size_t>(scattered_in[atom]) < shares.size(); });
  }
  impulses.share = std::accumulate(shares.begin(), shares.end(), 0.0) / static_cast<double>(shares.size());
  double hits = 0;
  for (const float atom : impulses.atoms) hits += static_cast<double>(std::count(values.begin(), values.end(), atom));
  impulses.all_are_atoms = hits > 0.5 * impulses.share * static_cast<double>(values.size());
  return impulses;
}

}  // namespace quietvox
