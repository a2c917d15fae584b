// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "emulation/machine.hpp"

#define QV_CUDA(call) (call)

/// What filters use of the header of this name in cuda/. The memory of the device is that of the host.
namespace quietvox::cuda {

using Stream = void*;

struct LaunchContext {
  Stream stream = nullptr;
  int multiprocessors = 1;
};

inline std::size_t most_shared_bytes() { return emulation::most_shared_bytes; }

/// Memory that holds NaN, or -1, until it is written.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(std::size_t size, const LaunchContext&) : data_(static_cast<T*>(std::malloc(size * sizeof(T)))) {
    std::memset(static_cast<void*>(data_), 0xff, size * sizeof(T));
  }
  ~DeviceBuffer() { std::free(data_); }
  DeviceBuffer(DeviceBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
};

}  // namespace quietvox::cuda

enum cudaMemcpyKind { cudaMemcpyHostToDevice };

inline void cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, quietvox::cuda::Stream) {
  std::memcpy(to, from, bytes);
}

inline void cudaMemsetAsync(void* to, int value, std::size_t bytes, quietvox::cuda::Stream) {
  std::memset(to, value, bytes);
}
