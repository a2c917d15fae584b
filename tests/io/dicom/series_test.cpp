// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <tuple>
#include <vector>

#include "io/dicom/series_fixture.hpp"
#include "io/dicom_folder.hpp"
#include "io/image.hpp"
#include "support/expect_error.hpp"

namespace quietvox::test {
namespace {

/// This process as a user who may not read everything, until it ends.
class AsNobody {
 public:
  AsNobody() : changed_(geteuid() == 0 && seteuid(65534) == 0) {}
  ~AsNobody() {
    if (changed_ && seteuid(0) != 0) std::abort();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
  static bool reads_everything() { return geteuid() == 0; }

 private:
  bool changed_;
};

/// Only folders are named so by runs.
TEST_F(DicomSeries, AFileNamedAsAnUnfinishedOutputIsRead) {
  for (int z = 0; z < 3; ++z) add("slice" + std::to_string(z), z, z + 1);
  fs::rename(folder_ / "slice1.dcm", folder_ / ".quietvox-0123456789abcdef.part");
  const fs::path unfinished = folder_ / ".quietvox-fedcba9876543210.part";
  fs::create_directory(unfinished);
  fs::copy_file(folder_ / "slice0.dcm", unfinished / "copy.dcm");
  EXPECT_EQ(io::open_dicom(folder_.path(), {})->geometry(0).extent.z, 3);
}

TEST_F(DicomSeries, WhatMayNotBeReadKeepsNoOtherSeriesFromBeingRead) {
  add("a", 0, 1);
  fs::create_directory(folder_ / "closed");
  add("closed/b", 1, 2);
  add("c", 2, 3);
  fs::create_symlink("closed/b.dcm", folder_ / "d");
  fs::create_symlink("e", folder_ / "e");
  fs::create_symlink("nowhere", folder_ / "f");
  const TemporaryFolder other;
  fs::create_directory(other / "shut");
  fs::create_directory_symlink(other / "shut", folder_ / "g");
  fs::create_directory_symlink("closed", folder_ / "h");  // told once
  fs::permissions(other.path(), static_cast<fs::perms>(0755));
  fs::permissions(other / "shut", fs::perms::none);
  fs::permissions(folder_.path(), static_cast<fs::perms>(0755));
  fs::permissions(folder_ / "c.dcm", fs::perms::none);
  for (const fs::perms folder : {fs::perms::none, static_cast<fs::perms>(0444)}) {
    fs::permissions(folder_ / "closed", folder);
    const AsNobody nobody;
    if (AsNobody::reads_everything()) GTEST_SKIP() << "root reads everything, and cannot become another user here";
    const io::DicomFolder found(folder_.path());
    EXPECT_EQ(found.series().size(), 1U);
    std::set<std::string> closed;
    for (const Error& error : found.unassigned()) {
      EXPECT_EQ(error.code(), Errc::input_path);
      closed.insert(error.what());
    }
    EXPECT_EQ(closed, (std::set<std::string>{(folder_ / "c.dcm").string() + ": cannot be read: Permission denied",
                                             (folder_ / "closed").string() + ": cannot be read: Permission denied",
                                             (folder_ / "d").string() + ": cannot be read: Permission denied",
                                             (folder_ / "g").string() + ": cannot be read: Permission denied"}));
    expect_error(Errc::input_path, "cannot be read", [&] { open(); });
  }
  fs::permissions(folder_ / "closed", fs::perms::owner_all);
}

TEST_F(DicomSeries, OrderIsThatOfPositionsNotOfNamesOrNumbers) {
  add("c", -2, 1, {{DCM_InstanceNumber, "9"}});
  add("a", 0, 2, {{DCM_InstanceNumber, "3"}});
  add("b", 2, 3, {{DCM_InstanceNumber, "5"}});
  const auto image = open();
  EXPECT_EQ(marks(*image), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(image->geometry(0).spacing, (Spacing{0.25, 0.5, 2}));
  EXPECT_EQ(image->geometry(0).origin, (std::array<double, 3>{0, 0, -2}));
  EXPECT_EQ(image->why_2d_only(0), "");
  EXPECT_TRUE(image->warnings().empty());
}

TEST_F(DicomSeries, SlicesAreReadOneByOneAsWell) {
  for (int z = 0; z < 4; ++z) add(std::to_string(z), z, z);
  const auto source = open()->volume(0, io::VoxelDomain::real);
  std::vector<float> voxels(40);
  source->read({voxels.data(), {{5, 4, 2}}, source->spacing(), {0, 0, 2}});
  EXPECT_EQ(voxels[0], 2);
  EXPECT_EQ(voxels[20], 3);
}

TEST_F(DicomSeries, LinksThatLeadNowhereOrToThemselvesArePassedOver) {
  add("x", 0, 1);
  fs::create_symlink("a", folder_ / "a");
  fs::create_symlink("c", folder_ / "b");
  fs::create_symlink("b", folder_ / "c");
  fs::create_symlink("nowhere", folder_ / "d");
  const io::DicomFolder found(folder_.path());
  EXPECT_TRUE(found.unassigned().empty());
  EXPECT_EQ(found.series().size(), 1U);
  const auto image = open();
  EXPECT_EQ(marks(*image), std::vector<int>{1});
  EXPECT_EQ(image->warnings(), (std::vector<std::string>{
                                   "skipped a: a link that leads to itself", "skipped b: a link that leads to itself",
                                   "skipped c: a link that leads to itself", "skipped d: a link that leads nowhere"}));
}

TEST_F(DicomSeries, FilesInSubfoldersBelongToIt) {
  fs::create_directories(folder_ / "one/two");
  add("one/x", 0, 1);
  add("one/two/x", 1, 2);
  EXPECT_EQ(marks(*open()), (std::vector<int>{1, 2}));
}

TEST_F(DicomSeries, LinkedFoldersBelongToItEachOnce) {
  const TemporaryFolder other;
  fs::create_directories(folder_ / "in/sub");
  fs::create_directories(other / "deep/er");
  const auto write = [&](const fs::path& path, int z) {
    DicomSpec spec = marked(z);
    spec.position = {0, 0, 1.0 * z};
    write_dicom(path, spec);
  };
  write(folder_ / "in/a", 0);
  write(folder_ / "in/sub/b", 1);
  write(other / "c", 2);
  write(other / "deep/er/d", 3);
  add("not in it", 4, 4);
  fs::create_directory_symlink(other.path(), folder_ / "in/more");
  fs::create_directory_symlink(other / "deep", folder_ / "in/sub/late");  // it is seen below the one before
  fs::create_directory_symlink(other.path(), folder_ / "in/twice");
  fs::create_directory_symlink("sub", folder_ / "in/again");
  fs::create_directory_symlink(".", folder_ / "in/self");
  fs::create_directory_symlink(folder_ / "in", other / "deep/back");
  fs::create_directory_symlink("..", folder_ / "in/sub/up");
  const auto image = io::open_dicom(folder_ / "in", {});
  EXPECT_EQ(marks(*image), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(image->warnings().empty());
  write_image(*image, folder_ / "out");
  EXPECT_EQ(
      TemporaryFolder::names_in(folder_ / "out"),
      (std::vector<std::string>{"a", "more", "more/c", "more/deep", "more/deep/er", "more/deep/er/d", "sub", "sub/b"}));
  fs::create_directory_symlink("../../..", folder_ / "in/sub/above");
  EXPECT_EQ(io::open_dicom(folder_ / "in", {})->warnings(),
            std::vector<std::string>{"skipped sub/above: a link to a folder that the input lies in"});
}

TEST_F(DicomSeries, NothingIsWrittenToWhereLinksInItLead) {
  const TemporaryFolder other;
  fs::create_directory(folder_ / "in");
  fs::create_directory(other / "results");
  add("in/a", 0, 1);
  write_image(*open(), other / "results/old");
  fs::remove(folder_ / "in/a.dcm");
  const io::WriteOptions force{.force = true};
  fs::create_symlink(other / "results/old/in/a.dcm", folder_ / "in/b.dcm");
  expect_error(Errc::output_path, "lies inside the output",
               [&] { write_image(*open(), other / "results/old", io::VoxelDomain::real, {}, force); });
  fs::remove(folder_ / "in/b.dcm");
  fs::create_directory_symlink(other / "results", folder_ / "in/more");
  expect_error(Errc::output_path, "lies inside the input", [&] { write_image(*open(), other / "results/new"); });
  expect_error(Errc::output_path, "lies inside the input",
               [&] { write_image(*open(), other / "results/old", io::VoxelDomain::real, {}, force); });
}

TEST_F(DicomSeries, AMissingSliceForbidsWindowsAcross) {
  for (const int z : {0, 2, 4, 8}) add(std::to_string(z), z, z);
  const auto image = open();
  EXPECT_EQ(image->geometry(0).spacing.z, 2);
  EXPECT_EQ(image->why_2d_only(0), "slices are missing: 4.dcm and 8.dcm are 4 mm apart, others 2 mm");
  EXPECT_EQ(image->warnings().size(), 1u);
  EXPECT_EQ(open(gaps_allowed)->why_2d_only(0), "");
  EXPECT_EQ(open(gaps_allowed)->why_uneven(0), image->why_2d_only(0));
}

TEST_F(DicomSeries, UnevenGapsForbidWindowsAcross) {
  for (const double z : {0.0, 2.0, 4.03}) add(std::to_string(z), z, 1);
  EXPECT_NE(open()->why_2d_only(0).find("unevenly spaced"), std::string::npos);
  EXPECT_EQ(open(gaps_allowed)->why_2d_only(0), "");
}

TEST_F(DicomSeries, RoundingOfPositionsIsNoGap) {
  for (const double z : {0.0, 0.625, 1.256, 1.875}) add(std::to_string(z), z, 1);
  EXPECT_EQ(open()->why_2d_only(0), "");
}

/// Of slices 1.25 mm apart.
TEST_F(DicomSeries, PositionsRoundedToATenthOfAMillimetreAreEven) {
  for (const double z : {-10.0, -8.8, -7.5, -6.3, -5.0, -3.8}) add(std::to_string(z), z, 1);
  EXPECT_EQ(open()->why_2d_only(0), "");
  EXPECT_NEAR(open()->geometry(0).spacing.z, 1.24, 1e-9);
  add("missing", -1.3, 1);
  EXPECT_NE(open()->why_2d_only(0), "");
}

TEST_F(DicomSeries, TiltForbidsWindowsAcross) {
  for (int z = 0; z < 4; ++z) {
    DicomSpec spec = marked(z);
    spec.position = {0, 0.1 * z, 1.0 * z};
    write_dicom(folder_ / (std::to_string(z) + ".dcm"), spec);
  }
  EXPECT_NE(open()->why_2d_only(0).find("gantry tilt): 0.dcm and 2.dcm by 0.2 mm, an angle of 5.71 degrees"),
            std::string::npos);
  EXPECT_EQ(open(gaps_allowed)->why_2d_only(0), "");
}

/// Two slices cannot tell a tilt from a shift.
TEST_F(DicomSeries, ASliceThatSlidSidewaysIsNoTilt) {
  const auto why = [&](const std::vector<std::array<double, 3>>& positions) {
    for (std::size_t i = 0; i < positions.size(); ++i) {
      DicomSpec spec = marked(static_cast<int>(i));
      spec.position.assign(positions[i].begin(), positions[i].end());
      write_dicom(folder_ / (std::to_string(i) + ".dcm"), spec);
    }
    return open()->why_2d_only(0);
  };
  EXPECT_EQ(why({{0, 0, 0}, {0, 20, 1}}), "slices are shifted sideways: 0.dcm and 1.dcm by 20 mm");
  EXPECT_EQ(why({{0, 0, 0}, {0, 0, 1}, {0, 5, 2}, {0, 0, 3}}), "slices are shifted sideways: 0.dcm and 2.dcm by 5 mm");
  EXPECT_EQ(why({{0, 0, 0}, {1, 0, 1}, {0, 1, 2}, {1, 0, 3}}), "slices are shifted sideways: 0.dcm and 1.dcm by 1 mm");
  EXPECT_EQ(why({{0, 0, 0}, {0, 0, 1}, {0, 0, 2}, {0, 7, 3}}), "slices are shifted sideways: 0.dcm and 3.dcm by 7 mm");
}

/// Some programs compute the orientation of each slice anew.
TEST_F(DicomSeries, OrientationsThatDifferByHundredthsOfADegreeAreOne) {
  const std::array<std::string, 9> tilts{"9", "-9", "2", "2", "-9", "9", "-9", "9", "2"};  // in 1e-4
  for (int z = 0; z < 9; ++z) {
    DicomSpec spec = marked(z);
    spec.position = {0, 0, 2.0 * z};
    spec.orientation = "1\\0\\" + tilts[static_cast<std::size_t>(z)] + "e-4\\0\\1\\0";
    write_dicom(folder_ / (std::to_string(z) + ".dcm"), spec);
  }
  EXPECT_EQ(open()->volume_count(), 1U);
  EXPECT_EQ(open()->why_uneven(0), "");
}

/// The scanner follows the head: nothing but the orientation and the time tells the volumes apart.
TEST_F(DicomSeries, VolumesThatWereTurnedAfterThePatientStayApart) {
  for (const double shift : {0.2, 0.75}) {
    fs::remove_all(folder_.path());
    fs::create_directory(folder_.path());
    for (int volume = 0; volume < 4; ++volume) {
      for (int z = 0; z < 8; ++z) {
        DicomSpec spec = marked(8 * volume + z);
        spec.position = {0, 0, 3.0 * z + shift * volume};
        spec.orientation = "1\\0\\0\\0\\1\\" + std::to_string(5e-4 * volume);
        spec.instance_number = 8 * volume + z + 1;
        spec.more = {{DCM_AcquisitionNumber, std::to_string(volume + 1)},
                     {DCM_AcquisitionTime, "10000" + std::to_string(2 * volume)}};
        write_dicom(folder_ / (std::to_string(8 * volume + z) + ".dcm"), spec);
      }
    }
    const auto image = open();
    ASSERT_EQ(image->volume_count(), 4U) << shift;
    for (std::size_t volume = 0; volume < 4; ++volume) EXPECT_EQ(image->geometry(volume).extent.z, 8) << shift;
  }
}

TEST_F(DicomSeries, ASliceOfAnotherOrientationIsNamedBesideTheGapItLeaves) {
  for (int z = 0; z < 5; ++z) {
    DicomSpec spec = marked(z);
    spec.position = {0, 0, 1.0 * z};
    spec.instance_number = z + 1;
    if (z == 2) spec.orientation = "0\\1\\0\\0\\0\\-1";
    write_dicom(folder_ / (std::to_string(z) + ".dcm"), spec);
  }
  const std::string gap = "slices are missing: 1.dcm and 3.dcm are 2 mm apart, others 1 mm";
  EXPECT_EQ(open()->why_uneven(0), gap + "; 2.dcm has another orientation");
  EXPECT_EQ(open()->why_uneven(0), open()->why_2d_only(0));
  EXPECT_EQ(open()->warnings(), std::vector<std::string>{open()->why_uneven(0)});
  fs::remove(folder_ / "2.dcm");
  EXPECT_EQ(open()->why_uneven(0), gap);
}

TEST_F(DicomSeries, ASliceThatDiffersIsNamedBesideTheGapItLeaves) {
  const std::tuple<DcmTagKey, const char*, const char*, const char*> cases[] = {
      {DCM_PhotometricInterpretation, "MONOCHROME2", "MONOCHROME1", "photometric interpretation"},
      {DCM_ImageType, "ORIGINAL\\PRIMARY\\AXIAL", "DERIVED\\PRIMARY\\MPR", "image type or units"},
      {DCM_PatientPosition, "HFS", "FFS", "patient position"}};
  for (const auto& [key, usual, odd, what] : cases) {
    for (int z = 0; z < 6; ++z) add(std::to_string(z), z, z, {{key, z == 2 ? odd : usual}});
    const auto image = open();
    ASSERT_EQ(image->volume_count(), 2U) << what;
    EXPECT_EQ(
        image->why_2d_only(image->geometry(0).extent.z == 5 ? 0 : 1),
        std::string("slices are missing: 1.dcm and 3.dcm are 2 mm apart, others 1 mm; 2.dcm has another ") + what);
  }
}

TEST_F(DicomSeries, HowNumbersAreStoredDividesNoVolume) {
  const std::vector<std::function<void(DicomSpec&)>> other_ways = {
      [](DicomSpec& spec) { spec.bits_stored = 16; }, [](DicomSpec& spec) { spec.is_signed = true; },
      [](DicomSpec& spec) { spec.bits_allocated = spec.bits_stored = 8; }};
  for (const auto& store : other_ways) {
    for (const std::vector<int>& changed : {std::vector{1, 3, 5}, {3}, {3, 4, 5}}) {
      for (int z = 0; z < 6; ++z) {
        DicomSpec spec = marked(10 + z);
        spec.position = {0, 0, 1.0 * z};
        spec.instance_number = z + 1;
        if (std::ranges::count(changed, z)) store(spec);
        write_dicom(folder_ / (std::to_string(z) + ".dcm"), spec);
      }
      const auto image = open();
      ASSERT_EQ(image->volume_count(), 1U);
      EXPECT_EQ(marks(*image), (std::vector<int>{10, 11, 12, 13, 14, 15}));
      EXPECT_EQ(image->why_2d_only(0), "");

      const TemporaryFolder results;
      const fs::path output = results / "out";
      write_image(*image, output, io::VoxelDomain::real, [](Volume& volume) {
        for (float& voxel : volume.voxels) voxel += 100;
      });
      EXPECT_EQ(marks(*io::open_dicom(output, {})), (std::vector<int>{110, 111, 112, 113, 114, 115}));
    }
  }
}

TEST_F(DicomSeries, HowNumbersAreStoredDividesNoTimePointEither) {
  for (int i = 0; i < 12; ++i) {
    DicomSpec spec = marked(i);
    spec.position = {0, 0, 1.0 * (i % 4)};
    spec.instance_number = i + 1;
    spec.more = {{DCM_AcquisitionTime, "10000" + std::to_string(i / 4)}};
    if (i == 6) spec.bits_stored = 16;
    write_dicom(folder_ / (std::to_string(i) + ".dcm"), spec);
  }
  const auto image = open();
  ASSERT_EQ(image->volume_count(), 3U);
  EXPECT_EQ(marks(*image, 1), (std::vector<int>{4, 5, 6, 7}));
}

TEST_F(DicomSeries, DerivedPicturesThatGoOnWhereSlicesEndAreAVolumeOfTheirOwn) {
  for (int z = 0; z < 8; ++z) {
    DicomSpec spec = marked(z);
    spec.position = {0, 0, 1.0 * z};
    spec.instance_number = z + 1;
    spec.more = {{DCM_ImageType, z < 4 ? "ORIGINAL\\PRIMARY" : "DERIVED\\SECONDARY"}};
    if (z >= 4) spec.bits_allocated = spec.bits_stored = 8;
    write_dicom(folder_ / (std::to_string(z) + ".dcm"), spec);
  }
  EXPECT_EQ(open()->volume_count(), 2U);
}

/// Such as pictures of slices for display, beside the slices.
TEST_F(DicomSeries, ImagesAtThePlacesOfOthersThatStoreNumbersInAnotherWayAreAVolumeOfTheirOwn) {
  for (int i = 0; i < 12; ++i) {
    DicomSpec spec = marked(i);
    spec.position = {0, 0, 1.0 * (i % 6)};
    spec.instance_number = i + 1;
    if (i >= 6) spec.bits_allocated = spec.bits_stored = 8;
    write_dicom(folder_ / (std::to_string(i) + ".dcm"), spec);
  }
  const auto image = open();
  ASSERT_EQ(image->volume_count(), 2U);
  EXPECT_EQ(marks(*image, 1), (std::vector<int>{6, 7, 8, 9, 10, 11}));
}

TEST_F(DicomSeries, PositionsFilledOnceMoreThanOthersForbidWindowsAcross) {
  add("a", 0, 1);
  add("b", 1, 2);
  add("c", 1, 3);
  const auto image = open();
  EXPECT_EQ(image->volume_count(), 1u);
  EXPECT_EQ(
      image->why_2d_only(0),
      "slices b.dcm and c.dcm lie at the same position, and nothing tells which volume each belongs to: there are 1 "
      "to 2 images at a place");
  EXPECT_EQ(open(gaps_allowed)->why_2d_only(0), "");
}

TEST_F(DicomSeries, PositionsRepeatedKTimesAreKVolumes) {
  for (int time = 0; time < 3; ++time) {
    for (int z = 0; z < 2; ++z) {
      add(std::to_string(9 - time) + std::to_string(z), z, 10 * time + z,
          {{DCM_TemporalPositionIdentifier, std::to_string(time + 1)}});
    }
  }
  const auto image = open();
  ASSERT_EQ(image->volume_count(), 3u);
  for (int time = 0; time < 3; ++time) EXPECT_EQ(marks(*image, time), (std::vector<int>{10 * time, 10 * time + 1}));
  EXPECT_EQ(image->why_2d_only(1), "");
}

TEST_F(DicomSeries, RepeatsThatCannotBeToldApartStayTogether) {
  for (const int z : {0, 1}) {
    add("a" + std::to_string(z), z, 1);
    add("b" + std::to_string(z), z, 2);
  }
  const auto image = open();
  EXPECT_EQ(image->volume_count(), 1u);
  EXPECT_NE(image->why_2d_only(0).find("same position"), std::string::npos);
}

TEST_F(DicomSeries, EchoesDirectionsAndKindsAreVolumesOfTheirOwn) {
  const std::vector<std::pair<DcmTagKey, std::string>> differences{{DCM_EchoTime, "20"},
                                                                   {DCM_ImageType, "ORIGINAL\\PRIMARY\\P"},
                                                                   {DCM_ImageOrientationPatient, "0\\1\\0\\1\\0\\0"},
                                                                   {DCM_PixelSpacing, "1\\1"},
                                                                   {DCM_PresentationIntentType, "FOR PROCESSING"},
                                                                   {DCM_PhotometricInterpretation, "MONOCHROME1"}};
  for (const auto& difference : differences) {
    add("a", 0, 1);
    add("b", 1, 2);
    add("c", 2, 3, {difference});
    add("d", 3, 4, {difference});
    const auto image = open();
    EXPECT_EQ(image->volume_count(), 2u) << difference.second;
    EXPECT_EQ(marks(*image).size(), 2u) << difference.second;
  }
}

TEST_F(DicomSeries, TemporalPositionsAreVolumesOfTheirOwn) {
  for (int z = 0; z < 8; ++z) add(std::to_string(z), z, z, {{DCM_TemporalPositionIdentifier, z % 2 ? "2" : "1"}});
  const auto image = open();
  ASSERT_EQ(image->volume_count(), 2u);
  EXPECT_EQ(marks(*image, 0), (std::vector<int>{0, 2, 4, 6}));
  EXPECT_EQ(marks(*image, 1), (std::vector<int>{1, 3, 5, 7}));
  EXPECT_EQ(image->why_2d_only(0), "");
}

TEST_F(DicomSeries, AlternatingTriggersOrAcquisitionsForbidWindowsAcross) {
  for (const auto& key : {DCM_TriggerTime, DCM_AcquisitionNumber}) {
    for (int z = 0; z < 6; ++z) add(std::to_string(z), z, z, {{key, z % 2 ? "400" : "100"}});
    const auto image = open();
    EXPECT_EQ(image->volume_count(), 1u);
    EXPECT_NE(image->why_2d_only(0).find("1.dcm and 2.dcm"), std::string::npos) << image->why_2d_only(0);
    EXPECT_EQ(image->warnings(), std::vector<std::string>{image->why_2d_only(0)});
    EXPECT_EQ(image->why_uneven(0), "");
    EXPECT_EQ(open(gaps_allowed)->why_2d_only(0), "");
  }
}

TEST_F(DicomSeries, InterleavedSlicesEachTakenAtItsOwnTimeAreOneVolume) {
  const int order[] = {0, 3, 1, 4, 2, 5};  // the even slices first, then the odd ones
  for (const auto& key : {DCM_TriggerTime, DCM_AcquisitionNumber}) {
    for (int z = 0; z < 6; ++z) add(std::to_string(z), z, z, {{key, std::to_string(100 + 50 * order[z])}});
    EXPECT_EQ(open()->why_2d_only(0), "");
  }
}

TEST_F(DicomSeries, TriggersAndAcquisitionsMayRiseOrFallAlongTheVolume) {
  for (const auto& key : {DCM_TriggerTime, DCM_AcquisitionNumber}) {
    for (const int sign : {1, -1}) {
      for (int z = 0; z < 6; ++z) add(std::to_string(z), z, z, {{key, std::to_string(100 + sign * (z / 2))}});
      EXPECT_EQ(open()->why_2d_only(0), "");
    }
  }
}

TEST_F(DicomSeries, PhasesOfAHeartBeatMayBeTriggeredALittleEarlierOrLater) {
  for (int z = 0; z < 4; ++z) {
    for (int phase = 0; phase < 2; ++phase) {
      add(std::to_string(10 * phase + z), z, 10 * phase + z,
          {{DCM_TriggerTime, std::to_string(50 + 400 * phase + (z % 2 ? 3 : -3))}});
    }
  }
  const auto image = open();
  ASSERT_EQ(image->volume_count(), 2u);
  EXPECT_EQ(marks(*image, 1), (std::vector<int>{10, 11, 12, 13}));
  EXPECT_EQ(image->why_2d_only(1), "");
}

TEST_F(DicomSeries, EchoTimesAreComparedAsNumbers) {
  for (int z = 0; z < 8; ++z) add(std::to_string(z), z, z, {{DCM_EchoTime, "4.60000" + std::to_string(z)}});
  const auto image = open();
  EXPECT_EQ(image->volume_count(), 1u);
  EXPECT_TRUE(image->warnings().empty());
  for (int z = 0; z < 8; ++z) add(std::to_string(z), z, z, {{DCM_EchoTime, z % 2 ? "4.6" : "4.7"}});
  EXPECT_EQ(open()->volume_count(), 2u);
}

TEST_F(DicomSeries, AFolderThatFallsApartIntoSingleSlicesIsWarnedOf) {
  for (int z = 0; z < 3; ++z) add(std::to_string(z), z, z, {{DCM_EchoTime, std::to_string(10 + z)}});
  const auto image = open();
  EXPECT_EQ(image->volume_count(), 3u);
  ASSERT_EQ(image->warnings().size(), 1u);
  EXPECT_NE(image->warnings()[0].find("3 images make 3 volumes of one slice"), std::string::npos);
}

/// Two slices each of three volumes that differ in `more`; instance numbers along the volumes where there are any.
struct ThreeVolumes {
  const char* what;
  bool are_numbered;
  std::vector<std::pair<DcmTagKey, std::string>> more[3];
};

TEST_F(DicomSeries, VolumesComeInTheOrderOfTheirHeadersNotOfNames) {
  const ThreeVolumes cases[] = {
      {"numbered", true, {{{DCM_EchoTime, "30"}}, {{DCM_EchoTime, "10"}}, {{DCM_EchoTime, "20"}}}},
      {"echoes", false, {{{DCM_EchoTime, "9"}}, {{DCM_EchoTime, "10"}}, {{DCM_EchoTime, "20"}}}},
      {"diffusion", true, {{{DCM_DiffusionBValue, "0"}}, {{DCM_DiffusionBValue, "700"}}, {{DCM_DiffusionBValue, "5"}}}},
      {"kinds", false, {{{DCM_ImageType, "A\\B\\M"}}, {{DCM_ImageType, "A\\B\\P"}}, {{DCM_ImageType, "A\\B\\R"}}}},
      {"acquisitions",
       false,
       {{{DCM_PixelSpacing, "3\\3"}, {DCM_AcquisitionNumber, "2"}},
        {{DCM_PixelSpacing, "2\\2"}, {DCM_AcquisitionNumber, "3"}},
        {{DCM_PixelSpacing, "4\\4"}, {DCM_AcquisitionNumber, "11"}}}},
      {"times", false, {{}, {{DCM_TemporalPositionIdentifier, "1"}}, {{DCM_TemporalPositionIdentifier, "2"}}}},
      {"spacings", false, {{{DCM_PixelSpacing, "2\\2"}}, {{DCM_PixelSpacing, "3\\3"}}, {{DCM_PixelSpacing, "4\\4"}}}},
  };
  for (const auto& [what, are_numbered, more] : cases) {
    std::vector<int> order{0, 1, 2};
    do {
      SCOPED_TRACE(std::string(what) + ": named " + std::to_string(order[0]) + std::to_string(order[1]) +
                   std::to_string(order[2]));
      for (int volume = 0; volume < 3; ++volume) {
        for (int z = 0; z < 2; ++z) {
          DicomSpec spec = marked(10 * volume + z);
          spec.position = {0, 0, 1.0 * z};
          spec.instance_number = are_numbered ? 1 + volume + 3 * z : 1;
          spec.more = more[volume];
          const std::string name = std::to_string(order[static_cast<std::size_t>(volume)]) + std::to_string(9 - z);
          write_dicom(folder_ / (name + ".dcm"), spec);
        }
      }
      const auto image = open();
      ASSERT_EQ(image->volume_count(), 3U);
      for (int volume = 0; volume < 3; ++volume) {
        EXPECT_EQ(marks(*image, volume), (std::vector<int>{10 * volume, 10 * volume + 1}));
      }
      for (const auto& file : fs::directory_iterator(folder_.path())) fs::remove(file);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST_F(DicomSeries, ImagesWithoutPlaceComeInTheOrderOfTheirNumbersFramesInThatOfTheFile) {
  DicomSpec spec;
  spec.position = {};
  spec.frames = 2;
  for (int file = 0; file < 3; ++file) {
    spec.instance_number = file + 9;  // 9, 10, 11
    spec.cells.assign(40, 0);
    spec.cells[0] = static_cast<std::uint16_t>(10 * file);
    spec.cells[20] = static_cast<std::uint16_t>(10 * file + 1);
    spec.slope = spec.intercept = "";
    write_dicom(folder_ / (std::to_string(spec.instance_number) + ".dcm"), spec);
  }
  const auto image = open();
  ASSERT_EQ(image->volume_count(), 6U);
  for (int volume = 0; volume < 6; ++volume) {
    EXPECT_EQ(marks(*image, volume), (std::vector<int>{10 * (volume / 2) + volume % 2}));
  }
}

TEST_F(DicomSeries, ASingleImageIs2D) {
  add("a", 0, 1);
  EXPECT_EQ(open()->why_2d_only(0), "it is a single image");
  EXPECT_EQ(open(gaps_allowed)->why_2d_only(0), "it is a single image");
}

TEST_F(DicomSeries, ImagesWithoutPositionAreVolumesOfTheirOwn) {
  for (int i = 0; i < 3; ++i) {
    DicomSpec spec = marked(i);
    spec.position = {};
    write_dicom(folder_ / (std::to_string(i) + ".dcm"), spec);
  }
  const auto image = open();
  EXPECT_EQ(image->volume_count(), 3u);
  EXPECT_EQ(marks(*image, 2), (std::vector<int>{2}));
  EXPECT_EQ(image->warnings(), std::vector<std::string>{"0.dcm and 2 more have no ImagePositionPatient (0020,0032): "
                                                        "images without it are filtered one by one"});
  EXPECT_EQ(image->why_uneven(0), "");
}

TEST_F(DicomSeries, AnImageThatHasLostItsPositionIsNamed) {
  for (const int lost : {2, 5}) {
    for (int z = 0; z < 6; ++z) {
      DicomSpec spec = marked(z);
      spec.instance_number = z + 1;
      spec.position = {0, 0, 1.0 * z};
      if (z == lost) spec.position.clear();
      write_dicom(folder_ / (std::to_string(z) + ".dcm"), spec);
    }
    const auto image = open();
    ASSERT_EQ(image->volume_count(), 2U);
    EXPECT_EQ(image->geometry(1).extent.z, 1);
    const std::string named = std::to_string(lost) + ".dcm has no ImagePositionPatient (0020,0032)";
    EXPECT_EQ(image->warnings().back(), named + ": images without it are filtered one by one");
    EXPECT_EQ(image->why_uneven(1), named);
    EXPECT_EQ(image->why_uneven(0),
              lost == 5 ? "" : "slices are missing: 1.dcm and 3.dcm are 2 mm apart, others 1 mm; " + named);
  }
}

TEST_F(DicomSeries, EachSliceHasItsOwnRescale) {
  add("a", 0, 100, {{DCM_RescaleSlope, "2"}, {DCM_RescaleIntercept, "0"}});
  add("b", 1, 100, {{DCM_RescaleSlope, "3"}, {DCM_RescaleIntercept, "1"}});
  const auto image = open();
  EXPECT_EQ(marks(*image), (std::vector<int>{200, 301}));
  EXPECT_FALSE(image->can_filter_stored(0));
}

TEST_F(DicomSeries, OfSeveralSeriesOneMustBeChosen) {
  add("a", 0, 1);
  DicomSpec other = marked(2);
  other.series = "1.2.3.99";
  write_dicom(folder_ / "b.dcm", other);
  expect_error(Errc::invalid_argument,
               "holds 2 series: 1.2.3.4 (CT 7, 1 image, 5 x 4 pixels, Head; a.dcm), "
               "1.2.3.99 (CT 7, 1 image, 5 x 4 pixels, Head; b.dcm); choose one by series UID",
               [&] { open(); });
  expect_error(Errc::invalid_argument,
               "holds no series 7.7, but 1.2.3.4 (CT 7, 1 image, 5 x 4 pixels, Head; a.dcm), "
               "1.2.3.99 (CT 7, 1 image, 5 x 4 pixels, Head; b.dcm); choose one by series UID",
               [&] { open({.allow_gaps = false, .series_uid = "7.7"}); });
  EXPECT_EQ(marks(*open({.allow_gaps = false, .series_uid = "1.2.3.99"})), (std::vector<int>{2}));
}

TEST_F(DicomSeries, OfManySeriesTwentyAreNamed) {
  for (int i = 0; i < 22; ++i) {
    DicomSpec image = marked(i);
    image.series = "1.2.3." + std::to_string(i + 1);
    write_dicom(folder_ / std::to_string(i), image);
  }
  expect_error(Errc::invalid_argument, "holds 22 series: 1.2.3.1 (CT 7, 1 image, ", [&] { open(); });
  expect_error(Errc::invalid_argument, ") and 2 more; choose one by series UID", [&] { open(); });
}

TEST_F(DicomSeries, NoneIsChosenWhereNoImageSaysWhichItBelongsTo) {
  DicomSpec spec = marked(1);
  spec.change = [](DcmDataset& data) { data.findAndDeleteElement(DCM_SeriesInstanceUID); };
  write_dicom(folder_ / "a.dcm", spec);
  expect_error(Errc::corrupt, "SeriesInstanceUID (0020,000e) is missing",
               [&] { open({.allow_gaps = false, .series_uid = "1.2.3"}); });
}

TEST_F(DicomSeries, WhatHoldsNoImageIsPassedOverAndNamed) {
  add("a", 0, 1);
  DicomSpec report = marked(2);
  report.more = {{DCM_SOPClassUID, UID_BasicTextSRStorage}};
  write_dicom(folder_ / "report.dcm", report);
  std::ofstream(folder_ / "notes.txt") << "some notes, no image";
  std::ofstream(folder_ / "._a.dcm") << "what macOS keeps beside a.dcm";
  const auto image = open();
  EXPECT_EQ(marks(*image), (std::vector<int>{1}));
  EXPECT_EQ(image->warnings(), (std::vector<std::string>{"skipped ._a.dcm: not DICOM", "skipped notes.txt: not DICOM",
                                                         "skipped report.dcm: a structured report"}));
  fs::remove(folder_ / "a.dcm");
  expect_error(Errc::no_input, "holds no DICOM image", [&] { open(); });
}

TEST_F(DicomSeries, AFileThatMayHaveBeenAnImageIsRefusedUnlessTheSeriesIsNamed) {
  add("a", 0, 1);
  std::ofstream(folder_ / "notes.txt") << "some notes, no image";
  for (const char* name : {"r.dcm", "slice.DCM"}) std::ofstream(folder_ / name);  // copies that were ended early
  const std::string lost = ": not DICOM, although its name says so: an image may be lost";
  expect_error(Errc::corrupt, "r.dcm" + lost, [&] { open(); });
  EXPECT_EQ(open({.allow_gaps = false, .series_uid = "1.2.3.4"})->warnings(),
            (std::vector<std::string>{"skipped r.dcm" + lost, "skipped slice.DCM" + lost,  // named first
                                      "skipped notes.txt: not DICOM"}));
}

TEST_F(DicomSeries, AnEmptyFileNamedAsImagesAreMayHaveBeenOne) {
  for (int z = 0; z < 3; ++z) {
    const std::string name = "IM000" + std::to_string(z);
    add(name, z, z);
    fs::rename(folder_ / (name + ".dcm"), folder_ / name);
  }
  for (const char* name : {"DONE", "part2", "IM2026"}) std::ofstream(folder_ / name);
  EXPECT_EQ(marks(*open()).size(), 3U);
  std::ofstream empty(folder_ / "IM0003");
  expect_error(Errc::corrupt, "IM0003: not DICOM, although its name says so: an image may be lost", [&] { open(); });
}

TEST_F(DicomSeries, AColourImageAmongOthersIsPassedOverAndNamed) {
  for (int z = 0; z < 7; ++z) add(std::to_string(z), z, z);
  const auto make_colour = [](DcmDataset& data) {
    data.putAndInsertUint16(DCM_SamplesPerPixel, 3);
    data.putAndInsertString(DCM_PhotometricInterpretation, "RGB");
  };
  for (int i = 0; i < 6; ++i) {
    DicomSpec spec{.bits_allocated = 8, .bits_stored = 8, .position = {}, .change = make_colour};
    if (i == 0) spec.more = {{DCM_SOPClassUID, UID_SecondaryCaptureImageStorage}};
    write_dicom(folder_ / ("colour" + std::to_string(i)), spec);
  }
  const auto image = open();
  EXPECT_EQ(image->volume_count(), 1U);
  EXPECT_EQ(marks(*image), (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
  ASSERT_EQ(image->warnings().size(), 6U);
  EXPECT_EQ(image->warnings()[0], "skipped colour0: a colour image");
  EXPECT_EQ(image->warnings()[5], "skipped 1 more file");
  const auto series = io::DicomFolder(folder_.path()).series();
  ASSERT_EQ(series.size(), 1U);
  EXPECT_EQ(series[0].images, 7U);
  EXPECT_EQ(series[0].problem, "");
  fs::remove(folder_ / "6.dcm");  // as many of both: nobody knows which are meant
  expect_error(Errc::unsupported, "colour0: RGB pixels are not supported", [&] { open(); });
}

/// It may be a damaged slice that is grey.
TEST_F(DicomSeries, AnImageThatContradictsItselfIsNoColourImage) {
  for (int z = 0; z < 4; ++z) add(std::to_string(z), z, z);
  for (const auto& [photometric, samples] : std::vector<std::pair<const char*, int>>{
           {"MONOCHROME", 1}, {"monochrome2", 1}, {"UNKNOWN", 1}, {"MONOCHROME2", 2}, {"MONOCHROME2", 0}, {"RGB", 1}}) {
    SCOPED_TRACE(photometric);
    const auto change = [name = photometric, count = samples](DcmDataset& data) {
      data.putAndInsertUint16(DCM_SamplesPerPixel, static_cast<Uint16>(count));
      data.putAndInsertString(DCM_PhotometricInterpretation, name);
    };
    DicomSpec spec = marked(4);
    spec.position = {0, 0, 4};
    spec.change = change;
    write_dicom(folder_ / "4.dcm", spec);
    expect_error(Errc::unsupported, std::string(photometric), [&] { open(); });
  }
}

TEST_F(DicomSeries, ASpectrumIsNoImage) {
  add("a", 0, 1);
  for (const char* sop_class : {UID_MRSpectroscopyStorage, "1.3.46.670589.11.0.0.12.1"}) {
    DicomSpec spectrum = marked(2);
    spectrum.series = "1.2.3.99";
    spectrum.more = {{DCM_SOPClassUID, sop_class}};
    spectrum.change = [](DcmDataset& data) {
      delete data.remove(DCM_PixelData);
      delete data.remove(DCM_PhotometricInterpretation);
      const std::array<Float32, 2> numbers{1, 2};
      data.putAndInsertFloat32Array(DCM_SpectroscopyData, numbers.data(), numbers.size());
    };
    write_dicom(folder_ / "spectrum.dcm", spectrum);
    const auto image = open();
    EXPECT_EQ(marks(*image), (std::vector<int>{1}));
    EXPECT_EQ(image->warnings(), (std::vector<std::string>{"skipped spectrum.dcm: a spectrum"})) << sop_class;
  }
}

TEST_F(DicomSeries, OnlySecondaryCapturesAreCalledSo) {
  using Kind = io::SeriesKind;
  for (const auto& [sop_class, kind] :
       {std::pair{UID_SecondaryCaptureImageStorage, Kind::secondary_capture},
        {UID_MultiframeGrayscaleWordSecondaryCaptureImageStorage, Kind::secondary_capture},
        {UID_OphthalmicTomographyImageStorage, Kind::images},
        {UID_OphthalmicPhotography16BitImageStorage, Kind::images}}) {
    add("a", 0, 1, {{DCM_SOPClassUID, sop_class}});
    EXPECT_EQ(io::DicomFolder(folder_.path()).series().front().kind, kind) << sop_class;
  }
}

TEST_F(DicomSeries, AnUnknownTransferSyntaxIsNamed) {
  add("a", 0, 1);
  std::fstream file(folder_ / "a.dcm", std::ios::in | std::ios::out | std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::string known = UID_LittleEndianExplicitTransferSyntax, unknown = "1.2.840.10008.1.9.9";
  ASSERT_EQ(known.size(), unknown.size());
  bytes.replace(bytes.find(known), known.size(), unknown);
  file.seekp(0);
  file << bytes;
  file.close();
  expect_error(Errc::unsupported, "a.dcm: pixels in the transfer syntax " + unknown + " are not supported",
               [&] { open(); });
}

TEST_F(DicomSeries, ABrokenFileAmongGoodOnesStopsAll) {
  add("a", 0, 1);
  add("b", 1, 2);
  for (auto size = fs::file_size(folder_ / "b.dcm") - 1; size >= 300; --size) {
    SCOPED_TRACE(size);
    fs::resize_file(folder_ / "b.dcm", size);
    EXPECT_THROW(marks(*open()), Error);  // corrupt; unsupported where a word is cut short
  }
}

TEST_F(DicomSeries, ABrokenFileOfAnotherSeriesIsPassedOver) {
  add("a", 0, 1);
  DicomSpec other = marked(2);
  other.series = "1.2.3.99";
  write_dicom(folder_ / "b.dcm", other);
  fs::resize_file(folder_ / "b.dcm", fs::file_size(folder_ / "b.dcm") - 50);  // within the pixels' element
  const auto image = open({.allow_gaps = false, .series_uid = "1.2.3.4"});
  EXPECT_EQ(marks(*image), (std::vector<int>{1}));
  ASSERT_EQ(image->warnings().size(), 1u);
  EXPECT_NE(image->warnings()[0].find("b.dcm: broken DICOM file"), std::string::npos);
  expect_error(Errc::corrupt, "b.dcm: broken DICOM file",
               [&] { open({.allow_gaps = false, .series_uid = "1.2.3.99"}); });
}

TEST_F(DicomSeries, ABrokenFileThatMayBelongToTheSeriesStopsAll) {
  add("a", 0, 1);
  DicomSpec other = marked(2);
  other.series = "1.2.3.99";
  write_dicom(folder_ / "b.dcm", other);
  std::ifstream in(folder_ / "b.dcm", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto uid = bytes.find("1.2.3.99");
  ASSERT_NE(uid, std::string::npos);
  for (const std::size_t left : {uid, uid + 3}) {
    fs::resize_file(folder_ / "b.dcm", left);
    expect_error(Errc::corrupt, "b.dcm: broken DICOM file",
                 [&] { open({.allow_gaps = false, .series_uid = "1.2.3.4"}); });
    write_dicom(folder_ / "b.dcm", other);
  }
}

TEST_F(DicomSeries, AnUnusableImageMattersOnlyInItsOwnSeries) {
  add("a", 0, 1);
  DicomSpec other = marked(2);
  other.series = "1.2.3.99";
  other.more = {{DCM_RescaleSlope, "0"}, {DCM_RescaleIntercept, "0"}};
  write_dicom(folder_ / "b.dcm", other);
  EXPECT_EQ(marks(*open({.allow_gaps = false, .series_uid = "1.2.3.4"})), (std::vector<int>{1}));
  expect_error(Errc::corrupt, "b.dcm: RescaleSlope", [&] { open({.allow_gaps = false, .series_uid = "1.2.3.99"}); });
}

TEST_F(DicomSeries, BurnedInTextIsWarnedOf) {
  add("a", 0, 1, {{DCM_BurnedInAnnotation, "YES"}});
  const auto warnings = open()->warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("BurnedInAnnotation"), std::string::npos);
}

TEST_F(DicomSeries, MammogramsSayWhatTheyAreForAndWhatSuitsThem) {
  const auto intent_and_warnings = [&](const char* modality, const char* intent) {
    write_dicom(folder_ / "in/a.dcm", {.more = {{DCM_Modality, modality}, {DCM_PresentationIntentType, intent}}});
    const auto image = open();
    return std::pair(image->info().dicom->presentation_intent, image->warnings());
  };
  fs::create_directory(folder_ / "in");
  const auto [processing, about_processing] = intent_and_warnings("MG", "FOR PROCESSING");
  EXPECT_EQ(processing, "FOR PROCESSING");
  ASSERT_EQ(about_processing.size(), 1u);
  EXPECT_NE(about_processing[0].find("FOR PROCESSING"), std::string::npos) << about_processing[0];
  EXPECT_NE(about_processing[0].find("nlm"), std::string::npos) << about_processing[0];
  const auto [presentation, about_presentation] = intent_and_warnings("MG", "FOR PRESENTATION");
  EXPECT_EQ(presentation, "FOR PRESENTATION");
  ASSERT_EQ(about_presentation.size(), 1u);
  EXPECT_NE(about_presentation[0].find("mammogram-enhance"), std::string::npos) << about_presentation[0];
  EXPECT_EQ(intent_and_warnings("MG", ""), std::pair(std::string(), std::vector<std::string>()));
  EXPECT_EQ(intent_and_warnings("DX", "FOR PROCESSING"),
            std::pair(std::string("FOR PROCESSING"), std::vector<std::string>()));
}

/// Once for each of the two, however many images there are.
TEST_F(DicomSeries, MammogramsOfBothKindsAreToldOfOnceEach) {
  int number = 0;
  for (const char* intent : {"FOR PROCESSING", "FOR PRESENTATION", "FOR PROCESSING", "FOR PRESENTATION"}) {
    add("m" + std::to_string(number), 0, number, {{DCM_Modality, "MG"}, {DCM_PresentationIntentType, intent}});
    ++number;
  }
  const auto warnings = open()->warnings();
  const auto about = [&](const char* intent) {
    return std::ranges::count_if(warnings, [&](const std::string& warning) {
      return warning.starts_with(std::string("the mammogram is ") + intent);
    });
  };
  EXPECT_EQ(about("FOR PROCESSING"), 1);
  EXPECT_EQ(about("FOR PRESENTATION"), 1);
}

/// Its values would lie 1024 HU too high.
TEST_F(DicomSeries, ASliceThatLacksTheRescaleOfTheOthersIsRefused) {
  for (const std::string intercept : {"-1024", "0"}) {
    for (int z = 0; z < 5; ++z) {
      DicomSpec spec = marked(z);
      spec.position = {0, 0, static_cast<double>(z)};
      if (z != 3) spec.slope = "1", spec.intercept = intercept;
      write_dicom(folder_ / (std::to_string(z) + ".dcm"), spec);
    }
    if (intercept == "0") {
      EXPECT_EQ(open()->volume_count(), 1U);  // the same without
    } else {
      expect_error(Errc::irregular,
                   "3.dcm has no RescaleIntercept (0028,1052), and 0.dcm, of the same volume, has -1024",
                   [&] { open(gaps_allowed); });
    }
  }
}

}  // namespace
}  // namespace quietvox::test
