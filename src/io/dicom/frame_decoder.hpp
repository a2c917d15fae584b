// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "io/dicom/slice_header.hpp"
#include "io/dicom/toolkit.hpp"

/// From the pixel data of a file to cells, frame by frame.
namespace quietvox::io::dicom {

/// True where pixels in this transfer syntax can be decoded.
bool can_decode(const std::string& transfer_syntax_uid);

/// The most bytes of pixels that compressed pixel data of this size can decode to.
std::int64_t most_pixel_bytes(DcmPixelData&, const std::string& transfer_syntax_uid);

/// Decodes the frames of a file that is parsed, its pixels in memory or left on disk. Threads may decode different
/// frames at the same time.
class FrameDecoder {
 public:
  /// `image`: any image in the file; the data set must live on. Throws Error(corrupt) where the frames cannot be told
  /// apart.
  FrameDecoder(DcmDataset&, const SliceHeader& image, const Execution&);

  /// The cells of a whole frame; 8-bit ones widened: what the file holds, bits around the stored number included.
  /// Throws Error(corrupt) where pixels are missing or do not decode, Error(out_of_memory) where that would take too
  /// much, Error(cancelled).
  std::vector<std::uint16_t> cells(std::int64_t frame);

  /// The cells of all frames, in place in the data set: writing to them changes it. Empty if it does not hold them in
  /// this form.
  std::span<std::uint16_t> cells_in_place();

 private:
  std::vector<std::uint16_t> native_cells(std::size_t frame);
  std::vector<std::uint8_t> compressed_bytes(std::size_t frame);
  std::vector<std::uint16_t> decoded(const std::vector<std::uint8_t>& compressed) const;

  SliceHeader image_;
  Execution execution_;
  std::mutex mutex_;  ///< DCMTK's elements serve one thread at a time
  DcmPixelData* pixels_ = nullptr;
  std::vector<DcmPixelItem*> fragments_;  ///< the compressed pieces
  std::vector<std::size_t> first_;        ///< with which of them each frame begins, and how many there are
};

}  // namespace quietvox::io::dicom
