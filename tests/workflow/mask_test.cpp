// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/mask.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace quietvox::test {
namespace {

using Vector = std::array<double, 3>;

Vector place_of(const io::Geometry& grid, const Index3& voxel) {
  Vector place = grid.origin;
  for (std::size_t row = 0; row < 3; ++row) {
    for (int axis = 0; axis < 3; ++axis) {
      place[row] += static_cast<double>(voxel[axis]) * grid.spacing[axis] *
                    grid.direction[3 * row + static_cast<std::size_t>(axis)];
    }
  }
  return place;
}

template <class Body>
void for_each_voxel(const Extent& extent, const Body& body) {
  for (std::int64_t z = 0; z < extent.z; ++z) {
    for (std::int64_t y = 0; y < extent.y; ++y) {
      for (std::int64_t x = 0; x < extent.x; ++x) body(Index3{x, y, z});
    }
  }
}

class Mask : public ::testing::Test {
 protected:
  Mask() {
    grid_.extent = {{5, 4, 3}};
    grid_.spacing = {1, 1.5, 4};
    grid_.origin = {-20, 31, 7};
    const double c = std::cos(0.2), s = std::sin(0.2);
    grid_.direction = {c, -s, 0, s, c, 0, 0, 0, 1};
  }

  /// In the mask are the voxels whose place in the patient, on the grid of the image, has an odd number.
  bool is_in_mask(const Vector& place) const {
    std::int64_t number = 0, found = -1;
    for_each_voxel(grid_.extent, [&](const Index3& voxel) {
      const Vector other = place_of(grid_, voxel);
      if (std::hypot(place[0] - other[0], place[1] - other[1], place[2] - other[2]) < 1e-6) found = number;
      number += voxel.x == grid_.extent.x - 1 ? 2 : 1;
    });
    EXPECT_GE(found, 0);
    return found % 2 == 1;
  }
  std::filesystem::path write(const char* name, const io::Geometry& grid) {
    std::vector<float> voxels;
    for_each_voxel(grid.extent,
                   [&](const Index3& voxel) { voxels.push_back(is_in_mask(place_of(grid, voxel)) ? 1.0F : 0.0F); });
    const auto writer = io::create_nifti(folder_ / name, grid, 1, {.force = true});
    writer->begin_volume(0, {});
    writer->write({voxels.data(), grid.extent});
    writer->commit();
    return folder_ / name;
  }

  io::Geometry grid_;
  TemporaryFolder folder_;
};

TEST_F(Mask, AxesMayBeOthersThanThoseOfTheImage) {
  const auto image = io::open_nifti(write("image.nii", grid_));
  std::vector<float> expected;
  for_each_voxel(grid_.extent,
                 [&](const Index3& voxel) { expected.push_back(is_in_mask(place_of(grid_, voxel)) ? 1.0F : 0.0F); });
  std::array<int, 3> order{0, 1, 2};
  int grids = 0;
  do {
    for (int signs = 0; signs < 8; ++signs, ++grids) {
      io::Geometry turned;
      Index3 first;
      for (int i = 0; i < 3; ++i) {
        const int axis = order[static_cast<std::size_t>(i)];
        const bool is_reversed = (signs >> i & 1) != 0;
        turned.extent[i] = grid_.extent[axis];
        turned.spacing[i] = grid_.spacing[axis];
        for (std::size_t row = 0; row < 3; ++row) {
          turned.direction[3 * row + static_cast<std::size_t>(i)] =
              grid_.direction[3 * row + static_cast<std::size_t>(axis)] * (is_reversed ? -1 : 1);
        }
        first[axis] = is_reversed ? grid_.extent[axis] - 1 : 0;
      }
      turned.origin = place_of(grid_, first);
      std::vector<Message> warnings;
      const auto mask = open_mask(write("mask.nii", turned).string(), *image, {}, warnings);
      EXPECT_TRUE(warnings.empty());
      const auto source = mask_of_volume(*mask, *image, 0);
      ASSERT_EQ(source->extent(), grid_.extent);
      std::vector<float> found(expected.size());
      source->read({found.data(), grid_.extent});
      EXPECT_EQ(found, expected) << order[0] << order[1] << order[2] << " " << signs;
      std::vector<float> last(static_cast<std::size_t>(grid_.extent.slice()));
      Extent one = grid_.extent;
      one.z = 1;
      source->read({last.data(), one, {}, {0, 0, grid_.extent.z - 1}});
      EXPECT_TRUE(std::equal(last.begin(), last.end(), expected.end() - std::ssize(last)));
      EXPECT_EQ(identify_mask(*mask, *image), identify_mask(*image, *image));
    }
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(grids, 48);
}

TEST_F(Mask, OnAGridTurnedByAnyOtherAngleIsRefused) {
  const auto image = io::open_nifti(write("image.nii", grid_));
  io::Geometry other = grid_;
  other.direction = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const auto writer = io::create_nifti(folder_ / "mask.nii", other, 1, {});
  const std::vector<float> voxels(static_cast<std::size_t>(other.extent.voxels()), 1);
  writer->begin_volume(0, {});
  writer->write({voxels.data(), other.extent});
  writer->commit();
  std::vector<Message> warnings;
  expect_error(Errc::invalid_argument, "its axes point elsewhere",
               [&] { open_mask((folder_ / "mask.nii").string(), *image, {}, warnings); });
}

}  // namespace
}  // namespace quietvox::test
