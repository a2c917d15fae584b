// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <utility>

#include "core/pipeline.hpp"

namespace quietvox {

/// A volume in memory that somebody else owns.
class MemoryVolume final : public VolumeSource {
 public:
  explicit MemoryVolume(VolumeView<const float> volume, HeaderFacts header = {})
      : volume_(volume), header_(std::move(header)) {}

  Extent extent() const override { return volume_.extent; }
  Spacing spacing() const override { return volume_.spacing; }
  HeaderFacts header() const override { return header_; }
  void read(VolumeView<float> slices) override {
    std::memcpy(slices.data, volume_.row(0, slices.origin.z),
                sizeof(float) * static_cast<std::size_t>(slices.extent.voxels()));
  }

 private:
  VolumeView<const float> volume_;
  HeaderFacts header_;
};

}  // namespace quietvox
