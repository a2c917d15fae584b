// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/filter_job.hpp"
#include "filters/registry.hpp"

namespace quietvox::cli {

std::vector<Command> filter_commands() {
  std::vector<Command> list;
  for (const Filter& filter : filters()) {
    std::vector<OptionGroup> groups = filter_option_groups();
    groups.insert(groups.begin(), {"Filter", filter.fields});
    list.push_back({filter.name, filter.summary, filter_operands(), std::move(groups),
                    [&filter](const Arguments& arguments, Context& context) {
                      run_filters({arguments.settings(filter)}, arguments, context);
                    }});
  }
  return list;
}

}  // namespace quietvox::cli
