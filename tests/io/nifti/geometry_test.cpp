// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "io/create.hpp"
#include "io/nifti/files.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace quietvox::io {
namespace {

using test::Bytes;
using test::NiftiRecipe;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The bytes of a file with 5 x 4 x 3 voxels, pixdim 2 x 3 x 4, whose orientation fields a test sets one by one.
class NiftiGeometryTest : public testing::Test {
 protected:
  NiftiGeometryTest() {
    recipe_ = recipe_.with<std::int16_t>(4, [](std::int64_t i) { return static_cast<std::int16_t>(i); });
    bytes_ = recipe_.file();
  }

  void set_short(std::size_t offset, int value) {
    recipe_.put<std::int16_t>(bytes_, offset, static_cast<std::int16_t>(value));
  }
  void set_float(std::size_t offset, double value) { recipe_.put<float>(bytes_, offset, static_cast<float>(value)); }
  void set_sform(const std::vector<double>& rows) {
    set_short(254, 1);
    for (std::size_t i = 0; i < 12; ++i) set_float(280 + 4 * i, rows[i]);
  }
  void set_qform(std::array<double, 3> quaternion, std::array<double, 3> offset, double qfac) {
    set_short(252, 1);
    set_float(76, qfac);
    for (std::size_t i = 0; i < 3; ++i) {
      set_float(256 + 4 * i, quaternion[i]);
      set_float(268 + 4 * i, offset[i]);
    }
  }
  std::unique_ptr<Image> open() {
    test::write_file(folder_ / "in.nii", bytes_);
    return open_nifti(folder_ / "in.nii");
  }
  void expect(const Geometry& wanted, std::size_t warnings = 0) {
    const auto image = open();
    const Geometry& found = image->geometry(0);
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(found.spacing[i], wanted.spacing[i], 1e-6) << i;
      EXPECT_NEAR(found.origin[i], wanted.origin[i], 1e-5) << i;
    }
    for (int i = 0; i < 9; ++i) EXPECT_NEAR(found.direction[i], wanted.direction[i], 1e-6) << i;
    EXPECT_EQ(image->warnings().size(), warnings);
    EXPECT_EQ(image->volume(0, VoxelDomain::real)->spacing(), found.spacing);
  }

  test::TemporaryFolder folder_;
  NiftiRecipe recipe_;
  Bytes bytes_;
};

constexpr Extent extent{{5, 4, 3}};
constexpr std::array<double, 9> ras = {-1, 0, 0, 0, -1, 0, 0, 0, 1};  // right, anterior, superior in LPS

TEST_F(NiftiGeometryTest, WithoutOrientation) { expect({extent, {2, 3, 4}, {0, 0, 0}, ras}); }

TEST_F(NiftiGeometryTest, SformGivesAxesAndVoxelSize) {
  // x to the left in steps of 0.5, y to superior in steps of 2, z to anterior in steps of 3.
  set_sform({-0.5, 0, 0, 10, 0, 0, 3, 20, 0, 2, 0, -30});
  expect({extent, {0.5, 2, 3}, {-10, -20, -30}, {1, 0, 0, 0, 0, -1, 0, 1, 0}});
}

TEST_F(NiftiGeometryTest, ItLiesSomewhereWhereACodeSaysSo) {
  EXPECT_FALSE(open()->geometry(0).is_placed);
  set_qform({nan, 0, 0}, {0, 0, 0}, 1);
  EXPECT_FALSE(open()->geometry(0).is_placed);
  set_qform({0, 0, 0}, {0, 0, 0}, 1);
  EXPECT_TRUE(open()->geometry(0).is_placed);
  set_short(252, 0);
  set_sform({1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0});
  EXPECT_TRUE(open()->geometry(0).is_placed);
}

TEST_F(NiftiGeometryTest, ShearedSformKeepsTheDirectionOfItsColumns) {
  set_sform({1, 0, 0, 0, 0, 1, 0.75, 0, 0, 0, 1, 0});
  expect({extent, {1, 1, 1.25}, {0, 0, 0}, {-1, 0, 0, 0, -1, -0.6, 0, 0, 0.8}});
}

TEST_F(NiftiGeometryTest, QformIsAQuaternion) {
  // A quarter turn about z: x to anterior, y to left; the third axis mirrored.
  set_qform({0, 0, std::sqrt(0.5)}, {1, 2, 3}, -1);
  expect({extent, {2, 3, 4}, {-1, -2, 3}, {0, 1, 0, -1, 0, 0, 0, 0, -1}});
}

