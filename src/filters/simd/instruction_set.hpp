// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace quietvox {

/// The instruction sets that the filters' vectors were compiled for and that this processor has, best first.
std::vector<std::string> instruction_sets();

/// The one that the filters of this process use.
std::string instruction_set();

/// Makes all filters of this process use one of instruction_sets() from now on, with an empty name the best. Not while
/// one runs. Throws Error(invalid_argument) for others.
void force_instruction_set(const std::string& name);

}  // namespace quietvox
