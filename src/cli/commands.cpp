// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/parsing/arguments.hpp"

namespace quietvox::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> list{denoise_command()};
    for (Command command : filter_commands()) list.push_back(std::move(command));
    for (Command command : {run_command(), info_command(), filters_command(), compare_command(), estimate_command(),
                            phantom_command(), add_noise_command(), train_quadratic_command(), benchmark_command()}) {
      list.push_back(std::move(command));
    }
    for (Command& command : list) command.groups.push_back(option_group<ReportOptions>());
    return list;
  }();
  return all;
}

const Command& find_command(std::string_view name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  throw Error(Errc::invalid_argument, "unknown command '" + std::string(name) + "'" + hint(name, names),
              "see 'quietvox --help'");
}

}  // namespace quietvox::cli
