// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quietvox {

/// The name among `names` that `word` was most likely meant to be, or an empty text where none is near.
std::string nearest_word(std::string_view word, const std::vector<std::string>& names);

}  // namespace quietvox
