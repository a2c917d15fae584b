// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// What others hold for the volumes of real series: dcm2niix, and the scanners themselves by their dimension indices.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "io/dicom/scan.hpp"
#include "io/dicom/series.hpp"
#include "io/image.hpp"
#include "support/make_dicom.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_data.hpp"

namespace quietvox::test {
namespace {

namespace fs = std::filesystem;

using SliceVoxels = std::vector<float>;

/// But for those that are blank, as the last tiles of a mosaic are, which do not always count as slices.
std::vector<SliceVoxels> slices_of(const Volume& volume, bool upside_down) {
  std::vector<SliceVoxels> slices;
  const auto view = volume.view();
  for (std::int64_t z = 0; z < volume.extent.z; ++z) {
    SliceVoxels& slice = slices.emplace_back();
    for (std::int64_t y = 0; y < volume.extent.y; ++y) {
      const std::int64_t row = upside_down ? volume.extent.y - 1 - y : y;
      for (std::int64_t x = 0; x < volume.extent.x; ++x) slice.push_back(view.at(x, row, z));
    }
    if (std::all_of(slice.begin(), slice.end(), [](float voxel) { return voxel == 0; })) slices.pop_back();
  }
  return slices;
}

/// Up to the digits that a slope loses as a 32-bit float.
bool same(const SliceVoxels& a, const SliceVoxels& b) {
  const auto most = [](const SliceVoxels& voxels) {
    float largest = 0;
    for (const float voxel : voxels) largest = std::max(largest, std::abs(voxel));
    return largest;
  };
  const float allowed = 1e-5f * most(a);
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](float x, float y) { return std::abs(x - y) <= allowed; });
}

/// Every slice of one stands in the other, which may count slices the other way.
bool same_slices(const std::vector<SliceVoxels>& a, const std::vector<SliceVoxels>& b) {
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const SliceVoxels& slice) {
           return std::any_of(b.begin(), b.end(), [&](const SliceVoxels& other) { return same(slice, other); });
         });
}

/// The volumes that dcm2niix makes of a folder or file, file by file in the order of their names.
std::vector<std::vector<SliceVoxels>> volumes_by_dcm2niix(const fs::path& input) {
  const TemporaryFolder folder;
  const std::string command = "dcm2niix -o '" + folder.path().string() + "' -f %s -z n -b n -p n -x i " +
                              (fs::is_directory(input) ? "" : "-s y ") + "'" + input.string() + "' > /dev/null 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::vector<std::vector<SliceVoxels>> volumes;
  for (const std::string& name : folder.names()) {
    const bool is_resampled = name.find("_Eq") != std::string::npos;  // once more, with even gaps
    if (!name.ends_with(".nii") || is_resampled) continue;
    const auto image = io::open_nifti(folder / name);
    for (std::size_t i = 0; i < image->volume_count(); ++i) volumes.push_back(slices_of(read_volume(*image, i), true));
  }
  return volumes;
}

class RealSeriesByOthers : public ::testing::TestWithParam<const char*> {};

