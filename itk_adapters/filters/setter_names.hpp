// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "core/message.hpp"

namespace quietvox {

/// `range-sigma` as ITK writes it: `RangeSigma`.
inline std::string camel_case(std::string_view kebab) {
  std::string name;
  bool upper = true;
  for (const char letter : kebab) {
    if (letter != '-') name += upper && letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    upper = letter == '-';
  }
  return name;
}

/// `range-sigma` as C++ members and file names are written: `range_sigma`.
inline std::string snake_case(std::string_view kebab) {
  std::string name(kebab);
  for (char& letter : name) {
    if (letter == '-') letter = '_';
  }
  return name;
}

/// A message as ITK's users know its parameters: `SetBackend("cpu")`, `SetRadius({X, Y, Z})`. What has no setter there
/// is called as it is.
inline std::string with_setters(const Message& message) {
  return message.text([](const Parameter& parameter) {
    static const std::set<std::string_view> of_writer{"codec",       "compress",      "force",
                                                      "output-type", "series-offset", "series-description-suffix"};
    static const std::set<std::string_view> of_commands{"memory-limit", "residual"};
    if (of_writer.contains(parameter.name)) return "WriteOptions::" + snake_case(parameter.name);
    if (parameter.name == "no-compress") return std::string("WriteOptions::compress = false");
    if (of_commands.contains(parameter.name)) return parameter.text();
    if (parameter.name == "series") return std::string("SetSeriesUID");
    const std::string setter = "Set" + camel_case(parameter.name);
    std::string value = parameter.value;
    if (value.empty()) return setter;
    if (value == "XxYxZ") value = "{X, Y, Z}";
    if (parameter.name == "force-kind") value = "DataKind::" + value;
    if (parameter.name == "backend" || parameter.name == "stabilise") value = '"' + value + '"';
    return setter + "(" + value + ")";
  });
}

}  // namespace quietvox
