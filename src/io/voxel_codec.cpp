// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/voxel_codec.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <limits>
#include <string>

#include "io/files/byte_order.hpp"
#include "io/voxel_loops.hpp"

namespace quietvox::io {
namespace {

/// Calls `body` with a zero of the voxel type.
template <class Body>
auto with_type(ScalarType type, Body&& body) {
  switch (type) {
    case ScalarType::uint8: return body(std::uint8_t{});
    case ScalarType::int8: return body(std::int8_t{});
    case ScalarType::int16: return body(std::int16_t{});
    case ScalarType::uint16: return body(std::uint16_t{});
    case ScalarType::int32: return body(std::int32_t{});
    case ScalarType::uint32: return body(std::uint32_t{});
    case ScalarType::int64: return body(std::int64_t{});
    case ScalarType::uint64: return body(std::uint64_t{});
    case ScalarType::float32: return body(float{});
    case ScalarType::float64: break;
  }
  return body(double{});
}

[[noreturn]] void throw_not_a_float(const std::string& value) {
  throw Error(Errc::unsupported,
              "voxel value " + value + " does not fit into a 32-bit float, in which filters compute");
}

template <class T>
float to_float(T value) {
  const auto result = static_cast<float>(value);
  if constexpr (std::integral<T> && sizeof(T) >= 4) {
    const std::uint64_t magnitude =
        value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    if (std::bit_width(magnitude) > 24 && std::bit_width(magnitude) - std::countr_zero(magnitude) > 24) {
      throw_not_a_float(std::to_string(value));
    }
  } else if constexpr (std::same_as<T, double>) {
    if (std::isfinite(value) && !std::isfinite(result)) throw_not_a_float(FieldType<double>::format(value));
  }
  return result;
}

/// True where a double holds the integer.
template <std::integral T>
bool fits_double(T value) {
  const std::uint64_t magnitude = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  return magnitude == 0 || (magnitude >> std::countr_zero(magnitude)) >> std::numeric_limits<double>::digits == 0;
}

template <class T, Inexact inexact>
void decode_as(const std::byte* stored, const VoxelFormat& format, std::span<float> values) {
  constexpr bool rounds = inexact == Inexact::round;
  if constexpr (std::integral<T> && sizeof(T) <= 2) {
    if (format.rescale.identity() && !format.swapped) {
      const std::span integers(reinterpret_cast<const T*>(stored), values.size());
      if constexpr (sizeof(T) == 2) {
        to_floats(integers, values);
      } else {
        std::ranges::copy(integers, values.begin());
      }
      return;
    }
  }
  if (format.rescale.identity()) {
    for (float& value : values) {
      const T number = load<T>(stored, format.swapped);
      value = rounds ? static_cast<float>(number) : to_float(number);
      stored += sizeof(T);
    }
    return;
  }
  const auto [slope, inter] = format.rescale;
  for (float& value : values) {
    const T number = load<T>(stored, format.swapped);
    if constexpr (!rounds && std::integral<T>) {
      if (!fits_double(number)) throw_not_a_float(std::to_string(number));
    }
    const double exact = slope * static_cast<double>(number) + inter;
    value = rounds ? static_cast<float>(exact) : to_float(exact);
    if constexpr (!rounds && std::integral<T> && sizeof(T) >= 4) {
      if (std::abs(value - exact) > std::abs(slope) / 4) throw_not_a_float(FieldType<double>::format(exact));
    }
    stored += sizeof(T);
  }
}

/// As std::round(), which calls a function for it.
double rounded(double number) {
  if (!(std::abs(number) < 0x1p52)) return number;
  const auto whole = static_cast<std::int64_t>(number);
  const double rest = number - static_cast<double>(whole);
  return static_cast<double>(whole + (rest >= 0.5) - (rest <= -0.5));
}

/// The stored number nearest to a real value; half is rounded away from zero.
template <class T>
T to_stored(float value, const Rescale& rescale, std::int64_t& clamped) {
  const double number = rescale.identity() ? value : (value - rescale.inter) / rescale.slope;
  if constexpr (std::integral<T>) {
    using Limits = std::numeric_limits<T>;
    const double whole = rounded(number);
    constexpr double end = 2.0 * (std::uint64_t{1} << (Limits::digits - 1));  // one beyond the largest
    if (whole >= end || whole < static_cast<double>(Limits::min())) {
      ++clamped;
      return whole >= end ? Limits::max() : Limits::min();
    }
    return static_cast<T>(whole);
  } else {
    return static_cast<T>(number);
  }
}

/// Integers of 16 bits that are stored as they are; nothing where the format holds others.
std::optional<Rounded> encode_16_bits(std::span<const float> values, const VoxelFormat& format,
                                      std::span<std::byte> stored) {
  return with_type(format.type, [&](auto zero) -> std::optional<Rounded> {
    using T = decltype(zero);
    if constexpr (std::integral<T> && sizeof(T) == 2) {
      if (format.rescale.identity() && !format.swapped) {
        return nearest_integers(values, {reinterpret_cast<T*>(stored.data()), values.size()});
      }
    }
    return std::nullopt;
  });
}

/// Either zero equals the other: filters give no heed to the sign of one.
bool unchanged(float value, float before) { return value == before || (std::isnan(value) && std::isnan(before)); }

}  // namespace

Error not_finite_error(const std::string& type) {
  return {Errc::unsupported, "the image holds voxels that are not finite, which " + type + " cannot store",
          "use float32"};
}

void decode(std::span<const std::byte> stored, const VoxelFormat& format, std::span<float> values, Inexact inexact) {
  with_type(format.type, [&](auto zero) {
    using T = decltype(zero);
    const auto decode_all = inexact == Inexact::round ? decode_as<T, Inexact::round> : decode_as<T, Inexact::refuse>;
    decode_all(stored.data(), format, values);
  });
}

void widen(std::optional<Range<double>>& range, std::span<const std::byte> stored, const VoxelFormat& format) {
  with_type(format.type, [&](auto zero) {
    using T = decltype(zero);
    const auto [slope, inter] = format.rescale;
    for (std::size_t i = 0; i < stored.size(); i += sizeof(T)) {
      const double value = slope * static_cast<double>(load<T>(stored.data() + i, format.swapped)) + inter;
      if (!std::isfinite(value)) continue;
      if (!range) range = {value, value};
      range->min = std::min(range->min, value);
      range->max = std::max(range->max, value);
    }
  });
}

std::optional<StoredIntegers> integers_of(const VoxelFormat& format) {
  return with_type(format.type, [&](auto zero) -> std::optional<StoredIntegers> {
    using T = decltype(zero);
    if (!std::integral<T>) return std::nullopt;
    using Limits = std::numeric_limits<T>;
    const auto& [slope, inter] = format.rescale;
    return {{slope, inter, static_cast<double>(Limits::min()), static_cast<double>(Limits::max())}};
  });
}

bool restores_bytes(std::span<const float> values, const VoxelFormat& format) {
  const double slope = format.rescale.slope, inter = format.rescale.inter;
  return with_type(format.type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::integral<T>) {
      // Of rescaled numbers of 16 bits, floats keep all but a tenth of a step: 2^-24 of at most 2^16 + 2^20 steps.
      const bool is_close = sizeof(T) <= 2 && std::abs(slope) > 1e-30 && std::abs(inter) <= 0x1p20 * std::abs(slope);
      return (format.rescale.identity() || is_close) && magnitudes(values).are_finite();
    } else {
      const bool is_as_stored = std::same_as<T, float> && format.rescale.identity();
      if (!is_as_stored) return false;
      const Magnitudes found = magnitudes(values);
      return found.are_finite() && found.least > 0;
    }
  });
}

