// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/transfer.hpp"

#include <cstdint>

#include "filters/median/simd_rows.hpp"

namespace quietvox::cuda {
namespace {

bool is_page_locked(const void* data) {
  cudaPointerAttributes attributes;
  QV_CUDA(cudaPointerGetAttributes(&attributes, data));
  return attributes.type == cudaMemoryTypeHost;
}

/// On several threads, since one core does not keep up with the bus, and past the caches, which else would read what is
/// overwritten. Voxels are copied as numbers of 16 bits, whatever they are.
void copy_on_host(const Execution& execution, void* to, const void* from, std::size_t bytes) {
  using Number = std::uint16_t;
  constexpr std::int64_t grain = (64 << 10) / sizeof(Number);
  const auto codec = selection::simd_functions().u16;
  const auto piece = [&](std::int64_t begin, std::int64_t end) {
    codec.stream(static_cast<const Number*>(from) + begin, end - begin, static_cast<Number*>(to) + begin);
    codec.flush();
  };
  Execution silent;
  silent.threads = execution.threads;
  parallel_for(silent, static_cast<std::int64_t>(bytes / sizeof(Number)), grain, piece);
}

}  // namespace

void Upload::copy(void* device_data, const void* host_data, std::size_t bytes) {
  if (!is_page_locked(host_data)) {
    sent_[turn_].synchronize();
    void* staging = device_.upload_staging[turn_].reserve(bytes);
    copy_on_host(execution_, staging, host_data, bytes);
    host_data = staging;
  }
  QV_CUDA(cudaMemcpyAsync(device_data, host_data, bytes, cudaMemcpyHostToDevice, device_.upload));
  sent_[turn_].record(device_.upload);
  turn_ = 1 - turn_;
}

void Download::copy(void* host_data, const void* device_data, std::size_t bytes) {
  if (is_page_locked(host_data)) {
    QV_CUDA(cudaMemcpyAsync(host_data, device_data, bytes, cudaMemcpyDeviceToHost, device_.download));
    return;
  }
  Pending& next = pending_[turn_];
  deliver(next);
  void* staging = device_.download_staging[turn_].reserve(bytes);
  QV_CUDA(cudaMemcpyAsync(staging, device_data, bytes, cudaMemcpyDeviceToHost, device_.download));
  next.arrived.record(device_.download);
  next.host_data = host_data;
  next.staged = staging;
  next.bytes = bytes;
  turn_ = 1 - turn_;
}

void Download::deliver(Pending& pending) {
  if (pending.bytes == 0) return;
  pending.arrived.synchronize();
  copy_on_host(execution_, pending.host_data, pending.staged, pending.bytes);
  pending.bytes = 0;
}

void Download::finish() {
  deliver(pending_[turn_]);
  deliver(pending_[1 - turn_]);
  device_.download.synchronize();
}

}  // namespace quietvox::cuda
