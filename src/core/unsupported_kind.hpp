// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "core/filter.hpp"

namespace quietvox {

/// An error if a filter of the chain would make nonsense of the numbers of a volume, since they are phases, labels,
/// vectors or colours; it names the first such filter.
std::optional<Error> unsupported_kind(std::span<const FilterConfig> chain, const HeaderFacts&);

}  // namespace quietvox
