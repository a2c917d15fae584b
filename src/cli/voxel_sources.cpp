// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/voxel_sources.hpp"

#include <limits>

namespace quietvox::cli {

void check_stop(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(Errc::cancelled, "stopped on request");
}

void WatchedSource::read(VolumeView<float> slices) {
  for (std::int64_t z = 0; z < slices.extent.z; ++z) {
    check_stop(stop_);
    source_->read(slices.slices(z, 1));
  }
}

MaskedSource::MaskedSource(std::unique_ptr<VolumeSource> source, std::unique_ptr<VolumeSource> mask)
    : source_(std::move(source)), mask_(std::move(mask)), slice_(static_cast<std::size_t>(mask_->extent().slice())) {}

void MaskedSource::read(VolumeView<float> slices) {
  for (std::int64_t z = 0; z < slices.extent.z; ++z) {
    const VolumeView<float> voxels = slices.slices(z, 1);
    VolumeView<float> mask = voxels;
    mask.data = slice_.data();
    source_->read(voxels);
    mask_->read(mask);
    for (std::int64_t i = 0; i < voxels.extent.slice(); ++i) {
      if (mask.data[i] == 0) voxels.data[i] = std::numeric_limits<float>::quiet_NaN();
    }
  }
}

std::vector<float> read_whole(VolumeSource& source) {
  const Extent extent = source.extent();
  std::vector<float> voxels(static_cast<std::size_t>(extent.voxels()));
  source.read({voxels.data(), extent, source.spacing()});
  return voxels;
}

}  // namespace quietvox::cli
