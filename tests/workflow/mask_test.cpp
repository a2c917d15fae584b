// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/mask.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>

#include "io/create.hpp"
#include "support/expect_error.hpp"
#include "support/make_dicom.hpp"
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

  /// An image of ones.
  std::unique_ptr<io::Image> create(const char* name, const io::Geometry& grid) {
    const auto writer = io::create_nifti(folder_ / name, grid, 1, {.force = true});
    const std::vector<float> voxels(static_cast<std::size_t>(grid.extent.voxels()), 1);
    writer->begin_volume(0, {});
    writer->write({voxels.data(), grid.extent});
    writer->commit();
    return io::open_nifti(folder_ / name);
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
      EXPECT_EQ(identify_mask(*mask, *image).hash, identify_mask(*image, *image).hash);
    }
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(grids, 48);
}

TEST_F(Mask, OnAGridTurnedByAnyOtherAngleIsRefused) {
  const auto image = io::open_nifti(write("image.nii", grid_));
  io::Geometry other = grid_;
  other.direction = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  create("mask.nii", other);
  std::vector<Message> warnings;
  expect_error(Errc::invalid_argument, "its axes point elsewhere",
               [&] { open_mask((folder_ / "mask.nii").string(), *image, {}, warnings); });
}

/// Every voxel of a mask must lie within a quarter of a voxel of that of the image.
TEST_F(Mask, PlacesMayDifferByAQuarterOfAVoxel) {
  grid_.extent = {{40, 30, 20}};
  const auto image = create("image.nii", grid_);
  struct Case {
    std::function<void(io::Geometry&, double)> change;  // by a share of a voxel at the far end
    const char* problem;
  };
  const Case cases[] = {{[](io::Geometry& grid, double share) { grid.spacing.z *= 1 + share / 19; }, "spacing "},
                        {[](io::Geometry& grid, double share) { grid.spacing.x *= 1 - share / 39; }, "spacing "},
                        {[](io::Geometry& grid, double share) { grid.origin[2] += share * grid.spacing.z; }, "origin "},
                        {[](io::Geometry& grid, double share) {  // the rows turn about the first voxel
                           const double angle = 0.2 + share / (29 * grid.spacing.y);
                           grid.direction[0] = grid.direction[4] = std::cos(angle);
                           grid.direction[1] = -std::sin(angle);
                           grid.direction[3] = std::sin(angle);
                         },
                         "its axes point elsewhere"}};
  for (const auto& [change, problem] : cases) {
    io::Geometry grid = grid_;
    change(grid, 0.2);
    const auto near = create("mask.nii", grid);
    std::vector<Message> warnings;
    EXPECT_TRUE(open_mask((folder_ / "mask.nii").string(), *image, {}, warnings)) << problem;
    EXPECT_TRUE(warnings.empty()) << warnings[0].text();
    grid = grid_;
    change(grid, 0.3);
    const auto far = create("mask.nii", grid);
    expect_error(Errc::invalid_argument, problem,
                 [&] { open_mask((folder_ / "mask.nii").string(), *image, {}, warnings); });
  }
}

