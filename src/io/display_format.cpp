// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/display_format.hpp"

#include <array>
#include <charconv>

namespace quietvox::io {

std::string format_number(double number) {
  std::array<char, 32> text;
  return {text.data(),
          std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::general, 6).ptr};
}

std::string format_spacing(const Spacing& spacing) {
  return format_number(spacing.x) + " x " + format_number(spacing.y) + " x " + format_number(spacing.z) + " mm";
}

std::string format_point(std::span<const double, 3> place) {
  return format_number(place[0]) + ", " + format_number(place[1]) + ", " + format_number(place[2]) + " mm (LPS)";
}

std::string format_extent(const Extent& extent) {
  return std::to_string(extent.x) + " x " + std::to_string(extent.y) + " x " + std::to_string(extent.z);
}

}  // namespace quietvox::io
