// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "io/dicom/series_fixture.hpp"
#include "io/dicom_folder.hpp"
#include "io/image.hpp"

namespace quietvox::test {
namespace {

class DicomDuplicates : public DicomSeries {
 protected:
  static void copy(const fs::path& from, const fs::path& to) {
    fs::create_directories(to.parent_path());
    fs::copy_file(from, to);
  }
};

TEST_F(DicomDuplicates, ACopyOfAnImageIsReadAndWrittenOnce) {
  fs::create_directory(folder_ / "in");
  for (int z = 0; z < 3; ++z) add("in/" + std::to_string(z), z, z);
  copy(folder_ / "in/0.dcm", folder_ / "in/0 (copy).dcm");
  for (int z = 0; z < 3; ++z) {
    copy(folder_ / ("in/" + std::to_string(z) + ".dcm"), folder_ / ("in/again/" + std::to_string(z) + ".dcm"));
  }
  const auto image = io::open_dicom(folder_ / "in", {});
  EXPECT_EQ(image->volume_count(), 1U);
  EXPECT_EQ(marks(*image), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(image->why_2d_only(0), "");
  EXPECT_EQ(image->warnings(), std::vector<std::string>{"4 files hold images that are read from other files, such as "
                                                        "again/0.dcm, a copy of 0.dcm; each image is read and "
                                                        "written once"});
  EXPECT_EQ(write_image(*image, folder_ / "out").files.size(), 3U);
  EXPECT_EQ(TemporaryFolder::names_in(folder_ / "out"), (std::vector<std::string>{"0.dcm", "1.dcm", "2.dcm"}));
  const auto series = io::DicomFolder(folder_ / "in").series();
  ASSERT_EQ(series.size(), 1U);
  EXPECT_EQ(series[0].images, 3U);
  EXPECT_EQ(series[0].files, 3U);
}

TEST_F(DicomDuplicates, ACopyMayBeInAnotherTransferSyntax) {
  DicomSpec spec = marked(7);
  spec.instance = "1.2.3.4.99";
  spec.is_signed = true;
  spec.cells[1] = 0xfff0;
  spec.change = [](DcmDataset& data) {
    data.putAndInsertString(DcmTag(0x0009, 0x0010, EVR_LO), "VENDOR");
    data.putAndInsertString(DcmTag(0x0009, 0x1001, EVR_LO), "private");  // without its type where types are implicit
    DcmItem* item = nullptr;
    data.findOrCreateSequenceItem(DCM_ReferencedImageSequence, item, -2);
    item->putAndInsertString(DCM_ReferencedSOPInstanceUID, "1.2.3");
  };
  for (const E_TransferSyntax syntax :
       {EXS_LittleEndianExplicit, EXS_LittleEndianImplicit, EXS_DeflatedLittleEndianExplicit, EXS_RLELossless,
        EXS_JPEGProcess14SV1, EXS_JPEGLSLossless}) {
    spec.syntax = syntax;
    write_dicom(folder_ / (std::to_string(syntax) + ".dcm"), spec);
  }
  const auto image = open();
  EXPECT_EQ(image->volume_count(), 1U);
  EXPECT_EQ(image->files().size(), 1U);
}

TEST_F(DicomDuplicates, ImagesNestedInACopyMayBeCompressedToo) {
  DicomSpec spec{.columns = 16, .rows = 16, .instance = "1.2.3.4.99"};
  spec.change = [](DcmDataset& data) {
    DcmItem* item = nullptr;
    data.putAndInsertString(DcmTag(0x0009, 0x0010, EVR_LO), "VENDOR");
    data.findOrCreateSequenceItem(DcmTag(0x0009, 0x1001, EVR_SQ), item, -2);
    for (const auto& key : {DCM_Rows, DCM_Columns}) item->putAndInsertUint16(key, 2);
    item->putAndInsertUint16(DCM_SamplesPerPixel, 1);
    item->putAndInsertUint16(DCM_BitsAllocated, 8);
    item->putAndInsertUint16(DCM_BitsStored, 8);
    item->putAndInsertUint16(DCM_HighBit, 7);
    item->putAndInsertUint16(DCM_PixelRepresentation, 0);
    item->putAndInsertString(DCM_PhotometricInterpretation, "MONOCHROME2");
    const Uint8 icon[] = {1, 2, 3, 4};
    item->putAndInsertUint8Array(DCM_PixelData, icon, 4);
  };
  write_dicom(folder_ / "a.dcm", spec);
  spec.syntax = EXS_JPEGProcess14SV1;
  write_dicom(folder_ / "b.dcm", spec);
  EXPECT_EQ(open()->files().size(), 1U);
}

TEST_F(DicomDuplicates, ACopyOfAFileOfManyFramesIsReadOnce) {
  write_dicom(folder_ / "a", {.frames = 3, .position = {}, .instance = "1.2.3.4.99"});
  copy(folder_ / "a", folder_ / "b");
  EXPECT_EQ(open()->volume_count(), 3U);
}

TEST_F(DicomDuplicates, DifferentImagesUnderOneUidAreRefused) {
  const auto write = [&](const std::string& name, const std::function<void(DicomSpec&)>& change) {
    DicomSpec spec = marked(1);
    spec.instance = "1.2.3.4.99";
    spec.more = {{DCM_PatientID, "secret"}};
    change(spec);
    write_dicom(folder_ / name, spec);
  };
  struct Case {
    const char* differs;
    std::function<void(DicomSpec&)> change;
  };
  const Case cases[] = {
      {"PixelData (7fe0,0010)", [](DicomSpec& spec) { spec.cells[19] = 1; }},
      {"ImagePositionPatient (0020,0032)",
       [](DicomSpec& spec) {
         spec.position = {0, 0, 1};
       }},
      {"RescaleSlope (0028,1053)", [](DicomSpec& spec) { spec.slope = "2"; }},
      {"EchoTime (0018,0081)", [](DicomSpec& spec) { spec.more.emplace_back(DCM_EchoTime, "20"); }},
      {"AcquisitionTime (0008,0032), ImageComments (0020,4000) differ",
       [](DicomSpec& spec) {
         spec.more.emplace_back(DCM_AcquisitionTime, "101112");
         spec.more.emplace_back(DCM_ImageComments, "secret");
       }},
      {"PatientID (0010,0020)", [](DicomSpec& spec) { spec.more[0].second = ""; }},
      {"PatientBirthDate (0010,0030)",
       [](DicomSpec& spec) { spec.more.emplace_back(DCM_PatientBirthDate, "19000101"); }},
      {"ImageLaterality (0020,0062)", [](DicomSpec& spec) { spec.more.emplace_back(DCM_ImageLaterality, "R"); }},
      {"ImagerPixelSpacing (0018,1164)",
       [](DicomSpec& spec) { spec.more.emplace_back(DCM_ImagerPixelSpacing, "0.2\\0.2"); }},
      {"Units (0054,1001)", [](DicomSpec& spec) { spec.more.emplace_back(DCM_Units, "BQML"); }},
      {"PixelData (7fe0,0010)",
       [](DicomSpec& spec) {
         spec.cells[19] = 1;
         spec.more.emplace_back(DCM_ImageComments, "secret");
       }},
  };
  for (const auto& [differs, change] : cases) {
    write("a.dcm", [](DicomSpec&) {});
    write("b.dcm", change);
    for (const bool allow_gaps : {false, true}) {
      const std::string problem = problem_of_opening({.allow_gaps = allow_gaps, .series_uid = ""});
      for (const char* part : {"a.dcm and b.dcm", differs, "SOPInstanceUID (0008,0018)"}) {
        EXPECT_NE(problem.find(part), std::string::npos) << problem;
      }
      EXPECT_EQ(problem.find("secret"), std::string::npos) << problem;
    }
  }
}

/// As archives write them, which add and correct elements.
TEST_F(DicomDuplicates, ACopyMayHaveAHeaderThatSaysTheSameOfTheImage) {
  DicomSpec spec = marked(1);
  spec.instance = "1.2.3.4.99";
  write_dicom(folder_ / "a.dcm", spec);
  spec.more = {{DCM_StationAETitle, "ARCHIVE"}, {DCM_ImageComments, "secret"}};
  write_dicom(folder_ / "copy.dcm", spec);
  const auto image = open();
  EXPECT_EQ(image->files().size(), 1U);
  ASSERT_EQ(image->warnings().size(), 2U);
  EXPECT_EQ(image->warnings()[0],
            "a copy has the same pixels as the file that is read but another header, which is not kept; the headers "
            "differ in StationAETitle (0008,0055), ImageComments (0020,4000)");
  spec.instance = "1.2.3.4.100";
  spec.frames = 2;
  spec.cells.resize(40);
  write_dicom(folder_ / "frames.dcm", spec);
  spec.more.clear();
  write_dicom(folder_ / "frames copy.dcm", spec);
  const auto both = io::open_dicom(folder_.path(), {});
  EXPECT_EQ(both->files().size(), 2U);
  EXPECT_EQ(both->warnings()[0].find("2 copies have"), 0U) << both->warnings()[0];
}

TEST_F(DicomDuplicates, WhatLiesAroundThePixelsOfACopyDoesNotMatter) {
  DicomSpec spec = marked(1);
  spec.instance = "1.2.3.4.99";
  write_dicom(folder_ / "a.dcm", spec);
  spec.change = [](DcmDataset& data) {
    const Uint8 zeros[8] = {};
    data.putAndInsertUint8Array(DCM_DataSetTrailingPadding, zeros, sizeof zeros);
    DcmItem* item = nullptr;
    data.findOrCreateSequenceItem(DCM_IconImageSequence, item, -2);
  };
  spec.cells[3] |= 0x8000;  // above the stored bits
  write_dicom(folder_ / "b.dcm", spec);
  EXPECT_EQ(open()->files().size(), 1U);
}

}  // namespace
}  // namespace quietvox::test