/// The sform and the qform of a NIfTI file may say different places.
TEST_F(Mask, OneOfTwoPlacesOfEachFileIsEnough) {
  io::Geometry other = grid_;
  other.origin[0] += 40;
  const auto write_forms = [&](const char* name, const io::Geometry* sform, const io::Geometry* qform) {
    create(name, grid_);
    std::fstream file(folder_ / name, std::ios::binary | std::ios::in | std::ios::out);
    const auto put = [&](std::streamoff at, auto value) {
      file.seekp(at).write(reinterpret_cast<const char*>(&value), sizeof value);
    };
    if (qform) put(268, static_cast<float>(-qform->origin[0]));
    if (sform) put(292, static_cast<float>(-sform->origin[0]));
    put(252, static_cast<std::int16_t>(qform ? 1 : 0));
    put(254, static_cast<std::int16_t>(sform ? 1 : 0));
  };
  enum class Is { sure, doubtful, refused };
  struct Case {
    const io::Geometry *image_s, *image_q, *mask_s, *mask_q;
    Is is;
  };
  const io::Geometry *const here = &grid_, *const there = &other, *const none = nullptr;
  const Case cases[] = {
      {here, here, none, here, Is::sure},       {here, none, none, here, Is::sure},
      {here, there, here, none, Is::sure},      {there, here, none, here, Is::doubtful},
      {there, here, here, there, Is::doubtful}, {none, here, there, here, Is::doubtful},
      {there, there, none, here, Is::refused},  {there, none, here, none, Is::refused},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(&each - cases);
    write_forms("image.nii", each.image_s, each.image_q);
    write_forms("mask.nii", each.mask_s, each.mask_q);
    const auto image = io::open_nifti(folder_ / "image.nii");
    std::vector<Message> warnings;
    const auto open = [&] { return open_mask((folder_ / "mask.nii").string(), *image, {}, warnings); };
    if (each.is == Is::refused) {
      expect_error(Errc::invalid_argument, "is not aligned with the input: origin", open);
      continue;
    }
    EXPECT_TRUE(open());
    ASSERT_EQ(warnings.size(), each.is == Is::doubtful ? 1U : 0U);
    if (each.is == Is::doubtful) {
      EXPECT_NE(warnings[0].text().find("sform and qform of a file disagree"), std::string::npos);
    }
  }
}

/// Both fit the grid of the image, and say other tissue.
TEST_F(Mask, ASformThatMirrorsTheQformIsTold) {
  create("image.nii", grid_);
  create("mask.nii", grid_);
  {
    std::fstream file(folder_ / "mask.nii", std::ios::binary | std::ios::in | std::ios::out);
    const auto put = [&](std::streamoff at, auto value) {
      file.seekp(at).write(reinterpret_cast<const char*>(&value), sizeof value);
    };
    put(312 + 8, -4.0F);  // of srow_z: along the slices, and the place of the first
    put(312 + 12, 15.0F);
    put(252, std::int16_t{1});
    put(254, std::int16_t{1});
  }
  const auto image = io::open_nifti(folder_ / "image.nii");
  std::vector<Message> warnings;
  EXPECT_TRUE(open_mask((folder_ / "mask.nii").string(), *image, {}, warnings));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].text().find("mirror or turn each other"), std::string::npos) << warnings[0].text();
}

/// Programs that convert DICOM may take the distance of the first two slices for that of all. Where a scanner rounds
/// positions, that is far off at the other end.
TEST_F(Mask, SlicesMayBeAsFarApartAsTheFirstTwoOfAScannerThatRounds) {
  constexpr int slices = 30;
  std::filesystem::create_directory(folder_ / "in");
  for (int z = 0; z < slices; ++z) {
    const double place = std::round(12.5 * z) / 10;
    write_dicom(folder_ / "in" / (std::to_string(z) + ".dcm"),
                {.position = {0, 0, place}, .spacing = "1\\1", .instance_number = z + 1});
  }
  const auto image = io::open_dicom(folder_ / "in", {});
  ASSERT_EQ(image->why_uneven(0), "");
  io::Geometry grid = image->geometry(0);
  const double mean = grid.spacing.z;
  std::vector<Message> warnings;
  const auto open = [&](double distance) {
    grid.spacing.z = distance;
    create("mask.nii", grid);
    return open_mask((folder_ / "mask.nii").string(), *image, {}, warnings);
  };
  EXPECT_TRUE(open(mean));
  EXPECT_TRUE(warnings.empty());
  EXPECT_TRUE(open(1.3));  // from 0 to 1.25, which is rounded up
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].text().find("all its slices have the distance of two slices of the input, spacing 1, 1, 1.2"),
            std::string::npos);
  expect_error(Errc::invalid_argument, "spacing 1, 1, 1.2", [&] { open(1.28); });
}

}  // namespace
}  // namespace quietvox::test
