// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/backend.hpp"

namespace quietvox {

/// The CPU's implementations, one per filter of the registry.
const std::vector<BackendEntry<Execution>>& cpu_entries();

std::unique_ptr<Backend> make_cpu_backend();

}  // namespace quietvox
