// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/coarse_field_view.hpp"
#include "cuda/filters/common/upload.hpp"

namespace quietvox::cuda {

/// The map of a volume's noise on the device.
class DeviceNoiseMap {
 public:
  DeviceNoiseMap(const CoarseField& map, const Extent& volume, const LaunchContext& context)
      : values_(upload(map.values.data(), map.values.size(), context)), view_{values_.get(), map.size, volume} {}

  const CoarseFieldView& view() const { return view_; }

 private:
  DeviceBuffer<float> values_;
  CoarseFieldView view_;
};

}  // namespace quietvox::cuda
