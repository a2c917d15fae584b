// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "io/create.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace quietvox::io {
namespace {

using test::expect_error;

TEST(Create, RefusesGeometriesThatNoImageHas) {
  const test::TemporaryFolder folder;
  const auto refuses = [&](const auto& spoil, bool of_dicom_alone = false) {
    Geometry geometry{{{4, 4, 2}}, {1, 1, 1}};
    spoil(geometry);
    expect_error(Errc::invalid_argument, "new: ", [&] { create_dicom(folder / "new", geometry, "MR", {}); });
    if (of_dicom_alone) return;
    expect_error(Errc::invalid_argument, "new.nii: ", [&] { create_nifti(folder / "new.nii", geometry, 1, {}); });
  };
  refuses([](Geometry& geometry) { geometry.extent.z = 0; });
  refuses([](Geometry& geometry) { geometry.spacing.x = std::numeric_limits<double>::quiet_NaN(); });
  refuses([](Geometry& geometry) { geometry.spacing.y = -1; });
  refuses([](Geometry& geometry) { geometry.origin[2] = std::numeric_limits<double>::infinity(); });
  refuses([](Geometry& geometry) { geometry.direction = {}; });
  refuses([](Geometry& geometry) { geometry.direction[4] = 0.7; }, true);
  expect_error(Errc::invalid_argument, "one volume or more", [&] {
    create_nifti(folder / "new.nii", {{{4, 4, 2}}, {1, 1, 1}}, 0, {});
  });
  EXPECT_TRUE(folder.names().empty());
}

TEST(Create, RefusesSlicesBeforeTheirVolume) {
  const test::TemporaryFolder folder;
  const Geometry geometry{{{4, 4, 2}}, {1, 1, 1}};
  const std::vector<float> voxels(32);
  const VolumeView<const float> slices{voxels.data(), geometry.extent, geometry.spacing};
  expect_error(Errc::internal, "", [&] { create_nifti(folder / "new.nii", geometry, 1, {})->write(slices); });
  expect_error(Errc::internal, "", [&] { create_dicom(folder / "new", geometry, "MR", {})->write(slices); });
}

}  // namespace
}  // namespace quietvox::io
