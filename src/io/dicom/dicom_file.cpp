// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/dicom_file.hpp"

#include "io/dicom/pixels.hpp"

namespace quietvox::io::dicom {

DicomFile::DicomFile(const std::filesystem::path& path, const Execution& execution)
    : path_(path), execution_(execution), file_(load_header(path, execution)) {}

bool DicomFile::values(const SliceHeader& image, VoxelDomain domain, float* out) {
  if (!fills_frame(image)) return to_values(image, mosaic(image), domain, out);
  FrameDecoder& frames = decoder(image);
  const auto in_place = frames.cells_in_place();
  const std::size_t size = frame_cells(image);
  if (!in_place.empty()) {
    return to_values(image, in_place.subspan(size * static_cast<std::size_t>(image.frame), size), domain, out);
  }
  return to_values(image, frames.cells(image.frame), domain, out);
}

FrameDecoder& DicomFile::decoder(const SliceHeader& image) {
  const std::lock_guard lock(mutex_);
  if (!decoder_) decoder_.emplace(*file_->getDataset(), image, execution_);
  return *decoder_;
}

std::span<const std::uint16_t> DicomFile::mosaic(const SliceHeader& image) {
  FrameDecoder& frames = decoder(image);
  const std::lock_guard lock(mutex_);
  if (mosaic_.empty()) mosaic_ = frames.cells(image.frame);
  return mosaic_;
}

}  // namespace quietvox::io::dicom
