// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"
#include "cuda/device.hpp"

namespace quietvox::cuda {
namespace {

__global__ void probe() {}

}  // namespace

void check_architecture(const std::string& device_name) {
  cudaFuncAttributes attributes;
  const cudaError_t status = cudaFuncGetAttributes(&attributes, probe);
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw Error(Errc::device, device_name + " cannot be used: " + cudaGetErrorString(status),
              "build for its architecture (CMAKE_CUDA_ARCHITECTURES) or use " + Parameter{"backend", "cpu"});
}

}  // namespace quietvox::cuda
