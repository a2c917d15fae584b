// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/json.hpp"

#include <iostream>

namespace quietvox::cli {

Json json_value(const FieldInfo& field, const std::string& text) {
  if (text == "auto") return text;
  switch (field.kind) {
    case FieldKind::integer: return FieldType<int>::parse(text).value();
    case FieldKind::real: return FieldType<double>::parse(text).value();
    case FieldKind::flag: return text == "true";
    default: return text;
  }
}

Json to_json(const Settings& settings) {
  Json parameters = Json::object();
  for (const FieldInfo& field : settings.filter().fields) {
    parameters[field.name] = json_value(field, settings.get(field.name));
  }
  return {{"name", settings.filter().name}, {"parameters", parameters}};
}

Json to_json(std::span<const Settings> chain) {
  Json list = Json::array();
  for (const Settings& settings : chain) list.push_back(to_json(settings));
  return list;
}

void print_json(const Json& document) {
  // File names need not be UTF-8.
  std::cout << document.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

}  // namespace quietvox::cli
