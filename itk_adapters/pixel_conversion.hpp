// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <concepts>
#include <limits>

#include "core/execution.hpp"

namespace quietvox {

/// A filtered value as a pixel: integers are rounded half away from zero and moved into their range, NaN becomes 0.
template <class T>
T to_pixel(float value) {
  if constexpr (std::floating_point<T>) {
    return value;
  } else {
    using Limits = std::numeric_limits<T>;
    const double rounded = std::round(static_cast<double>(value));
    if (std::isnan(rounded)) return 0;
    if (rounded <= static_cast<double>(Limits::min())) return Limits::min();
    if (rounded >= static_cast<double>(Limits::max())) return Limits::max();
    return static_cast<T>(rounded);
  }
}

/// Copies `count` values from one pixel type to another through float.
template <class From, class To>
void convert_pixels(const From* from, To* to, std::int64_t count, Execution execution) {
  execution.progress = {};
  parallel_for(execution, count, std::int64_t{1} << 16, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = to_pixel<To>(static_cast<float>(from[i]));
  });
}

}  // namespace quietvox
