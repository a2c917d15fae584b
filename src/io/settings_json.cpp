// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/settings_json.hpp"

namespace quietvox {
namespace {

template <class T>
Json number(const std::string& text) {
  const auto value = FieldType<T>::parse(text);
  return value ? Json(*value) : Json(text);
}

template <class T>
Json triple(const std::string& text) {
  const auto value = FieldType<Triple<T>>::parse(text);
  return value ? Json{value->x, value->y, value->z} : Json(text);
}

}  // namespace

Json json_value(const FieldInfo& field, const std::string& text) {
  switch (field.kind) {
    case FieldKind::integer: return number<int>(text);
    case FieldKind::real: return number<double>(text);
    case FieldKind::integer_triple: return triple<int>(text);
    case FieldKind::real_triple: return triple<double>(text);
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

}  // namespace quietvox
