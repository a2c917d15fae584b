// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cli/command.hpp"

/// What `quietvox median`, `quietvox run` and every other filter command do: input -> chain of filters -> output.
namespace quietvox::cli {

/// INPUT and OUTPUT.
std::vector<Operand> filter_operands();
/// The shared options of such commands.
std::vector<OptionGroup> filter_option_groups();

void run_filters(const std::vector<Settings>& chain, const Arguments&, Context&);

}  // namespace quietvox::cli
