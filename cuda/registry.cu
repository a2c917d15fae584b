// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/registry.hpp"

#include "filters/all.hpp"

namespace quietvox::cuda {

const std::vector<DeviceEntry>& device_entries() {
  static const std::vector<DeviceEntry> all{
      device_entry<MedianParams>({.f32 = median_cuda, .i16 = median_cuda, .u16 = median_cuda}),
      device_entry<BilateralParams>({.f32 = bilateral_cuda}),
  };
  return all;
}

}  // namespace quietvox::cuda
