// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <optional>

#include "core/error.hpp"

namespace quietvox {

/// What it means that memory or threads ran out; none for other exceptions.
std::optional<Error> resource_error(const std::exception&);

}  // namespace quietvox
