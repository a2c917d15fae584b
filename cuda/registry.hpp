// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/backend.hpp"
#include "cuda/resources.hpp"

namespace quietvox::cuda {

/// The CUDA implementations, one line per filter. They queue work on views whose voxels lie on the device and return at
/// once.
const std::vector<BackendEntry<LaunchContext>>& cuda_entries();

}  // namespace quietvox::cuda
