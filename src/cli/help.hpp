// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/command.hpp"

namespace quietvox::cli {

std::string program_help();
std::string command_help(const Command&);

}  // namespace quietvox::cli