std::int64_t encode_changes(std::span<const float> values, std::span<const float> before, const VoxelFormat& format,
                            std::span<std::byte> stored) {
  std::int64_t clamped = 0;
  with_type(format.type, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (unchanged(values[i], before[i]) || (std::integral<T> && !std::isfinite(values[i]))) continue;
      store(stored.data() + i * sizeof(T), to_stored<T>(values[i], format.rescale, clamped), format.swapped);
    }
  });
  return clamped;
}

std::int64_t encode(std::span<const float> values, const VoxelFormat& format, std::span<std::byte> stored) {
  const auto rounded = encode_16_bits(values, format, stored);
  const bool are_finite = rounded ? rounded->are_finite : !integers_of(format) || magnitudes(values).are_finite();
  if (!are_finite) throw not_finite_error(std::string(to_string(format.type)));
  if (rounded) return rounded->beyond;
  std::int64_t clamped = 0;
  with_type(format.type, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < values.size(); ++i) {
      store(stored.data() + i * sizeof(T), to_stored<T>(values[i], format.rescale, clamped), format.swapped);
    }
  });
  return clamped;
}

std::optional<std::int64_t> encode_restoring(std::span<const float> values, const VoxelFormat& format,
                                             std::span<std::byte> stored) {
  if (const auto rounded = encode_16_bits(values, format, stored)) {
    return rounded->are_finite ? std::optional(rounded->beyond) : std::nullopt;
  }
  return restores_bytes(values, format) ? std::optional(encode(values, format, stored)) : std::nullopt;
}

}  // namespace quietvox::io
