// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "cuda/resources.hpp"

namespace quietvox::cuda {

/// A copy of what lies in the host's memory.
template <class T>
DeviceBuffer<T> upload(const T* from, std::size_t count, const LaunchContext& context) {
  DeviceBuffer<T> buffer(count, context);
  QV_CUDA(cudaMemcpyAsync(buffer.get(), from, count * sizeof(T), cudaMemcpyHostToDevice, context.stream));
  return buffer;
}

}  // namespace quietvox::cuda
