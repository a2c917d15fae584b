// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Files that hold several images: frames of enhanced and plain objects, tiles of mosaics.
#include <dcmtk/config/osconfig.h>
// osconfig.h must come first.
#include <dcmtk/dcmdata/dcpixseq.h>
#include <dcmtk/dcmdata/dcpxitem.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>

#include "io/image.hpp"
#include "support/expect_error.hpp"
#include "support/make_dicom.hpp"
#include "support/temporary_folder.hpp"

namespace quietvox::test {
namespace {

/// Puts an element into the only item of a group, as text.
void put_in_group(DcmItem& groups, const DcmTagKey& group, const DcmTagKey& key, const std::string& value) {
  DcmItem* item = nullptr;
  ASSERT_TRUE(groups.findOrCreateSequenceItem(group, item, 0).good());
  ASSERT_TRUE(item->putAndInsertString(key, value.c_str()).good()) << key;
}

/// What one frame of an enhanced object says of itself.
struct Frame {
  double z = 0;
  std::string slope = "1", type = "ORIGINAL\\PRIMARY\\M\\NONE", echo = "";
  std::vector<std::pair<std::array<DcmTagKey, 2>, std::string>> more{};  ///< elements of groups
};

/// An enhanced object of 2 x 2 pixels per frame: cells count up from 10, 20, 30, ... in each frame.
DicomSpec enhanced(const std::vector<Frame>& frames) {
  DicomSpec spec{.columns = 2,
                 .rows = 2,
                 .frames = static_cast<int>(frames.size()),
                 .position = {},
                 .orientation = "",
                 .spacing = "",
                 .slope = "",
                 .intercept = ""};
  for (std::size_t i = 0; i < frames.size(); ++i) {
    for (std::size_t cell = 0; cell < 4; ++cell) {
      spec.cells.push_back(static_cast<std::uint16_t>(10 * (i + 1) + cell));
    }
  }
  spec.change = [frames](DcmDataset& data) {
    data.putAndInsertString(DCM_SOPClassUID, UID_EnhancedMRImageStorage);
    data.putAndInsertString(DCM_NumberOfFrames, std::to_string(frames.size()).c_str());
    DcmItem* shared = nullptr;
    data.findOrCreateSequenceItem(DCM_SharedFunctionalGroupsSequence, shared, 0);
    put_in_group(*shared, DCM_PixelMeasuresSequence, DCM_PixelSpacing, "0.5\\0.25");
    put_in_group(*shared, DCM_PlaneOrientationSequence, DCM_ImageOrientationPatient, "1\\0\\0\\0\\1\\0");
    for (const Frame& frame : frames) {
      DcmItem* groups = nullptr;
      data.findOrCreateSequenceItem(DCM_PerFrameFunctionalGroupsSequence, groups, -2);
      put_in_group(*groups, DCM_PlanePositionSequence, DCM_ImagePositionPatient, "0\\0\\" + std::to_string(frame.z));
      put_in_group(*groups, DCM_PixelValueTransformationSequence, DCM_RescaleSlope, frame.slope);
      put_in_group(*groups, DCM_PixelValueTransformationSequence, DCM_RescaleIntercept, "0");
      put_in_group(*groups, DCM_MRImageFrameTypeSequence, DCM_FrameType, frame.type);
      for (const auto& [keys, value] : frame.more) put_in_group(*groups, keys[0], keys[1], value);
      if (frame.echo.empty()) continue;
      DcmItem* echo = nullptr;
      groups->findOrCreateSequenceItem(DCM_MREchoSequence, echo, 0);
      echo->putAndInsertFloat64(DCM_EffectiveEchoTime, std::stod(frame.echo));
    }
  };
  return spec;
}

class DicomFrames : public ::testing::Test {
 protected:
  std::unique_ptr<io::Image> open(const DicomSpec& spec) {
    write_dicom(in_, spec);
    return io::open_dicom(in_, {});
  }

