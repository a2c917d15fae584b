// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quietvox::io {

/// The names of the private folders that outputs are made in: `.quietvox-0123456789abcdef.part`.
constexpr std::string_view staging_prefix = ".quietvox-", staging_suffix = ".part";
constexpr std::size_t staging_digits = 16;

inline bool is_staging_name(std::string_view name) {
  return name.size() == staging_prefix.size() + staging_digits + staging_suffix.size() &&
         name.starts_with(staging_prefix) && name.ends_with(staging_suffix) &&
         name.substr(staging_prefix.size(), staging_digits).find_first_not_of("0123456789abcdef") == name.npos;
}

}  // namespace quietvox::io
