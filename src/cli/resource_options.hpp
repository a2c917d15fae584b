// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <tuple>

#include "cli/command.hpp"
#include "core/fields.hpp"
#include "workflow/memory_budget.hpp"

namespace quietvox::cli {

/// What a command that reads images, and filters none, may take of the machine.
struct ResourceOptions {
  int threads = 0;
  std::optional<int> memory_limit{};

  static constexpr std::string_view name = "", title = "Execution";
  static consteval auto fields() {
    return std::tuple{
        field("threads", &ResourceOptions::threads, {0, 4096}, "", "CPU threads; 0: one per core."),
        field("memory-limit", &ResourceOptions::memory_limit, {1, 1 << 24}, "MiB",
              "Most memory that the process may take; auto: no limit."),
    };
  }
};

/// For readers and writers of such a command. Throws Error(out_of_memory).
inline Execution background_of(const Arguments& arguments, const Context& context) {
  const auto options = arguments.params<ResourceOptions>();
  return quietvox::background_of({.backend = "cpu", .threads = options.threads, .memory_limit = options.memory_limit},
                                 context.observer());
}

}  // namespace quietvox::cli
