// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"
#include "cuda/device.hpp"

namespace quietvox::cuda {
namespace {

__global__ void probe() {}

}  // namespace

void check_architecture() {
  cudaFuncAttributes attributes;
  const cudaError_t status = cudaFuncGetAttributes(&attributes, probe);
  if (status != cudaErrorNoKernelImageForDevice && status != cudaErrorInvalidDeviceFunction &&
      status != cudaErrorUnsupportedPtxVersion) {
    QV_CUDA(status);
    return;
  }
  cudaGetLastError();
  throw Error(Errc::device,
              std::string("this build has no code for it (CMAKE_CUDA_ARCHITECTURES): ") + cudaGetErrorString(status));
}

}  // namespace quietvox::cuda
