// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/message.hpp"

namespace quietvox {

/// `a, b, c`
std::string joined(const std::vector<std::string>& words);

/// The name among `names` that `word` was most likely meant to be, or an empty text where none is near.
std::string nearest_word(std::string_view word, const std::vector<std::string>& names);

/// What would be right where `word` is none of the names: `did you mean b? There are a, b, c`.
Message remedy_of(std::string_view word, const std::vector<std::string>& names);

}  // namespace quietvox
