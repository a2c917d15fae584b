// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/cut_out_background.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace quietvox {
namespace {

/// How many voxels of any rectangle of a slice have a property.
class Counts {
 public:
  template <class Has>
  Counts(std::int64_t columns, std::int64_t rows, const Has& has)
      : columns_(columns), rows_(rows), sums_(static_cast<std::size_t>((columns + 1) * (rows + 1))) {
    for (std::int64_t y = 0; y < rows; ++y) {
      std::int32_t in_row = 0;
      for (std::int64_t x = 0; x < columns; ++x) {
        in_row += has(x, y);
        sums_[(y + 1) * (columns + 1) + x + 1] = at(x + 1, y) + in_row;
      }
    }
  }

  /// From left to right and from top to bottom, without the last; what lies outside the slice does not count.
  std::int32_t in(std::int64_t left, std::int64_t top, std::int64_t right, std::int64_t bottom) const {
    left = std::max<std::int64_t>(left, 0), top = std::max<std::int64_t>(top, 0);
    right = std::min(right, columns_), bottom = std::min(bottom, rows_);
    return at(right, bottom) - at(left, bottom) - at(right, top) + at(left, top);
  }
  std::int32_t all() const { return at(columns_, rows_); }

 private:
  std::int32_t at(std::int64_t x, std::int64_t y) const { return sums_[y * (columns_ + 1) + x]; }

  std::int64_t columns_, rows_;
  std::vector<std::int32_t> sums_;
};

/// Of the voxels of another value.
Counts count_others(const float* voxels, std::int64_t columns, std::int64_t rows, float value) {
  return {columns, rows, [&](std::int64_t x, std::int64_t y) { return !is_same(voxels[y * columns + x], value); }};
}

/// Calls `take` for each group of marked voxels, of which each lies within `reach` of another.
template <class Take>
void for_each_group(std::int64_t columns, std::int64_t rows, std::int64_t reach, std::vector<bool> marked,
                    const Take& take) {
  std::vector<std::int64_t> group;
  const auto enter = [&](std::int64_t x, std::int64_t y) {
    if (x < 0 || y < 0 || x >= columns || y >= rows || !marked[y * columns + x]) return;
    marked[y * columns + x] = false;
    group.push_back(y * columns + x);
  };
  for (std::int64_t i = 0; i < columns * rows; ++i) {
    group.clear();
    enter(i % columns, i / columns);
    for (std::size_t next = 0; next < group.size(); ++next) {
      const std::int64_t x = group[next] % columns, y = group[next] / columns;
      for (std::int64_t dy = -reach; dy <= reach; ++dy) {
        for (std::int64_t dx = -reach; dx <= reach; ++dx) enter(x + dx, y + dy);
      }
    }
    if (!group.empty()) take(group);
  }
}

/// Whether one value makes up a third of a group, as that of a pen does; not of very few, where chance may.
bool is_of_few_values(const float* voxels, std::span<const std::int64_t> group) {
  constexpr std::size_t fewest = 8, share = 3;
  if (group.size() < fewest) return false;
  std::vector<float> sorted;
  for (const std::int64_t at : group) sorted.push_back(voxels[at]);
  std::ranges::sort(sorted);
  const std::size_t many = (sorted.size() + share - 1) / share;
  for (std::size_t i = 0; i + many <= sorted.size(); ++i) {
    if (sorted[i] == sorted[i + many - 1]) return true;
  }
  return false;
}

/// Whether neighbours in a group of `marked` voxels differ by far more than noise makes them, as those of smoothed
/// letters do.
bool is_steep(const float* voxels, std::int64_t columns, std::span<const std::int64_t> group,
              const std::vector<bool>& marked, double of_noise) {
  constexpr double far_more = 2;
  constexpr std::size_t fewest = 8;
  double squares = 0, pairs = 0;
  for (const std::int64_t at : group) {
    for (const std::int64_t step : {std::int64_t{1}, columns}) {
      const bool is_last = step == 1 ? at % columns == columns - 1 : at + columns >= std::ssize(marked);
      if (is_last || !marked[at + step]) continue;
      const double difference = static_cast<double>(voxels[at + step]) - static_cast<double>(voxels[at]);
      squares += difference * difference;
      ++pairs;
    }
  }
  return group.size() >= fewest && squares > far_more * far_more * of_noise * of_noise * pairs;
}

}  // namespace

