// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
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

/// A message as ITK's users know its parameters: `SetBackend("cpu")`, `SetRadius({X, Y, Z})`.
inline std::string with_setters(const Message& message) {
  return message.text([](const Parameter& parameter) {
    using Names = std::map<std::string_view, std::string>;
    static const Names others{{"series", "SetSeriesUID"},
                              {"force", "WriteOptions::force"},
                              {"output-type", "WriteOptions::output_type"},
                              {"series-description-suffix", "WriteOptions::series_description_suffix"}};
    if (const auto other = others.find(parameter.name); other != others.end()) return other->second;
    const bool is_kind = parameter.name == "force-kind";
    if (parameter.value == "XxYxZ") return "Set" + camel_case(parameter.name) + "({X, Y, Z})";
    const std::string value = is_kind ? "DataKind::" + parameter.value : "\"" + parameter.value + "\"";
    return "Set" + camel_case(parameter.name) + (parameter.value.empty() ? "" : "(" + value + ")");
  });
}

}  // namespace quietvox
