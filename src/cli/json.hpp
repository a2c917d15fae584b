// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "core/filter.hpp"

namespace quietvox::cli {

using Json = nlohmann::ordered_json;  ///< members in the order in which they are to be read

/// A number, a flag or a text, as the parameter's kind says; `auto` and triples are text.
Json json_value(const FieldInfo&, const std::string& text);

/// `{"name": ..., "parameters": {...}}`
Json to_json(const Settings&);
Json to_json(std::span<const Settings> chain);

/// Prints the one document of a command to stdout.
void print_json(const Json&);

}  // namespace quietvox::cli