std::vector<bool> cut_out_background(const float* voxels, std::int64_t columns, std::int64_t rows, float value) {
  constexpr std::int64_t reach = 4;                           // of the middle of a core
  const std::int64_t width = columns + 1, height = rows + 1;  // of the grid of the voxels' corners
  const Counts others = count_others(voxels, columns, rows, value);
  const auto is_clear = [&](std::int64_t x, std::int64_t y, std::int64_t half) {
    return others.in(x - half, y - half, x + half, y + half) == 0;
  };
  std::vector<bool> squares(static_cast<std::size_t>(width * height)), marks(static_cast<std::size_t>(columns * rows));
  std::vector<std::pair<std::int64_t, std::int64_t>> reached;
  const auto enter = [&](std::int64_t x, std::int64_t y, std::int64_t half) {
    if (x < 0 || y < 0 || x >= width || y >= height || squares[y * width + x] || !is_clear(x, y, half)) return;
    squares[y * width + x] = true;
    reached.emplace_back(x, y);
  };
  const auto spread = [&] {
    while (!reached.empty()) {
      const auto [x, y] = reached.back();
      reached.pop_back();
      for (const auto& [dx, dy] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) enter(x + dx, y + dy, 1);
      for (std::int64_t row = std::max<std::int64_t>(y - 1, 0); row < std::min(y + 1, rows); ++row) {
        for (std::int64_t column = std::max<std::int64_t>(x - 1, 0); column < std::min(x + 1, columns); ++column)
          marks[row * columns + column] = true;
      }
    }
  };
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      enter(x, y, 1 + reach);
      spread();
    }
  }
  constexpr std::int64_t near = 8, scattered = 3;  // as counts of 0.01 and more leave them
  const auto around = [](const Counts& counts, std::int64_t x, std::int64_t y, std::int64_t across,
                         std::int64_t along) {
    return counts.in(x - across, y - along, x + across + 1, y + along + 1);
  };
  const Counts lone(columns, rows, [&](std::int64_t x, std::int64_t y) {
    return !is_same(voxels[y * columns + x], value) && around(others, x, y, 1, 1) == 1;
  });
  if (lone.all() < scattered) return marks;
  // Nor are they beside an object whose noise is clipped, nor in a line, as the marks of a scale are.
  constexpr std::int64_t beside = 4, few = 20;
  const Counts scattered_ones(columns, rows, [&](std::int64_t x, std::int64_t y) {
    if (around(lone, x, y, 0, 0) == 0 || around(others, x, y, beside, beside) > few) return false;
    const auto all = around(lone, x, y, near, near);
    return all > around(lone, x, y, near, 0) && all > around(lone, x, y, 0, near);
  });
  if (scattered_ones.all() < scattered) return marks;
  for (std::int64_t y = 0; y < rows; ++y) {
    for (std::int64_t x = 0; x < columns; ++x) {
      if (around(scattered_ones, x, y, near, near) >= scattered) marks[y * columns + x] = false;
    }
  }
  return marks;
}

std::vector<bool> writing_in_background(const float* voxels, std::int64_t columns, std::int64_t rows, float value,
                                        const std::vector<bool>& background, double difference) {
  constexpr std::int64_t broad = 8;  // more than the strokes of letters, and small ones that run into each other
  const Counts others = count_others(voxels, columns, rows, value);
  const auto fills_square = [&](std::int64_t x, std::int64_t y) {
    return others.in(x, y, x + broad, y + broad) == broad * broad;
  };
  std::vector<bool> rest = background, narrow(background.size()), writing(background.size());
  rest.flip();
  for_each_group(columns, rows, 1, rest, [&](std::span<const std::int64_t> group) {
    const bool is_broad =
        std::ranges::any_of(group, [&](std::int64_t at) { return fills_square(at % columns, at / columns); });
    for (const std::int64_t at : group) narrow[at] = !is_broad;
  });
  for_each_group(columns, rows, 3, narrow, [&](std::span<const std::int64_t> group) {
    const bool is_written = is_of_few_values(voxels, group) || is_steep(voxels, columns, group, narrow, difference);
    for (const std::int64_t at : group) writing[at] = is_written;
  });
  return writing;
}

}  // namespace quietvox
