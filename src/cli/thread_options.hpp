// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <tuple>

#include "core/fields.hpp"

namespace quietvox::cli {

/// Of commands that filter no scan; those that do have ExecutionOptions.
struct ThreadOptions {
  int threads = 0;

  static constexpr std::string_view name = "", title = "Execution";
  static consteval auto fields() {
    return std::tuple{field("threads", &ThreadOptions::threads, {0, 4096}, "", "CPU threads; 0: one per core.")};
  }
};

}  // namespace quietvox::cli
