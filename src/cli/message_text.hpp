// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/message.hpp"

namespace quietvox::cli {

/// A parameter as the command line shows it.
inline std::string as_option(const Parameter& parameter) { return "--" + parameter.text(); }

/// A message as the command line shows it.
inline std::string as_text(const Message& message) { return message.text(as_option); }

}  // namespace quietvox::cli
