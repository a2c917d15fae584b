// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quietvox::cli {

/// `; did you mean '--radius'?`, or nothing.
std::string hint(std::string_view word, const std::vector<std::string>& names);

/// An option as it may be typed, without its hyphens.
struct OptionName {
  std::string name;
  bool takes_value;
};

/// Brings arguments into the one form that TCLAP reads safely: `--name=value` becomes two words, underscores in names
/// become hyphens. Throws Error(invalid_argument) with a hint for options that do not exist, and for values that are
/// missing or not wanted; and for more operands than `most_operands`, which TCLAP would drop behind `--`. What follows
/// `--` is an operand, and left as it is.
std::vector<std::string> normalised(const std::vector<std::string>& words, const std::vector<OptionName>& options,
                                    std::size_t most_operands);

/// True where `option` (such as `--help`) stands among the words before `--`.
bool asks_for(const std::vector<std::string>& words, std::string_view option);

}  // namespace quietvox::cli
