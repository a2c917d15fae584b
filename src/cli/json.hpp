// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/settings_json.hpp"

namespace quietvox::cli {

/// Prints the one document of a command to stdout.
void print_json(const Json&);

}  // namespace quietvox::cli
