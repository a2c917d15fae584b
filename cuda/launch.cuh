// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "cuda/check.hpp"
#include "cuda/resources.hpp"

/// How kernels are started. tests/emulation has a header of this name that runs them on the CPU.
namespace quietvox::cuda {

/// Queues a kernel, with so many bytes of shared memory besides those that it declares.
template <class... Params, class... Args>
void launch(void (*kernel)(Params...), dim3 grid, dim3 block, std::size_t shared_bytes, const LaunchContext& context,
            const Args&... args) {
  if (shared_bytes > 0) {
    QV_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)));
  }
  kernel<<<grid, block, shared_bytes, context.stream>>>(args...);
  QV_CUDA(cudaGetLastError());
}

/// The shared memory that launch() was asked for.
__device__ __forceinline__ float4* launched_shared() {
  extern __shared__ float4 shared[];
  return shared;
}

}  // namespace quietvox::cuda
