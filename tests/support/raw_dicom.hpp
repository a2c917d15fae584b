// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// DICOM byte by byte, for files that no toolkit would write.
namespace quietvox::test {

/// An element, explicit little endian.
std::string raw_element(int group, int element, const std::string& vr, std::string value);
std::string raw_number(int group, int element, int value);  ///< of type US

/// An item of a sequence, whose value is its items one after the other.
std::string raw_item(const std::string& content);

/// Sequences of one item each, one within the other. `deepest` stands in the innermost.
std::string nested_sequences(int group, int element, int depth, const std::string& deepest = "");
/// The same with lengths that are given.
std::string nested_sequences_of_length(int group, int element, int depth);
/// The same inside an element without a type (UN), whose content is implicit little endian.
std::string nested_untyped_sequences(int group, int element, int depth);

/// A small CT image of 8-bit pixels, with more elements here and there, each text in the order of its tags.
struct RawDicom {
  int columns = 4, rows = 4, frames = 1;
  bool is_deflated = false;
  std::string sop_class = "1.2.840.10008.5.1.4.1.1.2";
  std::string in_meta{};        ///< group 0002, after its class UID
  std::string before_series{};  ///< groups 0009 to 001f
  std::string before_pixels{};  ///< groups 0029 to 7fdf
  std::string after_pixels{};

  std::string bytes() const;
};

}  // namespace quietvox::test
