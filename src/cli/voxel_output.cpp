// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/voxel_output.hpp"

#include "cli/voxel_sources.hpp"

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
  if (!original_) {
    writer_.write(slice);
    return;
  }
  const auto size = static_cast<std::size_t>(slice.extent.voxels());
  const auto view = [&](std::vector<float>& voxels) {
    voxels.resize(size);
    return VolumeView<float>{voxels.data(), slice.extent, slice.spacing, slice.origin};
  };
  original_->read(view(original_slice_));
  const VolumeView<float> result = view(result_slice_);
  std::copy(slice.data, slice.data + size, result.data);
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
  io::WriteReport first;
  if (residual) first = residual->commit();
  try {
    io::WriteReport report = writer.commit();
    report.files.insert(report.files.end(), first.files.begin(), first.files.end());
    report.warnings.insert(report.warnings.end(), first.warnings.begin(), first.warnings.end());
    return report;
  } catch (...) {
    std::error_code ignored;
    for (const auto& file : first.files) std::filesystem::remove(file, ignored);
    throw;
  }
}

}  // namespace quietvox::cli
