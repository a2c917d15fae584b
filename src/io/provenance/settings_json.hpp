// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "core/filter.hpp"

namespace quietvox {

using Json = nlohmann::ordered_json;  ///< members in the order in which they are to be read

/// A number, a list of three numbers, a truth value or a text, as the parameter's kind says; null for what is `auto`
/// still; the text "all" for that.
Json json_value(const FieldInfo&, const std::string& text);

constexpr int json_schema_version = 1;  ///< of every document; changes where a key goes or gets another meaning

/// The key of a parameter or fact: its name in snake case.
std::string json_key(std::string name);

/// `{"name": ..., "parameters": {...}}`, keys as by json_key().
Json to_json(const FilterConfig&);
Json to_json(std::span<const FilterConfig> chain);

/// The same with every parameter as a text, as it would be given on the command line: `auto`, `1x1x0`.
Json as_given(std::span<const FilterConfig> chain);

}  // namespace quietvox
