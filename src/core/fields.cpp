// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/fields.hpp"

#include <algorithm>
#include <cctype>

#include "core/nearest_word.hpp"

namespace quietvox {
namespace {

bool is_per_axis(const FieldInfo& field) {
  return field.kind == FieldKind::integer_triple || field.kind == FieldKind::real_triple;
}

std::string range_of(const FieldInfo& field) {
  switch (field.kind) {
    case FieldKind::integer:
    case FieldKind::real:
    case FieldKind::integer_triple:
    case FieldKind::real_triple: return field.min + " to " + field.max;
    case FieldKind::choice: return joined(field.choices);
    case FieldKind::flag: return "true, false";
    case FieldKind::text: break;
  }
  return "text";
}

/// `per_axis`: how three numbers are given.
Message allowed_values(const FieldInfo& field, const Message& per_axis) {
  Message allowed = range_of(field);
  if (is_per_axis(field)) allowed += " as one number or " + per_axis;
  if (field.may_be_all) allowed += field.may_be_auto ? ", all" : ", or all";
  if (field.may_be_auto) allowed += ", or auto";
  return allowed;
}

}  // namespace

bool is_word(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, [](unsigned char a, char b) { return std::tolower(a) == b; });
}

std::string FieldInfo::allowed(std::string_view per_axis) const {
  return allowed_values(*this, std::string(per_axis)).text();
}

void throw_bad_value(std::string_view owner, const FieldInfo& field, std::string_view given) {
  throw Error(Errc::invalid_argument,
              (owner.empty() ? "" : std::string(owner) + ": ") + Parameter{field.name} + " = '" + std::string(given) +
                  "' is not allowed",
              "give " + allowed_values(field, Parameter{field.name, "XxYxZ"}) +
                  (field.unit.empty() ? "" : "; unit: " + field.unit));
}

void throw_unknown_field(std::string_view owner, const std::vector<FieldInfo>& fields, std::string_view given) {
  std::vector<std::string> names;
  for (const auto& field : fields) names.push_back(field.name);
  throw Error(Errc::invalid_argument, std::string(owner) + ": no parameter is called '" + std::string(given) + "'",
              remedy_of(given, names));
}

}  // namespace quietvox
