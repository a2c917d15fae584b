// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>

#include "cli/command.hpp"
#include "cli/shared_options.hpp"
#include "core/backend.hpp"

namespace quietvox::cli {

struct ChosenBackend {
  std::unique_ptr<Backend> backend;
  std::string why;  ///< empty where it was asked for by name

  std::string description() const { return backend->name() + (why.empty() ? "" : " (" + why + ")"); }
};

/// The backend of --backend. `auto` takes the CPU where CUDA cannot be used or lacks a filter of the chain, and says
/// so; a backend asked for by name is taken or Error(device) is thrown.
ChosenBackend choose_backend(const std::string& choice, std::span<const Settings> chain);

/// Threads, memory, progress and stop requests for a command. What the process takes already counts towards
/// --memory-limit; Error(out_of_memory) where that leaves nothing.
Execution execution(const WorkOptions&, Context&);

}  // namespace quietvox::cli
