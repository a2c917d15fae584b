// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/frame_decoder.hpp"

#include <dcmtk/dcmdata/dcpixseq.h>
#include <dcmtk/dcmdata/dcpxitem.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <numeric>

#include "core/input_limits.hpp"
#include "io/dicom/jpeg.hpp"
#include "io/dicom/jpeg2000.hpp"
#include "io/dicom/pixels.hpp"
#include "io/dicom/rle.hpp"

namespace quietvox::io::dicom {
namespace {

/// Bytes of memory that decoders take, results included: DCMTK's hold a frame three times, OpenJPEG twice in 32 bits.
constexpr std::uint64_t memory_per_cell = 10;

[[noreturn]] void corrupt(const std::string& what) { throw Error(Errc::corrupt, what); }

/// The offset table and the compressed pieces.
std::vector<DcmPixelItem*> items_of(DcmPixelData& pixels) {
  E_TransferSyntax syntax = EXS_Unknown;
  const DcmRepresentationParameter* parameter = nullptr;
  pixels.getOriginalRepresentationKey(syntax, parameter);
  DcmPixelSequence* sequence = nullptr;
  if (pixels.getEncapsulatedRepresentation(syntax, parameter, sequence).bad()) corrupt("has no compressed pixels");
  std::vector<DcmPixelItem*> items;
  for (Parts parts(*sequence); DcmObject* const item = parts.next();) {
    if (item->ident() != EVR_pixelItem) corrupt("has a broken fragment");
    items.push_back(static_cast<DcmPixelItem*>(item));
  }
  if (items.empty()) corrupt("has no compressed pixels");
  return items;
}

/// Reads a value that was left on disk.
void load_value(DcmElement& element, const Execution& execution) {
  check_memory("what it holds", element.getLength(), execution);
  const OFCondition status = element.loadAllDataIntoMemory();
  check_stop(execution.stop);
  if (status.bad()) corrupt(tag_name(element.getTag()) + " cannot be read: " + status.text());
}

std::span<const std::uint8_t> bytes_of(DcmPixelItem& item, const Execution& execution) {
  load_value(item, execution);
  Uint8* bytes = nullptr;
  if (item.getUint8Array(bytes).bad()) corrupt("has a broken fragment");
  return {bytes, bytes ? item.getLength() : 0};
}

/// Where the frames begin among the fragments, by the offset table, whose offsets count from the first fragment; empty
/// where there is no such table.
std::vector<std::size_t> by_offset_table(std::span<const std::uint8_t> offsets,
                                         const std::vector<DcmPixelItem*>& fragments, std::size_t frames) {
  if (offsets.size() < 4 * frames) return {};
  std::vector<std::size_t> first;
  std::size_t fragment = 0;
  std::uint64_t at = 0;
  for (std::size_t frame = 0; frame < frames; ++frame) {
    std::uint32_t offset = 0;
    std::memcpy(&offset, offsets.data() + 4 * frame, 4);
    while (fragment < fragments.size() && at < offset) at += 8 + fragments[fragment++]->getLength();
    if (at != offset || fragment == fragments.size()) return {};
    first.push_back(fragment);
  }
  return first;
}

/// Whether a fragment begins as a frame does: with the header of RLE (PS3.5, annex G), with the first markers of a
/// JPEG, JPEG-LS or JPEG 2000 stream, or with the signature of a JP2 file. Other fragments hardly ever do.
bool begins_a_frame(DcmPixelItem& fragment, const std::string& transfer_syntax_uid) {
  std::array<std::uint8_t, 8> start{};
  if (fragment.getLength() < start.size()) return false;
  if (fragment.getPartialValue(start.data(), 0, start.size(), nullptr).bad()) corrupt("has a broken fragment");
  const auto holds = [&](std::size_t at, std::initializer_list<std::uint8_t> bytes) {
    return std::equal(bytes.begin(), bytes.end(), start.begin() + static_cast<std::ptrdiff_t>(at));
  };
  if (transfer_syntax_uid == UID_RLELosslessTransferSyntax) {
    constexpr std::uint8_t most_segments = 15, size_of_header = 64;
    return start[0] >= 1 && start[0] <= most_segments && holds(1, {0, 0, 0, size_of_header, 0, 0, 0});
  }
  return holds(0, {0xff, 0xd8, 0xff}) || holds(0, {0xff, 0x4f, 0xff, 0x51}) || holds(4, {'j', 'P', ' ', ' '});
}

/// With which fragment each of several frames begins, where there are more fragments: by the offset table, or else by
/// how streams begin.
std::vector<std::size_t> first_fragments(DcmPixelItem& table, const std::vector<DcmPixelItem*>& fragments,
                                         std::size_t frames, const std::string& transfer_syntax_uid,
                                         const Execution& execution) {
  std::vector<std::size_t> begun;
  for (std::size_t i = 0; i < fragments.size(); ++i) {
    if (begins_a_frame(*fragments[i], transfer_syntax_uid)) begun.push_back(i);
  }
  if (begun.size() > frames) {
    corrupt(tag_name(DCM_PixelData) + " holds " + std::to_string(begun.size()) + " frames, but the header counts " +
            std::to_string(frames) + " (" + tag_name(DCM_NumberOfFrames) + ")");
  }
  if (frames == 1) return {0};
  auto first = by_offset_table(bytes_of(table, execution), fragments, frames);
  if (first.empty() && begun.size() == frames && begun.front() == 0) first = std::move(begun);
  if (first.empty()) {
    corrupt("has " + std::to_string(fragments.size()) + " fragments for " + std::to_string(frames) +
            " frames, and no table that tells them apart");
  }
  return first;
}

std::vector<std::uint16_t> cells_of(std::span<const std::uint8_t> bytes, std::size_t count, int bits) {
  if (bytes.size() < count * bits / 8) {
    corrupt(tag_name(DCM_PixelData) + " ends early: " + std::to_string(bytes.size()) + " bytes instead of " +
            std::to_string(count * bits / 8));
  }
  std::vector<std::uint16_t> cells(count);
  if (bits == 16) {
    std::memcpy(cells.data(), bytes.data(), count * 2);
  } else {
    std::copy_n(bytes.begin(), count, cells.begin());
  }
  return cells;
}

/// A data set with nothing but one compressed frame, which can be decoded without a change to any other.
void put_frame(DcmDataset& image, const std::vector<std::uint8_t>& frame, const SliceHeader& slice) {
  const auto check = [](const OFCondition& status) {
    if (status.bad()) throw Error(Errc::internal, std::string("a frame cannot be set apart: ") + status.text());
  };
  const PixelFormat& format = slice.format;
  const std::pair<DcmTagKey, std::int64_t> numbers[] = {{DCM_SamplesPerPixel, 1},
                                                        {DCM_Rows, slice.frame_rows},
                                                        {DCM_Columns, slice.frame_columns},
                                                        {DCM_BitsStored, format.bits_stored},
                                                        {DCM_HighBit, format.high_bit},
                                                        {DCM_BitsAllocated, format.bits_allocated},
                                                        {DCM_PixelRepresentation, format.is_signed}};
  for (const auto& [key, number] : numbers) check(image.putAndInsertUint16(key, static_cast<Uint16>(number)));
  check(image.putAndInsertString(DCM_PhotometricInterpretation, slice.photometric.c_str()));
  auto sequence = std::make_unique<DcmPixelSequence>(DcmTag(DCM_PixelData, EVR_OB));
  for (const std::span<const std::uint8_t> bytes : {std::span<const std::uint8_t>(), std::span(frame)}) {
    auto item = std::make_unique<DcmPixelItem>(DcmTag(DCM_PixelItemTag, EVR_OB));
    if (!bytes.empty()) check(item->putUint8Array(bytes.data(), bytes.size()));
    check(sequence->insert(item.get()));
    (void)item.release();
  }
  auto pixels = std::make_unique<DcmPixelData>(DCM_PixelData);
  pixels->putOriginalRepresentation(DcmXfer(slice.syntax_uid.c_str()).getXfer(), nullptr, sequence.release());
  check(image.insert(pixels.get(), OFTrue));
  (void)pixels.release();
}

/// JPEG and JPEG-LS by DCMTK, which may find that the stream holds fewer bits than the header says.
std::vector<std::uint16_t> decode_by_toolkit(const std::vector<std::uint8_t>& frame, const SliceHeader& slice) {
  DcmDataset image;
  put_frame(image, frame, slice);
  const OFCondition status = image.chooseRepresentation(EXS_LittleEndianExplicit, nullptr);
  if (status.bad()) corrupt("its " + slice.syntax_name + " pixels do not decode: " + status.text());
  const auto decoded_number = [&](const DcmTagKey& key, int otherwise) {
    return static_cast<int>(number_of(image, key).value_or(otherwise));
  };
  PixelFormat decoded = slice.format;
  decoded.bits_allocated = decoded_number(DCM_BitsAllocated, decoded.bits_allocated);
  decoded.bits_stored = decoded_number(DCM_BitsStored, decoded.bits_stored);
  decoded.high_bit = decoded_number(DCM_HighBit, decoded.high_bit);
  auto cells = cells_of(native_bytes(pixel_data(image)), frame_cells(slice), decoded.bits_allocated);
  if (decoded != slice.format) {
    for (std::uint16_t& cell : cells) cell = slice.format.sign_extended().with_stored(0, decoded.stored(cell));
  }
  return cells;
}

}  // namespace

bool can_decode(const std::string& uid) {
  static constexpr const char* known[] = {
      UID_RLELosslessTransferSyntax,   UID_JPEGProcess1TransferSyntax,         UID_JPEGProcess2_4TransferSyntax,
      UID_JPEGProcess14TransferSyntax, UID_JPEGProcess14SV1TransferSyntax,     UID_JPEGLSLosslessTransferSyntax,
      UID_JPEGLSLossyTransferSyntax,   UID_JPEG2000LosslessOnlyTransferSyntax, UID_JPEG2000TransferSyntax};
  return std::find(std::begin(known), std::end(known), uid) != std::end(known);
}

std::int64_t most_pixel_bytes(DcmPixelData& pixels, const std::string& transfer_syntax_uid) {
  const auto items = items_of(pixels);
  std::int64_t compressed = 0;
  for (std::size_t i = 1; i < items.size(); ++i) compressed += items[i]->getLength();
  // Two bytes of RLE stand for 128 at most. The others have no such bound, but a blank image does not come close to
  // this.
  return compressed * (transfer_syntax_uid == UID_RLELosslessTransferSyntax ? 64 : 1'000'000);
}

FrameDecoder::FrameDecoder(DcmDataset& data, const SliceHeader& image, const Execution& execution)
    : image_(image), execution_(execution) {
  with_error_context(image_.path.string(), [&] {
    pixels_ = &pixel_data(data);
    if (!image_.is_compressed) return load_value(*pixels_, execution_);
    const auto items = items_of(*pixels_);
    fragments_.assign(items.begin() + 1, items.end());
    const auto frames = static_cast<std::size_t>(image_.frames);
    if (fragments_.size() == frames) {
      first_.resize(frames);
      std::iota(first_.begin(), first_.end(), std::size_t{0});
    } else {
      first_ = first_fragments(*items.front(), fragments_, frames, image_.syntax_uid, execution_);
    }
    first_.push_back(fragments_.size());
  });
}

std::vector<std::uint16_t> FrameDecoder::cells(std::int64_t frame) {
  check_stop(execution_.stop);
  const auto index = static_cast<std::size_t>(frame);
  return with_error_context(image_.path.string(), [&] {
    return image_.is_compressed ? decoded(compressed_bytes(index)) : native_cells(index);
  });
}

std::span<std::uint16_t> FrameDecoder::cells_in_place() {
  const bool is_as_in_memory = !image_.is_compressed && image_.format.bits_allocated == 16 &&
                               DcmXfer(image_.syntax_uid.c_str()).getPixelDataByteOrder() == EBO_LittleEndian;
  if (!is_as_in_memory) return {};
  const std::lock_guard lock(mutex_);
  const auto bytes = with_error_context(image_.path.string(), [&] { return native_bytes(*pixels_); });
  const std::size_t count = frame_cells(image_) * static_cast<std::size_t>(image_.frames);
  if (bytes.size() < 2 * count) return {};
  return {reinterpret_cast<std::uint16_t*>(bytes.data()), count};
}

/// One uncompressed frame, by a copy.
std::vector<std::uint16_t> FrameDecoder::native_cells(std::size_t frame) {
  std::vector<std::uint16_t> cells(frame_cells(image_));
  const bool wide = image_.format.bits_allocated == 16;
  std::vector<std::uint8_t> narrow(wide ? 0 : cells.size());
  const std::size_t size = wide ? 2 * cells.size() : narrow.size();
  void* const to = wide ? static_cast<void*>(cells.data()) : narrow.data();
  {
    const std::lock_guard lock(mutex_);
    const OFCondition status =
        pixels_->getPartialValue(to, static_cast<Uint32>(size * frame), static_cast<Uint32>(size), nullptr);
    if (status.bad()) corrupt(tag_name(DCM_PixelData) + " cannot be read: " + status.text());
  }
  if (!wide) std::copy(narrow.begin(), narrow.end(), cells.begin());
  return cells;
}

/// The compressed bytes of one frame, its fragments joined.
std::vector<std::uint8_t> FrameDecoder::compressed_bytes(std::size_t frame) {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint8_t> joined;
  for (std::size_t i = first_.at(frame); i < first_.at(frame + 1); ++i) {
    const auto bytes = bytes_of(*fragments_[i], execution_);
    joined.insert(joined.end(), bytes.begin(), bytes.end());
    fragments_[i]->compact();  // back to the disk, if it came from there
  }
  return joined;
}

std::vector<std::uint16_t> FrameDecoder::decoded(const std::vector<std::uint8_t>& compressed) const {
  const std::string& syntax = image_.syntax_uid;
  check_memory("decoding a frame", memory_per_cell * frame_cells(image_), execution_);
  if (syntax == UID_RLELosslessTransferSyntax) {
    return decode_rle(compressed, frame_cells(image_), image_.format.bits_allocated / 8);
  }
  if (syntax == UID_JPEG2000LosslessOnlyTransferSyntax || syntax == UID_JPEG2000TransferSyntax) {
    return decode_jpeg2000(compressed, image_.frame_columns, image_.frame_rows, image_.format, execution_);
  }
  check_jpeg(compressed, image_.frame_columns, image_.frame_rows, syntax);
  return decode_by_toolkit(compressed, image_);
}

}  // namespace quietvox::io::dicom
