// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/pixels.hpp"

#include <dcmtk/dcmdata/dcpixseq.h>
#include <dcmtk/dcmdata/dcpxitem.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <functional>
#include <vector>

#include "core/cut_out_background.hpp"
#include "core/input_limits.hpp"
#include "io/dicom/cell_conversion.hpp"
#include "io/dicom/jpeg.hpp"

namespace quietvox::io::dicom {
namespace {

static_assert(std::endian::native == std::endian::little, "cells are taken from memory as little endian");

using Padding = std::optional<std::pair<int, int>>;  // first and last number

[[noreturn]] void corrupt(const std::string& what) { throw Error(Errc::corrupt, what); }

/// Calls `body(first cell of a row in its frame, first cell of it in the tile)`.
template <class Body>
void for_each_row_of_tile(const SliceHeader& slice, const Body& body) {
  for (std::int64_t y = 0; y < slice.rows; ++y) {
    body((slice.top + y) * slice.frame_columns + slice.left, y * slice.columns);
  }
}

/// The way back from filtered real values (Real = double) or stored numbers (float) to stored numbers.
template <class Real>
class ToStored {
 public:
  explicit ToStored(const SliceHeader& slice)
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
std::int64_t merge_any(const SliceHeader& slice, const Padding& padding, const PixelFormat& written,
                       const float* values, std::span<std::uint16_t> cells) {
  const ToStored<Real> to_stored(slice);
  const PixelFormat format = slice.format;
  const int min = format.min(), max = format.max();
  std::uint32_t clamped = 0;
  // Without branches or checks of bounds where there is no padding, so that the compiler makes vectors of it.
  std::uint16_t* const cell = cells.data();
  for (std::size_t i = 0, count = padding ? 0 : cells.size(); i < count; ++i) {
    const int number = to_stored.rounded(to_stored.exact(values[i]));
    const int stored = std::clamp(number, min, max);
    const bool finite = std::isfinite(values[i]);
    clamped += static_cast<std::uint32_t>(finite & (number != stored));
    cell[i] = finite ? written.with_stored(cell[i], stored) : cell[i];
  }
  for (std::size_t i = 0; padding && i < cells.size(); ++i) {
    const auto [first, last] = *padding;
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

/// By way of a table. Several numbers may have one value: where it is still that of the number before, this one stays.
std::int64_t merge_by_table(const SliceHeader& slice, const Padding& padding, const PixelFormat& written,
                            const float* values, std::span<std::uint16_t> cells) {
  const ModalityLut& lut = slice.modality_lut;
  const PixelFormat& format = slice.format;
  const auto [least, most] = std::minmax(lut.values.front(), lut.values.back());
  std::int64_t clamped = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const int before = format.stored(cells[i]);
    const bool was_padding = padding && before >= padding->first && before <= padding->second;
    if (!std::isfinite(values[i]) || was_padding || static_cast<float>(lut.value(before)) == values[i]) continue;
    const double rounded = std::round(static_cast<double>(values[i]));
    clamped += rounded < least || rounded > most ? 1 : 0;
    int stored = std::clamp(lut.stored(values[i]), format.min(), format.max());
    if (padding && stored >= padding->first && stored <= padding->second) {
      stored = beside(padding->first, padding->second, stored, format);
    }
    cells[i] = written.with_stored(cells[i], stored);
  }
  return clamped;
}

std::int64_t merge_stored(const SliceHeader& slice, const Padding& padding, const PixelFormat& written,
                          const float* values, std::span<std::uint16_t> cells) {
  constexpr std::pair<int, int> none{1, 0};
  if (merge_whole_numbers(slice.format, written, padding.value_or(none), values, cells)) return 0;
  return merge_any<float>(slice, padding, written, values, cells);
}

Merged merge_cells(const SliceHeader& slice, const Padding& padding, const float* values, VoxelDomain domain,
                   std::span<std::uint16_t> cells) {
  const auto merge = domain == VoxelDomain::stored ? merge_stored
                     : slice.modality_lut.empty()  ? merge_any<double>
                                                   : merge_by_table;
  const PixelFormat written = format_to_write(slice.format, cells);
  std::array<std::uint16_t, cells_at_once> before;
  Merged merged;
  for (std::size_t at = 0; at < cells.size(); at += cells_at_once) {
    const auto some = cells.subspan(at, std::min(cells_at_once, cells.size() - at));
    if (!merged.is_changed) std::ranges::copy(some, before.begin());
    merged.clamped += merge(slice, padding, written, values + at, some);
    merged.is_changed = merged.is_changed || !std::equal(some.begin(), some.end(), before.begin());
  }
  return merged;
}

/// Marks what of an image is padding where that number is one of pixels, too, as where air is cut off at it: single
/// cells of it lie scattered among others that come as near to it as they do to each other, and only what was cut out
/// is padding. No marks: all cells of that number are.
std::vector<bool> padding_apart_from_pixels(const SliceHeader& slice, std::span<const std::uint16_t> cells) {
  if (!slice.padding) return {};
  const int first = slice.padding->first, last = slice.padding->second;
  const PixelFormat format = slice.format;
  std::vector<std::uint8_t> is_padding(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const int stored = format.stored(cells[i]);
    is_padding[i] = static_cast<std::uint8_t>((stored >= first) & (stored <= last));
  }
  const std::array<std::int64_t, 8> around{-slice.columns - 1, -slice.columns, -slice.columns + 1, -1, 1,
                                           slice.columns - 1,  slice.columns,  slice.columns + 1};
  const auto is_like_pixels = [&](std::int64_t cell) {
    int least = std::numeric_limits<int>::max(), most = std::numeric_limits<int>::min(), nearest = least;
    for (const std::int64_t step : around) {
      const int stored = format.stored(cells[static_cast<std::size_t>(cell + step)]);
      least = std::min(least, stored);
      most = std::max(most, stored);
      nearest = std::min(nearest, stored > last ? stored - last : first - stored);
    }
    return nearest < most - least;
  };
  constexpr int scattered = 8;
  int lone = 0;
  for (std::int64_t y = 1; y < slice.rows - 1 && lone < scattered; ++y) {
    for (std::int64_t x = 1; x < slice.columns - 1; ++x) {
      const std::int64_t cell = y * slice.columns + x;
      if (!is_padding[static_cast<std::size_t>(cell)]) continue;
      const bool is_lone = std::ranges::none_of(
          around, [&](std::int64_t step) { return is_padding[static_cast<std::size_t>(cell + step)]; });
      lone += is_lone && is_like_pixels(cell) ? 1 : 0;
    }
  }
  if (lone < scattered) return {};
  const std::vector<float> voxels(is_padding.begin(), is_padding.end());
  return cut_out_background(voxels.data(), slice.columns, slice.rows, 1);
}

/// As merge_values(), of all cells of an image.
Merged merge_image(const SliceHeader& slice, const float* values, VoxelDomain domain, std::span<std::uint16_t> cells) {
  const std::vector<bool> padding = padding_apart_from_pixels(slice, cells);
  if (padding.empty()) return merge_cells(slice, slice.padding, values, domain, cells);
  std::vector<float> of_pixels(values, values + cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (padding[i]) of_pixels[i] = std::numeric_limits<float>::quiet_NaN();
  }
  return merge_cells(slice, {}, of_pixels.data(), domain, cells);
}

/// True if stored numbers exceed their bits (BitsStored). `differing`: the bits in which cells differ from each other.
bool are_cut_off(const SliceHeader& slice, std::span<const std::uint16_t> cells, std::uint32_t differing) {
  const PixelFormat format = slice.format, extended = format.sign_extended();
  const std::uint32_t above = 0xffffU >> (16 - format.bits_allocated) & (0xffffU << (format.high_bit + 1));
  if ((differing & above) == 0 || slice.has_overlays_in_cells) return false;
  return extended == format || std::ranges::any_of(cells, [&](std::uint16_t cell) {
           return ((extended.with_stored(cell, format.stored(cell)) ^ cell) & above) != 0;
         });
}

/// The cells of an image that is a tile of its frame.
std::vector<std::uint16_t> cut_tile(const SliceHeader& slice, std::span<const std::uint16_t> frame) {
  std::vector<std::uint16_t> tile(static_cast<std::size_t>(slice.columns * slice.rows));
  for_each_row_of_tile(slice, [&](std::int64_t in_frame, std::int64_t in_tile) {
    std::copy_n(frame.begin() + in_frame, slice.columns, tile.begin() + in_tile);
  });
  return tile;
}

/// How large a compressed image is, by its item, once it is decoded.
std::uint64_t decoded_bytes(DcmItem& image) {
  std::uint64_t bytes = 1;
  for (const DcmTagKey& key : {DCM_Rows, DCM_Columns, DCM_SamplesPerPixel, DCM_BitsAllocated}) {
    Uint16 number = 0;
    image.findAndGetUint16(key, number);
    bytes *= number;
  }
  Sint32 frames = 1;
  image.findAndGetSint32(DCM_NumberOfFrames, frames);
  constexpr std::uint64_t most = std::uint64_t{1} << 32;  // of one value
  return std::min(bytes / 8, most) * static_cast<std::uint64_t>(std::max(frames, 1));
}

/// Checks what an image nested in a file is compressed to; a fragment that begins like a stream begins one.
void check_streams(DcmItem& image, DcmPixelData& pixels) {
  E_TransferSyntax syntax = EXS_Unknown;
  const DcmRepresentationParameter* parameter = nullptr;
  pixels.getOriginalRepresentationKey(syntax, parameter);
  DcmPixelSequence* fragments = nullptr;
  if (pixels.getEncapsulatedRepresentation(syntax, parameter, fragments).bad()) return;
  Uint16 columns = 0, rows = 0;
  image.findAndGetUint16(DCM_Columns, columns);
  image.findAndGetUint16(DCM_Rows, rows);
  std::vector<std::uint8_t> stream;
  const auto check = [&] {
    if (!stream.empty()) check_jpeg(stream, columns, rows, DcmXfer(syntax).getXferID());
    stream.clear();
  };
  Parts items(*fragments);
  items.next();  // the offset table
  while (DcmObject* const part = items.next()) {
    Uint8* bytes = nullptr;
    if (part->ident() != EVR_pixelItem) continue;
    auto& item = static_cast<DcmPixelItem&>(*part);
    if (item.getUint8Array(bytes).bad() || !bytes) continue;
    const std::span<const std::uint8_t> fragment(bytes, item.getLength());
    if (fragment.size() > 1 && fragment[0] == 0xff && fragment[1] == 0xd8) check();
    stream.insert(stream.end(), fragment.begin(), fragment.end());
  }
  check();
}

/// Calls `body(image, its pixels)` for all compressed images that are nested in an item.
void for_each_nested_image(DcmItem& item, const std::function<void(DcmItem&, DcmPixelData&)>& body) {
  for (Parts elements(item); DcmObject* const element = elements.next();) {
    if (element->ident() != EVR_SQ) continue;
    for (Parts items(*element); DcmObject* const part = items.next();) {
      auto& nested = static_cast<DcmItem&>(*part);
      for_each_nested_image(nested, body);
      DcmElement* pixels = nullptr;
      if (nested.findAndGetElement(DCM_PixelData, pixels).bad() || pixels->ident() != EVR_PixelData) continue;
      E_TransferSyntax syntax = EXS_Unknown;
      const DcmRepresentationParameter* parameter = nullptr;
      static_cast<DcmPixelData*>(pixels)->getOriginalRepresentationKey(syntax, parameter);
      if (DcmXfer(syntax).isEncapsulated()) body(nested, static_cast<DcmPixelData&>(*pixels));
    }
  }
}

}  // namespace

int ModalityLut::stored(double wanted) const {
  const auto nearest = [wanted](auto begin, auto end) {
    auto place = std::lower_bound(begin, end, wanted);
    if (place == end || (place != begin && wanted - *(place - 1) < *place - wanted)) --place;
    return static_cast<int>(place - begin);
  };
  return values.front() <= values.back()
             ? first + nearest(values.begin(), values.end())
             : first + static_cast<int>(values.size()) - 1 - nearest(values.rbegin(), values.rend());
}

DcmPixelData& pixel_data(DcmDataset& data) {
  DcmElement* element = nullptr;
  if (data.findAndGetElement(DCM_PixelData, element).bad() || element->ident() != EVR_PixelData) {
    corrupt(tag_name(DCM_PixelData) + " is missing");
  }
  return *static_cast<DcmPixelData*>(element);
}

void check_nested_images(DcmItem& item, const SliceHeader& file, const Execution& execution) {
  std::uint64_t bytes = 0;
  for_each_nested_image(item, [&](DcmItem& image, DcmPixelData&) { bytes += decoded_bytes(image); });
  check_memory("decoding the images nested in it", bytes, file.file.bytes, execution);
  with_error_context("an image nested in it", [&] { for_each_nested_image(item, check_streams); });
}

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

void replace_cells(DcmDataset& data, const SliceHeader& slice, std::span<const std::uint16_t> cells) {
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

bool to_values(const SliceHeader& slice, std::span<const std::uint16_t> frame, VoxelDomain domain, float* values) {
  std::vector<std::uint16_t> tile;
  if (!fills_frame(slice)) tile = cut_tile(slice, frame);
  const std::span<const std::uint16_t> cells = tile.empty() ? frame : tile;
  const PixelFormat format = slice.format;
  const bool by_table = domain != VoxelDomain::stored && !slice.modality_lut.empty();
  const std::uint32_t differing = domain == VoxelDomain::stored || by_table
                                      ? stored_values(format, cells, values)
                                      : rescaled_values(format, slice.slope, slice.intercept, cells, values);
  for (std::size_t i = 0; by_table && i < cells.size(); ++i) {
    values[i] = static_cast<float>(slice.modality_lut.value(static_cast<int>(values[i])));
  }
  const bool drops_padding = slice.padding && domain != VoxelDomain::real_with_padding;
  const std::vector<bool> apart = drops_padding ? padding_apart_from_pixels(slice, cells) : std::vector<bool>();
  for (std::size_t i = 0; drops_padding && i < cells.size(); ++i) {
    const int stored = format.stored(cells[i]);
    if (stored >= slice.padding->first && stored <= slice.padding->second && (apart.empty() || apart[i])) {
      values[i] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  return are_cut_off(slice, cells, differing);
}

Merged merge_values(const SliceHeader& slice, const float* values, VoxelDomain domain, std::span<std::uint16_t> frame) {
  if (fills_frame(slice)) return merge_image(slice, values, domain, frame);
  auto tile = cut_tile(slice, frame);
  const Merged merged = merge_image(slice, values, domain, tile);
  for_each_row_of_tile(slice, [&](std::int64_t in_frame, std::int64_t in_tile) {
    std::copy_n(tile.begin() + in_tile, slice.columns, frame.begin() + in_frame);
  });
  return merged;
}

}  // namespace quietvox::io::dicom
