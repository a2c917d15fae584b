// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/filter_job/filter_job.hpp"
#include "filters/registry.hpp"

namespace quietvox::cli {

std::vector<Command> filter_commands() {
  std::vector<Command> list;
  for (const Filter& filter : filters()) {
    std::vector<OptionGroup> groups = filter_option_groups();
    groups.insert(groups.begin(), {"Filter", filter.fields});
    groups.insert(groups.begin() + 1, option_group<NoiseOptions>());
    list.push_back({filter.name, filter.summary, filter_operands(), std::move(groups),
                    [&filter](const Arguments& arguments, Context& context) {
                      Job job = job_of(arguments);
                      job.request.filters = {arguments.settings(filter)};
                      job.request.stabilise = arguments.params<NoiseOptions>().stabilise;
                      run_filters(job, context);
                    }});
  }
  return list;
}

}  // namespace quietvox::cli
