// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/embedded_overlays.hpp"

namespace quietvox::io::dicom {
namespace {

constexpr std::uint16_t first_group = 0x6000, last_group = 0x60fe, bit_position = 0x0102;

/// A small number that may be anything without harm; -1 where it is none.
int small_number(DcmItem& data, const DcmTagKey& key) {
  Uint16 number = 0;
  return data.findAndGetUint16(key, number).good() ? number : -1;
}

void check(const OFCondition& status, const DcmTagKey& key) {
  if (status.bad()) throw Error(Errc::internal, tag_name(key) + " cannot be set: " + status.text());
}

}  // namespace

std::vector<EmbeddedOverlay> embedded_overlays(DcmItem& data, const SliceHeader& slice) {
  std::vector<EmbeddedOverlay> found;
  const PixelFormat& format = slice.format;
  for (Parts elements(data); const DcmObject* const element = elements.next();) {  // a search for each group takes long
    const Uint16 group = element->getGTag();
    if (element->getETag() != bit_position || group < first_group || group > last_group || group % 2 != 0) continue;
    const auto tag = [&](Uint16 number) { return DcmTagKey(group, number); };
    const int bit = small_number(data, tag(bit_position));
    const bool is_spare = bit >= 0 && bit < format.bits_allocated && (bit > format.high_bit || bit < format.shift());
    if (is_spare && !data.tagExists(tag(0x3000)) && small_number(data, tag(0x0010)) == slice.frame_rows &&
        small_number(data, tag(0x0011)) == slice.frame_columns) {
      found.push_back({group, bit});
    }
  }
  return found;
}

void extract_embedded_overlays(DcmItem& data, const SliceHeader& slice, std::span<std::uint16_t> cells) {
  int spare = 0;  // bits; two overlays may lie in the same one
  for (const auto& [group, bit] : embedded_overlays(data, slice)) {
    std::vector<Uint16> words((cells.size() + 15) / 16);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      words[i / 16] = static_cast<Uint16>(words[i / 16] | (cells[i] >> bit & 1) << i % 16);
    }
    spare |= 1 << bit;
    const DcmTagKey bits(group, 0x0100), position(group, bit_position), frames(group, 0x0015), content(group, 0x3000);
    check(data.putAndInsertUint16(bits, 1), bits);
    check(data.putAndInsertUint16(position, 0), position);
    if (slice.frames > 1) check(data.putAndInsertString(frames, std::to_string(slice.frames).c_str()), frames);
    check(data.putAndInsertUint16Array(DcmTag(content, EVR_OW), words.data(), words.size()), content);
  }
  if (spare == 0) return;
  for (std::uint16_t& cell : cells) cell = static_cast<std::uint16_t>(cell & ~spare);
}

}  // namespace quietvox::io::dicom