TEST_P(RealSeriesByOthers, HasTheVolumesThatDcm2niixMakes) {
  QV_NEEDS_TEST_DATA();
  if (!has_program("dcm2niix")) GTEST_SKIP() << "dcm2niix is missing";
  const fs::path input = test_data(GetParam());
  const auto image = io::open_dicom(input, {});
  const auto expected = volumes_by_dcm2niix(input);
  ASSERT_EQ(image->volume_count(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(same_slices(slices_of(read_volume(*image, i), false), expected[i])) << "volume " << i;
  }
}

// Not among them: ct_not_a_volume, whose acquisition numbers, by which its images come here, fall as its instance
// numbers rise; ct_tilt_nonuniform_ge, which dcm2niix resamples; mr_mosaic_siemens, whose tiles dcm2niix counts by a
// guess.
INSTANTIATE_TEST_SUITE_P(All, RealSeriesByOthers,
                         ::testing::Values("ct_series_philips", "mr_series_siemens", "mr_perslice_slope",
                                           "mr_two_slices", "mr_mixed_orientation", "mr_4d_dti_philips",
                                           "mr_4d_multiecho", "mr_magnitude_phase", "mr_enhanced/philips_anat.dcm",
                                           "mr_enhanced/siemens_anat.dcm", "mr_enhanced/hyperfine.dcm",
                                           "mr_enhanced/philips_fieldmap_mixed.dcm", "mr_enhanced/siemens_xa10_t1.dcm",
                                           "ct_enhanced/legacy_converted_ct.dcm", "ct_enhanced/eCT_Supplemental.dcm",
                                           "us_cine/cine-test.dcm", "overlay/12bitUnsigned.dcm"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace_if(
                               name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

/// What dcm2niix says of a folder or file, besides what a result is to say otherwise.
std::map<std::string, std::string> json_by_dcm2niix(const fs::path& input) {
  const TemporaryFolder folder;
  const std::string command = "dcm2niix -o '" + folder.path().string() + "' -f json -b o " +
                              (fs::is_directory(input) ? "" : "-s y ") + "'" + input.string() + "' > /dev/null 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::map<std::string, std::string> values;
  for (const std::string& name : folder.names()) {
    std::ifstream lines(folder / name);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t colon = line.find("\": ");
      if (colon == std::string::npos) continue;
      const std::string key = line.substr(2, colon - 2);
      const bool is_of_result =
          key == "ImageType" || key == "RawImage" || key == "SeriesDescription" || key == "SeriesNumber";
      if (!is_of_result) values[name + " " + key] = line.substr(colon + 3);
    }
  }
  return values;
}

TEST(Dcm2niix, TakesResultsForImagesOfTheSameScanner) {
  QV_NEEDS_TEST_DATA();
  if (!has_program("dcm2niix")) GTEST_SKIP() << "dcm2niix is missing";
  for (const std::string name : {"ct_series_philips", "mr_series_siemens", "mr_two_slices", "mr_4d_multiecho",
                                 "mr_perslice_slope", "mr_enhanced/siemens_anat.dcm", "mr_enhanced/philips_anat.dcm",
                                 "mr_enhanced/siemens_xa10_t1.dcm", "ct_enhanced/eCT_Supplemental.dcm"}) {
    SCOPED_TRACE(name);
    const TemporaryFolder folder;
    const fs::path output = folder / (name.ends_with(".dcm") ? "out.dcm" : "out");
    write_image(*io::open_dicom(test_data(name), {}), output);
    auto before = json_by_dcm2niix(test_data(name)), after = json_by_dcm2niix(output);
    ASSERT_FALSE(before.empty());
    // Where a header names neither protocol nor series, dcm2niix takes some other text for the protocol's name.
    const fs::path file = fs::is_directory(test_data(name))
                              ? test_data(name + "/" + TemporaryFolder::names_in(test_data(name)).front())
                              : test_data(name);
    if (dicom_text(file, DCM_ProtocolName).empty() && dicom_text(file, DCM_SeriesDescription).empty()) {
      for (auto* values : {&before, &after}) {
        std::erase_if(*values, [](const auto& value) { return value.first.ends_with(" ProtocolName"); });
      }
    }
    EXPECT_EQ(after, before);
  }
}

TEST(Dcm2niix, FindsTheSameRepetitionTime) {
  QV_NEEDS_TEST_DATA();
  if (!has_program("dcm2niix")) GTEST_SKIP() << "dcm2niix is missing";
  const fs::path input = test_data("mr_4d_dti_philips");
  const TemporaryFolder folder;
  const std::string command =
      "dcm2niix -o '" + folder.path().string() + "' -f dti -z n -b n '" + input.string() + "' > /dev/null 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream file(folder / "dti.nii", std::ios::binary);
  float seconds = 0;
  file.seekg(76 + 4 * 4).read(reinterpret_cast<char*>(&seconds), sizeof seconds);  // pixdim[4]
  EXPECT_GT(seconds, 12);
  EXPECT_FLOAT_EQ(static_cast<float>(io::open_dicom(input, {})->repetition_time().value_or(0)), seconds);
}

/// The errors that dciodvfy finds, each once.
std::set<std::string> errors_by_dciodvfy(const fs::path& file) {
  const TemporaryFolder folder;
  const std::string report = (folder / "report").string();
  std::ignore = std::system(("dciodvfy '" + file.string() + "' > '" + report + "' 2>&1").c_str());
  std::set<std::string> errors;
  std::ifstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Error")) errors.insert(line);
  }
  return errors;
}

TEST(Dciodvfy, FindsNoErrorInResultsThatTheSourceDoesNotHave) {
  QV_NEEDS_TEST_DATA();
  if (!has_program("dciodvfy")) GTEST_SKIP() << "dciodvfy is missing";
  // What is required of ORIGINAL images by these modules, PS3.3 (C.8.13.4, C.7.6.18.3) lets be present otherwise; the
  // tables of dciodvfy lack that.
  const auto is_justified = [](const std::string& error) {
    return error.find("condition unsatisfied (which may not be present otherwise) Type 1C") != std::string::npos &&
           (error.ends_with("Module=<MRPulseSequence>") || error.ends_with("Module=<BulkMotionSynchronization>"));
  };
  for (const std::string name :
       {"ct_series_philips/I10", "mr_series_siemens/IM-0001-0112-0001.dcm", "mr_enhanced/philips_anat.dcm",
        "mr_enhanced/siemens_anat.dcm", "mr_enhanced/hyperfine.dcm", "mr_enhanced/philips_fieldmap_mixed.dcm",
        "mr_enhanced/siemens_xa10_t1.dcm", "ct_enhanced/eCT_Supplemental.dcm", "ct_enhanced/legacy_converted_ct.dcm",
        "mg/mg_ge_presentation.dcm", "dx_cr_mono1/dx_image.dcm"}) {
    SCOPED_TRACE(name);
    const TemporaryFolder folder;
    write_image(*io::open_dicom(test_data(name), {}), folder / "out.dcm");
    const auto before = errors_by_dciodvfy(test_data(name));
    for (const std::string& error : errors_by_dciodvfy(folder / "out.dcm")) {
      EXPECT_TRUE(before.contains(error) || is_justified(error)) << error;
    }
  }
}

/// Frames of enhanced objects have indices for where they lie, the same in every volume, and for what they show, the
/// same in all slices of a volume.
TEST(EnhancedObjects, HaveTheVolumesThatTheirDimensionIndicesTell) {
  QV_NEEDS_TEST_DATA();
  for (const char* name : {"philips_anat", "siemens_anat", "hyperfine", "philips_fieldmap_mixed", "siemens_xa10_t1"}) {
    SCOPED_TRACE(name);
    const auto volumes =
        io::dicom::make_volumes(io::dicom::scan(test_data("mr_enhanced/" + std::string(name) + ".dcm"), {}).images);
    const auto& first = volumes[0].slices[0];
    ASSERT_FALSE(first.dimension_indices.empty());
    for (std::size_t index = 0; index < first.dimension_indices.size(); ++index) {
      std::map<std::size_t, std::set<double>> in_volumes, at_places;
      for (std::size_t volume = 0; volume < volumes.size(); ++volume) {
        for (std::size_t place = 0; place < volumes[volume].slices.size(); ++place) {
          const double value = volumes[volume].slices[place].dimension_indices.at(index);
          in_volumes[volume].insert(value);
          at_places[place].insert(value);
        }
      }
      const auto are_single = [](const auto& values) {
        return std::all_of(values.begin(), values.end(), [](const auto& each) { return each.second.size() == 1; });
      };
      EXPECT_TRUE(are_single(in_volumes) || are_single(at_places)) << index;
    }
  }
}

}  // namespace
}  // namespace quietvox::test
