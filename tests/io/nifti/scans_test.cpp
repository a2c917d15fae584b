// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Real scans, and other programs' opinion of what we write.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "io/create.hpp"
#include "io/nifti/files.hpp"
#include "support/expect_error.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_data.hpp"

namespace quietvox::io {
namespace {

namespace fs = std::filesystem;

bool succeeds(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

std::vector<fs::path> scans() {
  std::vector<fs::path> found;
  for (const std::string folder : {"nifti", "volumes"}) {
    for (const auto& entry : fs::directory_iterator(test::test_data(folder))) {
      if (entry.path().extension() != ".img") found.push_back(entry.path());
    }
  }
  return found;
}

/// `.nii.gz`, `.nii`, `.hdr`
std::string ending(const fs::path& path) {
  return path.extension() == ".gz" ? path.stem().extension().string() + ".gz" : path.extension().string();
}

TEST(NiftiScans, AreGivenBackByteForByte) {
  QV_NEEDS_TEST_DATA();
  const std::map<std::string, std::string> refused = {{"complex.nii.gz", "complex"},
                                                      {"gen_int64.nii.gz", "32-bit float"}};
  test::TemporaryFolder folder;
  for (const fs::path& path : scans()) {
    const std::string name = path.filename().string();
    SCOPED_TRACE(name);
    const fs::path output = folder / ("out" + ending(path));
    WriteOptions force;
    force.force = true;
    const auto copy = [&](VoxelDomain domain) { test::copy_image(*open_nifti(path), output, domain, force); };
    if (refused.contains(name)) {
      test::expect_error(Errc::unsupported, refused.at(name), [&] { copy(VoxelDomain::real); });
      continue;
    }
    for (const VoxelDomain domain : {VoxelDomain::real, VoxelDomain::stored}) {
      if (domain == VoxelDomain::stored && !open_nifti(path)->can_filter_stored(0)) continue;
      ASSERT_NO_THROW(copy(domain));
      EXPECT_EQ(test::unpacked(output), test::unpacked(path));
      if (path.extension() == ".hdr") {
        EXPECT_EQ(test::read_file(fs::path(output).replace_extension(".img")),
                  test::read_file(fs::path(path).replace_extension(".img")));
      }
    }
    if (test::has_program("nifti_tool") && name != "example_nifti2.nii.gz") {
      EXPECT_TRUE(succeeds("nifti_tool -diff_hdr -infiles '" + path.string() + "' '" + output.string() + "'"));
    }
    if (output.extension() == ".gz") {
      EXPECT_TRUE(succeeds("gzip -t '" + output.string() + "'"));
    }
  }
}

TEST(NiftiScans, HeaderSaysWhereAndHowLarge) {
  QV_NEEDS_TEST_DATA();
  const auto sheared = open_nifti(test::test_data("nifti/shear.nii.gz"));
  EXPECT_EQ(sheared->geometry(0).extent, (Extent{{306, 422, 54}}));
  EXPECT_NEAR(sheared->geometry(0).spacing.y, std::hypot(0.457492, 0.153075), 1e-6);
  EXPECT_NEAR(sheared->geometry(0).origin[0], 94.379356, 1e-5);
  const auto big_endian = open_nifti(test::test_data("nifti/minimal.nii.gz"));
  EXPECT_EQ(big_endian->geometry(0).spacing, (Spacing{3, 3, 3}));
  EXPECT_EQ(open_nifti(test::test_data("nifti/pcasl.nii.gz"))->volume_count(), 10u);
  EXPECT_EQ(open_nifti(test::test_data("nifti/example_nifti2.nii.gz"))->volume_count(), 2u);
}

TEST(NiftiScans, NiftiToolAcceptsNewFiles) {
  if (!test::has_program("nifti_tool")) GTEST_SKIP() << "nifti_tool (package nifti-bin) is not installed";
  test::TemporaryFolder folder;
  const Geometry geometry{{{4, 3, 2}}, {1, 2, 3}, {5, 6, 7}, {1, 0, 0, 0, 1, 0, 0, 0, 1}};
  const auto writer = create_nifti(folder / "new.nii.gz", geometry, 1, {});
  const std::vector<float> voxels(24, 1);
  writer->begin_volume(0, {});
  writer->write({voxels.data(), geometry.extent});
  writer->commit();
  EXPECT_TRUE(succeeds("nifti_tool -check_hdr -infiles '" + (folder / "new.nii.gz").string() + "' | grep 'IS GOOD'"));
}

}  // namespace
}  // namespace quietvox::io
