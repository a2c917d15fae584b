// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "core/filter.hpp"

namespace quietvox {

using Json = nlohmann::ordered_json;  ///< members in the order in which they are to be read

/// A number, a list of three numbers or a truth value, as the parameter's kind says; words, `auto` among them, are
/// text.
Json json_value(const FieldInfo&, const std::string& text);

/// `{"name": ..., "parameters": {...}}`
Json to_json(const Settings&);
Json to_json(std::span<const Settings> chain);

}  // namespace quietvox
