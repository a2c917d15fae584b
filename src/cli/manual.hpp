// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// What the build makes of the tables of commands and options, and installs.
namespace quietvox::cli {

/// quietvox.1, in roff: `quietvox --man-page`.
std::string man_page();

/// A script for bash-completion: `quietvox --bash-completion`.
std::string bash_completion();

}  // namespace quietvox::cli
