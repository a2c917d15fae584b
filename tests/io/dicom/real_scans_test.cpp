// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "io/image.hpp"
#include "support/make_dicom.hpp"
#include "support/test_data.hpp"

namespace quietvox::test {
namespace {

namespace fs = std::filesystem;

struct RealSeries {
  const char* folder;
  std::vector<std::int64_t> slices;  ///< per volume
  const char* why_2d_only;           ///< of the first volume, part of it
};

class DicomSeriesOfScanner : public ::testing::TestWithParam<RealSeries> {};

TEST_P(DicomSeriesOfScanner, IsGrouped) {
  QV_NEEDS_TEST_DATA();
  const RealSeries& series = GetParam();
  const fs::path input = test_data(series.folder);
  const auto image = io::open_dicom(input, {});
  std::vector<std::int64_t> slices;
  for (std::size_t i = 0; i < image->volume_count(); ++i) slices.push_back(image->geometry(i).extent.z);
  EXPECT_EQ(slices, series.slices);
  const std::string why = image->why_2d_only(0);
  EXPECT_TRUE(*series.why_2d_only ? why.find(series.why_2d_only) != std::string::npos : why.empty()) << why;
}

INSTANTIATE_TEST_SUITE_P(
    All, DicomSeriesOfScanner,
    ::testing::Values(RealSeries{"ct_series_philips", {14}, ""}, RealSeries{"mr_series_siemens", {4}, ""},
                      RealSeries{"mr_perslice_slope", {4}, ""}, RealSeries{"mr_two_slices", {2}, ""},
                      RealSeries{"mr_mixed_orientation", {2, 2}, ""}, RealSeries{"mr_4d_dti_philips", {2, 2, 2, 2}, ""},
                      RealSeries{"mr_4d_multiecho", {3, 2, 2}, "slices are missing"},
                      RealSeries{"mr_magnitude_phase", {1, 1}, "single image"},
                      RealSeries{"ct_not_a_volume", {1, 1, 1}, "single image"},
                      RealSeries{"ct_missing_slice", {4}, "slices are missing"},
                      RealSeries{"ct_tilt_nonuniform_ge", {4, 4}, "gantry tilt"}),
    [](const auto& test) { return std::string(test.param.folder); });

TEST(DicomKind, IsWhatImageTypeAndModalitySay) {
  QV_NEEDS_TEST_DATA();
  const auto said = [](const char* name, std::size_t volume = 0) {
    const HeaderFacts facts = io::open_dicom(test_data(name), {})->volume(volume, io::VoxelDomain::stored)->header();
    return std::pair(facts.kind, facts.kind_source);
  };
  EXPECT_EQ(said("mr_magnitude_phase/006.dcm"),
            std::pair(std::optional(DataKind::phase), std::string("Image Type says SW_P_FFE")));
  EXPECT_EQ(said("mr_magnitude_phase/002.dcm").first, DataKind::magnitude);
  EXPECT_EQ(said("ct_series_philips"), std::pair(std::optional(DataKind::scalar), std::string("the modality is CT")));
  EXPECT_EQ(said("mr_series_siemens").first, DataKind::magnitude);
  std::multiset<std::optional<DataKind>> mixed;
  const auto image = io::open_dicom(test_data("mr_enhanced/philips_fieldmap_mixed.dcm"), {});
  for (std::size_t i = 0; i < image->volume_count(); ++i) {
    mixed.insert(image->volume(i, io::VoxelDomain::stored)->header().kind);
  }
  EXPECT_EQ(mixed.count(DataKind::magnitude), 1U);
  EXPECT_GE(mixed.size(), 2U);
}

TEST(DicomTransferSyntaxes, CopiesInLosslessOnesAreOneImage) {
  QV_NEEDS_TEST_DATA();
  const auto image = io::open_dicom(test_data("transfer_syntax_ct"), {});
  ASSERT_EQ(image->volume_count(), 3U);  // beside it, three images that others have derived from it with loss
  EXPECT_EQ(image->geometry(0).extent.z, 1);
  EXPECT_EQ(image->files().size(), 4U);
  EXPECT_TRUE(image->warnings().front().starts_with("7 files hold images that are read from other files"));
}

std::vector<float> voxels_in(const std::string& syntax) {
  return read_volume(*io::open_dicom(test_data("transfer_syntax_ct/ct_1.2" + syntax + ".dcm"), {})).voxels;
}

TEST(DicomTransferSyntaxes, LosslessOnesHoldTheSamePixels) {
  QV_NEEDS_TEST_DATA();
  const auto expected = voxels_in("");
  for (const char* syntax : {".2", ".1.99", ".5", ".4.57", ".4.70", ".4.80", ".4.90"}) {
    EXPECT_EQ(voxels_in(syntax), expected) << syntax;
  }
}

TEST(DicomTransferSyntaxes, LossyOnesHoldAlmostTheSamePixels) {
  QV_NEEDS_TEST_DATA();
  const auto expected = voxels_in("");
  for (const char* syntax : {".4.51", ".4.81", ".4.91"}) {
    const auto lossy = voxels_in(syntax);
    double difference = 0, count = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (expected[i] < -1024) continue;  // outside the field of view; one of the files holds nothing below
      difference += std::abs(lossy[i] - expected[i]);
      ++count;
    }
    EXPECT_LT(difference / count, 10) << syntax;
  }
}

}  // namespace
}  // namespace quietvox::test
