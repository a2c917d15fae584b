// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/resources.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <memory>

#include "core/error.hpp"

namespace quietvox::cuda {

MemoryPool::MemoryPool(int device) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  QV_CUDA(cudaMemPoolCreate(&handle_, &properties));
  std::uint64_t all_memory = UINT64_MAX;
  QV_CUDA(cudaMemPoolSetAttribute(handle_, cudaMemPoolAttrReleaseThreshold, &all_memory));
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
  if (bytes <= bytes_) return data_;
  release();
  constexpr std::size_t huge_page = 2 << 20;
  const std::size_t size = bytes + huge_page;
  void* const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw Error(Errc::out_of_memory, "the machine has no memory left to page-lock");
  mapped_ = static_cast<std::byte*>(mapped);
  mapped_bytes_ = size;
  void* first = mapped;
  std::size_t room = size;
  data_ = static_cast<std::byte*>(std::align(huge_page, bytes, first, room));
  bytes_ = bytes;
  madvise(data_, bytes_, MADV_HUGEPAGE);
  madvise(mapped_, mapped_bytes_, MADV_DONTFORK);  // the process that renames has no use for it
  is_locked_ = cudaHostRegister(data_, bytes_, cudaHostRegisterPortable) == cudaSuccess;
  if (!is_locked_) cudaGetLastError();
  return data_;
}

void PinnedBuffer::release() {
  if (is_locked_) cudaHostUnregister(data_);
  if (mapped_) munmap(mapped_, mapped_bytes_);
  mapped_ = data_ = nullptr;
  mapped_bytes_ = bytes_ = 0;
  is_locked_ = false;
}

std::size_t most_shared_bytes() {
  int device = 0, most = 0;
  QV_CUDA(cudaGetDevice(&device));
  QV_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return static_cast<std::size_t>(most);
}

}  // namespace quietvox::cuda
