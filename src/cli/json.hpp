// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.hpp"
#include "io/provenance/settings_json.hpp"

namespace quietvox::cli {

/// Prints the one document of a command to stdout, an object, with the version of its schema (docs/schema) first.
void print_json(const Json&);

/// What a command says of an error: `{"code": "corrupt", "status": 4, "message": ...}`.
Json error_json(const Error&, std::optional<int> status = std::nullopt);

/// Prints what a run that failed achieved, null if nothing, with the error.
void print_failure(const Json* results, const Error&, int status);

}  // namespace quietvox::cli
