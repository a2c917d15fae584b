// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/voxel_codec.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "io/image.hpp"
#include "io/nifti/files.hpp"
#include "io/voxel_loops.hpp"
#include "support/temporary_folder.hpp"

namespace quietvox::io {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

template <class T>
void expect_nearest(const std::vector<float>& values) {
  std::vector<T> expected(values.size()), found(values.size());
  std::int64_t beyond = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double whole = std::round(static_cast<double>(values[i]));
    const double stored = std::clamp<double>(whole, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    beyond += stored != whole ? 1 : 0;
    expected[i] = static_cast<T>(stored);
  }
  const Rounded rounded = nearest_integers(values, std::span<T>(found));
  EXPECT_EQ(rounded.beyond, beyond);
  EXPECT_TRUE(rounded.are_finite);
  EXPECT_EQ(found, expected);
}

TEST(NearestIntegers, HalvesGoAwayFromZeroAndWhatLiesBeyondTheTypeToItsEnd) {
  std::vector<float> values = {1e30F, -1e30F, 1e-40F, -0.0F, std::numeric_limits<float>::max()};
  for (int quarters = -4 * 70000; quarters <= 4 * 70000; ++quarters) {
    const float value = static_cast<float>(quarters) / 4;
    values.insert(values.end(), {value, std::nextafter(value, infinity), std::nextafter(value, -infinity)});
  }
  expect_nearest<std::int16_t>(values);
  expect_nearest<std::uint16_t>(values);
}

TEST(NearestIntegers, AnyNumberOfThem) {
  for (std::size_t count = 0; count < 70; ++count) {
    std::vector<float> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i) * 1000.5F - 35000);
    expect_nearest<std::int16_t>(values);
    expect_nearest<std::uint16_t>(values);
  }
}

TEST(NearestIntegers, SayWhereverAValueIsNotFinite) {
  for (const float bad : {infinity, -infinity, std::nanf(""), -std::nanf("")}) {
    for (std::size_t at = 0; at < 40; ++at) {
      std::vector<float> values(40, -3);
      values[at] = bad;
      std::vector<std::int16_t> integers(values.size());
      std::vector<std::uint16_t> unsigned_integers(values.size());
      EXPECT_FALSE(nearest_integers(values, std::span(integers)).are_finite) << bad << " at " << at;
      EXPECT_FALSE(nearest_integers(values, std::span(unsigned_integers)).are_finite) << bad << " at " << at;
    }
  }
}

template <class T>
void expect_floats_of_all_integers() {
  std::vector<T> integers(65537);
  for (std::size_t i = 0; i < integers.size(); ++i) integers[i] = static_cast<T>(i);
  std::vector<float> found(integers.size());
  to_floats(std::span<const T>(integers), found);
  EXPECT_TRUE(std::ranges::equal(integers, found));
}

TEST(ToFloats, OfEveryIntegerOf16Bits) {
  expect_floats_of_all_integers<std::int16_t>();
  expect_floats_of_all_integers<std::uint16_t>();
}

TEST(MagnitudesOf, AnyNumberOfFloats) {
  std::vector<float> values;
  for (int count = 1; count < 70; ++count) {
    values.push_back(static_cast<float>(count % 2 == 0 ? count : -count));
    const Magnitudes found = magnitudes(values);
    EXPECT_EQ(std::bit_cast<float>(found.least), 1.0F);
    EXPECT_EQ(std::bit_cast<float>(found.greatest), static_cast<float>(count));
    EXPECT_TRUE(found.are_finite());
    for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
      std::vector<float> with_bad = values;
      with_bad[static_cast<std::size_t>(count / 2)] = bad;
      EXPECT_FALSE(magnitudes(with_bad).are_finite()) << count;
    }
  }
}

TEST(FiniteRange, IsThatOfNumbersWhereverTheyStand) {
  constexpr float none = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(finite_range({}), std::pair(infinity, -infinity));
  EXPECT_EQ(finite_range(std::vector{none, infinity, -infinity}), std::pair(infinity, -infinity));
  for (std::size_t count = 1; count < 70; ++count) {
    for (std::size_t at = 0; at < count; ++at) {
      std::vector<float> values(count, none);
      values[at] = -3;
      EXPECT_EQ(finite_range(values), std::pair(-3.0F, -3.0F));
      values[(at + count / 2) % count] = count % 2 == 0 ? infinity : -infinity;
      values[(at + count / 3) % count] = std::numeric_limits<float>::max();
      values[at] = -0.5F;
      const bool is_greatest_there = at != (at + count / 3) % count;
      EXPECT_EQ(finite_range(values), std::pair(-0.5F, is_greatest_there ? std::numeric_limits<float>::max() : -0.5F));
    }
  }
}

