// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/execution.hpp"
#include "core/fields.hpp"

namespace quietvox {

/// A value as a pixel: for integers it is rounded half away from zero and moved into their range, NaN becomes 0.
template <class T, class From>
T to_pixel(From value) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::floating_point<T>) {
    return static_cast<T>(value);
  } else if constexpr (std::integral<From>) {
    // Of characters and bool there is no comparison: unary plus makes numbers of them.
    if (std::cmp_less(+value, +Limits::min())) return Limits::min();
    return std::cmp_greater(+value, +Limits::max()) ? Limits::max() : static_cast<T>(value);
  } else {
    const double rounded = std::round(static_cast<double>(value));
    if (std::isnan(rounded)) return 0;
    if (rounded <= static_cast<double>(Limits::min())) return Limits::min();
    if (rounded >= static_cast<double>(Limits::max())) return Limits::max();
    return static_cast<T>(rounded);
  }
}

/// True if some values of this type are rounded when stored in a float.
template <class T>
inline constexpr bool exceeds_float = std::numeric_limits<T>::digits > std::numeric_limits<float>::digits;

/// True if a float holds the value exactly; NaN and infinity count as exact.
template <class T>
bool fits_float(T pixel) {
  const auto number = static_cast<float>(pixel);
  if constexpr (std::integral<T>) {
    return number < std::ldexp(1.0F, std::numeric_limits<T>::digits) && static_cast<T>(number) == pixel;
  } else {
    return number == pixel || !std::isfinite(pixel);
  }
}

/// Throws Error(unsupported) for what a float cannot hold: integers that it would round, numbers beyond its range.
/// Fractions are rounded to the nearest float.
template <class T>
float to_float(T pixel) {
  const auto number = static_cast<float>(pixel);
  if constexpr (exceeds_float<T>) {
    std::string text;
    if constexpr (std::integral<T>) {
      if (fits_float(pixel)) return number;
      text = std::to_string(pixel);
    } else {
      if (std::isfinite(number) || !std::isfinite(pixel)) return number;
      text = FieldType<double>::format(static_cast<double>(pixel));
    }
    throw Error(Errc::unsupported,
                "pixel value " + text + " does not fit into a 32-bit float, in which this filter computes");
  }
  return number;
}

/// The smallest and the largest of the finite values; 0 and 0 where there are none.
template <class T>
Range<double> pixel_range(const T* values, std::int64_t count) {
  std::optional<Range<double>> range;
  for (const T* value = values; value != values + count; ++value) {
    const auto number = static_cast<double>(*value);
    if (!std::isfinite(number)) continue;
    if (!range) range = {number, number};
    range = {std::min(range->min, number), std::max(range->max, number)};
  }
  return range.value_or(Range<double>{0, 0});
}

/// Calls `to[i] = change(from[i])` for `count` values.
template <class From, class To, class Change>
void change_pixels(const From* from, To* to, std::int64_t count, Execution execution, const Change& change) {
  execution.progress = {};
  parallel_for(execution, count, std::int64_t{1} << 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = change(from[i]);
  });
}

/// Copies `count` values from one pixel type to another through float.
template <class From, class To>
void convert_pixels(const From* from, To* to, std::int64_t count, const Execution& execution) {
  change_pixels(from, to, count, execution, [](From pixel) { return to_pixel<To>(to_float(pixel)); });
}

/// Maps pixels that floats cannot tell apart to floats in the same order. A rank filter then picks the float of the
/// pixel that it would pick among the pixels.
template <class T>
class PixelRanks {
 public:
  PixelRanks(const T* pixels, std::int64_t count) {
    std::copy_if(pixels, pixels + count, std::back_inserter(values_), is_number);
    std::sort(values_.begin(), values_.end());
    values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
    const auto most = std::bit_cast<std::uint32_t>(std::numeric_limits<float>::max()) - first;
    if (values_.size() > most) throw Error(Errc::unsupported, "the image holds too many different pixel values");
  }

  float rank(T pixel) const {
    if (!is_number(pixel)) return static_cast<float>(pixel);
    const auto place = std::lower_bound(values_.begin(), values_.end(), pixel) - values_.begin();
    return std::bit_cast<float>(first + static_cast<std::uint32_t>(place));
  }
  T pixel(float rank) const {
    return std::isfinite(rank) ? values_[std::bit_cast<std::uint32_t>(rank) - first] : static_cast<T>(rank);
  }

 private:
  static constexpr std::uint32_t first = std::bit_cast<std::uint32_t>(1.0F);  // positive floats follow their bits
  static bool is_number(T pixel) { return std::integral<T> || std::isfinite(static_cast<double>(pixel)); }

  std::vector<T> values_;  // each once, ascending
};

}  // namespace quietvox
