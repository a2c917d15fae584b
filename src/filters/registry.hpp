// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/filter.hpp"

namespace quietvox {

/// Every filter there is, in the order in which they are listed to people.
const std::vector<Filter>& filters();

/// Throws Error(invalid_argument) naming the filters that exist.
const Filter& find_filter(std::string_view name);

}  // namespace quietvox
