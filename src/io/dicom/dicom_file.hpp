// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "io/dicom/frame_decoder.hpp"
#include "io/dicom/slice_header.hpp"
#include "io/dicom/toolkit.hpp"
#include "io/image.hpp"

namespace quietvox::io::dicom {

/// A file whose header is parsed, and whose pixels are read when they are asked for, by any thread.
class DicomFile {
 public:
  /// Throws as load_header() does.
  DicomFile(const std::filesystem::path&, const Execution&);

  const std::filesystem::path& path() const { return path_; }
  /// For whoever reads the header; only before any values are read.
  DcmFileFormat& header() { return *file_; }

  /// The values of one of its images; returns what to_values() does. Throws as FrameDecoder does.
  bool values(const SliceHeader& image, VoxelDomain, float* out);

 private:
  FrameDecoder& decoder(const SliceHeader& image);
  std::span<const std::uint16_t> mosaic(const SliceHeader& image);

  std::filesystem::path path_;
  Execution execution_;
  std::unique_ptr<DcmFileFormat> file_;
  std::mutex mutex_;
  std::optional<FrameDecoder> decoder_;  ///< once values were asked for
  std::vector<std::uint16_t> mosaic_;    ///< the only frame, once one of its tiles was asked for
};

}  // namespace quietvox::io::dicom
