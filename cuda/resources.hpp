// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "cuda/check.hpp"

/// Owners of what CUDA hands out. None can be copied, and none of the destructors throws.
namespace quietvox::cuda {

class Stream {
 public:
  Stream() { QV_CUDA(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(handle_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return handle_; }
  void synchronize() const { QV_CUDA(cudaStreamSynchronize(handle_)); }

 private:
  cudaStream_t handle_ = nullptr;
};

class Event {
 public:
  explicit Event(unsigned flags = cudaEventDisableTiming) { QV_CUDA(cudaEventCreateWithFlags(&handle_, flags)); }
  ~Event() { cudaEventDestroy(handle_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return handle_; }
  void record(cudaStream_t stream) const { QV_CUDA(cudaEventRecord(handle_, stream)); }
  void make_wait(cudaStream_t stream) const { QV_CUDA(cudaStreamWaitEvent(stream, handle_)); }
  void synchronize() const { QV_CUDA(cudaEventSynchronize(handle_)); }

 private:
  cudaEvent_t handle_ = nullptr;
};

/// Device memory that stays reserved between calls, so that a buffer costs no round trip to the driver.
class MemoryPool {
 public:
  explicit MemoryPool(int device);
  ~MemoryPool() { cudaMemPoolDestroy(handle_); }
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  operator cudaMemPool_t() const { return handle_; }

  /// Bytes that buffers of the current device can still take: what the pool holds unused and what is free outside it.
  std::size_t available() const;
  /// Gives unused memory back to the device.
  void trim() const;

 private:
  cudaMemPool_t handle_ = nullptr;
};

/// Where kernels are queued and where their scratch memory comes from.
struct LaunchContext {
  cudaStream_t stream;
  cudaMemPool_t pool;
  int multiprocessors;
};

/// Shared memory that a block of the current device has where it asks for it: 227 KiB on 9.0, but 99 KiB on 8.6
/// and 8.9.
std::size_t most_shared_bytes();

/// `size` elements of device memory, usable by what is queued on the stream after it and freed in that order.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(std::size_t size, const LaunchContext& context) : stream_(context.stream) {
    void* data = nullptr;
    QV_CUDA(cudaMallocFromPoolAsync(&data, size * sizeof(T), context.pool, context.stream));
    data_ = static_cast<T*>(data);
  }
  ~DeviceBuffer() {
    if (data_) cudaFreeAsync(data_, stream_);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), stream_(other.stream_) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

/// Page-locked host memory that only grows; the copy engines reach it at full speed. It lies in huge pages where the
/// system has them, which takes a third of the time that CUDA's own takes. Where nothing more can be page-locked, it is
/// memory like any other, and copies wait.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  ~PinnedBuffer() { release(); }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  /// At least `bytes` bytes; what was there before is lost.
  void* reserve(std::size_t bytes);

 private:
  void release();

  std::byte* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;  ///< where the first huge page begins
  std::size_t bytes_ = 0;
  bool is_locked_ = false;
};

}  // namespace quietvox::cuda
