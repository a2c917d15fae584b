// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcpixseq.h>
#include <dcmtk/dcmdata/dcpxitem.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "io/image.hpp"
#include "support/expect_error.hpp"
#include "support/make_dicom.hpp"
#include "support/temporary_folder.hpp"

namespace quietvox::test {
namespace {

using io::VoxelDomain;

class DicomRead : public ::testing::Test {
 protected:
  std::unique_ptr<io::Image> open(const DicomSpec& spec) {
    write_dicom(file_, spec);
    return io::open_dicom(file_, {});
  }
  std::vector<float> voxels(const DicomSpec& spec, VoxelDomain domain = VoxelDomain::real) {
    return read_volume(*open(spec), 0, domain).voxels;
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "image.dcm";
};

TEST_F(DicomRead, StoredNumbersAreMaskedToTheirBitsAndExtendedBySign) {
  const std::vector<std::uint16_t> cells{0x0000, 0x0001, 0x07ff, 0x0800, 0x0fff, 0xf123};
  DicomSpec spec{.columns = 3, .rows = 2, .cells = cells};
  EXPECT_EQ(voxels(spec, VoxelDomain::stored), (std::vector<float>{0, 1, 2047, 2048, 4095, 0x123}));
  spec.is_signed = true;
  EXPECT_EQ(voxels(spec, VoxelDomain::stored), (std::vector<float>{0, 1, 2047, -2048, -1, 0x123}));
}

TEST_F(DicomRead, NumbersLargerThanTheirBitsAreToldOf) {
  const auto warning_of = [&](const DicomSpec& spec) {
    const auto image = open(spec);
    EXPECT_EQ(image->warnings_of_voxels(), std::vector<std::string>());
    read_volume(*image);
    read_volume(*image);
    const auto warnings = image->warnings_of_voxels();
    EXPECT_LE(warnings.size(), 1U);
    return warnings.empty() ? "" : warnings.front();
  };
  DicomSpec spec{.columns = 2, .rows = 2, .cells = {1000, 4095, 4096, 100}};
  EXPECT_EQ(
      warning_of(spec),
      "image.dcm: BitsStored (0028,0101) is 12, but higher bits differ from pixel to pixel: numbers that need them "
      "were cut off; if they are no overlay, correct it and HighBit (0028,0102)");
  spec.cells = {1000, 4095, 0, 100};
  EXPECT_EQ(warning_of(spec), "");
  spec.cells = {0xf100, 0xf200, 0xffff, 0xf000};
  EXPECT_EQ(warning_of(spec), "") << "the same in all";
  spec.is_signed = true;
  spec.cells = {1000, 0xf800, 0xffff, 100};
  EXPECT_EQ(warning_of(spec), "") << "of the sign";
  spec.cells = {1000, 0xf800, 0x0800, 100};
  EXPECT_NE(warning_of(spec), "");
  spec.is_signed = false;
  spec.change = [](DcmDataset& data) {
    data.putAndInsertUint16(DcmTagKey(0x6000, 0x0010), 2);
    data.putAndInsertUint16(DcmTagKey(0x6000, 0x0011), 2);
    data.putAndInsertUint16(DcmTagKey(0x6000, 0x0100), 16);
    data.putAndInsertUint16(DcmTagKey(0x6000, 0x0102), 12);
  };
  EXPECT_EQ(warning_of(spec), "") << "an overlay";
  spec.change = [](DcmDataset& data) { data.putAndInsertUint16(DCM_HighBit, 15); };
  EXPECT_EQ(warning_of(spec), "") << "below the numbers";
}

TEST_F(DicomRead, StoredNumbersMaySitAboveOtherBits) {
  DicomSpec spec{.columns = 2, .rows = 1, .cells = {0x1234, 0xfff0}};
  spec.change = [](DcmDataset& data) { data.putAndInsertUint16(DCM_HighBit, 15); };
  EXPECT_EQ(voxels(spec, VoxelDomain::stored), (std::vector<float>{0x123, 0xfff}));
}

TEST_F(DicomRead, AllWidthsFrom8To16Bits) {
  for (int bits = 8; bits <= 16; ++bits) {
    for (const bool is_signed : {false, true}) {
      const int top = (1 << (is_signed ? bits - 1 : bits)) - 1, bottom = is_signed ? -top - 1 : 0;
      const auto cell = [](int value) { return static_cast<std::uint16_t>(value); };
      DicomSpec spec{.columns = 2,
                     .rows = 1,
                     .bits_allocated = bits == 8 ? 8 : 16,
                     .bits_stored = bits,
                     .is_signed = is_signed,
                     .cells = {cell(bottom), cell(top)}};
      EXPECT_EQ(voxels(spec), (std::vector<float>{bottom - 1024.f, top - 1024.f})) << bits << is_signed;
    }
  }
}

TEST_F(DicomRead, OddNumberOf8BitPixels) {
  DicomSpec spec{.columns = 3, .rows = 1, .bits_allocated = 8, .bits_stored = 8, .cells = {1, 2, 3}};
  EXPECT_EQ(voxels(spec, VoxelDomain::stored), (std::vector<float>{1, 2, 3}));
}

TEST_F(DicomRead, ZerosMayStandBehindTheDataSet) {
  const std::vector<std::uint16_t> cells{1, 2, 0, 0};
  const DicomSpec spec{.columns = 2, .rows = 2, .cells = cells};
  const std::vector<float> expected = voxels(spec, VoxelDomain::stored);
  for (const E_TransferSyntax syntax : {EXS_LittleEndianExplicit, EXS_LittleEndianImplicit, EXS_BigEndianExplicit}) {
    for (const int count : {1, 2, 4, 6, 7, 8, 9, 511, 512, 70'000, 3 << 20}) {
      DicomSpec padded = spec;
      padded.syntax = syntax;
      write_dicom(file_, padded);
      std::ofstream(file_, std::ios::app) << std::string(static_cast<std::size_t>(count), '\0');
      EXPECT_EQ(read_volume(*io::open_dicom(file_, {}), 0, VoxelDomain::stored).voxels, expected)
          << syntax << " " << count;
    }
  }
}

TEST_F(DicomRead, OtherBytesBehindTheDataSetAreRefused) {
  const DicomSpec spec{.columns = 2, .rows = 2, .cells = {1, 2, 0, 0}};
  for (const std::string& tail : {std::string("\0\0\0\1", 4), std::string(512, '\0') + "x", std::string("garbage")}) {
    write_dicom(file_, spec);
    std::ofstream(file_, std::ios::app) << tail;
    expect_error(Errc::corrupt, "", [&] { io::open_dicom(file_, {}); });
  }
}

TEST_F(DicomRead, PixelsOfZerosThatEndTooEarlyAreRefused) {
  write_dicom(file_, {.columns = 64, .rows = 64, .cells = std::vector<std::uint16_t>(64 * 64, 0)});
  for (const std::uintmax_t less : {1U, 2U, 7U, 8U, 100U, 8190U}) {
    std::filesystem::resize_file(file_, std::filesystem::file_size(file_) - less);
    expect_error(Errc::corrupt, "", [&] { read_volume(*io::open_dicom(file_, {}), 0, VoxelDomain::stored); });
  }
}

TEST_F(DicomRead, RealValuesAreRescaled) {
  DicomSpec spec{.columns = 2, .rows = 1, .cells = {10, 20}, .slope = "0.5", .intercept = "+1e1"};
  EXPECT_EQ(voxels(spec), (std::vector<float>{15, 20}));
  spec.slope = "-2 ";
  EXPECT_EQ(voxels(spec), (std::vector<float>{-10, -30}));
  EXPECT_FALSE(open(spec)->can_filter_stored(0));
  spec.slope = spec.intercept = "";
  EXPECT_EQ(voxels(spec), (std::vector<float>{10, 20}));
  EXPECT_TRUE(open(spec)->can_filter_stored(0));
}

TEST_F(DicomRead, PaddingIsMissing) {
  DicomSpec spec{.columns = 4, .rows = 1, .bits_stored = 16, .is_signed = true, .cells = {0xf830, 0, 0xf82f, 5}};
  spec.change = [](DcmDataset& data) { data.putAndInsertSint16(DcmTag(DCM_PixelPaddingValue, EVR_SS), -2000); };
  auto got = voxels(spec, VoxelDomain::stored);
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_EQ(got[2], -2001);
  spec.change = [](DcmDataset& data) {  // a limit, and the sign lost by the value representation
    data.putAndInsertUint16(DcmTag(DCM_PixelPaddingValue, EVR_US), 0xf830);
    data.putAndInsertSint16(DcmTag(DCM_PixelPaddingRangeLimit, EVR_SS), -3000);
  };
  got = voxels(spec);
  EXPECT_TRUE(std::isnan(got[0]) && std::isnan(got[2]));
  EXPECT_EQ(got[3], 5 - 1024);
  EXPECT_EQ(voxels(spec, VoxelDomain::real_with_padding), (std::vector<float>{-3024, -1024, -3025, -1019}));
}

TEST_F(DicomRead, PaddingThatNoPixelCanHoldMeansNothing) {
  DicomSpec spec{.columns = 2, .rows = 1, .cells = {0x0830, 1}};
  spec.change = [](DcmDataset& data) { data.putAndInsertUint16(DcmTag(DCM_PixelPaddingValue, EVR_US), 0xf830); };
  EXPECT_EQ(voxels(spec, VoxelDomain::stored), (std::vector<float>{0x830, 1}));
}

TEST_F(DicomRead, PaddingThatLeavesNoPixelMeansNothing) {
  DicomSpec spec{.columns = 2, .rows = 1, .cells = {0x0830, 1}};
  spec.change = [](DcmDataset& data) {
    data.putAndInsertUint16(DcmTag(DCM_PixelPaddingValue, EVR_US), 0xffff);
    data.putAndInsertUint16(DcmTag(DCM_PixelPaddingRangeLimit, EVR_US), 0);
  };
  EXPECT_EQ(voxels(spec, VoxelDomain::stored), (std::vector<float>{0x830, 1}));
}

/// A film of a thousand frames without positions is a thousand volumes.
TEST_F(DicomRead, VolumesOfOneFileAreReadFromOneCopyOfIt) {
  const auto image = open({.frames = 3, .bits_allocated = 8, .bits_stored = 8, .position = {}});
  ASSERT_EQ(image->volume_count(), 3u);
  const float first = read_volume(*image, 0).voxels[0];
  std::filesystem::remove(file_);
  for (std::size_t frame = 0; frame < 3; ++frame) {
    EXPECT_EQ(read_volume(*image, frame).voxels[0], first + 20 * static_cast<float>(frame));
  }
}

TEST_F(DicomRead, GeometryComesFromTheHeader) {
  DicomSpec spec;
  spec.position = {10, -20, 30};
  spec.orientation = "0\\1\\0\\0\\0\\-1";
  const auto image = open(spec);
  const io::Geometry& geometry = image->geometry(0);
  EXPECT_EQ(geometry.extent, (Extent{{5, 4, 1}}));
  EXPECT_EQ(geometry.spacing, (Spacing{0.25, 0.5, 3}));
  EXPECT_EQ(geometry.origin, (std::array<double, 3>{10, -20, 30}));
  EXPECT_EQ(geometry.direction, (std::array<double, 9>{0, 0, -1, 1, 0, 0, 0, -1, 0}));
}

/// Of radiographs, and of images of a linear accelerator.
TEST_F(DicomRead, ImagerSpacingStandsInForPixelSpacing) {
  DicomSpec spec;
  spec.spacing = "";
  EXPECT_EQ(open(spec)->warnings().size(), 1u);
  for (const DcmTagKey& key : {DCM_ImagerPixelSpacing, DCM_ImagePlanePixelSpacing}) {
    spec.more = {{key, "0.2\\0.1"}};
    const auto image = open(spec);
    EXPECT_EQ(image->geometry(0).spacing, (Spacing{0.1, 0.2, 3}));
    EXPECT_TRUE(image->warnings().empty());
  }
}

TEST_F(DicomRead, UltrasoundIsMeasuredByItsRegions) {
  const auto spacing_by = [&](const std::vector<std::array<double, 4>>& regions) {  // kind, unit, x, y
    DicomSpec spec;
    spec.spacing = "";
    spec.more = {{DCM_PixelAspectRatio, "3\\2"}};
    spec.change = [&](DcmDataset& data) {
      for (const auto& [kind, unit, x, y] : regions) {
        DcmItem* item = nullptr;
        data.findOrCreateSequenceItem(DCM_SequenceOfUltrasoundRegions, item, -2);
        item->putAndInsertUint16(DCM_RegionSpatialFormat, 1);
        item->putAndInsertUint16(DCM_RegionDataType, static_cast<Uint16>(kind));
        for (const DcmTagKey& key : {DCM_PhysicalUnitsXDirection, DCM_PhysicalUnitsYDirection}) {
          item->putAndInsertUint16(key, static_cast<Uint16>(unit));
        }
        item->putAndInsertFloat64(DCM_PhysicalDeltaX, x);
        item->putAndInsertFloat64(DCM_PhysicalDeltaY, y);
      }
    };
    const auto image = open(spec);
    const bool is_known = image->warnings().empty();
    const Spacing spacing = image->geometry(0).spacing;
    EXPECT_EQ(is_known, spacing.x != 1);
    return spacing;
  };
  constexpr double tissue = 1, spectrum = 3, cm = 3, hertz = 5;
  EXPECT_EQ(spacing_by({{tissue, cm, 0.04, -0.05}, {spectrum, hertz, 2, 7}}), (Spacing{0.4, 0.5, 3}));
  // Where they do not say it, the aspect ratio alone is known.
  EXPECT_EQ(spacing_by({}), (Spacing{1, 1.5, 3}));
  EXPECT_EQ(spacing_by({{tissue, cm, 0.04, 0.04}, {tissue, cm, 0.02, 0.02}}), (Spacing{1, 1.5, 3}));
  EXPECT_EQ(spacing_by({{tissue, hertz, 0.04, 0.04}}), (Spacing{1, 1.5, 3}));
  EXPECT_EQ(spacing_by({{tissue, cm, 0, 0.04}}), (Spacing{1, 1.5, 3}));
}

TEST_F(DicomRead, NonsenseInElementsThatDoNotMatterDoesNoHarm) {
  const auto image = open({.more = {{DCM_InstanceNumber, "one"},
                                    {DCM_TriggerTime, "0\\0"},
                                    {DCM_SliceThickness, "thin"},
                                    {DCM_SpacingBetweenSlices, "-2"}}});
  EXPECT_EQ(image->geometry(0).spacing.z, 2);
}

TEST_F(DicomRead, EveryTransferSyntaxGivesTheSamePixels) {
  DicomSpec spec{.columns = 31, .rows = 17, .bits_stored = 16, .is_signed = true};
  for (int i = 0; i < 31 * 17; ++i) spec.cells.push_back(static_cast<std::uint16_t>(i % 7 ? i * 977 : 40));
  const auto expected = voxels(spec);
  for (const E_TransferSyntax syntax : {EXS_LittleEndianImplicit, EXS_BigEndianExplicit,
                                        EXS_PrivateGE_LEI_WithBigEndianPixelData, EXS_DeflatedLittleEndianExplicit,
                                        EXS_RLELossless, EXS_JPEGProcess14, EXS_JPEGProcess14SV1, EXS_JPEGLSLossless}) {
    spec.syntax = syntax;
    EXPECT_EQ(voxels(spec), expected) << DcmXfer(syntax).getXferName();
  }
}

TEST_F(DicomRead, PixelsAreFoundWhetherOrNotTheFileEndsWithThem) {
  for (const auto syntax : {EXS_LittleEndianExplicit, EXS_LittleEndianImplicit, EXS_BigEndianExplicit}) {
    DicomSpec plain{.columns = 64, .rows = 64, .syntax = syntax}, longer = plain;
    longer.change = [](DcmDataset& data) {
      const std::vector<Uint8> bytes(100, 7);
      data.putAndInsertUint8Array(DCM_DataSetTrailingPadding, bytes.data(), bytes.size());
    };
    const auto expected = voxels(plain);
    EXPECT_EQ(voxels(longer), expected);
    // Also where that changed after the header was read.
    const auto image = open(plain);
    write_dicom(file_, longer);
    EXPECT_EQ(read_volume(*image, 0, VoxelDomain::real).voxels, expected);
    const auto other = open(longer);
    write_dicom(file_, plain);
    EXPECT_EQ(read_volume(*other, 0, VoxelDomain::real).voxels, expected);
    const auto lost = open(plain);
    std::filesystem::remove(file_);
    EXPECT_THROW(read_volume(*lost, 0, VoxelDomain::real), Error);
  }
}

TEST_F(DicomRead, ASecondPixelDataElementAtTheEndCountsForNothing) {
  const DicomSpec spec{.columns = 64, .rows = 64};
  const auto expected = voxels(spec);
  std::string element("\xe0\x7f\x10\x00OW\x00\x00\x00\x20\x00\x00", 12);  // 8192 bytes
  element.resize(12 + 8192, 'x');
  std::ofstream(file_, std::ios::binary | std::ios::app) << element;
  EXPECT_EQ(read_volume(*io::open_dicom(file_, {}), 0, VoxelDomain::real).voxels, expected);
}

TEST_F(DicomRead, BytesInBigEndianAndRle) {
  DicomSpec spec{.columns = 5, .rows = 3, .bits_allocated = 8, .bits_stored = 8};
  const auto expected = voxels(spec);
  for (const E_TransferSyntax syntax : {EXS_BigEndianExplicit, EXS_LittleEndianImplicit, EXS_RLELossless}) {
    spec.syntax = syntax;
    EXPECT_EQ(voxels(spec), expected) << DcmXfer(syntax).getXferName();
  }
}

TEST_F(DicomRead, FilesWithoutPreambleAreDicomToo) {
  DicomSpec spec;
  write_dicom(file_, spec);
  parse_dicom(file_)->getDataset()->saveFile((folder_ / "bare.dcm").c_str(), EXS_LittleEndianImplicit);
  EXPECT_EQ(read_volume(*io::open_dicom(folder_ / "bare.dcm", {})), read_volume(*io::open_dicom(file_, {})));
}

TEST_F(DicomRead, ImageTypesSayWhatThePhaseIs) {
  const auto kind = [&](const std::string& type, const char* modality = "MR") {
    const DicomSpec spec{.slope = "", .intercept = "", .more = {{DCM_Modality, modality}, {DCM_ImageType, type}}};
    return open(spec)->volume(0, VoxelDomain::stored)->header().kind;
  };
  for (const char* type :
       {"ORIGINAL\\PRIMARY\\P\\ND", "ORIGINAL\\PRIMARY\\PHASE_MAP\\NONE", "DERIVED\\PRIMARY\\PHASE MAP",
        "DERIVED\\PRIMARY\\SWI_PHASE_ND", "ORIGINAL\\PRIMARY\\P_FFE\\FFE", "DERIVED\\PRIMARY\\B0 PHASE",
        "ORIGINAL\\PRIMARY\\M\\RETRO\\P", "original\\primary\\phase map"}) {
    EXPECT_EQ(kind(type), DataKind::phase) << type;
  }
  for (const char* type :
       {"DERIVED\\PRIMARY\\DIXON\\IN_PHASE", "DERIVED\\PRIMARY\\DIXON\\OPP_PHASE", "DERIVED\\PRIMARY\\OUT OF PHASE",
        "DERIVED\\PRIMARY\\PHASE CONTRAST\\ANGIO", "ORIGINAL\\PRIMARY\\MPR", "DERIVED\\PRIMARY\\PHASE_SENSITIVE_IR",
        "ORIGINAL\\PRIMARY\\MULTIPHASE", "DERIVED\\PRIMARY\\SYSTOLIC PHASE", "DERIVED\\PRIMARY\\CARDIAC_PHASE_3",
        "DERIVED\\PRIMARY\\MAG_PHASE"}) {
    EXPECT_EQ(kind(type), std::nullopt) << type;
  }
  EXPECT_EQ(kind("DERIVED\\PRIMARY\\IN_PHASE\\M"), DataKind::magnitude);
  const DicomSpec contradictory{
      .slope = "",
      .intercept = "",
      .more = {
          {DCM_Modality, "MR"}, {DCM_ImageType, "ORIGINAL\\PRIMARY\\P"}, {DCM_ComplexImageComponent, "MAGNITUDE"}}};
  EXPECT_EQ(open(contradictory)->volume(0, VoxelDomain::stored)->header().kind, DataKind::phase);
  EXPECT_EQ(kind("ORIGINAL\\PRIMARY\\AXIAL\\PHASE 75", "CT"), DataKind::scalar);
  EXPECT_EQ(kind("ORIGINAL\\PRIMARY\\ARTERIAL_PHASE", "CT"), DataKind::scalar);
}

TEST_F(DicomRead, OfMrHoldsNoCounts) {
  const auto is_of_mr = [&](const char* modality) {
    const DicomSpec spec{.slope = "", .intercept = "", .more = {{DCM_Modality, modality}}};
    return open(spec)->volume(0, VoxelDomain::stored)->header().are_of_mr;
  };
  EXPECT_TRUE(is_of_mr("MR"));
  EXPECT_FALSE(is_of_mr("PT"));
}

/// GE says it in a private element, of which some writers lose the type, and which may lie in any block.
TEST_F(DicomRead, APrivateElementOfGeSaysWhatThePhaseIs) {
  const auto kind = [&](int number, DcmEVR type, const char* made_by = "GEMS_PARM_01", Uint16 block = 0x10) {
    const DcmTagKey creator(0x0043, block), component(0x0043, static_cast<Uint16>(block << 8 | 0x2f));
    DicomSpec spec{
        .slope = "", .intercept = "", .more = {{DCM_Modality, "MR"}, {DCM_ImageType, "ORIGINAL\\PRIMARY\\OTHER"}}};
    spec.change = [&](DcmDataset& data) {
      data.putAndInsertString(DcmTag(creator, EVR_LO), made_by);
      if (type == EVR_SS) {
        data.putAndInsertSint16(DcmTag(component, EVR_SS), static_cast<Sint16>(number));
      } else {
        const Uint8 bytes[] = {static_cast<Uint8>(number), 0};
        put_untyped(data, component, bytes);
      }
    };
    return open(spec)->volume(0, VoxelDomain::stored)->header().kind;
  };
  for (const DcmEVR type : {EVR_SS, EVR_UN}) {
    EXPECT_EQ(kind(0, type), std::nullopt);
    EXPECT_EQ(kind(1, type), DataKind::phase);
    EXPECT_EQ(kind(2, type), DataKind::scalar);
    EXPECT_EQ(kind(3, type), DataKind::scalar);
    EXPECT_EQ(kind(1, type, "OTHER_PARM_01"), std::nullopt);
    EXPECT_EQ(kind(1, type, "GEMS_PARM_01", 0x11), DataKind::phase);
  }
}

TEST_F(DicomRead, PaddingThatLostItsTypeCounts) {
  const auto image = open({.cells = std::vector<std::uint16_t>(20, 100), .change = [](DcmDataset& data) {
                             const Uint8 bytes[] = {100, 0};
                             put_untyped(data, DCM_PixelPaddingValue, bytes);
                             data.putAndInsertUint16Array(DCM_PixelData, std::vector<Uint16>(20, 100).data(), 20);
                           }});
  EXPECT_TRUE(std::isnan(read_volume(*image).voxels[0]));
}

TEST_F(DicomRead, DatesThatAreNoneAreNoTimes) {
  EXPECT_EQ(open({.more = {{DCM_AcquisitionDate, "12-05-2010"}, {DCM_AcquisitionTime, "101112"}}})->volume_count(), 1U);
}

TEST_F(DicomRead, RadiographsSayWhetherTheirAirIsBright) {
  const auto is_dark = [&](const char* modality, const char* photometric, const char* sign, const char* slope = "") {
    return open({.slope = slope,
                 .intercept = *slope ? "0" : "",
                 .more = {{DCM_Modality, modality}, {DCM_PhotometricInterpretation, photometric}},
                 .change =
                     [=](DcmDataset& data) {
                       if (*sign) data.putAndInsertString(DcmTag(DCM_PixelIntensityRelationshipSign, EVR_IS), sign);
                       data.putAndInsertString(DCM_PixelIntensityRelationship, "LIN");
                     }})
        ->volume(0, VoxelDomain::stored)
        ->header();
  };
  for (const char* modality : {"DX", "MG", "CR"}) {
    EXPECT_TRUE(is_dark(modality, "MONOCHROME1", "").object_is_dark);
    EXPECT_FALSE(is_dark(modality, "MONOCHROME2", "").object_is_dark);
    EXPECT_TRUE(is_dark(modality, "MONOCHROME2", "1").object_is_dark);
    EXPECT_FALSE(is_dark(modality, "MONOCHROME1", "-1").object_is_dark);
    EXPECT_FALSE(is_dark(modality, "MONOCHROME1", "", "-1").object_is_dark);
    EXPECT_TRUE(is_dark(modality, "MONOCHROME1", "").are_counts);
  }
  EXPECT_TRUE(is_dark("XA", "MONOCHROME2", "").object_is_dark);
  EXPECT_FALSE(is_dark("NM", "MONOCHROME1", "").object_is_dark);
}

TEST_F(DicomRead, OtherContentIsNotDicom) {
  for (const char* text : {"", "DICM", "not an image at all, but long enough to be one"}) {
    std::ofstream(file_) << text;
    EXPECT_EQ(io::open_dicom(file_, {}), nullptr) << text;
  }
  EXPECT_EQ(io::open_dicom(folder_.path(), {}), nullptr);
}

struct Wrong {
  const char* name;
  std::function<void(DcmDataset&)> change;
  Errc code;
  const char* message;
};

auto text(const DcmTagKey& key, const char* value) {
  return [=](DcmDataset& data) { data.putAndInsertString(key, value); };
}
auto number(const DcmTagKey& key, int value) {
  return [=](DcmDataset& data) { data.putAndInsertUint16(key, static_cast<Uint16>(value)); };
}
auto without(const DcmTagKey& key) {
  return [=](DcmDataset& data) { data.findAndDeleteElement(key); };
}

class DicomRefused : public DicomRead, public ::testing::WithParamInterface<Wrong> {};

TEST_P(DicomRefused, ByName) {
  const Wrong& wrong = GetParam();
  expect_error(wrong.code, wrong.message, [&] { open({.change = wrong.change}); });
}

INSTANTIATE_TEST_SUITE_P(
    All, DicomRefused,
    ::testing::Values(
        Wrong{"rows_zero", number(DCM_Rows, 0), Errc::corrupt, "Rows (0028,0010) is 0"},
        Wrong{"no_columns", without(DCM_Columns), Errc::corrupt, "Columns (0028,0011) is missing"},
        Wrong{"bits_stored_zero", number(DCM_BitsStored, 0), Errc::corrupt, "BitsStored (0028,0101) is 0"},
        Wrong{"bits_stored_17", number(DCM_BitsStored, 17), Errc::corrupt, "BitsStored (0028,0101) is 17"},
        Wrong{"high_bit_16", number(DCM_HighBit, 16), Errc::corrupt, "HighBit (0028,0102) is 16"},
        Wrong{"high_bit_low", number(DCM_HighBit, 5), Errc::corrupt, "HighBit (0028,0102) is 5"},
        Wrong{"sign_2", number(DCM_PixelRepresentation, 2), Errc::corrupt, "PixelRepresentation (0028,0103) is 2"},
        Wrong{"more_rows_than_pixels", number(DCM_Rows, 5), Errc::corrupt, "5 x 5 pixels need 50 bytes, it has 40"},
        Wrong{"huge", number(DCM_Rows, 65535), Errc::corrupt, "5 x 65535 pixels need 655350 bytes"},
        Wrong{"no_photometric", without(DCM_PhotometricInterpretation), Errc::corrupt,
              "PhotometricInterpretation (0028,0004) is missing"},
        Wrong{"no_pixels", without(DCM_PixelData), Errc::corrupt, "PixelData (7fe0,0010) is missing"},
        Wrong{"slope_zero", text(DCM_RescaleSlope, "0"), Errc::corrupt, "RescaleSlope (0028,1053) is 0"},
        Wrong{"slope_nan", text(DCM_RescaleSlope, "nan"), Errc::corrupt, "RescaleSlope (0028,1053) is 'nan'"},
        Wrong{"slope_word", text(DCM_RescaleSlope, "1,5"), Errc::corrupt, "RescaleSlope (0028,1053) is '1,5'"},
        Wrong{"slope_two", text(DCM_RescaleSlope, "1\\2"), Errc::corrupt, "RescaleSlope (0028,1053) has several"},
        Wrong{"intercept_large", text(DCM_RescaleIntercept, "1e9"), Errc::unsupported, "RescaleIntercept"},
        Wrong{"slope_huge", text(DCM_RescaleSlope, "1e37"), Errc::unsupported, "beyond 32-bit floats"},
        Wrong{"slope_tiny", text(DCM_RescaleSlope, "1e-40"), Errc::unsupported, "beyond 32-bit floats"},
        Wrong{"spacing_zero", text(DCM_PixelSpacing, "0\\0"), Errc::corrupt, "PixelSpacing (0028,0030) is 0\\0"},
        Wrong{"spacing_one", text(DCM_PixelSpacing, "1"), Errc::corrupt, "two numbers above 0"},
        Wrong{"orientation_zero", text(DCM_ImageOrientationPatient, "0\\0\\0\\0\\0\\0"), Errc::corrupt,
              "perpendicular unit vectors"},
        Wrong{"orientation_skewed", text(DCM_ImageOrientationPatient, "1\\0\\0\\0.7071\\0.7071\\0"), Errc::corrupt,
              "perpendicular unit vectors"},
        Wrong{"position_two", text(DCM_ImagePositionPatient, "1\\2"), Errc::corrupt, "ImagePositionPatient"},
        Wrong{"no_series", without(DCM_SeriesInstanceUID), Errc::corrupt, "SeriesInstanceUID (0020,000e) is missing"},
        Wrong{"no_class", without(DCM_SOPClassUID), Errc::corrupt, "SOPClassUID (0008,0016) is missing"},
        Wrong{"no_instance", without(DCM_SOPInstanceUID), Errc::corrupt, "SOPInstanceUID (0008,0018) is missing"},
        Wrong{"frames", text(DCM_NumberOfFrames, "3"), Errc::corrupt, "5 x 4 x 3 pixels need 120 bytes, it has 40"},
        Wrong{"rgb", text(DCM_PhotometricInterpretation, "RGB"), Errc::unsupported, "RGB"},
        Wrong{"palette", text(DCM_PhotometricInterpretation, "PALETTE COLOR"), Errc::unsupported, "PALETTE COLOR"},
        Wrong{"samples", number(DCM_SamplesPerPixel, 3), Errc::unsupported, "pixels are not supported"},
        Wrong{"one_bit", number(DCM_BitsAllocated, 1), Errc::unsupported, "1-bit pixels"},
        Wrong{"wide", number(DCM_BitsAllocated, 32), Errc::unsupported, "32-bit pixels"},
        Wrong{"mosaic", text(DCM_ImageType, "ORIGINAL\\PRIMARY\\M\\MOSAIC"), Errc::unsupported, "MOSAIC"},
        Wrong{"structured_report", text(DCM_SOPClassUID, UID_BasicTextSRStorage), Errc::no_input,
              "a structured report"},
        Wrong{"segmentation", text(DCM_SOPClassUID, UID_SegmentationStorage), Errc::no_input, "a segmentation"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(DicomRead, FilesThatEndEarlyAreRefused) {
  for (const E_TransferSyntax syntax :
       {EXS_LittleEndianExplicit, EXS_BigEndianExplicit, EXS_DeflatedLittleEndianExplicit, EXS_RLELossless,
        EXS_JPEGProcess14SV1, EXS_JPEGLSLossless}) {
    const DicomSpec spec{.columns = 40, .rows = 40, .syntax = syntax};
    const auto whole = voxels(spec);
    const auto size = std::filesystem::file_size(file_);
    for (const auto left : {size - 2, size - size / 10, size / 2, std::uintmax_t{400}, std::uintmax_t{140}}) {
      SCOPED_TRACE(std::string(DcmXfer(syntax).getXferName()) + " " + std::to_string(left));
      write_dicom(file_, spec);
      std::filesystem::resize_file(file_, left);
      try {
        const auto image = io::open_dicom(file_, {});
        ASSERT_NE(image, nullptr);
        EXPECT_EQ(read_volume(*image).voxels, whole);  // only the end of the deflated stream was cut, no pixel
        EXPECT_EQ(syntax, EXS_DeflatedLittleEndianExplicit);
        EXPECT_EQ(left, size - 2);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Errc::corrupt) << error.what();
      }
    }
  }
}

TEST_F(DicomRead, DirectoryRecordsThatTheToolkitThrowsAtAreAnErrorLikeOthers) {
  write_dicom(file_, {.change = [](DcmDataset& data) {
                DcmItem* record = nullptr;
                data.findOrCreateSequenceItem(DCM_DirectoryRecordSequence, record, 0);
                const std::string type = "A\\" + std::string(60, 'B');
                record->putAndInsertString(DCM_DirectoryRecordType, type.c_str());
              }});
  expect_error(Errc::corrupt, "broken DICOM file", [&] { io::open_dicom(file_, {}); });
}

TEST_F(DicomRead, ASizeThatCompressedPixelsCannotHaveIsRefusedBeforeAnythingIsAllocated) {
  write_dicom(file_, {.columns = 40, .rows = 40, .syntax = EXS_RLELossless});
  const auto file = parse_dicom(file_);
  file->getDataset()->putAndInsertUint16(DCM_Rows, 65535);
  file->saveFile(file_.c_str(), EXS_RLELossless);
  expect_error(Errc::corrupt, "40 x 65535 pixels need 5242800 bytes, it has at most",
               [&] { io::open_dicom(file_, {}); });
}

/// Shortens the only fragment of compressed pixel data, so that the file as such stays whole.
void shorten_fragment(const std::filesystem::path& path, E_TransferSyntax syntax, Uint32 bytes) {
  const auto file = parse_dicom(path);
  DcmPixelItem* item = nullptr;
  fragments_of(*file, syntax).getItem(item, 1);
  Uint8* data = nullptr;
  item->getUint8Array(data);
  const std::vector<Uint8> kept(data, data + item->getLength() - bytes);
  item->putUint8Array(kept.data(), kept.size());
  file->saveFile(path.c_str(), syntax);
}

TEST_F(DicomRead, ShortCompressedPixelsAreAnErrorNotZeros) {
  DicomSpec spec{.columns = 64, .rows = 64};
  for (int i = 0; i < 64 * 64; ++i) spec.cells.push_back(static_cast<std::uint16_t>(i * 2654435761u >> 20));
  for (const E_TransferSyntax syntax : {EXS_RLELossless, EXS_JPEGProcess14SV1, EXS_JPEGLSLossless}) {
    spec.syntax = syntax;
    write_dicom(file_, spec);
    shorten_fragment(file_, syntax, 2000);
    expect_error(Errc::corrupt, "do not decode", [&] { read_volume(*io::open_dicom(file_, {})); });
  }
}

}  // namespace
}  // namespace quietvox::test