/// Every number of 16 bits, of any type, comes back as it was where that is promised.
TEST(RestoresBytes, OfEveryIntegerOf16Bits) {
  int promised = 0;
  for (const ScalarType type : {ScalarType::uint8, ScalarType::int8, ScalarType::int16, ScalarType::uint16}) {
    for (const double slope : {1.0, 0.5, 1e-3, -7.3, 2e-30, 1e30}) {
      for (const double inter : {0.0, -1024.0, 0.1, 1e4, -1e6, 1e9}) {
        for (const bool swapped : {false, true}) {
          const VoxelFormat format{type, swapped, {slope, inter}};
          const std::size_t size = static_cast<std::size_t>(bytes_per_voxel(type));
          std::vector<std::byte> stored(65536 * size), again(stored.size());
          for (std::size_t i = 0; i < 65536; ++i) {
            const auto number = static_cast<std::uint16_t>(i);
            std::memcpy(stored.data() + i * size, &number, size);
          }
          std::vector<float> values(65536);
          decode(stored, format, values, Inexact::round);
          const auto clamped = encode_restoring(values, format, again);
          EXPECT_EQ(clamped.has_value(), restores_bytes(values, format));
          if (!clamped) continue;
          ++promised;
          EXPECT_EQ(*clamped, 0);
          EXPECT_EQ(again, stored) << to_string(type) << " " << slope << " " << inter;
        }
      }
    }
  }
  EXPECT_GT(promised, 150);
}

TEST(RestoresBytes, IsNotPromisedWhereFloatsHoldLess) {
  const std::vector<float> values = {1, 2, 3}, with_zero = {1, -0.0F}, with_nan = {1, std::nanf("")};
  EXPECT_TRUE(restores_bytes(values, {ScalarType::float32}));
  EXPECT_FALSE(restores_bytes(with_zero, {ScalarType::float32}));
  EXPECT_FALSE(restores_bytes(with_nan, {ScalarType::float32}));
  EXPECT_FALSE(restores_bytes(with_nan, {ScalarType::int16}));
  EXPECT_TRUE(restores_bytes(with_zero, {ScalarType::int16}));
  EXPECT_FALSE(restores_bytes(values, {ScalarType::float64}));
  EXPECT_FALSE(restores_bytes(values, {ScalarType::float32, false, {2, 0}}));
  EXPECT_FALSE(restores_bytes(values, {ScalarType::int16, false, {1e-3, 1e6}}));
  EXPECT_FALSE(restores_bytes(values, {ScalarType::int32, false, {0.5, 0}}));
  std::vector<std::byte> stored(4);
  EXPECT_EQ(encode_restoring(with_nan, {ScalarType::int16}, stored), std::nullopt);
}

/// An image of several times what is encoded at once, whose zeros and NaNs lie far apart.
TEST(NiftiVoxels, ManyPiecesOnManyThreadsAreGivenBackByteForByte) {
  const test::TemporaryFolder folder;
  test::NiftiRecipe recipe;
  recipe.dim = {3, 301, 257, 23, 1, 1, 1, 1};
  const auto value = [](std::int64_t i) {
    if (i == 700001) return -0.0F;
    return i == 1234567 ? std::bit_cast<float>(0xffc12345) : 0.25F * static_cast<float>(i % 70001) + 1;
  };
  for (const test::NiftiRecipe& some : {recipe.with<float>(16, value), recipe.with<std::int16_t>(4, [](std::int64_t i) {
                                          return static_cast<std::int16_t>(i * 7919);
                                        })}) {
    for (const std::string name : {"in.nii", "in.nii.gz"}) {
      const test::Bytes bytes = some.file();
      test::write_file(folder / name, name.ends_with(".gz") ? test::gzip(bytes, 1) : bytes);
      for (const int threads : {1, 7}) {
        ReadOptions reading;
        reading.execution.threads = threads;
        WriteOptions writing;
        writing.execution.threads = threads;
        writing.force = true;
        const auto image = open_nifti(folder / name, reading);
        test::copy_image(*image, folder / "out.nii", VoxelDomain::real, writing);
        EXPECT_EQ(test::read_file(folder / "out.nii"), bytes) << name << " " << threads;
      }
    }
  }
}

}  // namespace
}  // namespace quietvox::io
