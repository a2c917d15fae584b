// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <any>
#include <functional>
#include <string>
#include <vector>

#include "core/filter.hpp"
#include "cuda/resources.hpp"

namespace quietvox::cuda {

/// The implementations of one filter. They queue work on views whose voxels lie on the device and return at once.
template <FilterParams P>
struct DeviceKernels {
  template <class T>
  using Kernel = void (*)(VolumeView<const T>, VolumeView<T>, const P&, const Queue&);
  Kernel<float> f32;
  Kernel<std::int16_t> i16 = nullptr;
  Kernel<std::uint16_t> u16 = nullptr;
};

template <class T>
using DeviceRun = std::function<void(VolumeView<const T>, VolumeView<T>, const std::any&, const Queue&)>;

struct DeviceEntry {
  std::string filter;
  DeviceRun<float> f32;
  DeviceRun<std::int16_t> i16;
  DeviceRun<std::uint16_t> u16;

  template <class T>
  const DeviceRun<T>& run() const {
    if constexpr (std::same_as<T, float>) {
      return f32;
    } else if constexpr (std::same_as<T, std::int16_t>) {
      return i16;
    } else {
      return u16;
    }
  }
};

template <FilterParams P>
DeviceEntry device_entry(DeviceKernels<P> kernels) {
  const auto erased = []<class T>(void (*kernel)(VolumeView<const T>, VolumeView<T>, const P&, const Queue&)) {
    return kernel
               ? DeviceRun<T>([kernel](VolumeView<const T> in, VolumeView<T> out, const std::any& params,
                                       const Queue& queue) { kernel(in, out, std::any_cast<const P&>(params), queue); })
               : DeviceRun<T>();
  };
  return {std::string(P::name), erased(kernels.f32), erased(kernels.i16), erased(kernels.u16)};
}

/// The CUDA implementations, one line per filter.
const std::vector<DeviceEntry>& device_entries();

}  // namespace quietvox::cuda
