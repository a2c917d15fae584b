// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/message.hpp"

namespace quietvox::cli {

/// A message as the command line shows it: its parameters are options.
inline std::string as_text(const Message& message) {
  return message.text([](const Parameter& parameter) { return "--" + parameter.text(); });
}

inline std::vector<std::string> as_texts(std::span<const Message> messages) {
  std::vector<std::string> texts;
  for (const Message& message : messages) texts.push_back(as_text(message));
  return texts;
}

}  // namespace quietvox::cli
