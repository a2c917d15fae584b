// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/backend.hpp"

namespace quietvox {

std::unique_ptr<Backend> make_cpu_backend();

}  // namespace quietvox
