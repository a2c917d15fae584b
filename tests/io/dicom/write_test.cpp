// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "core/provenance.hpp"
#include "filters/registry.hpp"
#include "io/dicom/scan.hpp"
#include "io/dicom/writer.hpp"
#include "io/dicom_folder.hpp"
#include "io/image.hpp"
#include "support/expect_error.hpp"
#include "support/make_dicom.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace quietvox::test {
namespace {

namespace fs = std::filesystem;
using io::VoxelDomain;

class DicomWrite : public ::testing::Test {
 protected:
  io::WriteReport rewrite(const DicomSpec& spec, const std::function<void(Volume&)>& change = {},
                          VoxelDomain domain = VoxelDomain::real, const io::WriteOptions& options = {}) {
    write_dicom(source_, spec);
    fs::remove(output_);
    return write_image(*io::open_dicom(source_, {}), output_, domain, change, options);
  }
  static std::function<void(Volume&)> set(std::vector<float> voxels) {
    return [voxels = std::move(voxels)](Volume& volume) { volume.voxels = voxels; };
  }

  static void change_one(Volume& volume) { volume.voxels.front() += 1; }

  TemporaryFolder folder_;
  fs::path source_ = folder_ / "in.dcm", output_ = folder_ / "out.dcm";
};

TEST_F(DicomWrite, UnchangedVoxelsGiveTheSameCellsWhateverLiesAroundThem) {
  for (const bool is_signed : {false, true}) {
    for (const VoxelDomain domain : {VoxelDomain::real, VoxelDomain::stored}) {
      DicomSpec spec{
          .columns = 3, .rows = 2, .is_signed = is_signed, .cells = {0xf000, 0x0fff, 0x1800, 0x07ff, 0xffff, 7}};
      rewrite(spec, {}, domain);
      EXPECT_EQ(dicom_cells(output_), spec.cells);
      spec.change = [](DcmDataset& data) {
        data.putAndInsertUint16(DCM_HighBit, 14);
      };  // an overlay bit on either side
      rewrite(spec, {}, domain);
      EXPECT_EQ(dicom_cells(output_), spec.cells);
    }
  }
}

TEST_F(DicomWrite, UnchangedVoxelsSurviveAnyRescale) {
  for (const char* slope : {"0.0001", "1.52590218966964", "-3", "12345.678"}) {
    DicomSpec spec{.columns = 256, .rows = 256, .bits_stored = 16, .slope = slope, .intercept = "-0.7"};
    for (int i = 0; i < 65536; ++i) spec.cells.push_back(static_cast<std::uint16_t>(i));
    EXPECT_EQ(rewrite(spec).clamped, 0) << slope;
    EXPECT_EQ(dicom_cells(output_), spec.cells) << slope;
  }
}

TEST_F(DicomWrite, EverySyntaxThatLosesNothingComesBackWithTheSamePixels) {
  DicomSpec spec{.columns = 16, .rows = 16};
  for (int i = 0; i < 256; ++i) spec.cells.push_back(static_cast<std::uint16_t>(i * 13));
  const std::map<E_TransferSyntax, E_TransferSyntax> expected{
      {EXS_LittleEndianImplicit, EXS_LittleEndianImplicit},
      {EXS_BigEndianExplicit, EXS_BigEndianExplicit},
      {EXS_PrivateGE_LEI_WithBigEndianPixelData, EXS_PrivateGE_LEI_WithBigEndianPixelData},
      {EXS_LittleEndianExplicit, EXS_LittleEndianExplicit},
      {EXS_DeflatedLittleEndianExplicit, EXS_LittleEndianExplicit},
      {EXS_RLELossless, EXS_RLELossless},
      {EXS_JPEGProcess14, EXS_JPEGProcess14},
      {EXS_JPEGProcess14SV1, EXS_JPEGProcess14SV1},
      {EXS_JPEGLSLossless, EXS_JPEGLSLossless}};
  for (const auto& [from, to] : expected) {
    spec.syntax = from;
    rewrite(spec);
    EXPECT_EQ(parse_dicom(output_)->getDataset()->getOriginalXfer(), to) << DcmXfer(from).getXferName();
    EXPECT_EQ(dicom_text(output_, DCM_LossyImageCompression), "");
    const bool is_compressed = DcmXfer(to).isEncapsulated();
    if (is_compressed) rewrite(spec, {}, VoxelDomain::real, {.compress = false});
    const auto file = parse_dicom(output_);
    EXPECT_EQ(file->getDataset()->getOriginalXfer(), is_compressed ? EXS_LittleEndianExplicit : to);
    EXPECT_EQ(dicom_cells(output_), spec.cells) << DcmXfer(from).getXferName();
    DcmElement* pixels = nullptr;
    file->getDataset()->findAndGetElement(DCM_PixelData, pixels);
    EXPECT_EQ(pixels->getTag().getEVR(), EVR_OW) << DcmXfer(from).getXferName();
    EXPECT_EQ(dicom_text(output_, DCM_LossyImageCompression), "");
  }
}

TEST_F(DicomWrite, CompressionOnRequestLosesNothing) {
  DicomSpec spec{.columns = 16, .rows = 16};
  for (int i = 0; i < 256; ++i)
    spec.cells.push_back(static_cast<std::uint16_t>(i * 1031));  // bits above the stored ones
  const std::map<io::Codec, E_TransferSyntax> expected{{io::Codec::jpeg_ls, EXS_JPEGLSLossless},
                                                       {io::Codec::rle, EXS_RLELossless},
                                                       {io::Codec::jpeg_lossless, EXS_JPEGProcess14SV1}};
  for (const auto& [codec, compressed] : expected) {
    for (const E_TransferSyntax syntax : {EXS_LittleEndianExplicit, EXS_LittleEndianImplicit, EXS_RLELossless}) {
      spec.syntax = syntax;
      io::WriteOptions options;
      options.compress = true;
      options.codec = codec;
      rewrite(spec, {}, VoxelDomain::real, options);
      EXPECT_EQ(parse_dicom(output_)->getDataset()->getOriginalXfer(), compressed);
      EXPECT_EQ(dicom_text(output_, DCM_LossyImageCompression), "");
      write_image(*io::open_dicom(output_, {}), folder_ / "again.dcm", VoxelDomain::real, {}, {.compress = false});
      EXPECT_EQ(dicom_cells(folder_ / "again.dcm"), spec.cells);
      fs::remove(folder_ / "again.dcm");
    }
  }
}

/// Encoders like to add to the derivation, its codes and the image type what they did.
TEST_F(DicomWrite, CompressionChangesNothingButThePixels) {
  write_dicom(source_, {.columns = 16, .rows = 16});
  const auto write = [&](const fs::path& path, const io::WriteOptions& options) {
    write_image(*io::open_dicom(source_, {}), path, VoxelDomain::real, {}, options);
  };
  for (const io::Codec codec : {io::Codec::jpeg_ls, io::Codec::rle, io::Codec::jpeg_lossless}) {
    write(folder_ / "raw.dcm", {.force = true, .compress = false});
    write(output_, {.force = true, .compress = true, .codec = codec});
    auto changed = changed_elements(folder_ / "raw.dcm", output_);
    for (const char* clock : {"(0008,0012)", "(0008,0013)", "(0018,a001)>(0018,a002)", "(0018,a001)"}) {
      changed.erase(clock);
    }
    EXPECT_EQ(changed, std::set<std::string>()) << FieldType<io::Codec>::format(codec);
  }
}

/// Encoders ask for it; filters do not.
TEST_F(DicomWrite, WhatDoesNotSayThatItHasOneSamplePerPixelIsCompressedToo) {
  for (const bool is_empty : {false, true}) {
    DicomSpec spec{.columns = 16, .rows = 16};
    spec.change = [is_empty](DcmDataset& data) {
      data.findAndDeleteElement(DCM_SamplesPerPixel);
      if (is_empty) data.insertEmptyElement(DCM_SamplesPerPixel);
    };
    write_dicom(source_, spec);
    for (const io::Codec codec : {io::Codec::jpeg_ls, io::Codec::rle, io::Codec::jpeg_lossless}) {
      const io::WriteOptions options{.force = true, .compress = true, .codec = codec};
      write_image(*io::open_dicom(source_, {}), output_, VoxelDomain::real, {}, options);
      EXPECT_EQ(dicom_text(output_, DCM_SamplesPerPixel), "");
      EXPECT_EQ(read_volume(*io::open_dicom(output_, {})), read_volume(*io::open_dicom(source_, {})));
    }
  }
}

/// Two readers that share no code with the codecs of quietvox's own writer see what was meant.
TEST_F(DicomWrite, CompressedOutputIsReadBitExactlyByOthers) {
  DicomSpec spec{.columns = 33, .rows = 17};
  for (std::uint32_t i = 0; i < 33 * 17; ++i) {
    const bool is_flat = i % 7 < 4;  // runs for RLE, and noise in all 16 bits
    spec.cells.push_back(is_flat ? 0x1234 : static_cast<std::uint16_t>(i * 40503u));
  }
  for (const int bits : {8, 16}) {
    spec.bits_allocated = bits;
    spec.bits_stored = bits == 8 ? 8 : 12;
    if (bits == 8) std::ranges::for_each(spec.cells, [](std::uint16_t& cell) { cell &= 0xff; });
    write_dicom(source_, spec);
    const std::map<io::Codec, const char*> by_dcmtk{
        {io::Codec::jpeg_ls, "dcmdjpls"}, {io::Codec::rle, "dcmdrle"}, {io::Codec::jpeg_lossless, "dcmdjpeg"}};
    for (const auto& [codec, decoder] : by_dcmtk) {
      rewrite(spec, {}, VoxelDomain::real, {.compress = true, .codec = codec});
      for (const char* program : {"gdcmconv --raw", decoder}) {
        if (!has_program(std::string(program).substr(0, std::string(program).find(' ')))) {
          GTEST_SKIP() << program << " is missing";
        }
        const fs::path raw = folder_ / "raw.dcm";
        fs::remove(raw);
        const std::string command = std::string(program) + " '" + output_.string() + "' '" + raw.string() + "'";
        ASSERT_EQ(std::system(command.c_str()), 0) << command;
        EXPECT_EQ(dicom_pixel_bytes(raw), dicom_pixel_bytes(source_)) << command;
      }
    }
  }
}

TEST_F(DicomWrite, OddNumberOf8BitPixels) {
  for (const E_TransferSyntax syntax : {EXS_LittleEndianExplicit, EXS_BigEndianExplicit, EXS_RLELossless}) {
    rewrite({.columns = 3,
             .rows = 3,
             .bits_allocated = 8,
             .bits_stored = 8,
             .cells = {1, 2, 3, 4, 5, 6, 7, 8, 9},
             .slope = "",
             .intercept = "",
             .syntax = syntax});
    EXPECT_EQ(read_volume(*io::open_dicom(output_, {})).voxels, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
}

TEST_F(DicomWrite, LossySourcesAreMarked) {
  DicomSpec spec{.columns = 16, .rows = 16};
  spec.syntax = EXS_JPEGLSLossy;
  rewrite(spec);
  EXPECT_EQ(dicom_text(output_, DCM_LossyImageCompression), "01");
  spec.syntax = EXS_LittleEndianExplicit;
  spec.more = {{DCM_LossyImageCompression, "01"}};
  rewrite(spec);
  EXPECT_EQ(dicom_text(output_, DCM_LossyImageCompression), "01");
}

TEST_F(DicomWrite, ValuesAreRoundedHalfAwayFromZeroAndClamped) {
  const DicomSpec spec{
      .columns = 4, .rows = 2, .is_signed = true, .cells = {0, 0, 0, 0, 0, 0, 0, 0}, .slope = "2", .intercept = "0"};
  const auto report = rewrite(spec, set({1, -1, 3, -3, 4094, 4095, -4097, 1e30f}));
  EXPECT_EQ(read_volume(*io::open_dicom(output_, {}), 0, VoxelDomain::stored).voxels,
            (std::vector<float>{1, -1, 2, -2, 2047, 2047, -2048, 2047}));
  EXPECT_EQ(report.clamped, 2 + 1);  // 4095 / 2 rounds to 2048; -4097 / 2 rounds to -2049
}

TEST_F(DicomWrite, SpareBitsThatRepeatTheSignGoOnRepeatingIt) {
  DicomSpec spec{.columns = 4, .rows = 1, .is_signed = true, .slope = "1", .intercept = "0"};
  spec.cells = {5, 0xfffb, 0xf800, 0x07ff};
  for (const bool padded : {false, true}) {
    if (padded)
      spec.change = [](DcmDataset& data) { data.putAndInsertSint16(DcmTag(DCM_PixelPaddingValue, EVR_SS), 99); };
    rewrite(spec, set({-3, 3, 2047, -2048}));
    EXPECT_EQ(dicom_cells(output_), (std::vector<std::uint16_t>{0xfffd, 3, 0x07ff, 0xf800}));
  }
  spec.change = {};
  spec.bits_allocated = 8;
  spec.bits_stored = 6;
  spec.cells = {5, 0xfb, 0xe0, 0x1f};
  rewrite(spec, set({-3, 3, 31, -32}));
  EXPECT_EQ(read_volume(*io::open_dicom(output_, {}), 0, VoxelDomain::stored).voxels,
            (std::vector<float>{-3, 3, 31, -32}));
  EXPECT_EQ(dicom_cells(output_), (std::vector<std::uint16_t>{0x03fd, 0xe01f}));
}

TEST_F(DicomWrite, SpareBitsOfTheirOwnStay) {
  DicomSpec spec{.columns = 4, .rows = 1, .is_signed = true, .slope = "1", .intercept = "0"};
  spec.cells = {5, 0xfffb, 0x0800, 0x17ff};  // an overlay in the uppermost bits
  rewrite(spec, set({-3, 3, 2047, -2048}));
  EXPECT_EQ(dicom_cells(output_), (std::vector<std::uint16_t>{0x0ffd, 0xf003, 0x07ff, 0x1800}));
}

TEST_F(DicomWrite, MissingAndPaddedVoxelsKeepTheirCells) {
  DicomSpec spec{.columns = 3, .rows = 1, .cells = {5, 6, 7}};
  spec.change = [](DcmDataset& data) { data.putAndInsertUint16(DcmTag(DCM_PixelPaddingValue, EVR_US), 6); };
  rewrite(spec, set({NAN, 500, std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(dicom_cells(output_), (std::vector<std::uint16_t>{5, 6, 7}));
}

TEST_F(DicomWrite, FilteredValuesMoveOffThePadding) {
  DicomSpec spec{.columns = 4, .rows = 1, .cells = {5, 6, 7, 8}, .slope = "", .intercept = ""};
  const auto padding = [](int value, int limit) {
    return [=](DcmDataset& data) {
      data.putAndInsertUint16(DcmTag(DCM_PixelPaddingValue, EVR_US), static_cast<Uint16>(value));
      data.putAndInsertUint16(DcmTag(DCM_PixelPaddingRangeLimit, EVR_US), static_cast<Uint16>(limit));
    };
  };
  spec.change = padding(100, 100);
  rewrite(spec, set({99.6f, 100.4f, 100, 99.4f}));
  EXPECT_EQ(dicom_cells(output_), (std::vector<std::uint16_t>{99, 101, 101, 99}));
  spec.change = padding(0, 3);
  rewrite(spec, set({0, 1, 3, 4}));
  EXPECT_EQ(dicom_cells(output_), (std::vector<std::uint16_t>{4, 4, 4, 4}));
  spec.change = padding(4095, 4000);
  rewrite(spec, set({5000, 4001, 3999, 4095}));
  EXPECT_EQ(dicom_cells(output_), (std::vector<std::uint16_t>{3999, 3999, 3999, 3999}));
}

/// As where air is cut off at 0; but not where fits failed or a mask has holes, which others do not come near to.
TEST_F(DicomWrite, APaddingValueThatLiesScatteredAmongPixelsNearToItIsOneOfThem) {
  DicomSpec spec{.columns = 48, .rows = 48, .slope = "", .intercept = ""};
  spec.change = [](DcmDataset& data) { data.putAndInsertUint16(DcmTag(DCM_PixelPaddingValue, EVR_US), 0); };
  const auto at = [&](std::size_t x, std::size_t y) { return y * spec.columns + x; };
  for (const auto& [scattered, least] : {std::pair{7U, 20U}, {8U, 20U}, {8U, 900U}}) {
    const bool are_pixels = scattered >= 8 && least < 900;
    std::vector<std::uint16_t> expected(at(0, spec.rows), 70);
    spec.cells.resize(expected.size());
    for (std::size_t y = 0; y < spec.rows; ++y) {
      for (std::size_t x = 0; x < spec.columns; ++x) {
        const bool is_outside = x < 12;
        spec.cells[at(x, y)] = static_cast<std::uint16_t>(is_outside ? 0 : least + 20 * ((7 * x + 3 * y) % 5));
        if (is_outside) expected[at(x, y)] = 0;
      }
    }
    for (std::size_t i = 0; i < scattered; ++i) {
      spec.cells[at(16 + 3 * i, 5 + 2 * i)] = 0;
      if (!are_pixels) expected[at(16 + 3 * i, 5 + 2 * i)] = 0;
    }
    for (const VoxelDomain domain : {VoxelDomain::real, VoxelDomain::stored}) {
      const auto missing = [](float value) { return std::isnan(value); };
      write_dicom(source_, spec);
      const std::vector<float> read = read_volume(*io::open_dicom(source_, {}), 0, domain).voxels;
      EXPECT_EQ(std::ranges::count_if(read, missing), std::ranges::count(expected, 0)) << scattered << " " << least;
      rewrite(spec, set(std::vector<float>(spec.cells.size(), 70)), domain);
      EXPECT_EQ(dicom_cells(output_), expected) << scattered << " " << least;
    }
  }
}

TEST_F(DicomWrite, OnlyTheTagsOfADerivedObjectChange) {
  DicomSpec spec;
  spec.more = {{DcmTagKey(0x0009, 0x0010), "VENDOR"},
               {DCM_SpecificCharacterSet, "ISO_IR 192"},
               {DCM_PatientComments,
                "Gr\xc3\xb6\xc3\x9f"
                "e"},
               {DCM_WindowCenter, "40  "}};
  spec.change = [](DcmDataset& data) {
    const Uint8 bytes[] = {1, 2, 3, 4};
    data.putAndInsertUint8Array(DcmTag(0x0009, 0x1001, EVR_UN), bytes, sizeof bytes);
    data.putAndInsertUint16(DcmTag(DCM_SmallestImagePixelValue, EVR_US), 3);
    data.putAndInsertUint16(DcmTag(DCM_RETIRED_LargestImagePixelValueInPlane, EVR_US), 3);
    DcmItem* item = nullptr;
    const Uint16 icon[] = {1, 2, 3};
    data.findOrCreateSequenceItem(DCM_ReferencedImageSequence, item, -2);  // the icon of another image, which stays
    item->findOrCreateSequenceItem(DCM_IconImageSequence, item, -2);
    item->putAndInsertUint16Array(DCM_PixelData, icon, 3);
    data.findOrCreateSequenceItem(DCM_IconImageSequence, item, -2);
    item->putAndInsertUint16Array(DCM_PixelData, icon, 3);
    data.findOrCreateSequenceItem(DcmTagKey(0x0060, 0x3000), item, -2);  // the histogram
    item->putAndInsertUint16(DcmTagKey(0x0060, 0x3002), 2);
    data.findOrCreateSequenceItem(DCM_DigitalSignaturesSequence, item, -2);
    item->putAndInsertString(DCM_MACIDNumber, "1");
    data.putAndInsertString(DcmTag(DCM_SOPInstanceStatus, EVR_CS), "AO");
    for (const Uint16 element : {0x1301, 0x1302, 0x1303}) {  // area, mean and standard deviation below an overlay
      data.putAndInsertString(DcmTag(0x6002, element, element == 0x1301 ? EVR_IS : EVR_DS), "5");
    }
    for (const Uint16 element : {0x0001, 0x0002, 0x0003}) {  // where frames begin that are packed anew
      data.insert(new DcmOther64bitVeryLong(DcmTag(0x7fe0, element, element == 0x0003 ? EVR_UV : EVR_OV)), true);
    }
  };
  rewrite(spec, [](Volume& volume) { volume.voxels[0] += 1; });
  EXPECT_EQ(
      changed_elements(source_, output_),
      (std::set<std::string>{"(0008,0008)", "(0008,0012)", "(0008,0013)", "(0008,0018)", "(0008,103e)", "(0008,2111)",
                             "(0008,2112)", "(0008,9215)", "(0018,a001)", "(0020,000e)", "(0020,0011)", "(0028,0106)",
                             "(0028,0111)", "(0060,3000)", "(0088,0200)", "(0100,0410)", "(6002,1302)", "(6002,1303)",
                             "(7fe0,0001)", "(7fe0,0002)", "(7fe0,0003)", "(fffa,fffa)"}));
  EXPECT_FALSE(parse_dicom(output_)->getDataset()->tagExists(DCM_IconImageSequence));
  EXPECT_FALSE(parse_dicom(output_)->getDataset()->tagExists(DcmTagKey(0x0060, 0x3000)));
}

/// Compressed pixels in a sequence of a file whose transfer syntax says that nothing is compressed.
TEST_F(DicomWrite, NestedImagesThatNobodyCanReadAreLeftOut) {
  write_dicom(source_, {});
  std::string bytes;
  {
    std::ifstream file(source_, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  using namespace std::string_literals;
  const std::string unknown_length = "\xff\xff\xff\xff", item = "\xfe\xff\x00\xe0"s,
                    end_of_item = "\xfe\xff\x0d\xe0\0\0\0\0"s, end_of_sequence = "\xfe\xff\xdd\xe0\0\0\0\0"s;
  const auto sequence = [&](const std::string& tag, const std::string& content) {
    return tag + "SQ\0\0"s + unknown_length + item + unknown_length + content + end_of_item + end_of_sequence;
  };
  const std::string pixels = "\xe0\x7f\x10\x00OB\0\0"s + unknown_length + item + "\0\0\0\0"s + item +
                             "\x04\0\0\0\xff\xd8\xff\xd9"s + end_of_sequence;
  const std::string rows = "\x28\x00\x10\x00US\x02\x00\x08\x00"s;
  // An icon in the item of another sequence, before the pixel data.
  bytes.insert(bytes.rfind("\xe0\x7f\x10\x00"s),
               sequence("\x54\x00\x16\x00"s, sequence("\x88\x00\x00\x02"s, rows + pixels)));
  std::ofstream(source_, std::ios::binary) << bytes;

  const auto report = write_image(*io::open_dicom(source_, {}), output_);
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find("1 compressed image"), std::string::npos) << report.warnings[0];
  EXPECT_EQ(dicom_cells(output_), dicom_cells(source_));
  const auto file = parse_dicom(output_);
  EXPECT_TRUE(file->getDataset()->tagExists(DcmTagKey(0x0054, 0x0016))) << "what the icon was in stays";
}

TEST_F(DicomWrite, TheDerivedObjectSaysWhatItIs) {
  rewrite({.instance = "1.2.3.4.99"}, change_one);
  EXPECT_EQ(dicom_text(output_, DCM_ImageType), "DERIVED\\PRIMARY\\AXIAL");
  EXPECT_EQ(dicom_text(output_, DCM_SeriesDescription), "Head median");
  EXPECT_EQ(dicom_text(output_, DCM_DerivationDescription),
            "quietvox " + version() + ": median radius=1x1x1 shape=box border=replicate; not for diagnostic use");
  const auto file = parse_dicom(output_);
  DcmDataset& data = *file->getDataset();
  const auto text = [&](std::initializer_list<DcmTagKey> path) {
    DcmItem* item = &data;
    for (auto key = path.begin(); key + 1 != path.end(); ++key) {
      if (item->findAndGetSequenceItem(*key, item, 0).bad()) return std::string("no item");
    }
    OFString value;
    item->findAndGetOFString(*(path.end() - 1), value);
    return std::string(value.c_str());
  };
  EXPECT_EQ(text({DCM_DerivationCodeSequence, DCM_CodeValue}), "113087");
  EXPECT_EQ(text({DCM_SourceImageSequence, DCM_ReferencedSOPClassUID}), UID_CTImageStorage);
  EXPECT_EQ(text({DCM_SourceImageSequence, DCM_ReferencedSOPInstanceUID}), "1.2.3.4.99");
  EXPECT_EQ(text({DCM_SourceImageSequence, DCM_SpatialLocationsPreserved}), "YES");
  EXPECT_EQ(text({DCM_SourceImageSequence, DCM_PurposeOfReferenceCodeSequence, DCM_CodeValue}), "121322");
  EXPECT_EQ(text({DCM_ContributingEquipmentSequence, DCM_PurposeOfReferenceCodeSequence, DCM_CodeValue}), "109102");
  EXPECT_EQ(text({DCM_ContributingEquipmentSequence, DCM_Manufacturer}), "quietvox");
  EXPECT_EQ(text({DCM_ContributingEquipmentSequence, DCM_ContributionDescription}), "quietvox " + version());
  OFString meta;
  file->getMetaInfo()->findAndGetOFString(DCM_MediaStorageSOPInstanceUID, meta);
  EXPECT_EQ(text({DCM_SOPInstanceUID}), meta.c_str());
}

/// What is rounded away changes nothing.
TEST_F(DicomWrite, AnObjectWithoutAChangedVoxelSaysSoAndIsNotCalledSmoothed) {
  const std::string text = "quietvox " + version() + ": median radius=1x1x1 shape=box border=replicate";
  const auto expect_unchanged = [&] {
    EXPECT_EQ(dicom_text(output_, DCM_DerivationDescription), text + "; no voxel changed; not for diagnostic use");
    EXPECT_FALSE(parse_dicom(output_)->getDataset()->tagExists(DCM_DerivationCodeSequence));
    EXPECT_EQ(dicom_text(output_, DCM_ImageType), "DERIVED\\PRIMARY\\AXIAL") << "it has a UID of its own";
  };
  rewrite({});
  expect_unchanged();
  rewrite({}, [](Volume& volume) { volume.voxels[3] += 0.4F; });
  expect_unchanged();
  rewrite({.columns = 100, .rows = 100, .syntax = EXS_RLELossless});
  expect_unchanged();
  rewrite({.columns = 100, .rows = 100}, [](Volume& volume) { volume.voxels.back() += 1; });
  EXPECT_EQ(dicom_text(output_, DCM_DerivationDescription), text + "; not for diagnostic use");
  EXPECT_TRUE(parse_dicom(output_)->getDataset()->tagExists(DCM_DerivationCodeSequence));
}

/// What is said of all frames at once is what became of any.
TEST_F(DicomWrite, AFrameThatChangedSpeaksForItsFile) {
  const auto change_second = [](Volume& volume) { volume.voxels[0] += volume.voxels[0] > 100 - 1024 ? 1 : 0; };
  rewrite({.columns = 1, .rows = 1, .frames = 3, .position = {}}, change_second);
  EXPECT_EQ(dicom_cells(output_), (std::vector<std::uint16_t>{100, 102, 103}));
  EXPECT_EQ(dicom_text(output_, DCM_DerivationDescription).find("no voxel changed"), std::string::npos);
  rewrite({.columns = 1, .rows = 1, .frames = 3, .position = {}});
  EXPECT_NE(dicom_text(output_, DCM_DerivationDescription).find("no voxel changed"), std::string::npos);
}

TEST_F(DicomWrite, WhatWasThereIsAppendedTo) {
  rewrite({}, change_one);
  const fs::path first = folder_ / "first.dcm";
  fs::rename(output_, first);
  write_image(*io::open_dicom(first, {}), output_, VoxelDomain::real, change_one);
  const auto file = parse_dicom(output_);
  for (const DcmTagKey& key :
       {DCM_SourceImageSequence, DCM_DerivationCodeSequence, DCM_ContributingEquipmentSequence}) {
    DcmSequenceOfItems* sequence = nullptr;
    file->getDataset()->findAndGetSequence(key, sequence);
    ASSERT_NE(sequence, nullptr);
    EXPECT_EQ(sequence->card(), 2u);
  }
  EXPECT_NE(dicom_text(output_, DCM_DerivationDescription).find("use; quietvox"), std::string::npos);
  EXPECT_EQ(dicom_text(output_, DCM_SeriesDescription), "Head median median");
}

/// A program that does not know a sequence may keep its bytes without a type (UN), in implicit little endian.
TEST_F(DicomWrite, SequencesThatLostTheirTypeAreAppendedTo) {
  static constexpr Uint8 item[] = {0xfe, 0xff, 0x00, 0xe0, 12, 0, 0,   0,   0x08, 0,
                                   0x70, 0,    4,    0,    0,  0, 'M', 'a', 'k',  'e'};
  const std::vector<DcmTagKey> keys{DCM_SourceImageSequence, DCM_DerivationCodeSequence,
                                    DCM_ContributingEquipmentSequence};
  rewrite({.change =
               [&](DcmDataset& data) {
                 for (const DcmTagKey& key : keys) put_untyped(data, key, item);
               }},
          change_one);
  const auto file = parse_dicom(output_);
  for (const DcmTagKey& key : keys) {
    DcmElement* element = nullptr;
    ASSERT_TRUE(file->getDataset()->findAndGetElement(key, element).good());
    EXPECT_EQ(element->getVR(), EVR_UN);
    Uint8* bytes = nullptr;
    element->getUint8Array(bytes);
    ASSERT_GT(element->getLength(), sizeof item + 8);
    EXPECT_TRUE(std::equal(std::begin(item), std::end(item), bytes));
    EXPECT_TRUE(std::equal(item, item + 4, bytes + sizeof item));  // another item
  }
  const auto series = io::DicomFolder(output_).series();
  ASSERT_EQ(series.size(), 1U);
  EXPECT_EQ(series[0].kind, io::SeriesKind::processed);
}

TEST_F(DicomWrite, LongSeriesDescriptionsAreCutBetweenCharacters) {
  struct Case {
    const char* character_set;
    std::string before, after;
  };
  std::string umlauts;  // 60 characters, 120 bytes
  for (int i = 0; i < 60; ++i) umlauts += "\xc3\xa4";
  const std::string latin(60, '\xe4'), x64(64, 'x');
  for (const Case& c : {Case{"", x64, x64.substr(0, 54) + "... median"},
                        Case{"ISO_IR 192", umlauts, umlauts.substr(0, 108) + "... median"},
                        Case{"ISO_IR 192", umlauts.substr(0, 100), umlauts.substr(0, 100) + " median"},
                        Case{"ISO_IR 100", latin, latin.substr(0, 54) + "... median"}}) {
    const auto report =
        rewrite({.more = {{DCM_SpecificCharacterSet, c.character_set}, {DCM_SeriesDescription, c.before}}});
    EXPECT_EQ(dicom_text(output_, DCM_SeriesDescription), c.after) << c.character_set;
    EXPECT_TRUE(report.warnings.empty());
  }
  // Escape sequences, pairs of bytes, and bytes of no declared meaning are not cut.
  for (const char* set : {"\\ISO 2022 IR 87", "GB18030", ""}) {
    const auto report = rewrite({.more = {{DCM_SpecificCharacterSet, set}, {DCM_SeriesDescription, latin}}});
    EXPECT_EQ(dicom_text(output_, DCM_SeriesDescription), latin) << set;
    EXPECT_EQ(report.warnings,
              std::vector<std::string>{"series description is too long for the suffix 'median' and stays as it is"});
  }
}

TEST_F(DicomWrite, ASuffixThatFitsNoDescriptionIsRefused) {
  const auto with = [&](const std::string& suffix) {
    io::WriteOptions options;
    options.series_description_suffix = suffix;
    rewrite({}, {}, VoxelDomain::real, options);
  };
  for (const std::string& suffix :
       {std::string("a\\b"), std::string("\xc3\xa4"), std::string("a\nb"), std::string(65, 'x')}) {
    for (const char* const said : {"series-description-suffix h", "; give at most 64 printable ASCII characters"}) {
      expect_error(Errc::invalid_argument, said, [&] { with(suffix); });
    }
  }
  with(std::string(64, 'y'));
  EXPECT_EQ(dicom_text(output_, DCM_SeriesDescription), std::string(64, 'y'));
}

TEST_F(DicomWrite, LongTextsAreNotBroken) {
  rewrite({.more = {{DCM_SpecificCharacterSet, "ISO_IR 192"}, {DCM_SeriesDescription, "K\xc3\xb6pf"}}});
  EXPECT_EQ(dicom_text(output_, DCM_SeriesDescription), "K\xc3\xb6pf median");
  rewrite({.more = {{DCM_SeriesNumber, "2147483647"}}});
  EXPECT_EQ(dicom_text(output_, DCM_SeriesNumber), "2147483647");
}

TEST_F(DicomWrite, ADerivationIsToldOfBehindOneThatFillsTheElement) {
  const auto derived = [&](const std::string& before, const std::string& character_set = "ISO_IR 100") {
    rewrite({.more = {{DCM_SpecificCharacterSet, character_set}, {DCM_DerivationDescription, before}}}, change_one);
    return dicom_text(output_, DCM_DerivationDescription);
  };
  const std::string own =
      "; quietvox " + version() + ": median radius=1x1x1 shape=box border=replicate; not for diagnostic use";
  const std::size_t room = 1024 - own.size();
  const std::string fits(room, 'd'), latin(room + 1, '\xe4');
  EXPECT_EQ(derived(fits), fits + own);
  EXPECT_EQ(derived(fits + 'd'), fits.substr(3) + "..." + own);
  EXPECT_EQ(derived(std::string(1024, 'd')), fits.substr(3) + "..." + own);
  EXPECT_EQ(derived(latin), latin.substr(4) + "..." + own);
  EXPECT_EQ(derived(fits + 'd', "\\ISO 2022 IR 87"), fits.substr(3) + "..." + own) << "nothing but ASCII";
  std::string umlauts;
  while (umlauts.size() < 2 * room) umlauts += "\xc3\xa4";
  EXPECT_EQ(derived(umlauts, "ISO_IR 192"), umlauts + own);
  EXPECT_EQ(derived(umlauts + "d", "ISO_IR 192"), umlauts.substr(6) + "..." + own);
  // Escape sequences, pairs of bytes, and bytes of no declared meaning are not cut.
  for (const char* set : {"\\ISO 2022 IR 87", "GB18030", ""}) EXPECT_EQ(derived(latin, set), "..." + own) << set;
}

/// Both are long: each keeps half of the element.
TEST_F(DicomWrite, LongDerivationsAreCutAtAWordAndKeepTheNotice) {
  write_dicom(source_, {.more = {{DCM_DerivationDescription, std::string(1000, 'd')}}});
  const auto image = io::open_dicom(source_, {});
  const auto writer = image->writer(output_, VoxelDomain::real, {});
  const std::vector<FilterConfig> chain(20, FilterConfig(find_filter("median")));
  writer->begin_volume(0, {.requested = chain, .resolved = chain, .backend = "cpu"});
  writer->write(read_volume(*image).view());
  writer->commit();
  const std::string text = dicom_text(output_, DCM_DerivationDescription);
  EXPECT_TRUE(text.starts_with(std::string(508, 'd') + "...; quietvox " + version() + ": median ")) << text;
  EXPECT_TRUE(text.ends_with(" ...; not for diagnostic use")) << text;
  EXPECT_LE(text.size(), 1024u);
  EXPECT_GT(text.size(), 990u);
}

TEST_F(DicomWrite, FramesWithSettingsOfTheirOwnKeepTheNotice) {
  write_dicom(source_, {.frames = 20, .position = {}});
  const auto image = io::open_dicom(source_, {});
  ASSERT_EQ(image->volume_count(), 20u);
  const auto writer = image->writer(output_, VoxelDomain::real, {});
  FilterConfig settings(find_filter("gaussian"));
  for (std::size_t frame = 0; frame < 20; ++frame) {
    settings.set("sigma", std::to_string(frame + 1));
    writer->begin_volume(frame, {.requested = {settings}, .resolved = {settings}, .backend = "cpu"});
    writer->write(read_volume(*image, frame).view());
  }
  writer->commit();
  const std::string text = dicom_text(output_, DCM_DerivationDescription);
  EXPECT_LE(text.size(), 1024u);
  EXPECT_GT(text.size(), 990u);
  EXPECT_TRUE(text.ends_with(" ...; not for diagnostic use")) << text;
}

TEST_F(DicomWrite, OptionsNameTheSeries) {
  rewrite({}, {}, VoxelDomain::real, {.compress = {}, .series_description_suffix = "clean", .series_offset = 5});
  EXPECT_EQ(dicom_text(output_, DCM_SeriesDescription), "Head clean");
  EXPECT_EQ(dicom_text(output_, DCM_SeriesNumber), "12");
  EXPECT_THROW(rewrite({}, {}, VoxelDomain::real, {.series_offset = -1}), Error);
}

/// Of every filter, by default and with each parameter that has another value to take.
TEST_F(DicomWrite, ResultsOfDifferentFiltersAreToldApart) {
  write_dicom(source_, {});
  const auto image = io::open_dicom(source_, {});
  std::set<std::string> numbers, descriptions;
  const auto write = [&](const std::vector<FilterConfig>& chain) {
    fs::remove(output_);
    const auto writer = image->writer(output_, VoxelDomain::real, {});
    writer->begin_volume(0, {chain, chain, "cpu"});
    writer->write(read_volume(*image).view());
    writer->commit();
    numbers.insert(dicom_text(output_, DCM_SeriesNumber));
    descriptions.insert(dicom_text(output_, DCM_SeriesDescription));
  };
  std::size_t results = 0;
  for (const Filter& filter : filters()) {
    FilterConfig settings(filter);
    write({settings});
    EXPECT_TRUE(descriptions.contains("Head " + filter.name));
    const auto number = std::ranges::find_if(filter.fields, [](const FieldInfo& field) { return !field.max.empty(); });
    ASSERT_NE(number, filter.fields.end()) << filter.name;
    settings.set(number->name, number->max);
    write({settings});
    results += 2;
    EXPECT_EQ(numbers.size(), results) << filter.name;
    EXPECT_EQ(descriptions.size(), results) << filter.name;
  }
  for (int again = 0; again < 2; ++again)
    write({FilterConfig(find_filter("median")), FilterConfig(find_filter("nlm"))});
  EXPECT_EQ(numbers.size(), results + 1) << "the same again has the same number";
  EXPECT_TRUE(descriptions.contains("Head median, nlm"));
  for (const std::string& number : numbers) EXPECT_EQ(std::stoi(number) % 1000, 7);
}

TEST_F(DicomWrite, ASeriesWithoutDescriptionIsNamedByItsProtocol) {
  const auto described = [&](const std::string& description, const std::string& protocol) {
    rewrite({.more = {{DCM_SeriesDescription, description}, {DCM_ProtocolName, protocol}}});
    return dicom_text(output_, DCM_SeriesDescription);
  };
  EXPECT_EQ(described("", "T1 axial"), "T1 axial median");
  EXPECT_EQ(described("Brain", "T1 axial"), "Brain median");
  EXPECT_EQ(described("", ""), "median");
}

TEST_F(DicomWrite, IdentifiersAreNewAndAlwaysTheSame) {
  rewrite({.instance = "1.2.3.4.99"});
  const std::string instance = dicom_text(output_, DCM_SOPInstanceUID),
                    series = dicom_text(output_, DCM_SeriesInstanceUID);
  EXPECT_TRUE(instance.starts_with("2.25.") && series.starts_with("2.25."));
  EXPECT_NE(instance, series);
  rewrite({.instance = "1.2.3.4.99"});
  EXPECT_EQ(dicom_text(output_, DCM_SOPInstanceUID), instance);
  rewrite({.instance = "1.2.3.4.98"});
  EXPECT_NE(dicom_text(output_, DCM_SOPInstanceUID), instance);
  rewrite({.instance = "1.2.3.4.99", .more = {{DCM_PresentationIntentType, "FOR PROCESSING"}}});
  EXPECT_NE(dicom_text(output_, DCM_SeriesInstanceUID), series);
}

/// What two headers say otherwise, they never say under one identifier.
TEST_F(DicomWrite, OptionsAndSeriesHaveIdentifiersOfTheirOwn) {
  std::set<std::string> instances, series;
  const auto expect_new = [&](const DicomSpec& spec, const io::WriteOptions& options, bool is_new) {
    rewrite(spec, {}, VoxelDomain::real, options);
    EXPECT_EQ(instances.insert(dicom_text(output_, DCM_SOPInstanceUID)).second, is_new);
    EXPECT_EQ(series.insert(dicom_text(output_, DCM_SeriesInstanceUID)).second, is_new);
  };
  const DicomSpec spec{.instance = "1.2.3.4.99"};
  for (const bool first : {true, false}) {
    expect_new(spec, {.compress = {}}, first);
    expect_new(spec, {.compress = {}, .series_offset = 5}, first);
    expect_new(spec, {.compress = {}, .series_offset = 6}, first);
    expect_new(spec, {.compress = {}, .series_description_suffix = "clean"}, first);
    expect_new(spec, {.compress = {}, .series_description_suffix = "clean 5"}, first);
    expect_new({.series = "1.2.3.5", .instance = "1.2.3.4.99"}, {.compress = {}}, first);
  }
  for (const io::Codec codec : {io::Codec::jpeg_ls, io::Codec::rle}) {
    expect_new(spec, {.compress = true, .codec = codec}, false);  // the same object in another transfer syntax
  }
}

/// Whatever went before: the last look finds it.
TEST_F(DicomWrite, NoOutputHoldsAnIdentifierTwice) {
  const fs::path in = folder_ / "in";
  fs::create_directory(in);
  for (int z = 0; z < 2; ++z)
    write_dicom(in / std::to_string(z), {.position = {0, 0, 1.0 * z}, .instance = "1.2.3.4.99"});
  io::dicom::Series series{.input = in, .is_folder = true, .volumes = {}, .warnings = {}};
  series.volumes = io::dicom::make_volumes(io::dicom::scan(in, {}).images);
  const auto writer =
      io::dicom::make_writer(std::make_shared<const io::dicom::Series>(series), folder_ / "out", VoxelDomain::real, {});
  writer->begin_volume(0, {});
  const Volume volume(series.volumes[0].geometry.extent, {});
  expect_error(Errc::internal, "would hold one SOPInstanceUID (0008,0018) twice", [&] {
    writer->write(volume.view());
    writer->commit();
  });
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

/// Some readers of compressed pixels take the bits above the stored ones for nothing.
TEST_F(DicomWrite, OverlaysInThePixelsOfCompressedImagesGetAPlaceOfTheirOwn) {
  DicomSpec spec{.columns = 9, .rows = 5};
  std::vector<std::uint8_t> expected(6);
  for (std::size_t i = 0; i < 45; ++i) {
    const bool is_marked = i % 7 == 3 || i > 40;
    spec.cells.push_back(static_cast<std::uint16_t>(i * 91 | (is_marked ? 0x2000 : 0)));
    if (is_marked) expected[i / 8] = static_cast<std::uint8_t>(expected[i / 8] | 1 << i % 8);
  }
  spec.instance = "1.2.3.4.99";
  spec.change = [](DcmDataset& data) {
    data.putAndInsertUint16(DcmTagKey(0x6002, 0x0010), 5);
    data.putAndInsertUint16(DcmTagKey(0x6002, 0x0011), 9);
    data.putAndInsertString(DcmTagKey(0x6002, 0x0040), "G");
    data.putAndInsertUint16(DcmTagKey(0x6002, 0x0100), 16);
    data.putAndInsertUint16(DcmTagKey(0x6002, 0x0102), 13);
  };
  rewrite(spec);
  EXPECT_EQ(dicom_cells(output_), spec.cells);
  EXPECT_FALSE(parse_dicom(output_)->getDataset()->tagExists(DcmTagKey(0x6002, 0x3000)));
  const std::string instance = dicom_text(output_, DCM_SOPInstanceUID);
  for (const io::Codec codec : {io::Codec::jpeg_ls, io::Codec::rle}) {
    rewrite(spec, {}, VoxelDomain::real, {.compress = true, .codec = codec});
    EXPECT_NE(dicom_text(output_, DCM_SOPInstanceUID), instance);
    const auto file = parse_dicom(output_);
    const Uint16* words = nullptr;
    unsigned long count = 0;
    ASSERT_TRUE(file->getDataset()->findAndGetUint16Array(DcmTagKey(0x6002, 0x3000), words, &count).good());
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(words);
    EXPECT_EQ(std::vector<std::uint8_t>(bytes, bytes + 2 * count), expected);
    EXPECT_EQ(dicom_text(output_, DcmTagKey(0x6002, 0x0100)), "1");
    EXPECT_EQ(dicom_text(output_, DcmTagKey(0x6002, 0x0102)), "0");
    EXPECT_EQ(dicom_text(output_, DcmTagKey(0x6002, 0x0040)), "G");
    std::vector<std::uint16_t> numbers = spec.cells;
    for (std::uint16_t& cell : numbers) cell &= 0x0fff;
    EXPECT_EQ(read_volume(*io::open_dicom(output_, {}), 0, VoxelDomain::stored).voxels,
              std::vector<float>(numbers.begin(), numbers.end()));
    if (!has_program("gdcmconv")) continue;
    const fs::path raw = folder_ / "raw.dcm";
    fs::remove(raw);
    ASSERT_EQ(std::system(("gdcmconv --raw '" + output_.string() + "' '" + raw.string() + "'").c_str()), 0);
    EXPECT_EQ(dicom_cells(raw), numbers);
  }
}

TEST_F(DicomWrite, OverlaysInThePixelsOfSeveralFramesGoOnFromFrameToFrame) {
  DicomSpec spec{.columns = 3, .rows = 1, .frames = 2, .cells = {0x1001, 2, 3, 4, 0x1005, 6}, .position = {}};
  spec.change = [](DcmDataset& data) {
    data.putAndInsertUint16(DcmTagKey(0x6000, 0x0010), 1);
    data.putAndInsertUint16(DcmTagKey(0x6000, 0x0011), 3);
    data.putAndInsertUint16(DcmTagKey(0x6000, 0x0102), 12);
  };
  rewrite(spec, {}, VoxelDomain::real, {.compress = true, .codec = io::Codec::rle});
  const auto file = parse_dicom(output_);
  const Uint16* words = nullptr;
  ASSERT_TRUE(file->getDataset()->findAndGetUint16Array(DcmTagKey(0x6000, 0x3000), words).good());
  EXPECT_EQ(*words, 0b010001);
  EXPECT_EQ(dicom_text(output_, DcmTagKey(0x6000, 0x0015)), "2");
}

TEST_F(DicomWrite, OverlaysOfTheirOwnStayWhereTheyAre) {
  DicomSpec spec{.columns = 3, .rows = 1, .cells = {0x1001, 2, 3}};
  spec.change = [](DcmDataset& data) {
    data.putAndInsertUint16(DcmTagKey(0x6000, 0x0010), 1);
    data.putAndInsertUint16(DcmTagKey(0x6000, 0x0011), 3);
    data.putAndInsertUint16(DcmTagKey(0x6000, 0x0102), 12);  // which says nothing beside data
    const Uint16 bits = 5;
    data.putAndInsertUint16Array(DcmTag(0x6000, 0x3000, EVR_OW), &bits, 1);
  };
  rewrite(spec, {}, VoxelDomain::real, {.compress = true, .codec = io::Codec::rle});
  const std::set<std::string> changed = changed_elements(source_, output_);
  EXPECT_FALSE(changed.contains("(6000,3000)") || changed.contains("(6000,0102)"));
}

/// Windows and estimates reach beyond a slice, so that it becomes another one where another volume surrounds it.
TEST_F(DicomWrite, PartsOfASeriesHaveIdentifiersOfTheirOwn) {
  const fs::path all = folder_ / "all", part = folder_ / "part", other = folder_ / "other";
  for (const fs::path& in : {all, part, other}) fs::create_directory(in);
  for (int z = 0; z < 3; ++z) {
    const DicomSpec spec{.position = {0, 0, 1.0 * z}, .instance = "1.2.3." + std::to_string(z), .instance_number = z};
    write_dicom(all / std::to_string(z), spec);
    write_dicom(other / ("of another name " + std::to_string(2 - z)), spec);
    if (z < 2) write_dicom(part / std::to_string(z), spec);
  }
  const auto identifiers = [&](const fs::path& in, const std::string& name) {
    const fs::path out = in.string() + "-out";
    write_image(*io::open_dicom(in, {}), out, VoxelDomain::real, {}, {.force = true, .compress = {}});
    return std::pair(dicom_text(out / name, DCM_SOPInstanceUID), dicom_text(out / name, DCM_SeriesInstanceUID));
  };
  const auto of_all = identifiers(all, "1"), of_part = identifiers(part, "1");
  EXPECT_NE(of_part.first, of_all.first);
  EXPECT_NE(of_part.second, of_all.second);
  EXPECT_EQ(identifiers(all, "1"), of_all);
  EXPECT_EQ(identifiers(other, "of another name 1"), of_all);
}

TEST_F(DicomWrite, MasksHaveIdentifiersOfTheirOwn) {
  write_dicom(source_, {});
  const auto image = io::open_dicom(source_, {});
  const Volume volume = read_volume(*image);
  std::set<std::string> instances, series;
  for (const char* mask : {"", "0123456789abcdef", "fedcba9876543210"}) {
    const auto writer = image->writer(output_, VoxelDomain::real, {.force = true, .compress = {}});
    writer->begin_volume(0, {.requested = {}, .resolved = {}, .backend = "cpu", .mask = mask});
    writer->write(volume.view());
    writer->commit();
    instances.insert(dicom_text(output_, DCM_SOPInstanceUID));
    series.insert(dicom_text(output_, DCM_SeriesInstanceUID));
    EXPECT_NE(dicom_text(output_, DCM_DerivationDescription).find(mask), std::string::npos);
  }
  EXPECT_EQ(instances.size(), 3u);
  EXPECT_EQ(series.size(), 3u);
}

/// A table for the stored numbers from `first` on.
DicomSpec with_modality_lut(DicomSpec spec, int first, const std::vector<std::uint16_t>& values, int bits = 16) {
  spec.slope = spec.intercept = "";
  spec.change = [=](DcmDataset& data) {
    DcmItem* item = nullptr;
    data.findOrCreateSequenceItem(DCM_ModalityLUTSequence, item, -2);
    item->putAndInsertString(DCM_ModalityLUTType, "US");
    const std::array descriptor{static_cast<Uint16>(values.size()), static_cast<Uint16>(first),
                                static_cast<Uint16>(bits)};
    if (spec.is_signed) {
      item->putAndInsertSint16Array(DcmTag(DCM_LUTDescriptor, EVR_SS),
                                    reinterpret_cast<const Sint16*>(descriptor.data()), 3);
    } else {
      item->putAndInsertUint16Array(DcmTag(DCM_LUTDescriptor, EVR_US), descriptor.data(), 3);
    }
    std::vector<Uint16> words(values);
    if (bits == 8) {
      for (std::size_t i = 0; i < words.size(); i += 2)
        words[i / 2] = static_cast<Uint16>(values[i] | values[i + 1] << 8);
      words.resize(words.size() / 2);
    }
    item->putAndInsertUint16Array(DcmTag(DCM_LUTData, EVR_OW), words.data(), words.size());
  };
  return spec;
}

TEST_F(DicomWrite, ModalityLutsGiveRealValuesAndLeadBack) {
  std::vector<std::uint16_t> rising, falling, steps;
  for (int i = 0; i < 200; ++i) {
    rising.push_back(static_cast<std::uint16_t>(300 * i));
    falling.push_back(static_cast<std::uint16_t>(60000 - 300 * i));
    steps.push_back(static_cast<std::uint16_t>(i / 4 * 100));
  }
  const DicomSpec spec{.columns = 4, .rows = 1, .cells = {0, 50, 149, 4000}};
  struct Case {
    const char* name;
    DicomSpec spec;
    std::vector<float> values;         // of the cells
    std::vector<float> changed;        // to which they are changed
    std::vector<std::uint16_t> cells;  // that then hold them
    std::int64_t clamped;
  };
  for (const Case& c : {Case{"rising",
                             with_modality_lut(spec, 0, rising),
                             {0, 15000, 44700, 59700},
                             {299, 15000, 151, 1e6F},
                             {1, 50, 1, 199},
                             1},
                        Case{"falling",
                             with_modality_lut(spec, 0, falling),
                             {60000, 45000, 15300, 300},
                             {45100, 45000, 15151, -1},
                             {50, 50, 149, 199},
                             1},
                        Case{"with steps",
                             with_modality_lut(spec, 0, steps),
                             {0, 1200, 3700, 4900},
                             {0, 1200, 3700, 4900},
                             {0, 50, 149, 4000},
                             0},
                        Case{"from elsewhere",
                             with_modality_lut(spec, 100, rising),
                             {0, 0, 14700, 59700},
                             {0, 0, 14700, 300},
                             {0, 50, 149, 101},
                             0},
                        Case{"of bytes",
                             with_modality_lut(spec, 0, {0, 10, 20, 30, 40, 250}, 8),
                             {0, 250, 250, 250},
                             {11, 250, 250, 29},
                             {1, 50, 149, 3},
                             0}}) {
    SCOPED_TRACE(c.name);
    const auto report = rewrite(c.spec, [&](Volume& volume) {
      EXPECT_EQ(volume.voxels, c.values);
      volume.voxels = c.changed;
    });
    EXPECT_EQ(dicom_cells(output_), c.cells);
    EXPECT_EQ(report.clamped, c.clamped);
  }
  const DicomSpec negative{.columns = 2, .rows = 1, .bits_stored = 16, .is_signed = true, .cells = {0xfff0, 5}};
  rewrite(with_modality_lut(negative, -20, rising), [](Volume& volume) {
    EXPECT_EQ(volume.voxels, (std::vector<float>{1200, 7500}));
    volume.voxels[0] = 0;
  });
  EXPECT_EQ(dicom_cells(output_), (std::vector<std::uint16_t>{0xffec, 5}));
}

TEST_F(DicomWrite, ModalityLutsThatDoNotLeadBackAreRefused) {
  const DicomSpec spec{.columns = 2, .rows = 1, .cells = {1, 2}};
  const DicomSpec hill = with_modality_lut(spec, 0, {0, 10, 5, 20});
  write_dicom(source_, hill);
  const auto image = io::open_dicom(source_, {});
  EXPECT_EQ(read_volume(*image).voxels, (std::vector<float>{10, 5}));
  EXPECT_FALSE(image->can_filter_stored(0)) << "the median of the numbers is not that of the values";
  expect_error(Errc::unsupported, "rises and falls", [&] { image->writer(output_, VoxelDomain::real, {}); });
  write_dicom(source_, with_modality_lut(spec, 0, {}));
  expect_error(Errc::corrupt, "LUT", [&] { io::open_dicom(source_, {}); });
}

TEST_F(DicomWrite, AFolderHasOneFilePerFileUnderTheSameName) {
  const fs::path in = folder_ / "in", out = folder_ / "out";
  fs::create_directories(in / "sub");
  for (int z = 0; z < 3; ++z) {
    write_dicom(in / (z == 1 ? "sub/" + std::to_string(z) : std::to_string(z)),
                {.position = {0, 0, 1.0 * z}, .instance_number = z});
  }
  const auto report = write_image(*io::open_dicom(in, {}), out);
  EXPECT_EQ(report.files, (std::vector<fs::path>{out / "0", out / "sub/1", out / "2"}));
  EXPECT_EQ(folder_.names(), (std::vector<std::string>{"in", "in/0", "in/2", "in/sub", "in/sub/1", "out", "out/0",
                                                       "out/2", "out/sub", "out/sub/1"}));
  EXPECT_EQ(read_volume(*io::open_dicom(out, {})), read_volume(*io::open_dicom(in, {})));
  EXPECT_EQ(dicom_text(out / "0", DCM_SeriesInstanceUID), dicom_text(out / "sub/1", DCM_SeriesInstanceUID));
}

TEST_F(DicomWrite, NothingIsLeftOfAnUnfinishedRun) {
  write_dicom(source_, {});
  const auto image = io::open_dicom(source_, {});
  {
    const auto writer = image->writer(output_, VoxelDomain::real, {});
    writer->begin_volume(0, {});
    const Volume volume = read_volume(*image);
    writer->write(volume.view());
  }
  EXPECT_EQ(folder_.names(), (std::vector<std::string>{"in.dcm"}));
  const auto writer = image->writer(output_, VoxelDomain::real, {});
  expect_error(Errc::internal, "commit before all volumes", [&] { writer->commit(); });
}

TEST_F(DicomWrite, ASourceThatVanishedIsAnError) {
  write_dicom(source_, {});
  const auto image = io::open_dicom(source_, {});
  const Volume volume = read_volume(*image);
  const auto writer = image->writer(output_, VoxelDomain::real, {});
  writer->begin_volume(0, {});
  fs::remove(source_);
  EXPECT_THROW(writer->write(volume.view()), Error);
}

TEST_F(DicomWrite, ExistingOutputsAndOtherTypesAreRefused) {
  write_dicom(source_, {});
  write_dicom(output_, {});
  const auto image = io::open_dicom(source_, {});
  expect_error(Errc::exists, "out.dcm", [&] { write_image(*image, output_); });
  expect_error(Errc::output_path, "in.dcm",
               [&] { write_image(*image, source_, VoxelDomain::real, {}, {.force = true, .compress = {}}); });
  fs::remove(output_);
  io::WriteOptions options;
  options.output_type = io::ScalarType::float32;
  expect_error(Errc::invalid_argument, "float32",
               [&] { write_image(*image, output_, VoxelDomain::real, {}, options); });
  EXPECT_EQ(folder_.names(), (std::vector<std::string>{"in.dcm"}));
}

}  // namespace
}  // namespace quietvox::test
