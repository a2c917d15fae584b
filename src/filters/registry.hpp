// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/backend.hpp"

namespace quietvox {

/// Every filter there is, in the order in which they are listed to people.
const std::vector<Filter>& filters();

/// Their implementations for the CPU, in the same order.
const std::vector<BackendEntry<Execution>>& cpu_entries();

/// Throws Error(invalid_argument) naming the filters that exist.
const Filter& find_filter(std::string_view name);

}  // namespace quietvox
