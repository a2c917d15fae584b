// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "cuda/check.hpp"

/// Kernels that start while the one before them in the stream still runs, where the device can do that (9.0 and later);
/// elsewhere they start after it, and the functions below do nothing.
namespace quietvox::cuda {

/// From here on in every block, an overlapping kernel that follows may start.
__device__ inline void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Returns when the kernel before has ended and what it wrote can be read.
__device__ inline void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Launches a kernel that calls wait_for_previous() before it touches anything that the kernel before it uses.
template <class... Params, class... Args>
void launch_overlapping(void (*kernel)(Params...), dim3 grid, unsigned threads, cudaStream_t stream, Args&&... args) {
  cudaFuncAttributes compiled;
  QV_CUDA(cudaFuncGetAttributes(&compiled, kernel));
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = compiled.ptxVersion >= 90 ? 1 : 0;  // whatever the device: code for others waits for nothing
  QV_CUDA(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...));
}

}  // namespace quietvox::cuda
