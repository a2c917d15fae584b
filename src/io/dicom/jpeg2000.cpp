// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/jpeg2000.hpp"

#include <openjpeg.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "core/input_limits.hpp"

namespace quietvox::io::dicom {
namespace {

[[noreturn]] void corrupt(const std::string& what) {
  throw Error(Errc::corrupt, "its JPEG 2000 pixels do not decode: " + what);
}

/// What OpenJPEG's callbacks read from.
struct Memory {
  std::span<const std::uint8_t> bytes;
  std::size_t at = 0;

  static OPJ_SIZE_T read(void* to, OPJ_SIZE_T count, void* user) {
    Memory& memory = *static_cast<Memory*>(user);
    if (memory.at == memory.bytes.size()) return static_cast<OPJ_SIZE_T>(-1);
    const std::size_t available = std::min<std::size_t>(count, memory.bytes.size() - memory.at);
    std::memcpy(to, memory.bytes.data() + memory.at, available);
    memory.at += available;
    return available;
  }
  static OPJ_OFF_T skip(OPJ_OFF_T count, void* user) {
    Memory& memory = *static_cast<Memory*>(user);
    if (count < 0 || static_cast<std::size_t>(count) > memory.bytes.size() - memory.at) return -1;
    memory.at += static_cast<std::size_t>(count);
    return count;
  }
  static OPJ_BOOL seek(OPJ_OFF_T to, void* user) {
    Memory& memory = *static_cast<Memory*>(user);
    if (to < 0 || static_cast<std::size_t>(to) > memory.bytes.size()) return OPJ_FALSE;
    memory.at = static_cast<std::size_t>(to);
    return OPJ_TRUE;
  }
};

/// OpenJPEG's handles for streams and codecs are the same type, so each owner names its release.
template <class T, auto release>
struct Release {
  void operator()(T* object) const { release(object); }
};
using Stream = std::unique_ptr<opj_stream_t, Release<opj_stream_t, opj_stream_destroy>>;
using Codec = std::unique_ptr<opj_codec_t, Release<opj_codec_t, opj_destroy_codec>>;
using Image = std::unique_ptr<opj_image_t, Release<opj_image_t, opj_image_destroy>>;

/// Big-endian numbers, one after the other. Past the end they are 0.
class Numbers {
 public:
  explicit Numbers(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint64_t next(int size) {
    std::uint64_t number = 0;
    for (int i = 0; i < size; ++i) number = number << 8 | (at_ < bytes_.size() ? bytes_[at_++] : 0);
    return number;
  }
  bool at_end() const { return at_ >= bytes_.size(); }
  std::size_t at() const { return at_; }
  /// Goes to a place, which may be beyond the end.
  void go_to(std::uint64_t place) { at_ = std::min<std::uint64_t>(place, bytes_.size()); }
  std::span<const std::uint8_t> rest() const { return bytes_.subspan(at_); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

bool is_jp2(std::span<const std::uint8_t> frame) {
  static constexpr std::uint8_t signature[] = {'j', 'P', ' ', ' '};
  return frame.size() > 8 && std::equal(signature, signature + 4, frame.begin() + 4);
}

/// The code stream within a JP2 file (ISO/IEC 15444-1, annex I).
std::span<const std::uint8_t> code_stream_of(std::span<const std::uint8_t> file) {
  constexpr std::uint64_t code_stream = 0x6a703263;  // jp2c
  for (Numbers box(file); !box.at_end();) {
    const std::size_t begin = box.at();
    std::uint64_t length = box.next(4);
    const std::uint64_t type = box.next(4);
    if (length == 1) length = box.next(8);
    if (type == code_stream) return box.rest();
    if (length < box.at() - begin) break;
    box.go_to(begin + std::min<std::uint64_t>(length, file.size()));
  }
  corrupt("there is no code stream");
}

/// What a code stream says before its first packet (ISO/IEC 15444-1, annex A).
struct Layout {
  std::uint64_t width = 0, height = 0, components = 0, tiles_across = 0, tiles_down = 0;

  explicit Layout(Numbers& stream) {
    constexpr std::uint64_t start_and_size = 0xff4fff51;
    if (stream.next(4) != start_and_size) corrupt("the header is broken");
    const std::size_t begin = stream.at();
    const std::uint64_t length = stream.next(2);
    stream.next(2);
    const std::uint64_t right = stream.next(4), bottom = stream.next(4), left = stream.next(4), top = stream.next(4);
    const std::uint64_t tile_width = stream.next(4), tile_height = stream.next(4);
    const std::uint64_t tile_left = stream.next(4), tile_top = stream.next(4);
    components = stream.next(2);
    if (left >= right || top >= bottom || tile_width == 0 || tile_height == 0 || tile_left > left || tile_top > top) {
      corrupt("the header is broken");
    }
    width = right - left;
    height = bottom - top;
    tiles_across = (right - tile_left + tile_width - 1) / tile_width;
    tiles_down = (bottom - tile_top + tile_height - 1) / tile_height;
    stream.go_to(begin + length);
  }

  double tiles() const { return static_cast<double>(tiles_across) * static_cast<double>(tiles_down); }

  /// About how many bytes OpenJPEG takes for the precincts and code blocks of one component; `coding` begins at its
  /// number of decomposition levels.
  double memory_of_blocks(Numbers coding, bool has_precincts) const {
    constexpr double memory_of_one = 256;
    const auto levels = static_cast<int>(coding.next(1));
    if (levels > 32) corrupt("the header is broken");
    const auto block_width = static_cast<int>(coding.next(1) & 15) + 2;
    const auto block_height = static_cast<int>(coding.next(1) & 15) + 2;
    coding.next(2);
    double memory = 0;
    for (int level = 0; level <= levels; ++level) {
      const auto precinct = has_precincts ? coding.next(1) : 0xff;
      const int bands = level == 0 ? 1 : 3, half = level == 0 ? 0 : 1;
      const auto count = [&](std::uint64_t size, std::uint64_t tiles, int exponent) {
        return std::ldexp(static_cast<double>(size), level - levels - exponent) + static_cast<double>(tiles) + 1;
      };
      const int across = static_cast<int>(precinct & 15), down = static_cast<int>(precinct >> 4);
      const double precincts = count(width, tiles_across, across) * count(height, tiles_down, down);
      const double blocks = count(width, tiles_across, half + std::clamp(across - half, 0, block_width)) *
                            count(height, tiles_down, half + std::clamp(down - half, 0, block_height));
      memory += memory_of_one * bands * (precincts + blocks);
    }
    return memory;
  }
};

/// Throws where a code stream does not hold one component of this size, or says that it is made of so many parts that
/// they would take more memory than a stream of its size may. OpenJPEG does not look before it takes it.
void check_layout(std::span<const std::uint8_t> bytes, std::int64_t columns, std::int64_t rows,
                  const Execution& execution) {
  constexpr std::uint64_t tile_part = 0xff90, data = 0xff93, coding = 0xff52, coding_of_component = 0xff53;
  constexpr double memory_of_tile = 8192;
  Numbers stream(bytes);
  const Layout layout(stream);
  if (layout.components != 1) corrupt(std::to_string(layout.components) + " components instead of 1");
  if (layout.width != static_cast<std::uint64_t>(columns) || layout.height != static_cast<std::uint64_t>(rows)) {
    corrupt("they are " + std::to_string(layout.width) + " x " + std::to_string(layout.height) + ", the header says " +
            std::to_string(columns) + " x " + std::to_string(rows));
  }
  const auto check = [&](double memory) {
    constexpr double most = 1e18;
    check_memory("unpacking JPEG 2000", static_cast<std::uint64_t>(std::min(memory, most)), bytes.size(), execution);
  };
  check(memory_of_tile * layout.tiles());
  std::uint64_t end_of_part = bytes.size();
  while (!stream.at_end()) {
    const std::size_t begin = stream.at();
    const std::uint64_t marker = stream.next(2);
    if (marker == data) {
      if (end_of_part <= begin) return;
      stream.go_to(end_of_part);
      continue;
    }
    const std::uint64_t length = stream.next(2);
    if (marker < 0xff00 || length < 2) return;  // OpenJPEG says what is wrong
    if (marker == tile_part) {
      stream.next(2);
      const std::uint64_t size = stream.next(4);
      end_of_part = size == 0 ? bytes.size() : begin + size;
    } else if (marker == coding) {
      const bool has_precincts = stream.next(1) & 1;
      stream.next(4);
      check(layout.memory_of_blocks(stream, has_precincts));
    } else if (marker == coding_of_component) {
      stream.next(1);
      const bool has_precincts = stream.next(1) & 1;
      check(layout.memory_of_blocks(stream, has_precincts));
    }
    stream.go_to(begin + 2 + length);
  }
}

Image decode(Memory& memory, std::int64_t columns, std::int64_t rows, bool is_jp2) {
  const Stream stream(opj_stream_default_create(OPJ_TRUE));
  const Codec codec(opj_create_decompress(is_jp2 ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K));
  opj_stream_set_user_data(stream.get(), &memory, nullptr);
  opj_stream_set_user_data_length(stream.get(), memory.bytes.size());
  opj_stream_set_read_function(stream.get(), Memory::read);
  opj_stream_set_skip_function(stream.get(), Memory::skip);
  opj_stream_set_seek_function(stream.get(), Memory::seek);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  if (!opj_setup_decoder(codec.get(), &parameters) || !opj_decoder_set_strict_mode(codec.get(), OPJ_TRUE)) {
    throw Error(Errc::internal, "OpenJPEG cannot be set up");
  }
  opj_image_t* raw = nullptr;
  const bool has_header = opj_read_header(stream.get(), codec.get(), &raw);
  Image image(raw);
  if (!has_header || !image) corrupt("the header is broken");
  if (!opj_decode(codec.get(), stream.get(), image.get()) || !opj_end_decompress(codec.get(), stream.get())) {
    corrupt("the code stream is incomplete or broken");
  }
  // Only now: a palette has replaced the components that there were before.
  if (image->numcomps != 1) corrupt(std::to_string(image->numcomps) + " components instead of 1");
  const opj_image_comp_t& component = image->comps[0];
  if (component.w != columns || component.h != rows || !component.data) corrupt("a part of them is missing");
  return image;
}

}  // namespace

std::vector<std::uint16_t> decode_jpeg2000(std::span<const std::uint8_t> frame, std::int64_t columns, std::int64_t rows,
                                           const PixelFormat& format, const Execution& execution) {
  check_layout(is_jp2(frame) ? code_stream_of(frame) : frame, columns, rows, execution);
  Memory memory{frame};
  const Image image = decode(memory, columns, rows, is_jp2(frame));
  const opj_image_comp_t& component = image->comps[0];
  const int precision = static_cast<int>(component.prec);
  if (precision < 1 || precision > format.bits_allocated) {
    corrupt(std::to_string(precision) + " bits do not fit into " + std::to_string(format.bits_allocated));
  }
  // Some encoders call signed numbers unsigned; the data set knows better.
  const bool lost_sign = format.is_signed && !component.sgnd;
  const PixelFormat written = format.sign_extended();
  const int cell = 0xffff >> (16 - format.bits_allocated);
  std::vector<std::uint16_t> cells(static_cast<std::size_t>(columns * rows));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    int value = component.data[i];
    if (lost_sign && value >> (precision - 1)) value -= 1 << precision;
    cells[i] =
        precision > format.bits_stored ? static_cast<std::uint16_t>(value & cell) : written.with_stored(0, value);
  }
  return cells;
}

}  // namespace quietvox::io::dicom
