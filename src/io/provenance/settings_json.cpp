// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/provenance/settings_json.hpp"

#include <algorithm>

namespace quietvox {
namespace {

template <class T>
Json number(const std::string& text) {
  const auto value = FieldType<T>::parse(text);
  return value ? Json(*value) : Json();
}

template <class T>
Json triple(const std::string& text) {
  const auto value = FieldType<Triple<T>>::parse(text);
  return value ? Json{value->x, value->y, value->z} : Json();
}

}  // namespace

Json json_value(const FieldInfo& field, const std::string& text) {
  if (field.may_be_all && text == "all") return text;
  switch (field.kind) {
    case FieldKind::integer: return number<int>(text);
    case FieldKind::real: return number<double>(text);
    case FieldKind::integer_triple: return triple<int>(text);
    case FieldKind::real_triple: return triple<double>(text);
    case FieldKind::flag: return text == "auto" ? Json() : Json(text == "true");
    default: return text == "auto" && field.may_be_auto ? Json() : Json(text);
  }
}

std::string json_key(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == ' '; }, '_');
  return name;
}

Json to_json(const FilterConfig& settings) {
  Json parameters = Json::object();
  for (const FieldInfo& field : settings.filter().fields) {
    parameters[json_key(field.name)] = json_value(field, settings.get(field.name));
  }
  return {{"name", settings.filter().name}, {"parameters", parameters}};
}

Json to_json(std::span<const FilterConfig> chain) {
  Json list = Json::array();
  for (const FilterConfig& settings : chain) list.push_back(to_json(settings));
  return list;
}

Json as_given(std::span<const FilterConfig> chain) {
  Json list = Json::array();
  for (const FilterConfig& settings : chain) {
    Json parameters = Json::object();
    for (const FieldInfo& field : settings.filter().fields) {
      parameters[json_key(field.name)] = settings.get(field.name);
    }
    list.push_back({{"name", settings.filter().name}, {"parameters", parameters}});
  }
  return list;
}

}  // namespace quietvox