TEST_F(NiftiGeometryTest, SformGoesBeforeQform) {
  set_qform({1, 0, 0}, {1, 2, 3}, 1);
  set_sform({1, 0, 0, 7, 0, 1, 0, 8, 0, 0, 1, 9});
  expect({extent, {1, 1, 1}, {-7, -8, 9}, ras});
}

TEST_F(NiftiGeometryTest, UnusableSformFallsBack) {
  for (const auto& rows :
       {std::vector<double>(12, 0.0), {1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1, 0}, {nan, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}}) {
    set_sform(rows);
    expect({extent, {2, 3, 4}, {0, 0, 0}, ras}, 1);
  }
}

TEST_F(NiftiGeometryTest, UnusableVoxelSizesAreOneWithAWarning) {
  set_float(80, 0);
  set_float(84, nan);
  set_float(88, std::numeric_limits<float>::infinity());
  expect({extent, {1, 1, 1}, {0, 0, 0}, ras}, 3);
}

TEST_F(NiftiGeometryTest, NegativeVoxelSizeIsTakenAsItsMagnitude) {
  set_float(80, -2);
  expect({extent, {2, 3, 4}, {0, 0, 0}, ras});
}

TEST_F(NiftiGeometryTest, UnitsAreTurnedIntoMillimetres) {
  set_sform({1, 0, 0, 5, 0, 1, 0, 0, 0, 0, 1, 0});
  bytes_[123] = 1;  // metres
  expect({extent, {1000, 1000, 1000}, {-5000, 0, 0}, ras});
  bytes_[123] = 3 + 8;  // micrometres, seconds
  expect({extent, {0.001, 0.001, 0.001}, {-0.005, 0, 0}, ras});
  bytes_[123] = 0;  // not said
  expect({extent, {1, 1, 1}, {-5, 0, 0}, ras});
  bytes_[123] = 5;  // no such unit
  expect({extent, {1, 1, 1}, {-5, 0, 0}, ras}, 1);
}

TEST_F(NiftiGeometryTest, OddHeadersAreReadWithAWarning) {
  set_short(72, 8);  // bitpix
  EXPECT_EQ(open()->warnings().size(), 1u);
}

/// A rotation by `angle` about an axis, mirrored or not.
std::array<double, 9> rotation(std::array<double, 3> axis, double angle, bool mirrored) {
  const double length = std::hypot(axis[0], axis[1], axis[2]);
  const double c = std::cos(angle), s = std::sin(angle), t = 1 - c;
  const auto [x, y, z] = std::array{axis[0] / length, axis[1] / length, axis[2] / length};
  std::array<double, 9> m = {t * x * x + c,     t * x * y - s * z, t * x * z + s * y, t * x * y + s * z, t * y * y + c,
                             t * y * z - s * x, t * x * z - s * y, t * y * z + s * x, t * z * z + c};
  for (int row = 0; mirrored && row < 3; ++row) m[3 * row + 2] *= -1;
  return m;
}

TEST(CreateNifti, GeometryIsReadBackFromSformAndFromQform) {
  test::TemporaryFolder folder;
  int cases = 0;
  for (const std::array<double, 3>& axis :
       {std::array<double, 3>{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, -1, 1}, {3, 2, -1}, {-1, 5, 2}}) {
    for (const double angle : {0.0, 0.3, 1.5, 3.0, M_PI, 4.0, 6.0}) {
      for (const bool mirrored : {false, true}) {
        SCOPED_TRACE(std::to_string(cases));
        const Geometry geometry{{{4, 3, 2}}, {0.5, 0.75, 2}, {-12, 34.5, 6}, rotation(axis, angle, mirrored)};
        const auto path = folder / ("out" + std::to_string(cases++) + ".nii");
        const auto writer = create_nifti(path, geometry, 1, {});
        std::vector<float> voxels(24, 1.5f);
        writer->begin_volume(0, {});
        writer->write({voxels.data(), geometry.extent});
        writer->commit();
        Bytes bytes = test::read_file(path);
        for (const bool without_sform : {false, true}) {
          if (without_sform) {
            bytes[254] = 0;
            test::write_file(path, bytes);
          }
          const auto image = open_nifti(path);
          EXPECT_TRUE(image->warnings().empty());
          for (int i = 0; i < 3; ++i) {
            EXPECT_NEAR(image->geometry(0).origin[i], geometry.origin[i], 1e-5);
            EXPECT_NEAR(image->geometry(0).spacing[i], geometry.spacing[i], 1e-6);
          }
          for (int i = 0; i < 9; ++i) EXPECT_NEAR(image->geometry(0).direction[i], geometry.direction[i], 1e-5) << i;
        }
      }
    }
  }
}

