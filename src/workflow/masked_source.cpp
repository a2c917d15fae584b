// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/masked_source.hpp"

#include <algorithm>
#include <limits>

#include "core/input_limits.hpp"
#include "workflow/mask.hpp"

namespace quietvox {

std::int64_t slices_in_block(const Extent& extent) {
  constexpr std::int64_t voxels = std::int64_t{1} << 20;
  return std::clamp<std::int64_t>(voxels / extent.slice(), 1, extent.z);
}

std::size_t block_bytes(const Extent& extent) {
  return static_cast<std::size_t>(slices_in_block(extent) * extent.slice()) * sizeof(float);
}

MaskedSource::MaskedSource(std::unique_ptr<VolumeSource> source, std::unique_ptr<VolumeSource> mask)
    : source_(std::move(source)), mask_(std::move(mask)), block_(block_bytes(mask_->extent()) / sizeof(float)) {}

void MaskedSource::read(VolumeView<float> slices) {
  source_->read(slices);
  const std::int64_t together = slices_in_block(extent());
  for (std::int64_t z = 0; z < slices.extent.z; z += together) {
    const VolumeView<float> voxels = slices.slices(z, std::min(together, slices.extent.z - z));
    VolumeView<float> mask = voxels;
    mask.data = block_.data();
    mask_->read(mask);
    for (std::int64_t i = 0; i < voxels.extent.voxels(); ++i) {
      if (!is_inside(mask.data[i])) voxels.data[i] = std::numeric_limits<float>::quiet_NaN();
    }
  }
}

std::vector<float> read_whole(VolumeSource& source, std::uint64_t others) {
  check_memory(others == 0 ? "the volume, which is needed whole," : "the volumes, which are needed whole,",
               (1 + others) * sizeof(float) * static_cast<std::uint64_t>(source.extent().voxels()), {});
  const Extent extent = source.extent();
  std::vector<float> voxels(static_cast<std::size_t>(extent.voxels()));
  source.read({voxels.data(), extent, source.spacing()});
  return voxels;
}

}  // namespace quietvox
