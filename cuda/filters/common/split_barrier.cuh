// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_awbarrier_primitives.h>

#include <cstdint>

namespace quietvox::cuda {

/// A barrier of all threads of a block in two halves, in shared memory. What was written before arrive() is seen after
/// wait(); between the two a thread can do work that needs no other thread. On devices before 9.0, wait() is the whole
/// barrier.
class SplitBarrier {
 public:
  __device__ void init() {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0) __mbarrier_init(&state_, blockDim.x);
#endif
    __syncthreads();
  }
  __device__ void arrive() {
#if __CUDA_ARCH__ >= 900
    __mbarrier_arrive(&state_);
#endif
  }
  /// `parity`: true the second, fourth, ... time.
  __device__ void wait([[maybe_unused]] bool parity) {
#if __CUDA_ARCH__ >= 900
    while (!__mbarrier_try_wait_parity(&state_, parity, 1'000'000)) {
    }
#else
    __syncthreads();
#endif
  }

 private:
  std::uint64_t state_;
};

}  // namespace quietvox::cuda
