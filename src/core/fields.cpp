// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/fields.hpp"

#include <algorithm>
#include <cctype>

#include "core/nearest_word.hpp"

namespace quietvox {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string list;
  for (const auto& word : words) list += (list.empty() ? "" : ", ") + word;
  return list;
}

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

/// What may be given instead of values.
std::string words_of(const FieldInfo& field) {
  std::string words = !field.may_be_all ? "" : field.may_be_auto ? ", all" : ", or all";
  return field.may_be_auto ? words + ", or auto" : words;
}

}  // namespace

bool is_word(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, [](unsigned char a, char b) { return std::tolower(a) == b; });
}

std::string FieldInfo::allowed(std::string_view per_axis) const {
  std::string text = range_of(*this);
  if (is_per_axis(*this)) text += ", one number or " + std::string(per_axis);
  return text + words_of(*this);
}

void throw_bad_value(std::string_view owner, const FieldInfo& field, std::string_view given) {
  Message allowed = range_of(field);
  if (is_per_axis(field)) allowed += ", one number or " + Message(Parameter{field.name, "XxYxZ"});
  throw Error(Errc::invalid_argument,
              (owner.empty() ? "" : std::string(owner) + ": ") + Parameter{field.name} + " = '" + std::string(given) +
                  "' is not allowed",
              "give " + allowed + words_of(field) + (field.unit.empty() ? "" : " (" + field.unit + ")"));
}

void throw_unknown_field(std::string_view owner, const std::vector<FieldInfo>& fields, std::string_view given) {
  std::vector<std::string> names;
  for (const auto& field : fields) names.push_back(field.name);
  const std::string meant = nearest_word(given, names);
  throw Error(Errc::invalid_argument, std::string(owner) + ": no parameter is called '" + std::string(given) + "'",
              meant.empty() ? "there are " + joined(names)
                            : "did you mean " + Parameter{meant} + "? There are " + joined(names));
}

}  // namespace quietvox
