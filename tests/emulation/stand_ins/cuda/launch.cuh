// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/resources.hpp"
#include "emulation/machine.hpp"

namespace quietvox::cuda {

template <class... Params, class... Args>
void launch(void (*kernel)(Params...), dim3 grid, dim3 block, std::size_t shared_bytes, const LaunchContext&,
            const Args&... args) {
  emulation::run(grid, block, shared_bytes, [&] { kernel(args...); });
}

inline float4* launched_shared() { return emulation::shared_memory(); }

}  // namespace quietvox::cuda
