// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/verify.hpp"

#include <algorithm>
#include <atomic>

#include "io/dicom/frame_decoder.hpp"
#include "io/dicom/frames.hpp"
#include "io/dicom/pixels.hpp"
#include "io/dicom/read_header.hpp"

namespace quietvox::io::dicom {

std::string readback_mismatch(const std::filesystem::path& written, const SliceHeader& source,
                              const std::string& sop_instance, std::span<const std::uint16_t> cells,
                              const Execution& execution) {
  static constexpr const char* other_pixels = "with other pixels than were written";
  try {
    const auto file = load_for_reading(written, execution);
    DcmDataset& data = *file->getDataset();
    SliceHeader whole;
    whole.path = written;
    whole.file = FileStamp(written);
    read_header(data, whole);
    const auto images = images_of(data, whole, execution, source.frame);
    const auto found = std::find_if(images.begin(), images.end(), [&](const SliceHeader& image) {
      return image.frame == source.frame && image.left == source.left && image.top == source.top;
    });
    if (found == images.end() || found->frames != source.frames) return "with other frames";
    const SliceHeader& slice = *found;
    if (slice.sop_instance != sop_instance) return "with another SOP instance UID";
    if (slice.columns != source.columns || slice.rows != source.rows) return "in another size";
    if (slice.format != source.format || slice.photometric != source.photometric) return "in another pixel format";
    if (slice.slope != source.slope || slice.intercept != source.intercept) return "with another rescale";
    FrameDecoder decoder(data, slice, execution);
    if (const auto in_place = decoder.cells_in_place(); !in_place.empty()) {
      return std::ranges::equal(in_place, cells) ? "" : other_pixels;
    }
    std::atomic<bool> same = true;
    parallel_for(execution, slice.frames, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t frame = begin; frame < end; ++frame) {
        const auto expected = cells.subspan(static_cast<std::size_t>(frame) * frame_cells(slice), frame_cells(slice));
        if (!std::ranges::equal(decoder.cells(frame), expected)) same = false;
      }
    });
    return same ? "" : other_pixels;
  } catch (const Error& error) {
    if (error.code() == Errc::cancelled) throw;
    return error.what();
  }
}

}  // namespace quietvox::io::dicom
