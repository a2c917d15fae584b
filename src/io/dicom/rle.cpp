// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/rle.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"

namespace quietvox::io::dicom {
namespace {

constexpr std::size_t header_bytes = 64;

[[noreturn]] void corrupt(const std::string& what) {
  throw Error(Errc::corrupt, "its RLE pixels do not decode: " + what);
}

std::uint32_t word(std::span<const std::uint8_t> bytes, std::size_t at) {
  return bytes[at] | bytes[at + 1] << 8 | bytes[at + 2] << 16 | static_cast<std::uint32_t>(bytes[at + 3]) << 24;
}

/// Calls `put(index, byte)` for each byte that the segment stands for.
template <class Put>
void unpack(std::span<const std::uint8_t> packed, std::size_t count, const Put& put) {
  std::size_t in = 0, out = 0;
  while (out < count) {
    if (in >= packed.size()) corrupt("a segment ends early");
    const int control = packed[in++];
    if (control == 128) continue;
    const bool literal = control < 128;
    const std::size_t length = std::min<std::size_t>(literal ? control + 1 : 257 - control, count - out);
    if (in + (literal ? length : 1) > packed.size()) corrupt("a segment ends early");
    for (std::size_t i = 0; i < length; ++i) put(out++, packed[in + (literal ? i : 0)]);
    in += literal ? length : 1;
  }
}

}  // namespace

std::vector<std::uint16_t> decode_rle(std::span<const std::uint8_t> frame, std::size_t cells, int bytes_per_cell) {
  if (frame.size() < header_bytes) corrupt("the header is incomplete");
  const std::uint32_t segments = word(frame, 0);
  if (segments != static_cast<std::uint32_t>(bytes_per_cell)) {
    corrupt(std::to_string(segments) + " segments instead of " + std::to_string(bytes_per_cell));
  }
  std::vector<std::uint16_t> result(cells);
  for (int segment = 0; segment < bytes_per_cell; ++segment) {
    const std::size_t begin = word(frame, 4 + 4 * segment);
    const std::size_t end = segment + 1 < bytes_per_cell ? word(frame, 8 + 4 * segment) : frame.size();
    if (begin < header_bytes || begin > end || end > frame.size()) corrupt("a segment lies outside the frame");
    unpack(frame.subspan(begin, end - begin), cells,
           [&](std::size_t i, std::uint8_t byte) { result[i] = static_cast<std::uint16_t>(result[i] << 8 | byte); });
  }
  return result;
}

}  // namespace quietvox::io::dicom
