// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/raw_dicom.hpp"

#include <cstdint>

#include "support/deflated.hpp"

namespace quietvox::test {
namespace {

constexpr std::uint32_t undefined_length = 0xffffffff;

std::string word(int value) {
  return {static_cast<char>(value & 0xff), static_cast<char>(static_cast<unsigned>(value) >> 8 & 0xff)};
}

std::string long_word(std::uint32_t value) {
  return word(static_cast<int>(value & 0xffff)) + word(static_cast<int>(value >> 16));
}

std::string tag(int group, int element) { return word(group) + word(element); }

std::string item(std::uint32_t length) { return tag(0xfffe, 0xe000) + long_word(length); }

const std::string& ends() {
  static const std::string both = tag(0xfffe, 0xe00d) + long_word(0) + tag(0xfffe, 0xe0dd) + long_word(0);
  return both;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  all.reserve(text.size() * static_cast<std::size_t>(times));
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

std::string raw_element(int group, int element, const std::string& vr, std::string value) {
  if (value.size() % 2) value += vr == "UI" || vr == "OB" || vr == "UN" ? '\0' : ' ';
  const bool is_long = vr == "OB" || vr == "OW" || vr == "SQ" || vr == "UN" || vr == "UT" || vr == "UC";
  const auto length = static_cast<std::uint32_t>(value.size());
  return tag(group, element) + vr + (is_long ? word(0) + long_word(length) : word(static_cast<int>(length))) + value;
}

std::string raw_number(int group, int element, int value) { return raw_element(group, element, "US", word(value)); }

std::string raw_item(const std::string& content) { return item(static_cast<std::uint32_t>(content.size())) + content; }

std::string nested_sequences(int group, int element, int depth, const std::string& deepest) {
  const std::string begin = tag(group, element) + "SQ" + word(0) + long_word(undefined_length) + item(undefined_length);
  return repeated(begin, depth) + deepest + repeated(ends(), depth);
}

std::string nested_sequences_of_length(int group, int element, int depth) {
  constexpr std::uint32_t head_of_item = 8, head_of_sequence = 12;
  std::string all;
  for (int i = depth; i > 0; --i) {
    const std::uint32_t inside = static_cast<std::uint32_t>(i - 1) * (head_of_item + head_of_sequence);
    all += tag(group, element) + "SQ" + word(0) + long_word(inside + head_of_item) + item(inside);
  }
  return all;
}

std::string nested_untyped_sequences(int group, int element, int depth) {
  return tag(group, element) + "UN" + word(0) + long_word(undefined_length) + item(undefined_length) +
         repeated(tag(group, element) + long_word(undefined_length) + item(undefined_length), depth - 1) +
         repeated(ends(), depth);
}

std::string RawDicom::bytes() const {
  const std::string meta =
      raw_element(0x0002, 0x0001, "OB", std::string("\0\1", 2)) + raw_element(0x0002, 0x0002, "UI", sop_class) +
      raw_element(0x0002, 0x0003, "UI", "1.2.3.4.5") +
      raw_element(0x0002, 0x0010, "UI", is_deflated ? "1.2.840.10008.1.2.1.99" : "1.2.840.10008.1.2.1") +
      raw_element(0x0002, 0x0012, "UI", "1.2.3") + in_meta;
  std::string data =
      raw_element(0x0008, 0x0008, "CS", "ORIGINAL\\PRIMARY\\AXIAL") + raw_element(0x0008, 0x0016, "UI", sop_class) +
      raw_element(0x0008, 0x0018, "UI", "1.2.3.4.5") + raw_element(0x0008, 0x0060, "CS", "CT") + before_series +
      raw_element(0x0020, 0x000d, "UI", "1.2.3") + raw_element(0x0020, 0x000e, "UI", "1.2.3.4") +
      raw_element(0x0020, 0x0032, "DS", "0\\0\\0") + raw_element(0x0020, 0x0037, "DS", "1\\0\\0\\0\\1\\0") +
      raw_number(0x0028, 0x0002, 1) + raw_element(0x0028, 0x0004, "CS", "MONOCHROME2");
  if (frames > 1) data += raw_element(0x0028, 0x0008, "IS", std::to_string(frames));
  data += raw_number(0x0028, 0x0010, rows) + raw_number(0x0028, 0x0011, columns) +
          raw_element(0x0028, 0x0030, "DS", "1\\1") + raw_number(0x0028, 0x0100, 8) + raw_number(0x0028, 0x0101, 8) +
          raw_number(0x0028, 0x0102, 7) + raw_number(0x0028, 0x0103, 0) + before_pixels;
  std::string pixels(
      static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows) * static_cast<std::size_t>(frames), '\0');
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<char>(i % 251);
  data += raw_element(0x7fe0, 0x0010, "OB", std::move(pixels)) + after_pixels;
  return std::string(128, '\0') + "DICM" +
         raw_element(0x0002, 0x0000, "UL", long_word(static_cast<std::uint32_t>(meta.size()))) + meta +
         (is_deflated ? deflated(data, -MAX_WBITS) : data);
}

}  // namespace quietvox::test
