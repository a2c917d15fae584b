// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom_verify.hpp"

#include <algorithm>

#include "io/dicom_header.hpp"
#include "io/dicom_pixels.hpp"

namespace quietvox::io::dicom {

std::string why_not_as_meant(const std::filesystem::path& written, const Slice& source, const std::string& sop_instance,
                             std::span<const std::uint16_t> cells) {
  try {
    const auto file = load_file(written);
    DcmDataset& data = *file->getDataset();
    Slice slice;
    slice.path = written;
    read_header(data, slice);
    if (slice.sop_instance != sop_instance) return "with another SOP instance UID";
    if (slice.columns != source.columns || slice.rows != source.rows) return "in another size";
    if (slice.format != source.format || slice.photometric != source.photometric) return "in another pixel format";
    if (slice.slope != source.slope || slice.intercept != source.intercept) return "with another rescale";
    return std::ranges::equal(read_cells(data, slice), cells) ? "" : "with other pixels than were written";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace quietvox::io::dicom