/// The codes of qform and sform in the header of a file of this geometry.
std::pair<int, int> codes_of(const Geometry& geometry) {
  test::TemporaryFolder folder;
  const auto writer = create_nifti(folder / "a.nii", geometry, 1, {});
  std::vector<float> voxels(24, 1.5f);
  writer->begin_volume(0, {});
  writer->write({voxels.data(), geometry.extent});
  writer->commit();
  const Bytes bytes = test::read_file(folder / "a.nii");
  return {static_cast<int>(bytes[252]), static_cast<int>(bytes[254])};
}

/// A quaternion would place voxels elsewhere than the matrix does.
TEST(CreateNifti, AxesThatAreNotPerpendicularHaveNoQuaternion) {
  for (const double shear : {0.0, 0.004, 0.3}) {
    const double length = std::hypot(1, shear);
    const auto [qform, sform] =
        codes_of({{{4, 3, 2}}, {1, 1, 1}, {1, 2, 3}, {1, 0, 0, 0, 1, shear / length, 0, 0, 1 / length}});
    EXPECT_EQ(qform, shear == 0 ? 1 : 0) << shear;
    EXPECT_EQ(sform, 1) << shear;
  }
}

TEST(CreateNifti, AxesThatAreNotOneLongHaveNoQuaternion) {
  EXPECT_EQ(codes_of({{{4, 3, 2}}, {1, 1, 1}, {1, 2, 3}, {0.999, -0.017, 0, 0.017, 0.999, 0, 0, 0, 1}}).first, 0);
}

TEST(CreateNifti, HoldsVolumesInAnyContainer) {
  test::TemporaryFolder folder;
  const Geometry geometry{{{4, 3, 2}}, {1, 1, 1}, {}, {1, 0, 0, 0, 1, 0, 0, 0, 1}};
  for (const std::string name : {"a.nii", "a.nii.gz", "a.hdr", "a.img.gz"}) {
    SCOPED_TRACE(name);
    WriteOptions options;
    options.force = true;
    const auto writer = create_nifti(folder / name, geometry, 3, options);
    for (std::size_t volume = 0; volume < 3; ++volume) {
      std::vector<float> voxels(24, 0.25f + static_cast<float>(volume));
      writer->begin_volume(volume, {});
      writer->write({voxels.data(), geometry.extent});
    }
    const WriteReport report = writer->commit();
    const auto image = open_nifti(report.files.front());
    ASSERT_EQ(image->volume_count(), 3u);
    EXPECT_EQ(test::voxels_of(*image, 2, VoxelDomain::real), std::vector<float>(24, 2.25f));
  }
}

TEST(CreateNifti, StoresIntegersWhereAskedTo) {
  test::TemporaryFolder folder;
  const Geometry geometry{{{4, 1, 1}}, {1, 1, 1}, {}, {1, 0, 0, 0, 1, 0, 0, 0, 1}};
  WriteOptions options;
  options.output_type = ScalarType::int16;
  const auto writer = create_nifti(folder / "a.nii", geometry, 1, options);
  const std::array voxels = {-40000.0f, -0.5f, 2.5f, 40000.0f};
  writer->begin_volume(0, {});
  writer->write({voxels.data(), geometry.extent});
  EXPECT_EQ(writer->commit().clamped, 2);
  EXPECT_EQ(test::voxels_of(*open_nifti(folder / "a.nii"), 0, VoxelDomain::stored),
            (std::vector<float>{-32768, -1, 3, 32767}));
}

TEST(CreateNifti, LongAxesAreRefused) {
  test::TemporaryFolder folder;
  const Geometry geometry{{{40000, 1, 1}}, {1, 1, 1}, {}, {1, 0, 0, 0, 1, 0, 0, 0, 1}};
  test::expect_error(Errc::unsupported, "32767", [&] { create_nifti(folder / "a.nii", geometry, 1, {}); });
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace quietvox::io
