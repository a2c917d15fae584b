// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/result_writer.hpp"

#include <algorithm>
#include <cmath>

#include "io/output/atomic_output.hpp"
#include "workflow/mask.hpp"
#include "workflow/masked_source.hpp"

namespace quietvox {

ResultWriter::ResultWriter(io::ImageWriter& writer, io::ImageWriter* residual, std::unique_ptr<VolumeSource> original,
                           std::unique_ptr<VolumeSource> mask)
    : writer_(writer), residual_(residual), original_(std::move(original)), mask_(std::move(mask)) {}

void ResultWriter::write(VolumeView<const float> slices) {
  if (!original_) return writer_.write(slices);
  const std::int64_t together = slices_in_block(slices.extent);
  for (std::int64_t z = 0; z < slices.extent.z; z += together) {
    write_block(slices.slices(z, std::min(together, slices.extent.z - z)));
  }
}

void ResultWriter::write_block(VolumeView<const float> block) {
  const auto size = static_cast<std::size_t>(block.extent.voxels());
  const auto is_finite = [](float value) { return std::isfinite(value); };
  if (!mask_ && !residual_ && std::all_of(block.data, block.data + size, is_finite)) {
    writer_.write(block);
    return;
  }
  const auto view = [&](std::vector<float>& voxels) {
    voxels.resize(size);
    return VolumeView<float>{voxels.data(), block.extent, block.spacing, block.origin};
  };
  original_->read(view(original_block_));
  const VolumeView<float> result = view(result_block_);
  for (std::size_t i = 0; i < size; ++i) {
    result.data[i] = std::isfinite(block.data[i]) ? block.data[i] : original_block_[i];
  }
  if (mask_) {
    mask_->read(view(mask_block_));
    for (std::size_t i = 0; i < size; ++i) {
      if (!is_inside(mask_block_[i])) result.data[i] = original_block_[i];
    }
  }
  if (!residual_) return writer_.write(result);
  stored_block_.resize(size);
  writer_.write(result, stored_block_.data());
  for (std::size_t i = 0; i < size; ++i) result.data[i] = original_block_[i] - stored_block_[i];
  residual_->write(result);
}

io::WriteReport commit_both(io::ImageWriter& writer, io::ImageWriter* residual, std::span<const io::FileStamp> inputs,
                            const Execution& execution) {
  std::vector<io::AtomicOutput*> outputs;
  io::WriteReport report = writer.finish(outputs);
  if (residual) {
    const io::WriteReport second = residual->finish(outputs);
    report.files.insert(report.files.end(), second.files.begin(), second.files.end());
    report.warnings.insert(report.warnings.end(), second.warnings.begin(), second.warnings.end());
  }
  io::expect_unchanged(inputs);
  io::commit_together(outputs, execution);
  return report;
}

}  // namespace quietvox
