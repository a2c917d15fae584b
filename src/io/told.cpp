// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/told.hpp"

#include <array>
#include <charconv>

namespace quietvox::io {

std::string told(double number) {
  std::array<char, 32> text;
  return {text.data(),
          std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::general, 6).ptr};
}

std::string told(const Spacing& spacing) {
  return told(spacing.x) + " x " + told(spacing.y) + " x " + told(spacing.z) + " mm";
}

std::string told_place(std::span<const double, 3> place) {
  return told(place[0]) + ", " + told(place[1]) + ", " + told(place[2]) + " mm (LPS)";
}

std::string told(const Extent& extent) {
  return std::to_string(extent.x) + " x " + std::to_string(extent.y) + " x " + std::to_string(extent.z);
}

}  // namespace quietvox::io
