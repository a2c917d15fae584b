// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <dcmtk/config/osconfig.h>
// osconfig.h must come first.
#include <dcmtk/dcmdata/dcpixseq.h>
#include <dcmtk/dcmdata/dcpxitem.h>
#include <gtest/gtest.h>
#include <openjpeg.h>

#include <algorithm>
#include <iterator>

#include "io/image.hpp"
#include "support/expect_error.hpp"
#include "support/make_dicom.hpp"
#include "support/temporary_folder.hpp"

namespace quietvox::test {
namespace {

struct CodeStream {
  std::vector<std::uint8_t> bytes;
  std::size_t at = 0;

  static OPJ_SIZE_T write(void* from, OPJ_SIZE_T count, void* user) {
    auto& stream = *static_cast<CodeStream*>(user);
    stream.bytes.resize(std::max(stream.bytes.size(), stream.at + count));
    std::copy_n(static_cast<const std::uint8_t*>(from), count,
                stream.bytes.begin() + static_cast<std::ptrdiff_t>(stream.at));
    stream.at += count;
    return count;
  }
  static OPJ_BOOL seek(OPJ_OFF_T to, void* user) {
    static_cast<CodeStream*>(user)->at = static_cast<std::size_t>(to);
    return OPJ_TRUE;
  }
};

/// A lossless JPEG 2000 code stream of one component, which has a number for every `step` columns and rows of the
/// image.
std::vector<std::uint8_t> encode(const std::vector<int>& numbers, std::uint32_t columns, std::uint32_t rows,
                                 std::uint32_t precision, bool is_signed, std::uint32_t step = 1) {
  opj_image_cmptparm_t component{};
  component.dx = component.dy = step;
  component.w = columns;
  component.h = rows;
  component.prec = precision;
  component.sgnd = is_signed;
  opj_image_t* const image = opj_image_create(1, &component, OPJ_CLRSPC_GRAY);
  image->x1 = columns * step;
  image->y1 = rows * step;
  std::copy(numbers.begin(), numbers.end(), image->comps[0].data);
  opj_cparameters_t parameters;
  opj_set_default_encoder_parameters(&parameters);
  parameters.tcp_numlayers = 1;
  parameters.cp_disto_alloc = 1;
  parameters.numresolution = 1;
  opj_codec_t* const codec = opj_create_compress(OPJ_CODEC_J2K);
  opj_stream_t* const stream = opj_stream_default_create(OPJ_FALSE);
  CodeStream result;
  opj_stream_set_user_data(stream, &result, nullptr);
  opj_stream_set_write_function(stream, CodeStream::write);
  opj_stream_set_seek_function(stream, CodeStream::seek);
  EXPECT_TRUE(opj_setup_encoder(codec, &parameters, image) && opj_start_compress(codec, image, stream) &&
              opj_encode(codec, stream) && opj_end_compress(codec, stream));
  opj_stream_destroy(stream);
  opj_destroy_codec(codec);
  opj_image_destroy(image);
  return result.bytes;
}

/// Numbers that use `bits` bits, from 0 up or around 0.
std::vector<int> numbers_of(int count, int bits, bool is_signed) {
  std::vector<int> numbers;
  for (int i = 0; i < count; ++i) {
    numbers.push_back(static_cast<int>((static_cast<unsigned>(i) * 40503u) & ((1u << bits) - 1)) -
                      (is_signed ? 1 << (bits - 1) : 0));
  }
  return numbers;
}

class DicomJpeg2000 : public ::testing::Test {
 protected:
  /// An image whose pixel data is this code stream, in fragments of `fragment` bytes.
  void write(const DicomSpec& spec, std::vector<std::uint8_t> stream, std::size_t fragment,
             E_TransferSyntax syntax = EXS_JPEG2000LosslessOnly) {
    write_dicom(file_, spec);
    const auto file = parse_dicom(file_);
    auto* const sequence = new DcmPixelSequence(DcmTag(DCM_PixelData, EVR_OB));
    sequence->insert(new DcmPixelItem(DcmTag(DCM_Item, EVR_OB)));
    if (stream.size() % 2) stream.push_back(0);
    for (std::size_t at = 0; at < stream.size(); at += fragment) {
      auto* const item = new DcmPixelItem(DcmTag(DCM_Item, EVR_OB));
      item->putUint8Array(stream.data() + at, static_cast<unsigned long>(std::min(fragment, stream.size() - at)));
      sequence->insert(item);
    }
    auto* const pixels = new DcmPixelData(DCM_PixelData);
    pixels->putOriginalRepresentation(syntax, nullptr, sequence);
    file->getDataset()->insert(pixels, OFTrue);
    ASSERT_TRUE(file->saveFile(file_.c_str(), syntax).good());
  }
  std::vector<float> stored() { return read_volume(*io::open_dicom(file_, {}), 0, io::VoxelDomain::stored).voxels; }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "image.dcm";
};

TEST_F(DicomJpeg2000, FragmentsOfAFrameAreJoined) {
  for (const bool is_signed : {false, true}) {
    const auto numbers = numbers_of(40 * 30, 12, is_signed);
    write({.columns = 40, .rows = 30, .is_signed = is_signed}, encode(numbers, 40, 30, 12, is_signed), 300);
    EXPECT_EQ(stored(), std::vector<float>(numbers.begin(), numbers.end()));
    write_image(*io::open_dicom(file_, {}), folder_ / "out.dcm");
    EXPECT_EQ(parse_dicom(folder_ / "out.dcm")->getDataset()->getOriginalXfer(), EXS_LittleEndianExplicit);
    EXPECT_EQ(read_volume(*io::open_dicom(folder_ / "out.dcm", {}), 0, io::VoxelDomain::stored).voxels, stored());
    std::filesystem::remove(folder_ / "out.dcm");
  }
}

/// Two frames of an image that is to have one.
TEST_F(DicomJpeg2000, MoreFramesThanTheHeaderCountsAreRefused) {
  auto stream = encode({1, 2, 3}, 3, 1, 12, false);
  if (stream.size() % 2) stream.push_back(0);
  auto twice = stream;
  twice.insert(twice.end(), stream.begin(), stream.end());
  write({.columns = 3, .rows = 1}, twice, stream.size());
  expect_error(Errc::corrupt, "holds 2 frames, but the header counts 1", [&] { stored(); });
}

TEST_F(DicomJpeg2000, SignedNumbersThatTheStreamCallsUnsigned) {
  const std::vector<int> bits{0, 1, 4095, 2048, 2047, 4000};
  write({.columns = 3, .rows = 2, .is_signed = true}, encode(bits, 3, 2, 12, false), 1000);
  EXPECT_EQ(stored(), (std::vector<float>{0, 1, -1, -2048, 2047, -96}));
}

TEST_F(DicomJpeg2000, SignedNumbersAreWrittenWithTheirSignInTheSpareBits) {
  write({.columns = 3, .rows = 1, .is_signed = true}, encode({-1, -2048, 2047}, 3, 1, 12, true), 1000);
  write_image(*io::open_dicom(file_, {}), folder_ / "out.dcm");
  EXPECT_EQ(dicom_cells(folder_ / "out.dcm"), (std::vector<std::uint16_t>{0xffff, 0xf800, 0x07ff}));
}

TEST_F(DicomJpeg2000, SignedNumbersOfOneByteStayWithinIt) {
  write({.columns = 2, .rows = 2, .bits_allocated = 8, .bits_stored = 7, .is_signed = true},
        encode({-1, -64, 63, 2}, 2, 2, 8, true), 1000);
  write_image(*io::open_dicom(file_, {}), folder_ / "out.dcm");
  EXPECT_EQ(dicom_pixel_bytes(folder_ / "out.dcm"), (std::vector<std::uint8_t>{0xff, 0xc0, 63, 2}));
}

/// The syntax holds streams of both kinds; who made the image knows which.
TEST_F(DicomJpeg2000, AnImageThatSaysThatNothingWasLostIsNotMarked) {
  for (const char* const said : {"00", ""}) {
    DicomSpec spec{.columns = 3, .rows = 1};
    if (*said) spec.more = {{DCM_LossyImageCompression, said}};
    write(spec, encode({1, 2, 3}, 3, 1, 12, false), 1000, EXS_JPEG2000);
    std::filesystem::remove(folder_ / "out.dcm");
    write_image(*io::open_dicom(file_, {}), folder_ / "out.dcm");
    EXPECT_EQ(dicom_text(folder_ / "out.dcm", DCM_LossyImageCompression), *said ? said : "01");
  }
}

TEST_F(DicomJpeg2000, BrokenStreamsAreAnError) {
  const auto stream = encode(numbers_of(40 * 30, 12, false), 40, 30, 12, false);
  for (const std::size_t left : {stream.size() / 2, std::size_t{60}, std::size_t{2}}) {
    write({.columns = 40, .rows = 30}, {stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(left)}, 1000);
    expect_error(Errc::corrupt, "JPEG 2000 pixels do not decode", [&] { stored(); });
  }
  write({.columns = 30, .rows = 40}, stream, 10000);
  expect_error(Errc::corrupt, "they are 40 x 30, the header says 30 x 40", [&] { stored(); });
  write({.columns = 40, .rows = 30, .bits_allocated = 8, .bits_stored = 8}, stream, 10000);
  expect_error(Errc::corrupt, "12 bits do not fit into 8", [&] { stored(); });
  write({.columns = 40, .rows = 30}, encode(numbers_of(20 * 15, 12, false), 20, 15, 12, false, 2), 10000);
  expect_error(Errc::corrupt, "a part of them is missing", [&] { stored(); });
}

/// Big-endian.
void put(std::vector<std::uint8_t>& bytes, std::uint32_t number, int size) {
  for (int i = size - 1; i >= 0; --i) bytes.push_back(static_cast<std::uint8_t>(number >> 8 * i));
}

std::vector<std::uint8_t> box(const char* type, const std::vector<std::uint8_t>& content) {
  std::vector<std::uint8_t> bytes;
  put(bytes, static_cast<std::uint32_t>(content.size() + 8), 4);
  std::copy_n(type, 4, std::back_inserter(bytes));
  std::ranges::copy(content, std::back_inserter(bytes));
  return bytes;
}

/// A JP2 file whose numbers stand for colours of a palette of 256, the first component of which falls from 255.
std::vector<std::uint8_t> with_palette(const std::vector<std::uint8_t>& stream, std::uint32_t columns,
                                       std::uint32_t rows, int components) {
  std::vector<std::uint8_t> file, header, image_header, palette, map;
  const auto append = [](std::vector<std::uint8_t>& to, const std::vector<std::uint8_t>& more) {
    std::ranges::copy(more, std::back_inserter(to));
  };
  put(image_header, rows, 4);
  put(image_header, columns, 4);
  put(image_header, 0x0001'0707, 4);  // one component of 8 bits, compressed
  put(image_header, 0, 2);
  put(palette, 256, 2);
  put(palette, static_cast<std::uint32_t>(components), 1);
  for (int i = 0; i < components; ++i) put(palette, 7, 1);
  for (int entry = 0; entry < 256; ++entry) {
    for (int i = 0; i < components; ++i) put(palette, static_cast<std::uint32_t>(i == 0 ? 255 - entry : entry), 1);
  }
  for (int i = 0; i < components; ++i) put(map, static_cast<std::uint32_t>(0x100 + i), 4);
  append(header, box("ihdr", image_header));
  append(header, box("colr", {1, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(components == 1 ? 17 : 16)}));
  append(header, box("pclr", palette));
  append(header, box("cmap", map));
  append(file, box("jP  ", {0x0d, 0x0a, 0x87, 0x0a}));
  append(file, box("ftyp", {'j', 'p', '2', ' ', 0, 0, 0, 0, 'j', 'p', '2', ' '}));
  append(file, box("jp2h", header));
  append(file, box("jp2c", stream));
  return file;
}

TEST_F(DicomJpeg2000, PalettesReplaceTheComponentTheyWereReadBy) {
  const auto stream = encode({0, 1, 2, 100, 254, 255}, 3, 2, 8, false);
  const DicomSpec spec{.columns = 3, .rows = 2, .bits_allocated = 8, .bits_stored = 8};
  write(spec, with_palette(stream, 3, 2, 1), 10000);
  EXPECT_EQ(stored(), (std::vector<float>{255, 254, 253, 155, 1, 0}));
  write(spec, with_palette(stream, 3, 2, 3), 10000);
  expect_error(Errc::corrupt, "3 components instead of 1", [&] { stored(); });
}

/// What a stream says of its parts decides how much memory OpenJPEG takes, before it has seen the first of them.
TEST_F(DicomJpeg2000, StreamsOfTooManyPartsAreRefused) {
  const auto with = [](std::vector<std::uint8_t> stream, std::size_t at, std::uint32_t number, int size) {
    for (int i = size - 1; i >= 0; --i) stream[at++] = static_cast<std::uint8_t>(number >> 8 * i);
    return stream;
  };
  const auto stream = encode(numbers_of(400 * 300, 12, false), 400, 300, 12, false);
  constexpr std::size_t tile_size = 24, components = 40;
  write({.columns = 400, .rows = 300}, with(with(stream, tile_size, 2, 4), tile_size + 4, 1, 4), 1000000);
  expect_error(Errc::unsupported, "unpacking JPEG 2000 would take", [&] { stored(); });
  write({.columns = 400, .rows = 300}, with(stream, components, 16384, 2), 1000000);
  expect_error(Errc::corrupt, "16384 components instead of 1", [&] { stored(); });
  // 16 million precincts of one pixel, in a tenth of a kilobyte.
  std::vector<std::uint8_t> many(stream.begin(), stream.begin() + 45);
  for (const std::size_t at : {8, 12, 24, 28}) many = with(many, at, 4096, 4);
  for (const std::uint32_t word : {0xff52'000dU, 0x0100'0001U, 0x0000'0000U, 0x0001'0000U}) put(many, word, 4);
  write({.columns = 4096, .rows = 4096}, many, 1000000);
  expect_error(Errc::unsupported, "unpacking JPEG 2000 would take", [&] { stored(); });
}

}  // namespace
}  // namespace quietvox::test
