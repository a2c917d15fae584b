// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "cuda/resources.hpp"

namespace quietvox::cuda {

/// Copies `count` values from host memory to a new device buffer, in stream order.
template <class T>
DeviceBuffer<T> upload(const T* from, std::size_t count, const LaunchContext& context) {
  DeviceBuffer<T> buffer(count, context);
  QV_CUDA(cudaMemcpyAsync(buffer.get(), from, count * sizeof(T), cudaMemcpyHostToDevice, context.stream));
  return buffer;
}

}  // namespace quietvox::cuda
