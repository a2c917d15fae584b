// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/fields.hpp"

#include <algorithm>
#include <cctype>

namespace quietvox {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string list;
  for (const auto& word : words) list += (list.empty() ? "" : ", ") + word;
  return list;
}

}  // namespace

bool is_word(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, [](unsigned char a, char b) { return std::tolower(a) == b; });
}

std::string FieldInfo::allowed() const {
  std::string text;
  switch (kind) {
    case FieldKind::integer:
    case FieldKind::real: text = min + " to " + max; break;
    case FieldKind::integer_triple:
    case FieldKind::real_triple: text = min + " to " + max + ", one number or XxYxZ"; break;
    case FieldKind::choice: text = joined(choices); break;
    case FieldKind::flag: text = "true, false"; break;
    case FieldKind::text: text = "text"; break;
  }
  if (may_be_all) text += may_be_auto ? ", all" : ", or all";
  return may_be_auto ? text + ", or auto" : text;
}

void throw_bad_value(std::string_view owner, const FieldInfo& field, std::string_view given) {
  throw Error(Errc::invalid_argument,
              (owner.empty() ? "" : std::string(owner) + ": ") + Parameter{field.name} + " = '" + std::string(given) +
                  "' is not allowed",
              "give " + field.allowed() + (field.unit.empty() ? "" : " (" + field.unit + ")"));
}

void throw_unknown_field(std::string_view owner, const std::vector<FieldInfo>& fields, std::string_view given) {
  std::vector<std::string> names;
  for (const auto& field : fields) names.push_back(field.name);
  throw Error(Errc::invalid_argument, std::string(owner) + ": no parameter is called '" + std::string(given) + "'",
              "there are " + joined(names));
}

}  // namespace quietvox
