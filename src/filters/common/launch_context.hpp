// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quietvox::cuda {

/// Where filters queue their kernels; defined in cuda/resources.hpp.
struct LaunchContext;

}  // namespace quietvox::cuda
