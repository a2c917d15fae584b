// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom_pixels.hpp"

#include <dcmtk/dcmdata/dcpixseq.h>
#include <dcmtk/dcmdata/dcpxitem.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>

#include "io/dicom_jpeg2000.hpp"
#include "io/dicom_rle.hpp"

namespace quietvox::io::dicom {
namespace {

static_assert(std::endian::native == std::endian::little, "cells are taken from memory as little endian");

[[noreturn]] void corrupt(const std::string& what) { throw Error(Errc::corrupt, what); }

/// The bytes of uncompressed pixel data in memory; writing to them changes the data set.
std::span<std::uint8_t> native_bytes(DcmPixelData& pixels) {
  std::uint8_t* bytes = nullptr;
  OFCondition status;
  if (pixels.getTag().getEVR() == EVR_OW) {
    Uint16* words = nullptr;
    status = pixels.getUint16Array(words);
    bytes = reinterpret_cast<std::uint8_t*>(words);
  } else {
    status = pixels.getUint8Array(bytes);
  }
  if (status.bad() || !bytes) corrupt(tag_name(DCM_PixelData) + " cannot be read: " + status.text());
  return {bytes, pixels.getLength()};
}

DcmPixelSequence& compressed_sequence(DcmPixelData& pixels) {
  E_TransferSyntax syntax = EXS_Unknown;
  const DcmRepresentationParameter* parameter = nullptr;
  pixels.getOriginalRepresentationKey(syntax, parameter);
  DcmPixelSequence* sequence = nullptr;
  if (pixels.getEncapsulatedRepresentation(syntax, parameter, sequence).bad()) corrupt("has no compressed pixels");
  return *sequence;
}

/// The compressed pieces; what comes before them is the offset table.
std::vector<DcmPixelItem*> fragments_of(DcmPixelData& pixels) {
  DcmPixelSequence& sequence = compressed_sequence(pixels);
  std::vector<DcmPixelItem*> fragments;
  for (unsigned long i = 1; i < sequence.card(); ++i) {
    DcmPixelItem* item = nullptr;
    if (sequence.getItem(item, i).bad()) corrupt("has a broken fragment");
    fragments.push_back(item);
  }
  return fragments;
}

std::span<const std::uint8_t> bytes_of(DcmPixelItem& item) {
  Uint8* bytes = nullptr;
  if (item.getUint8Array(bytes).bad()) corrupt("has a broken fragment");
  return {bytes, bytes ? item.getLength() : 0};
}

/// Where the frames begin among the fragments, by the offset table, whose offsets count from the first fragment; empty
/// where there is no such table.
std::vector<std::size_t> first_fragments(DcmPixelData& pixels, const std::vector<DcmPixelItem*>& fragments,
                                         std::size_t frames) {
  DcmPixelItem* table = nullptr;
  if (compressed_sequence(pixels).getItem(table, 0).bad()) return {};
  const auto offsets = bytes_of(*table);
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

/// The compressed bytes of one frame, its fragments joined.
std::vector<std::uint8_t> compressed_frame(DcmPixelData& pixels, const Slice& slice) {
  const auto fragments = fragments_of(pixels);
  const auto frames = static_cast<std::size_t>(slice.frames), frame = static_cast<std::size_t>(slice.frame);
  std::size_t begin = frame, end = frame + 1;
  if (frames == 1) {
    begin = 0;
    end = fragments.size();
  } else if (fragments.size() != frames) {
    const auto first = first_fragments(pixels, fragments, frames);
    if (first.empty()) {
      corrupt("has " + std::to_string(fragments.size()) + " fragments for " + std::to_string(frames) +
              " frames, and no table that tells them apart");
    }
    begin = first[frame];
    end = frame + 1 < frames ? first[frame + 1] : fragments.size();
  }
  std::vector<std::uint8_t> joined;
  for (std::size_t i = begin; i < end; ++i) {
    const auto bytes = bytes_of(*fragments[i]);
    joined.insert(joined.end(), bytes.begin(), bytes.end());
  }
  return joined;
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

/// One uncompressed frame, which need not be in memory with the others.
std::vector<std::uint16_t> native_frame(DcmPixelData& pixels, const Slice& slice) {
  std::vector<std::uint16_t> cells(frame_cells(slice));
  const bool wide = slice.format.bits_allocated == 16;
  std::vector<std::uint8_t> narrow(wide ? 0 : cells.size());
  const std::size_t size = wide ? 2 * cells.size() : narrow.size();
  void* const to = wide ? static_cast<void*>(cells.data()) : narrow.data();
  const std::size_t offset = size * static_cast<std::size_t>(slice.frame);
  const OFCondition status =
      pixels.getPartialValue(to, static_cast<Uint32>(offset), static_cast<Uint32>(size), nullptr);
  if (status.bad()) corrupt(tag_name(DCM_PixelData) + " cannot be read: " + status.text());
  if (!wide) std::copy(narrow.begin(), narrow.end(), cells.begin());
  return cells;
}

/// A data set with nothing but one compressed frame, which can be decoded without a change to any other.
void put_frame(DcmDataset& image, const std::vector<std::uint8_t>& frame, const Slice& slice) {
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
  for (const std::vector<std::uint8_t>& bytes : {std::vector<std::uint8_t>(), frame}) {
    auto item = std::make_unique<DcmPixelItem>(DcmTag(DCM_PixelItemTag, EVR_OB));
    if (!bytes.empty()) check(item->putUint8Array(bytes.data(), bytes.size()));
    check(sequence->insert(item.get()));
    item.release();
  }
  auto pixels = std::make_unique<DcmPixelData>(DCM_PixelData);
  pixels->putOriginalRepresentation(DcmXfer(slice.syntax_uid.c_str()).getXfer(), nullptr, sequence.release());
  check(image.insert(pixels.get(), OFTrue));
  pixels.release();
}

/// JPEG and JPEG-LS by DCMTK, which may find that the stream holds fewer bits than the header says.
std::vector<std::uint16_t> decode_by_toolkit(const std::vector<std::uint8_t>& frame, const Slice& slice) {
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

/// Calls `body(first cell of a row in its frame, first cell of it in the tile)`.
template <class Body>
void for_each_row_of_tile(const Slice& slice, const Body& body) {
  for (std::int64_t y = 0; y < slice.rows; ++y) {
    body((slice.top + y) * slice.frame_columns + slice.left, y * slice.columns);
  }
}

/// The way back from filtered real values (Real = double) or stored numbers (float) to stored numbers.
template <class Real>
class ToStored {
 public:
  explicit ToStored(const Slice& slice)
      : slope_(slice.slope), intercept_(slice.intercept), low_(slice.format.min() - 1), high_(slice.format.max() + 1) {}

  Real exact(float value) const {
    if constexpr (std::same_as<Real, float>) {
      return value;
    } else {
      return (value - intercept_) / slope_;
    }
  }
  /// Half away from zero; numbers far outside the stored range become numbers just outside. NaN becomes some number.
  int rounded(Real exact) const {
    const Real near = std::min(high_, std::max(low_, exact));
    const int whole = static_cast<int>(near);
    const Real rest = near - static_cast<Real>(whole);
    return whole + (rest >= Real{0.5}) - (rest <= Real{-0.5});
  }

 private:
  double slope_, intercept_;
  Real low_, high_;
};

/// The stored number nearest to `exact` that is not in [first, last]; `first` where the format has no other.
int beside(int first, int last, double exact, const PixelFormat& format) {
  const bool room_below = first > format.min(), room_above = last < format.max();
  if (room_below && (!room_above || exact - first < last - exact)) return first - 1;
  return room_above ? last + 1 : first;
}

/// The format to write numbers into cells of an image with. Most writers of signed numbers let the spare bits repeat
/// the sign, and readers count on it: where all cells do so, they go on doing so. Otherwise spare bits hold something
/// else.
PixelFormat format_to_write(const PixelFormat& format, std::span<const std::uint16_t> cells) {
  const PixelFormat extended = format.sign_extended();
  if (extended == format) return format;
  int differing = 0;  // without an early end, so that the compiler makes vectors of it
  for (const std::uint16_t cell : cells) differing |= extended.with_stored(cell, format.stored(cell)) ^ cell;
  return differing == 0 ? extended : format;
}

template <class Real>
std::int64_t merge(const Slice& slice, const float* values, std::span<std::uint16_t> cells) {
  const ToStored<Real> to_stored(slice);
  const PixelFormat format = slice.format, written = format_to_write(format, cells);
  const int min = format.min(), max = format.max();
  std::uint32_t clamped = 0;
  // Without branches where there is no padding, so that the compiler makes vectors of it.
  for (std::size_t i = 0; !slice.padding && i < cells.size(); ++i) {
    const int number = to_stored.rounded(to_stored.exact(values[i]));
    const int stored = std::clamp(number, min, max);
    const bool finite = std::isfinite(values[i]);
    clamped += static_cast<std::uint32_t>(finite & (number != stored));
    cells[i] = finite ? written.with_stored(cells[i], stored) : cells[i];
  }
  for (std::size_t i = 0; slice.padding && i < cells.size(); ++i) {
    const auto [first, last] = *slice.padding;
    const int before = format.stored(cells[i]);
    if (!std::isfinite(values[i]) || (before >= first && before <= last)) continue;
    const Real exact = to_stored.exact(values[i]);
    const int number = to_stored.rounded(exact);
    int stored = std::clamp(number, min, max);
    clamped += number != stored ? 1 : 0;
    if (stored >= first && stored <= last) stored = beside(first, last, exact, format);
    cells[i] = written.with_stored(cells[i], stored);
  }
  return clamped;
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
  std::int64_t compressed = 0;
  for (DcmPixelItem* const fragment : fragments_of(pixels)) compressed += fragment->getLength();
  // Two bytes of RLE stand for 128 at most. The others have no such bound, but a blank image does not come close to
  // this.
  return compressed * (transfer_syntax_uid == UID_RLELosslessTransferSyntax ? 64 : 1'000'000);
}

DcmPixelData& pixel_data(DcmDataset& data) {
  DcmElement* element = nullptr;
  if (data.findAndGetElement(DCM_PixelData, element).bad() || element->ident() != EVR_PixelData) {
    corrupt(tag_name(DCM_PixelData) + " is missing");
  }
  return *static_cast<DcmPixelData*>(element);
}

std::vector<std::uint16_t> read_frame(DcmDataset& data, const Slice& slice) {
  try {
    DcmPixelData& pixels = pixel_data(data);
    if (!slice.is_compressed) return native_frame(pixels, slice);
    const auto frame = compressed_frame(pixels, slice);
    const std::string& syntax = slice.syntax_uid;
    if (syntax == UID_RLELosslessTransferSyntax) {
      return decode_rle(frame, frame_cells(slice), slice.format.bits_allocated / 8);
    }
    if (syntax == UID_JPEG2000LosslessOnlyTransferSyntax || syntax == UID_JPEG2000TransferSyntax) {
      return decode_jpeg2000(frame, slice.frame_columns, slice.frame_rows, slice.format);
    }
    return decode_by_toolkit(frame, slice);
  } catch (const Error& error) {
    throw Error(error.code(), slice.path.string() + ": " + error.what());
  }
}

std::vector<std::uint16_t> cut_tile(const Slice& slice, std::vector<std::uint16_t> frame) {
  if (fills_frame(slice)) return frame;
  std::vector<std::uint16_t> tile(static_cast<std::size_t>(slice.columns * slice.rows));
  for_each_row_of_tile(slice, [&](std::int64_t in_frame, std::int64_t in_tile) {
    std::copy_n(frame.begin() + in_frame, slice.columns, tile.begin() + in_tile);
  });
  return tile;
}

void replace_cells(DcmDataset& data, const Slice& slice, std::span<const std::uint16_t> cells) {
  DcmPixelData& pixels = pixel_data(data);
  const bool wide = slice.format.bits_allocated == 16;
  if (slice.is_compressed) {
    OFCondition status;
    if (wide) {
      status = pixels.putUint16Array(cells.data(), cells.size());
    } else {
      std::vector<Uint8> bytes(cells.begin(), cells.end());
      if (bytes.size() % 2) bytes.push_back(0);
      status = pixels.putUint8Array(bytes.data(), bytes.size());
    }
    if (status.good()) status = pixels.setVR(wide ? EVR_OW : EVR_OB);
    if (status.bad())
      throw Error(Errc::internal, slice.path.string() + ": pixels cannot be replaced: " + status.text());
    return;
  }
  const auto bytes = native_bytes(pixels);
  if (wide) {
    std::memcpy(bytes.data(), cells.data(), cells.size() * 2);
  } else {
    std::copy(cells.begin(), cells.end(), bytes.begin());
  }
}

void to_values(const Slice& slice, std::span<const std::uint16_t> cells, Values kind, float* values) {
  const double slope = slice.slope, intercept = slice.intercept;
  const PixelFormat format = slice.format;
  if (kind == Values::stored) {
    for (std::size_t i = 0; i < cells.size(); ++i) values[i] = static_cast<float>(format.stored(cells[i]));
  } else {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      values[i] = static_cast<float>(slope * format.stored(cells[i]) + intercept);
    }
  }
  if (!slice.padding || kind == Values::real_with_padding) return;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const int stored = format.stored(cells[i]);
    if (stored >= slice.padding->first && stored <= slice.padding->second) {
      values[i] = std::numeric_limits<float>::quiet_NaN();
    }
  }
}

std::int64_t merge_values(const Slice& slice, const float* values, Values kind, std::span<std::uint16_t> frame) {
  const auto merge_cells = [&](std::span<std::uint16_t> cells) {
    return kind == Values::stored ? merge<float>(slice, values, cells) : merge<double>(slice, values, cells);
  };
  if (fills_frame(slice)) return merge_cells(frame);
  auto tile = cut_tile(slice, {frame.begin(), frame.end()});
  const std::int64_t clamped = merge_cells(tile);
  for_each_row_of_tile(slice, [&](std::int64_t in_frame, std::int64_t in_tile) {
    std::copy_n(tile.begin() + in_tile, slice.columns, frame.begin() + in_frame);
  });
  return clamped;
}

}  // namespace quietvox::io::dicom
