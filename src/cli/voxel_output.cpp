// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/voxel_output.hpp"

#include <algorithm>
#include <cmath>

#include "cli/voxel_sources.hpp"
#include "io/atomic_output.hpp"

namespace quietvox::cli {

VoxelOutput::VoxelOutput(io::ImageWriter& writer, io::ImageWriter* residual, std::unique_ptr<VolumeSource> original,
                         std::unique_ptr<VolumeSource> mask, std::stop_token stop)
    : writer_(writer),
      residual_(residual),
      original_(std::move(original)),
      mask_(std::move(mask)),
      stop_(std::move(stop)) {}

void VoxelOutput::write(VolumeView<const float> slices) {
  for (std::int64_t z = 0; z < slices.extent.z; ++z) {
    check_stop(stop_);
    write_slice(slices.slices(z, 1));
  }
}

void VoxelOutput::write_slice(VolumeView<const float> slice) {
  const auto size = static_cast<std::size_t>(slice.extent.voxels());
  const auto is_finite = [](float value) { return std::isfinite(value); };
  if (!original_ || (!mask_ && !residual_ && std::all_of(slice.data, slice.data + size, is_finite))) {
    writer_.write(slice);
    return;
  }
  const auto view = [&](std::vector<float>& voxels) {
    voxels.resize(size);
    return VolumeView<float>{voxels.data(), slice.extent, slice.spacing, slice.origin};
  };
  original_->read(view(original_slice_));
  const VolumeView<float> result = view(result_slice_);
  for (std::size_t i = 0; i < size; ++i) {
    result.data[i] = std::isfinite(slice.data[i]) ? slice.data[i] : original_slice_[i];
  }
  if (mask_) {
    mask_->read(view(mask_slice_));
    for (std::size_t i = 0; i < size; ++i) {
      if (mask_slice_[i] == 0) result.data[i] = original_slice_[i];
    }
  }
  writer_.write(result);
  if (!residual_) return;
  for (std::size_t i = 0; i < size; ++i) result.data[i] = original_slice_[i] - result.data[i];
  residual_->write(result);
}

io::WriteReport commit_both(io::ImageWriter& writer, io::ImageWriter* residual) {
  std::vector<io::AtomicOutput*> outputs;
  io::WriteReport report = writer.finish(outputs);
  if (residual) {
    const io::WriteReport second = residual->finish(outputs);
    report.files.insert(report.files.end(), second.files.begin(), second.files.end());
    report.warnings.insert(report.warnings.end(), second.warnings.begin(), second.warnings.end());
  }
  io::commit_together(outputs);
  return report;
}

}  // namespace quietvox::cli