  TemporaryFolder folder_;
  const std::filesystem::path in_ = folder_ / "in.dcm", out_ = folder_ / "out.dcm";
};

/// An enhanced object may be written in several files, of which an export may lose some.
TEST_F(DicomFrames, PartsOfAnImageThatAreMissingAreToldOf) {
  std::filesystem::create_directory(folder_ / "in");
  const auto write = [&](int part, const char* parts) {
    DicomSpec spec = enhanced({{.z = 2.0 * part}, {.z = 2.0 * part + 1}});
    spec.change = [part, parts, change = spec.change](DcmDataset& data) {
      change(data);
      data.putAndInsertString(DCM_SOPInstanceUID, ("1.2.3." + std::to_string(part)).c_str());
      data.putAndInsertString(DCM_ConcatenationUID, "1.2.3");
      data.putAndInsertUint16(DCM_InConcatenationNumber, static_cast<Uint16>(part));
      if (parts) data.putAndInsertString(DCM_InConcatenationTotalNumber, parts);
    };
    write_dicom(folder_ / "in" / std::to_string(part), spec);
  };
  const auto warnings = [&] { return io::open_dicom(folder_ / "in", {})->warnings(); };
  write(2, nullptr);
  write(3, nullptr);
  EXPECT_EQ(warnings(),
            std::vector<std::string>{"2 is part of an image that was written in 3 files (concatenation), and "
                                     "1 of them is not here: its frames are not read"});
  write(1, nullptr);
  EXPECT_TRUE(warnings().empty()) << "the number of all need not be said";
  write(1, "3");
  EXPECT_TRUE(warnings().empty());
  write(1, "5");
  EXPECT_EQ(warnings(),
            std::vector<std::string>{"1 is part of an image that was written in 5 files (concatenation), and "
                                     "2 of them are not here: their frames are not read"});
  write(1, "0");
  EXPECT_TRUE(warnings().empty());
}

TEST_F(DicomFrames, OfEnhancedObjectsAreSlicesInTheOrderOfTheirPositions) {
  const auto image = open(enhanced({{.z = 4}, {.z = 0}, {.z = 2}}));
  ASSERT_EQ(image->volume_count(), 1u);
  EXPECT_EQ(image->geometry(0).extent, (Extent{{2, 2, 3}}));
  EXPECT_EQ(image->geometry(0).spacing, (Spacing{0.25, 0.5, 2}));
  EXPECT_EQ(image->why_2d_only(0), "");
  EXPECT_EQ(read_volume(*image).voxels, (std::vector<float>{20, 21, 22, 23, 30, 31, 32, 33, 10, 11, 12, 13}));
}

TEST_F(DicomFrames, OfEnhancedObjectsHaveTheirOwnRescale) {
  const auto image = open(enhanced({{.z = 0, .slope = "2"}, {.z = 1, .slope = "0.5"}}));
  EXPECT_FALSE(image->can_filter_stored(0));
  EXPECT_EQ(read_volume(*image).voxels, (std::vector<float>{20, 22, 24, 26, 10, 10.5, 11, 11.5}));
  write_image(*image, out_, io::VoxelDomain::real, [](Volume& volume) {
    for (float& voxel : volume.voxels) voxel += 2;
  });
  EXPECT_EQ(dicom_cells(out_), (std::vector<std::uint16_t>{11, 12, 13, 14, 24, 25, 26, 27}));
}

TEST_F(DicomFrames, OfDifferentKindsAreVolumesOfTheirOwn) {
  const std::string phase = "ORIGINAL\\PRIMARY\\P\\NONE";
  const auto kinds = open(enhanced({{.z = 0}, {.z = 0, .type = phase}, {.z = 1}, {.z = 1, .type = phase}}));
  ASSERT_EQ(kinds->volume_count(), 2u);
  EXPECT_EQ(read_volume(*kinds, 1).voxels, (std::vector<float>{20, 21, 22, 23, 40, 41, 42, 43}));
  EXPECT_EQ(open(enhanced({{.z = 0, .echo = "5"}, {.z = 1, .echo = "10"}}))->volume_count(), 2u);
}

/// Two pictures of six places each, the frames of a place side by side in an order that changes.
TEST_F(DicomFrames, AreToldApartByContrastHoweverTheTriggerDelaysWobble) {
  using Element = std::pair<std::array<DcmTagKey, 2>, std::string>;
  const std::array<Element, 2> cases[] = {
      {Element{{DCM_MRModifierSequence, DCM_InversionTimes}, "100"},
       Element{{DCM_MRModifierSequence, DCM_InversionTimes}, "200"}},
      {Element{{DCM_MRTimingAndRelatedParametersSequence, DCM_FlipAngle}, "5"},
       Element{{DCM_MRTimingAndRelatedParametersSequence, DCM_FlipAngle}, "15"}},
      {Element{{DCM_CTXRayDetailsSequence, DCM_KVP}, "80"}, Element{{DCM_CTXRayDetailsSequence, DCM_KVP}, "140"}},
      {Element{{DCM_CTReconstructionSequence, DCM_ConvolutionKernel}, "B"},
       Element{{DCM_CTReconstructionSequence, DCM_ConvolutionKernel}, "S"}},
      {Element{{DCM_FrameContentSequence, DCM_DimensionIndexValues}, "1\\1\\1"},
       Element{{DCM_FrameContentSequence, DCM_DimensionIndexValues}, "1\\1\\2"}},
      {Element{{DCM_MRVelocityEncodingSequence, DCM_VelocityEncodingDirection}, "1\\0\\0"},
       Element{{DCM_MRVelocityEncodingSequence, DCM_VelocityEncodingDirection}, "0\\1\\0"}},
      {Element{{DCM_TemporalPositionSequence, DCM_TemporalPositionTimeOffset}, "0"},
       Element{{DCM_TemporalPositionSequence, DCM_TemporalPositionTimeOffset}, "2.5"}},
  };
  for (const auto& elements : cases) {
    SCOPED_TRACE(elements[0].second);
    std::vector<Frame> frames;
    std::vector<float> first[2];  // voxels
    for (int z = 0; z < 6; ++z) {
      for (const int place : {0, 1}) {
        const int which = place ^ (z == 1 || z == 2 || z == 4);
        const int delay = 500 + (place ? 3 : -3) * (z % 2 ? -1 : 1);
        first[which].push_back(static_cast<float>(10 * (frames.size() + 1)));
        frames.push_back({.z = 2.0 * z,
                          .more = {elements[static_cast<std::size_t>(which)],
                                   {{DCM_CardiacSynchronizationSequence, DCM_NominalCardiacTriggerDelayTime},
                                    std::to_string(delay)}}});
      }
    }
    const auto image = open(enhanced(frames));
    ASSERT_EQ(image->volume_count(), 2u);
    for (std::size_t volume = 0; volume < 2; ++volume) {
      EXPECT_EQ(image->why_2d_only(volume), "");
      const Volume voxels = read_volume(*image, volume);
      for (std::size_t z = 0; z < 6; ++z) EXPECT_EQ(voxels.voxels[4 * z], first[volume][z]) << volume << " " << z;
    }
  }
}

TEST_F(DicomFrames, OfSeveralVolumesComeBackAsOneFile) {
  const std::string phase = "ORIGINAL\\PRIMARY\\P\\NONE";
  const DicomSpec spec = enhanced({{.z = 1}, {.z = 0, .type = phase}, {.z = 0}, {.z = 1, .type = phase}});
  const auto report = write_image(*open(spec), out_);
  EXPECT_EQ(report.files.size(), 1u);
  EXPECT_EQ(dicom_cells(out_), spec.cells);
}

TEST_F(DicomFrames, OfEnhancedObjectsTellOfTheirDerivationOneByOne) {
  const auto change_first = [](Volume& volume) { volume.voxels[0] += 1; };
  write_image(*open(enhanced({{.z = 0}, {.z = 1}})), out_, io::VoxelDomain::real, change_first);
  const auto file = parse_dicom(out_);
  DcmDataset& data = *file->getDataset();
  EXPECT_FALSE(data.tagExists(DCM_SourceImageSequence));
  EXPECT_FALSE(data.tagExists(DCM_DerivationCodeSequence));
  for (long frame = 0; frame < 2; ++frame) {
    DcmItem *groups = nullptr, *type = nullptr, *derivation = nullptr, *source = nullptr, *code = nullptr;
    ASSERT_TRUE(data.findAndGetSequenceItem(DCM_PerFrameFunctionalGroupsSequence, groups, frame).good());
    OFString text;
    ASSERT_TRUE(groups->findAndGetSequenceItem(DCM_MRImageFrameTypeSequence, type).good());
    type->findAndGetOFStringArray(DCM_FrameType, text);
    EXPECT_EQ(text, "DERIVED\\PRIMARY\\M\\NONE");
    ASSERT_TRUE(groups->findAndGetSequenceItem(DCM_DerivationImageSequence, derivation).good());
    derivation->findAndGetOFString(DCM_DerivationDescription, text);
    EXPECT_NE(text.find("median"), OFString_npos) << text;
    EXPECT_EQ(text.find("; no voxel changed;") != OFString_npos, frame == 1) << text;
    ASSERT_TRUE(derivation->findAndGetSequenceItem(DCM_DerivationCodeSequence, code).good());
    code->findAndGetOFString(DCM_CodeValue, text);
    EXPECT_EQ(text, "113087");
    ASSERT_TRUE(derivation->findAndGetSequenceItem(DCM_SourceImageSequence, source).good());
    source->findAndGetOFString(DCM_ReferencedSOPInstanceUID, text);
    EXPECT_EQ(text.c_str(), dicom_text(in_, DCM_SOPInstanceUID));
    source->findAndGetOFString(DCM_ReferencedFrameNumber, text);
    EXPECT_EQ(text.c_str(), std::to_string(frame + 1));
  }
  DcmItem *study = nullptr, *series = nullptr, *instance = nullptr;
  ASSERT_TRUE(data.findAndGetSequenceItem(DCM_SourceImageEvidenceSequence, study).good());
  ASSERT_TRUE(study->findAndGetSequenceItem(DCM_ReferencedSeriesSequence, series).good());
  ASSERT_TRUE(series->findAndGetSequenceItem(DCM_ReferencedSOPSequence, instance).good());
  EXPECT_TRUE(instance->tagExistsWithValue(DCM_ReferencedSOPInstanceUID));
  EXPECT_EQ(changed_elements(in_, out_),
            (std::set<std::string>{"(0008,0008)", "(0008,0012)", "(0008,0013)", "(0008,0018)", "(0008,103e)",
                                   "(0008,9154)", "(0018,a001)", "(0020,000e)", "(0020,0011)",
                                   "(5200,9230)>(0008,9124)", "(5200,9230)>(0018,9226)>(0008,9007)"}));
}

TEST_F(DicomFrames, WithoutAGroupForEachAreRefused) {
  DicomSpec spec = enhanced({{.z = 0}, {.z = 1}});
  spec.change = [groups = spec.change](DcmDataset& data) {
    groups(data);
    data.findAndDeleteSequenceItem(DCM_PerFrameFunctionalGroupsSequence, 1);
  };
  write_dicom(in_, spec);
  expect_error(Errc::corrupt, "has 1 items for 2 frames", [&] { io::open_dicom(in_, {}); });
}

TEST_F(DicomFrames, OfAConcatenationGetANewIdentifierForIt) {
  DicomSpec spec = enhanced({{.z = 0}});
  spec.more = {{DCM_ConcatenationUID, "1.2.3.77"}, {DCM_SOPInstanceUIDOfConcatenationSource, "1.2.3.78"}};
  write_image(*open(spec), out_);
  EXPECT_TRUE(dicom_text(out_, DCM_ConcatenationUID).starts_with("2.25."));
  EXPECT_TRUE(dicom_text(out_, DCM_SOPInstanceUIDOfConcatenationSource).starts_with("2.25."));
  EXPECT_NE(dicom_text(out_, DCM_SOPInstanceUIDOfConcatenationSource), dicom_text(out_, DCM_ConcatenationUID));
}

TEST_F(DicomFrames, WithoutPlaceAreImagesOfTheirOwn) {
  DicomSpec spec{.columns = 2, .rows = 2, .frames = 3, .bits_allocated = 8, .bits_stored = 8, .position = {}};
  spec.slope = spec.intercept = spec.orientation = "";
  spec.cells.resize(12);
  std::iota(spec.cells.begin(), spec.cells.end(), std::uint16_t{1});
  const auto image = open(spec);
  ASSERT_EQ(image->volume_count(), 3u);
  EXPECT_NE(image->why_2d_only(0), "");
  EXPECT_EQ(read_volume(*image, 2).voxels, (std::vector<float>{9, 10, 11, 12}));
  write_image(*image, out_, io::VoxelDomain::real, [](Volume& volume) { volume.voxels[0] += 100; });
  EXPECT_EQ(dicom_pixel_bytes(out_), (std::vector<std::uint8_t>{101, 2, 3, 4, 105, 6, 7, 8, 109, 10, 11, 12}));
}

TEST_F(DicomFrames, InEveryTransferSyntaxComeBackTheSame) {
  for (const E_TransferSyntax syntax :
       {EXS_LittleEndianExplicit, EXS_LittleEndianImplicit, EXS_BigEndianExplicit, EXS_DeflatedLittleEndianExplicit,
        EXS_RLELossless, EXS_JPEGProcess14SV1, EXS_JPEGLSLossless}) {
    SCOPED_TRACE(DcmXfer(syntax).getXferName());
    DicomSpec spec = enhanced({{.z = 0}, {.z = 1}, {.z = 2}});
    spec.syntax = syntax;
    const auto image = open(spec);
    EXPECT_EQ(read_volume(*image).voxels, (std::vector<float>{10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33}));
    for (const auto codec :
         {std::optional<io::Codec>(), std::optional(io::Codec::jpeg_ls), std::optional(io::Codec::rle)}) {
      io::WriteOptions options{.force = true};
      options.compress = codec.has_value();
      options.codec = codec.value_or(io::Codec::jpeg_ls);
      write_image(*image, out_, io::VoxelDomain::stored, {}, options);
      EXPECT_EQ(read_volume(*io::open_dicom(out_, {})).voxels, read_volume(*image).voxels);
      const E_TransferSyntax written = parse_dicom(out_)->getDataset()->getOriginalXfer();
      EXPECT_EQ(written == EXS_JPEGLSLossless, codec == io::Codec::jpeg_ls);
      EXPECT_EQ(written == EXS_RLELossless, codec == io::Codec::rle);
    }
  }
}

/// A reconstructed tomogram of nuclear medicine; its frames, cells 10, 20, ..., are slices as `vector` says.
DicomSpec tomogram(const std::vector<Uint16>& vector, const std::string& type, const std::string& spacing) {
  DicomSpec spec{.columns = 2,
                 .rows = 1,
                 .frames = static_cast<int>(vector.size()),
                 .position = {},
                 .orientation = "",
                 .slope = "",
                 .intercept = ""};
  for (std::size_t i = 1; i <= vector.size(); ++i) {
    spec.cells.insert(spec.cells.end(), 2, static_cast<std::uint16_t>(10 * i));
  }
  spec.change = [=](DcmDataset& data) {
    data.putAndInsertString(DCM_SOPClassUID, UID_NuclearMedicineImageStorage);
    data.putAndInsertString(DCM_Modality, "NM");
    data.putAndInsertString(DCM_ImageType, ("ORIGINAL\\PRIMARY\\" + type + "\\EMISSION").c_str());
    data.putAndInsertString(DCM_SpacingBetweenSlices, spacing.c_str());
    data.putAndInsertUint16Array(DCM_SliceVector, vector.data(), vector.size());
    DcmItem* detector = nullptr;
    data.findOrCreateSequenceItem(DCM_DetectorInformationSequence, detector, 0);
    detector->putAndInsertString(DCM_ImagePositionPatient, "1\\2\\3");
    detector->putAndInsertString(DCM_ImageOrientationPatient, "1\\0\\0\\0\\1\\0");
  };
  return spec;
}

TEST_F(DicomFrames, OfTomogramsLieWhereTheSliceVectorSays) {
  const auto forwards = open(tomogram({2, 1, 3}, "RECON TOMO", "4"));
  ASSERT_EQ(forwards->volume_count(), 1u);
  EXPECT_EQ(forwards->why_2d_only(0), "");
  EXPECT_EQ(forwards->geometry(0).spacing.z, 4);
  EXPECT_EQ(forwards->geometry(0).origin, (std::array<double, 3>{1, 2, 3}));
  EXPECT_EQ(read_volume(*forwards).voxels, (std::vector<float>{20, 20, 10, 10, 30, 30}));
  write_image(*forwards, out_, io::VoxelDomain::real, [](Volume& volume) { volume.voxels[0] = 99; });
  EXPECT_EQ(dicom_cells(out_), (std::vector<std::uint16_t>{10, 10, 99, 20, 30, 30}));

  const auto backwards = open(tomogram({1, 2, 3}, "RECON TOMO", "-4"));
  EXPECT_EQ(backwards->geometry(0).origin, (std::array<double, 3>{1, 2, -5}));
  EXPECT_EQ(read_volume(*backwards).voxels, (std::vector<float>{30, 30, 20, 20, 10, 10}));

  const auto gated = open(tomogram({1, 2, 1, 2}, "RECON GATED TOMO", "4"));
  ASSERT_EQ(gated->volume_count(), 2u);
  EXPECT_EQ(read_volume(*gated, 1).voxels, (std::vector<float>{30, 30, 40, 40}));

  DicomSpec unplaced = tomogram({2, 1, 3}, "RECON TOMO", "4");
  unplaced.change = [change = unplaced.change](DcmDataset& data) {
    change(data);
    data.findAndDeleteElement(DCM_DetectorInformationSequence);
  };
  const auto somewhere = open(unplaced);
  ASSERT_EQ(somewhere->volume_count(), 1u);
  EXPECT_EQ(somewhere->why_2d_only(0), "");
  EXPECT_EQ(somewhere->geometry(0).spacing.z, 4);
  EXPECT_FALSE(somewhere->geometry(0).is_placed);
  EXPECT_EQ(read_volume(*somewhere).voxels, (std::vector<float>{20, 20, 10, 10, 30, 30}));

  // Projections of a tomogram are no slices.
  EXPECT_EQ(open(tomogram({1, 2}, "TOMO", "4"))->volume_count(), 2u);
  EXPECT_NE(open(tomogram({1, 2}, "TOMO", "4"))->why_2d_only(0), "");
  write_dicom(in_, [] {
    DicomSpec spec = tomogram({1, 2}, "RECON TOMO", "4");
    spec.change = [change = spec.change](DcmDataset& data) {
      change(data);
      data.findAndDeleteElement(DCM_SliceVector);
    };
    return spec;
  }());
  expect_error(Errc::corrupt, "SliceVector (0054,0080) has 0 values for 2 frames", [&] { io::open_dicom(in_, {}); });
}

/// Parts each fragment in two; with `table`, an offset table says where frames begin.
void split_fragments(const std::filesystem::path& path, E_TransferSyntax syntax, bool table) {
  const auto file = parse_dicom(path);
  DcmPixelSequence* const sequence = &fragments_of(*file, syntax);
  std::vector<std::vector<Uint8>> parts;
  std::vector<Uint32> offsets;
  Uint32 at = 0;
  while (sequence->card() > 1) {
    DcmPixelItem* item = nullptr;
    sequence->remove(item, 1);
    Uint8* bytes = nullptr;
    item->getUint8Array(bytes);
    const Uint32 half = item->getLength() / 4 * 2;
    parts.emplace_back(bytes, bytes + half);
    parts.emplace_back(bytes + half, bytes + item->getLength());
    offsets.push_back(at);
    at += item->getLength() + 16;
    delete item;
  }
  DcmPixelItem* first = nullptr;
  sequence->getItem(first, 0);
  first->putUint8Array(reinterpret_cast<const Uint8*>(offsets.data()), table ? 4 * offsets.size() : 0);
  for (const auto& part : parts) {
    auto* const item = new DcmPixelItem(DcmTag(DCM_PixelItemTag, EVR_OB));
    item->putUint8Array(part.data(), part.size());
    sequence->insert(item);
  }
  file->saveFile(path.c_str(), syntax);
}

TEST_F(DicomFrames, InSeveralFragmentsAreFoundByTheOffsetTableOrByHowTheyBegin) {
  DicomSpec spec = enhanced({{.z = 0}, {.z = 1}, {.z = 2}});
  spec.syntax = EXS_RLELossless;
  write_dicom(in_, spec);
  for (const bool table : {true, false}) {
    split_fragments(in_, spec.syntax, table);
    EXPECT_EQ(read_volume(*io::open_dicom(in_, {})).voxels,
              (std::vector<float>{10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33}));
  }
  const auto file = parse_dicom(in_);
  DcmPixelItem* beginning = nullptr;
  fragments_of(*file, spec.syntax).remove(beginning, 1);
  delete beginning;
  file->saveFile(in_.c_str(), spec.syntax);
  expect_error(Errc::corrupt, "fragments for 3 frames, and no table", [&] { read_volume(*io::open_dicom(in_, {})); });
}

/// Stacks that lie between each other are volumes of their own, stacks one behind the other one volume.
TEST_F(DicomFrames, OfStacksThatLieBetweenEachOtherAreApart) {
  const auto in_stacks = [](const std::vector<std::string>& stacks) {
    std::vector<Frame> frames;
    for (const std::string& stack : stacks) {
      frames.push_back(
          {.z = static_cast<double>(frames.size()), .more = {{{DCM_FrameContentSequence, DCM_StackID}, stack}}});
    }
    return enhanced(frames);
  };
  const auto between = open(in_stacks({"1", "2", "1", "2", "1", "2"}));
  ASSERT_EQ(between->volume_count(), 2U);
  EXPECT_EQ(between->geometry(0).spacing.z, 2);
  EXPECT_EQ(read_volume(*between, 1).voxels, (std::vector<float>{20, 21, 22, 23, 40, 41, 42, 43, 60, 61, 62, 63}));
  EXPECT_EQ(open(in_stacks({"1", "1", "1", "2", "2", "2"}))->volume_count(), 1U);
}

/// Frames that the header does not count would be lost, or stay as they are.
TEST_F(DicomFrames, MoreThanTheHeaderSaysAreRefused) {
  for (const E_TransferSyntax syntax :
       {EXS_LittleEndianExplicit, EXS_RLELossless, EXS_JPEGProcess14SV1, EXS_JPEGLSLossless}) {
    for (const char* const said : {"2", "1", ""}) {
      DicomSpec spec = enhanced({{.z = 0}, {.z = 1}, {.z = 2}});
      spec.syntax = syntax;
      write_dicom(in_, spec);
      const auto file = parse_dicom(in_);
      DcmDataset& data = *file->getDataset();
      data.findAndDeleteElement(DCM_PerFrameFunctionalGroupsSequence);
      data.findAndDeleteElement(DCM_SharedFunctionalGroupsSequence);
      data.putAndInsertString(DCM_SOPClassUID, UID_MultiframeGrayscaleWordSecondaryCaptureImageStorage);
      data.putAndInsertString(DCM_NumberOfFrames, said);
      ASSERT_TRUE(file->saveFile(in_.c_str(), syntax).good());
      SCOPED_TRACE(std::string(DcmXfer(syntax).getXferName()) + ", " + said);
      expect_error(Errc::corrupt, "holds 3 frames, but the header counts",
                   [&] { read_volume(*io::open_dicom(in_, {})); });
    }
  }
}

/// A CSA header with one element, as Siemens scanners write it.
std::string csa_header(const std::string& name, const std::vector<std::string>& values) {
  const auto number = [](std::uint32_t value) { return std::string(reinterpret_cast<const char*>(&value), 4); };
  const auto padded = [](std::string text, std::size_t size) {
    text.resize(size);
    return text;
  };
  std::string header = "SV10" + number(0x01020304) + number(1) + number(77);
  header += padded(name, 64) + number(1) + padded("IS", 4) + number(0) + number(values.size()) + number(77);
  for (const std::string& value : values) {
    const auto length = static_cast<std::uint32_t>(value.size() + 1);
    header += number(length) + number(length) + number(77) + number(length) + padded(value, (length + 3) / 4 * 4);
  }
  return padded(header, (header.size() + 1) / 2 * 2);
}

/// A mosaic of 2 x 2 tiles of 3 x 2 pixels. The cells of each tile hold its number, the fourth is blank.
DicomSpec mosaic(const std::string& private_header, const DcmTagKey& key) {
  DicomSpec spec{.columns = 6, .rows = 4, .position = {10, 20, 30}, .spacing = "2\\2", .slope = "", .intercept = ""};
  for (const int tile : {1, 2, 1, 2, 3, 0, 3, 0}) spec.cells.insert(spec.cells.end(), 3, static_cast<Uint16>(tile));
  spec.change = [=](DcmDataset& data) {
    data.putAndInsertString(DCM_ImageType, "ORIGINAL\\PRIMARY\\M\\ND\\MOSAIC");
    data.putAndInsertString(DCM_SpacingBetweenSlices, "4");
    if (private_header.empty()) return;
    data.putAndInsertString(DcmTag(0x0029, 0x0010, EVR_LO), "SIEMENS CSA HEADER");
    data.putAndInsertUint8Array(DcmTag(key, EVR_OB), reinterpret_cast<const Uint8*>(private_header.data()),
                                private_header.size());
  };
  return spec;
}

TEST_F(DicomFrames, TilesOfAMosaicAreSlicesAndNeverMix) {
  const std::string protocol = "### ASCCONV BEGIN ###\nsSliceArray.lSize                        = 3\n";
  for (const DicomSpec& spec : {mosaic(csa_header("NumberOfImagesInMosaic", {"3       "}), {0x0029, 0x1010}),
                                mosaic(protocol, {0x0029, 0x1020})}) {
    const auto image = open(spec);
    ASSERT_EQ(image->volume_count(), 1u);
    EXPECT_EQ(image->geometry(0).extent, (Extent{{3, 2, 3}}));
    EXPECT_EQ(image->geometry(0).spacing, (Spacing{2, 2, 4}));
    // The corner of a tile, not that of the mosaic: 1.5 pixels to the right, 1 down.
    EXPECT_EQ(image->geometry(0).origin, (std::array<double, 3>{13, 22, 30}));
    EXPECT_EQ(image->why_2d_only(0), "");
    EXPECT_EQ(read_volume(*image).voxels, (std::vector<float>{1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3}));
    write_image(*image, out_, io::VoxelDomain::real,
                [](Volume& volume) {
                  for (float& voxel : volume.voxels) voxel *= 10;
                },
                {.force = true});
    std::vector<std::uint16_t> expected = spec.cells;
    for (std::uint16_t& cell : expected) cell *= 10;
    EXPECT_EQ(dicom_cells(out_), expected);
  }
}

TEST_F(DicomFrames, AMosaicThatDoesNotSayToWhichSideItsSlicesGoIsTold) {
  const auto warnings_of = [&](const std::string& element, const std::vector<std::string>& values) {
    const std::string protocol = "### ASCCONV BEGIN ###\nsSliceArray.lSize                        = 3\n";
    DicomSpec spec = mosaic(protocol, {0x0029, 0x1020});
    spec.change = [change = spec.change, header = csa_header(element, values)](DcmDataset& data) {
      change(data);
      data.putAndInsertUint8Array(DcmTag(0x0029, 0x1010, EVR_OB), reinterpret_cast<const Uint8*>(header.data()),
                                  header.size());
    };
    return open(spec)->warnings();
  };
  EXPECT_TRUE(warnings_of("SliceNormalVector", {"0.0", "0.0", "-1.0"}).empty());
  const auto warnings = warnings_of("Unknown", {"0"});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("may be mirrored along z"), std::string::npos) << warnings[0];
}

TEST_F(DicomFrames, MosaicsThatDoNotSayHowManyTilesAreRefused) {
  write_dicom(in_, mosaic("", {}));
  expect_error(Errc::unsupported, "how many slices", [&] { io::open_dicom(in_, {}); });
  const auto with = [](const std::string& count) {
    return mosaic(csa_header("NumberOfImagesInMosaic", {count}), {0x0029, 0x1010});
  };
  for (const char* count : {"0", "-3", "2.5", "99999"}) {
    write_dicom(in_, with(count));
    expect_error(Errc::corrupt, "allowed: 1 to", [&] { io::open_dicom(in_, {}); });
  }
  write_dicom(in_, with("20"));
  expect_error(Errc::corrupt, "cannot tile 6 x 4 pixels evenly", [&] { io::open_dicom(in_, {}); });
}

TEST_F(DicomFrames, MosaicsOfSeveralTimesAreVolumesOfOneSeries) {
  const auto folder = folder_ / "series";
  std::filesystem::create_directory(folder);
  for (int time = 0; time < 3; ++time) {
    DicomSpec spec = mosaic(csa_header("NumberOfImagesInMosaic", {"3"}), {0x0029, 0x1010});
    spec.instance_number = time + 1;
    write_dicom(folder / (std::to_string(time) + ".dcm"), spec);
  }
  const auto image = io::open_dicom(folder, {});
  EXPECT_EQ(image->volume_count(), 3u);
  EXPECT_EQ(write_image(*image, folder_ / "out").files.size(), 3u);
}

TEST_F(DicomFrames, DamagedPrivateHeadersDoNotDoHarm) {
  const std::string whole = csa_header("NumberOfImagesInMosaic", {"3"});
  for (std::size_t size = 0; size < whole.size(); size += 2) {
    write_dicom(in_, mosaic(whole.substr(0, size), {0x0029, 0x1010}));
    try {
      io::open_dicom(in_, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::unsupported) << size << ": " << error.what();
    }
  }
}

TEST_F(DicomFrames, AreNamedWhereSomethingIsWrongWithThem) {
  const auto image = open(enhanced({{.z = 0}, {.z = 1}, {.z = 3}, {.z = 4}, {.z = 5}}));
  EXPECT_EQ(image->why_2d_only(0),
            "slices are missing: in.dcm (frame 2) and in.dcm (frame 3) are 2 mm apart, others 1 mm");
}

}  // namespace
}  // namespace quietvox::test
