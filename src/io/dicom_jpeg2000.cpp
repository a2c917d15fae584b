// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom_jpeg2000.hpp"

#include <openjpeg.h>

#include <algorithm>
#include <cstring>
#include <memory>

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

Image decode(Memory& memory, std::int64_t columns, std::int64_t rows) {
  static constexpr std::uint8_t jp2_box[] = {'j', 'P', ' ', ' '};
  const bool is_jp2 = memory.bytes.size() > 8 && std::equal(jp2_box, jp2_box + 4, memory.bytes.begin() + 4);
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
  if (image->numcomps != 1) corrupt(std::to_string(image->numcomps) + " components instead of 1");
  const opj_image_comp_t& component = image->comps[0];
  if (component.w != columns || component.h != rows) {
    corrupt("they are " + std::to_string(component.w) + " x " + std::to_string(component.h) + ", the header says " +
            std::to_string(columns) + " x " + std::to_string(rows));
  }
  if (!opj_decode(codec.get(), stream.get(), image.get()) || !opj_end_decompress(codec.get(), stream.get()) ||
      !component.data) {
    corrupt("the code stream is incomplete or broken");
  }
  return image;
}

}  // namespace

std::vector<std::uint16_t> decode_jpeg2000(std::span<const std::uint8_t> frame, std::int64_t columns, std::int64_t rows,
                                           const PixelFormat& format) {
  Memory memory{frame};
  const Image image = decode(memory, columns, rows);
  const opj_image_comp_t& component = image->comps[0];
  const int precision = static_cast<int>(component.prec);
  if (precision > format.bits_allocated) {
    corrupt(std::to_string(precision) + " bits do not fit into " + std::to_string(format.bits_allocated));
  }
  // Some encoders call signed numbers unsigned; the data set knows better.
  const bool lost_sign = format.is_signed && !component.sgnd;
  const PixelFormat written = format.sign_extended();
  std::vector<std::uint16_t> cells(static_cast<std::size_t>(columns * rows));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    int value = component.data[i];
    if (lost_sign && value >> (precision - 1)) value -= 1 << precision;
    cells[i] = precision > format.bits_stored ? static_cast<std::uint16_t>(value) : written.with_stored(0, value);
  }
  return cells;
}

}  // namespace quietvox::io::dicom
