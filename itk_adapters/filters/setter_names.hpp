// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
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
    std::string setter = "Set" + camel_case(parameter.name);
    if (parameter.value.empty()) return setter;
    if (parameter.value == "XxYxZ") return setter + "({X, Y, Z})";
    static const std::map<std::string_view, std::string> types{{"force-kind", "quietvox::DataKind"},
                                                               {"noise-model", "quietvox::NlmNoise"}};
    const auto type = types.find(parameter.name);
    const bool is_text = type == types.end();
    return setter + "(" + (is_text ? '"' + parameter.value + '"' : type->second + "::" + parameter.value) + ")";
  });
}

}  // namespace quietvox
