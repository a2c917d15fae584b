// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.hpp"
#include "cli/json.hpp"
#include "cli/parsing/options.hpp"
#include "core/execution.hpp"
#include "workflow/observer.hpp"

namespace quietvox::cli {

/// The first word of a worker's command line, before those of the command (filter_job/series_worker.hpp).
inline constexpr const char* series_worker_word = "series-worker";

/// What a command is given to work with.
struct Context {
  Console& console;
  std::stop_token stop;
  bool json = false;                 ///< the result is wanted as one JSON document
  std::vector<std::string> words{};  ///< the command line
  /// Of a run that fails, what it achieved: its JSON document but for the error. Null: nothing.
  std::shared_ptr<const Json> results{};
  bool is_worker = false;  ///< works for another process of this program (see filter_job/series_worker.hpp)

  /// What people hear of a run, and how they stop it.
  Observer observer() const {
    return {.stop = stop,
            .progress = [&to = console](double done) { to.progress(done); },
            .note = [&to = console](const std::string& line) { to.note(line); },
            .detail = [&to = console](const std::string& line) { to.detail(line); }};
  }

  /// For readers and writers: threads (0: one per core), stop requests and notes.
  Execution background(int threads = 0) const {
    return {.threads = threads,
            .memory_limit = {},
            .stop = stop,
            .progress = {},
            .note = [&to = console](const std::string& line) { to.note(line); }};
  }
};

/// One command of the program: how it is described, what it takes, and what it does.
struct Command {
  std::string name;
  std::string summary;
  std::vector<Operand> operands;
  std::vector<OptionGroup> groups;  ///< ReportOptions come on top, for every command
  std::function<void(const Arguments&, Context&)> run;
};

/// Every command there is, in the order in which they are listed to people.
const std::vector<Command>& commands();

/// Throws Error(invalid_argument) with a hint.
const Command& find_command(std::string_view name);

std::vector<Command> filter_commands();  ///< one for each filter of the registry
Command denoise_command();
Command run_command();
Command info_command();
Command filters_command();
Command compare_command();
Command estimate_command();
Command phantom_command();
Command add_noise_command();
Command train_quadratic_command();
Command benchmark_command();

}  // namespace quietvox::cli
