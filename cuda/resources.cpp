// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/resources.hpp"

#include <cstdint>

namespace quietvox::cuda {

MemoryPool::MemoryPool(int device) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  QV_CUDA(cudaMemPoolCreate(&handle_, &properties));
  std::uint64_t copy_unfiltered = UINT64_MAX;
  QV_CUDA(cudaMemPoolSetAttribute(handle_, cudaMemPoolAttrReleaseThreshold, &copy_unfiltered));
}

std::size_t MemoryPool::available() const {
  std::size_t free = 0, total = 0;
  std::uint64_t reserved = 0, used = 0;
  QV_CUDA(cudaMemGetInfo(&free, &total));
  QV_CUDA(cudaMemPoolGetAttribute(handle_, cudaMemPoolAttrReservedMemCurrent, &reserved));
  QV_CUDA(cudaMemPoolGetAttribute(handle_, cudaMemPoolAttrUsedMemCurrent, &used));
  return free + (reserved - used);
}

void MemoryPool::trim() const { QV_CUDA(cudaMemPoolTrimTo(handle_, 0)); }

void* PinnedBuffer::reserve(std::size_t bytes) {
  if (bytes > bytes_) {
    cudaFreeHost(data_);
    data_ = nullptr;
    bytes_ = 0;
    QV_CUDA(cudaHostAlloc(&data_, bytes, cudaHostAllocPortable));
    bytes_ = bytes;
  }
  return data_;
}

std::size_t most_shared_bytes() {
  int device = 0, most = 0;
  QV_CUDA(cudaGetDevice(&device));
  QV_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return static_cast<std::size_t>(most);
}

}  // namespace quietvox::cuda
