// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/check.hpp"

#include <string>

#include "core/error.hpp"

namespace quietvox::cuda {

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  const std::string name(call, std::string_view(call).find('('));
  if (status == cudaErrorMemoryAllocation) {
    throw Error(Errc::out_of_memory, "CUDA: " + name + ": not enough memory on the device or for pinned buffers");
  }
  throw Error(Errc::device, "CUDA: " + name + ": " + cudaGetErrorString(status));
}

}  // namespace quietvox::cuda
