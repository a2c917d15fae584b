// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "cli/filter_job/filter_job.hpp"
#include "cli/parsing/arguments.hpp"
#include "filters/registry.hpp"

namespace quietvox::cli {
namespace {

struct ChainOptions {
  std::string filter;

  static constexpr std::string_view name = "run", title = "Chain";
  static consteval auto fields() {
    return std::tuple{field("filter", &ChainOptions::filter, NoRange{}, "NAME[:KEY=VALUE,...]",
                            "One step, such as median:radius=1x1x0,shape=cross; steps run in the order given.")};
  }
};

/// `median:radius=1x1x0,shape=cross`
FilterConfig parse_step(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  FilterConfig settings(
      with_error_context(Parameter{"filter", text}, [&]() -> const Filter& { return find_filter(name); }));
  std::set<std::string> given;
  if (colon == std::string::npos) return settings;
  for (std::size_t begin = colon + 1, end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(',', begin);
    const std::string part = text.substr(begin, end == std::string::npos ? end : end - begin);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) {
      throw Error(Errc::invalid_argument, Parameter{"filter", text} + ": '" + part + "' is not KEY=VALUE",
                  "see 'quietvox filters " + name + "'");
    }
    std::string key = part.substr(0, equals);
    std::ranges::replace(key, '_', '-');
    if (!given.insert(key).second) {
      throw Error(Errc::invalid_argument, Parameter{"filter", text} + ": '" + key + "' is given twice",
                  "leave one out");
    }
    try {
      settings.set(part.substr(0, equals), part.substr(equals + 1));
    } catch (const Error& error) {  // its parameters are keys here, not options
      const auto as_key = [](const Parameter& parameter) {
        return parameter.value.empty() ? parameter.name : parameter.name + "=" + parameter.value;
      };
      throw Error(error.code(), Parameter{"filter"} + ": " + error.problem().text(as_key), error.remedy().text(as_key));
    }
  }
  return settings;
}

}  // namespace

Command run_command() {
  OptionGroup chain = option_group<ChainOptions>();
  chain.repeatable = true;
  std::vector<OptionGroup> groups = filter_option_groups();
  groups.insert(groups.begin(), {chain, option_group<NoiseOptions>()});
  return {"run", "Several filters, one after another, in one go.", filter_operands(), std::move(groups),
          [](const Arguments& arguments, Context& context) {
            Job job = job_of(arguments);
            job.request.stabilise = arguments.params<NoiseOptions>().stabilise;
            for (const std::string& text : arguments.values("filter")) job.request.filters.push_back(parse_step(text));
            if (job.request.filters.empty()) {
              throw Error(Errc::invalid_argument, "run: give at least one " + Parameter{"filter"},
                          "see 'quietvox run --help'");
            }
            run_filters(job, context);
          }};
}

}  // namespace quietvox::cli
