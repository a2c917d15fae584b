// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/cell_conversion.hpp"

#include <algorithm>
#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "io/dicom/cell_conversion.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include <hwy/highway.h>

// Loops without branches, an early end or checks of bounds: of these the compiler makes vectors of each target.
HWY_BEFORE_NAMESPACE();
namespace quietvox::io::dicom::HWY_NAMESPACE {
namespace {

template <class Value>
std::uint32_t make_values(const PixelFormat& format, std::span<const std::uint16_t> cells, float* values,
                          const Value& value) {
  const std::uint16_t* const cell = cells.data();
  std::uint32_t differing = 0;
  for (std::size_t i = 0, count = cells.size(); i < count; ++i) {
    values[i] = static_cast<float>(value(format.stored(cell[i])));
    differing |= static_cast<std::uint32_t>(cell[i] ^ cell[0]);
  }
  return differing;
}

std::uint32_t rescaled(const PixelFormat& format, double slope, double intercept, std::span<const std::uint16_t> cells,
                       float* values) {
  return make_values(format, cells, values, [=](int stored) { return slope * stored + intercept; });
}

std::uint32_t stored(const PixelFormat& format, std::span<const std::uint16_t> cells, float* values) {
  return make_values(format, cells, values, [](int number) { return number; });
}

template <bool has_padding>
bool merge_with(const PixelFormat& format, const PixelFormat& written, std::pair<int, int> padding, const float* values,
                std::span<std::uint16_t> cells) {
  std::array<std::uint16_t, cells_at_once> merged;
  const float min = static_cast<float>(format.min()), max = static_cast<float>(format.max());
  const std::size_t count = std::min(cells.size(), cells_at_once);
  const std::uint16_t* const cell = cells.data();
  std::uint16_t* const result = merged.data();
  int others = 0;
  for (std::size_t i = 0; i < count; ++i) {
    int number = static_cast<int>(std::min(max, std::max(min, values[i])));
    int is_other = static_cast<float>(number) != values[i];
    if constexpr (has_padding) {
      const int before = format.stored(cell[i]);
      const int stays = -((before >= padding.first) & (before <= padding.second));  // all bits or none
      const int becomes_padding = (number >= padding.first) & (number <= padding.second);
      is_other = (is_other | becomes_padding) & ~stays;
      number = (before & stays) | (number & ~stays);
    }
    others |= is_other;
    result[i] = written.with_stored(cell[i], number);
  }
  if (others == 0) std::copy_n(merged.begin(), count, cells.begin());
  return others == 0;
}

bool merge(const PixelFormat& format, const PixelFormat& written, std::pair<int, int> padding, const float* values,
           std::span<std::uint16_t> cells) {
  return padding.first <= padding.second ? merge_with<true>(format, written, padding, values, cells)
                                         : merge_with<false>(format, written, padding, values, cells);
}

}  // namespace
}  // namespace quietvox::io::dicom::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quietvox::io::dicom {

HWY_EXPORT(rescaled);
HWY_EXPORT(stored);
HWY_EXPORT(merge);

std::uint32_t rescaled_values(const PixelFormat& format, double slope, double intercept,
                              std::span<const std::uint16_t> cells, float* values) {
  return HWY_DYNAMIC_DISPATCH(rescaled)(format, slope, intercept, cells, values);
}

std::uint32_t stored_values(const PixelFormat& format, std::span<const std::uint16_t> cells, float* values) {
  return HWY_DYNAMIC_DISPATCH(stored)(format, cells, values);
}

bool merge_whole_numbers(const PixelFormat& format, const PixelFormat& written, std::pair<int, int> padding,
                         const float* values, std::span<std::uint16_t> cells) {
  return HWY_DYNAMIC_DISPATCH(merge)(format, written, padding, values, cells);
}

}  // namespace quietvox::io::dicom
#endif  // HWY_ONCE
