// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// What others hold for the volumes of real series: dcm2niix, and the scanners themselves by their dimension indices.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "io/dicom_scan.hpp"
#include "io/dicom_series.hpp"
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
