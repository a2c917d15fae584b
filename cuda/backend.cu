// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/backend.hpp"

namespace quietvox {

std::unique_ptr<Backend> make_cuda_backend(int) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    cudaGetLastError();
    throw Error(Errc::device, std::string("no CUDA device can be used: ") + cudaGetErrorString(status));
  }
  throw Error(Errc::device, "no filter has a CUDA implementation yet");
}

}  // namespace quietvox
