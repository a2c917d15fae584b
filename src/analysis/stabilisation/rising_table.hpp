// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace quietvox {

/// A rising function of 0 to 8 by its values at equal steps, linear between them.
struct RisingTable {
  static constexpr double end = 8;
  static constexpr int steps = 1024;
  static constexpr double step = end / steps;

  std::array<double, steps + 1> values{};

  double at(double x) const {
    const double place = x / step;
    const auto node = static_cast<std::size_t>(std::min(place, steps - 1.0));
    return values[node] + (place - static_cast<double>(node)) * (values[node + 1] - values[node]);
  }
  /// Where the function has a value that lies within the table.
  double where(double value) const {
    const auto above = std::upper_bound(values.begin() + 1, values.end() - 1, value);
    const auto node = static_cast<double>(above - values.begin() - 1);
    return step * (node + (value - above[-1]) / (*above - above[-1]));
  }
};

}  // namespace quietvox
