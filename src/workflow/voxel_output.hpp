// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/image.hpp"

namespace quietvox {

/// Takes filtered slices of one volume, puts the original voxels back where there is no value and outside the mask, and
/// hands the result to the writer and what the output then holds less than the original to the residual's writer.
class VoxelOutput {
 public:
  /// `residual`, `original` and `mask` may be null; a residual, a mask and an output that does not keep
  /// what stands in its source where there is no value need the original, there read with padding.
  VoxelOutput(io::ImageWriter& writer, io::ImageWriter* residual, std::unique_ptr<VolumeSource> original,
              std::unique_ptr<VolumeSource> mask);

  void write(VolumeView<const float> slices);

 private:
  void write_block(VolumeView<const float> block);

  io::ImageWriter& writer_;
  io::ImageWriter* residual_;
  std::unique_ptr<VolumeSource> original_, mask_;
  std::vector<float> original_block_, mask_block_, result_block_, stored_block_;
};

/// Puts the output and, where there is one, its residual in place: both or neither, and neither where one of the inputs
/// changed.
io::WriteReport commit_both(io::ImageWriter& writer, io::ImageWriter* residual, std::span<const io::FileStamp> inputs,
                            const Execution&);

}  // namespace quietvox
