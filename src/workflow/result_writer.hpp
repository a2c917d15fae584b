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

/// Takes filtered slices of one volume and puts the original voxels back where voxels are missing and outside the mask.
/// Hands the result to the writer, and the original minus what the output then holds to the residual's writer.
class ResultWriter {
 public:
  /// `residual`, `original` and `mask` may be null. The original, read with its padding, is needed for a residual, for
  /// a mask, and for an output that does not keep by itself what its source holds at missing voxels.
  ResultWriter(io::ImageWriter& writer, io::ImageWriter* residual, std::unique_ptr<VolumeSource> original,
               std::unique_ptr<VolumeSource> mask);

  void write(VolumeView<const float> slices);

 private:
  void write_block(VolumeView<const float> block);

  io::ImageWriter& writer_;
  io::ImageWriter* residual_;
  std::unique_ptr<VolumeSource> original_, mask_;
  std::vector<float> original_block_, mask_block_, result_block_, stored_block_;
};

/// Puts the output and its residual, if any, in place: both or neither, and neither if one of the inputs changed.
io::WriteReport commit_both(io::ImageWriter& writer, io::ImageWriter* residual, std::span<const io::FileStamp> inputs,
                            const Execution&);

}  // namespace quietvox
