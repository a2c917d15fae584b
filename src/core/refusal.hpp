// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "core/filter.hpp"

namespace quietvox {

/// Why filtering makes nonsense of what the numbers of a volume are (phases, labels, vectors, colours), by the first
/// filter that does; none where none does.
std::optional<Error> refusal(std::span<const FilterConfig> chain, const HeaderFacts&);

}  // namespace quietvox
