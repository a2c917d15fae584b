// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "io/create.hpp"
#include "io/image.hpp"
#include "io/nifti/files.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace quietvox::io {
namespace {

namespace fs = std::filesystem;
using test::Bytes;
using test::copy_image;
using test::expect_error;
using test::NiftiRecipe;
using test::rewrite;
using test::unpacked;
using test::voxels_of;
using test::write_file;
using Names = std::vector<std::string>;

struct TypeCase {
  std::string name;
  NiftiRecipe recipe;
  std::vector<float> values;
};

template <class T>
TypeCase type_case(const std::string& name, int code) {
  const auto value = [](std::int64_t i) {
    if constexpr (std::floating_point<T>) return static_cast<T>(0.1 * static_cast<double>(i) - 2.5);
    const std::int64_t base = std::is_signed_v<T> ? i - 20 : i;
    return static_cast<T>(sizeof(T) == 1 ? base : base * 111);
  };
  TypeCase result{name, NiftiRecipe{}.with<T>(code, value), {}};
  for (std::int64_t i = 0; i < result.recipe.voxel_count(); ++i) result.values.push_back(static_cast<float>(value(i)));
  return result;
}

std::vector<TypeCase> all_types() {
  return {type_case<std::uint8_t>("uint8", 2),     type_case<std::int16_t>("int16", 4),
          type_case<std::int32_t>("int32", 8),     type_case<float>("float32", 16),
          type_case<double>("float64", 64),        type_case<std::int8_t>("int8", 256),
          type_case<std::uint16_t>("uint16", 512), type_case<std::uint32_t>("uint32", 768),
          type_case<std::int64_t>("int64", 1024),  type_case<std::uint64_t>("uint64", 1280)};
}

WriteOptions replacing(std::optional<ScalarType> output_type = std::nullopt) {
  WriteOptions options;
  options.force = true;
  options.output_type = output_type;
  return options;
}

WriteOptions compressing(bool compress) {
  WriteOptions options;
  options.compress = compress;
  return options;
}

NiftiRecipe int16_recipe() {
  return NiftiRecipe{}.with<std::int16_t>(4, [](std::int64_t i) { return static_cast<std::int16_t>(10 * i - 300); });
}

class NiftiTest : public testing::Test {
 protected:
  std::unique_ptr<Image> open(const NiftiRecipe& recipe, const std::string& name = "in.nii") {
    const Bytes bytes = recipe.file();
    write_file(folder_ / name, name.ends_with(".gz") ? test::gzip(bytes) : bytes);
    if (!recipe.single_file) {
      write_file((folder_ / name).replace_extension(".img"), recipe.stored_voxels());
    }
    return open_nifti(folder_ / name);
  }

  void expect_refused(Errc code, const std::string& text, const NiftiRecipe& recipe) {
    expect_error(code, text, [&] { open(recipe); });
  }

  test::TemporaryFolder folder_;
};

TEST_F(NiftiTest, EveryTypeAndByteOrderIsReadAndGivenBackByteForByte) {
  for (TypeCase type : all_types()) {
    for (const int version : {1, 2}) {
      for (const bool big_endian : {false, true}) {
        SCOPED_TRACE(type.name + " version " + std::to_string(version) + (big_endian ? " big" : " little"));
        type.recipe.version = version;
        type.recipe.big_endian = big_endian;
        type.recipe.extension = {16, 0, 0, 0, 6, 0, 0, 0, 'h', 'e', 'l', 'l', 'o', 0, 0, 0};
        type.recipe.after_voxels = {1, 2, 3};
        for (const std::string name : {"in.nii", "in.nii.gz"}) {
          const auto image = open(type.recipe, name);
          ASSERT_TRUE(image);
          EXPECT_EQ(voxels_of(*image, 0, VoxelDomain::real), type.values);
          const fs::path output = folder_ / ("out" + name.substr(2));
          copy_image(*image, output, VoxelDomain::real, replacing());
          EXPECT_EQ(unpacked(output), type.recipe.file());
        }
      }
    }
  }
}

TEST_F(NiftiTest, AVolumeThatIsNotThereIsRefused) {
  const auto image = open(all_types().front().recipe);
  expect_error(Errc::invalid_argument, "volume 7: the image has 1, which begin with number 0",
               [&] { image->volume(7, VoxelDomain::real); });
}

TEST_F(NiftiTest, TwoFilesAreReadFromEitherNameAndGivenBackByteForByte) {
  for (const int version : {1, 2}) {
    NiftiRecipe recipe = int16_recipe();
    recipe.version = version;
    recipe.single_file = false;
    open(recipe, "in.hdr");
    for (const std::string name : {"in.hdr", "in.img"}) {
      for (const std::string output : {"out.hdr", "out.img"}) {
        const auto image = open_nifti(folder_ / name);
        ASSERT_TRUE(image) << name;
        const WriteReport report = copy_image(*image, folder_ / output, VoxelDomain::real, replacing());
        EXPECT_EQ(report.files, (std::vector{folder_ / "out.hdr", folder_ / "out.img"}));
        EXPECT_EQ(test::read_file(folder_ / "out.hdr"), recipe.file());
        EXPECT_EQ(test::read_file(folder_ / "out.img"), recipe.stored_voxels());
      }
    }
  }
}

TEST_F(NiftiTest, TwoFilesMayBeNamedInCapitals) {
  NiftiRecipe recipe = int16_recipe();
  recipe.single_file = false;
  for (const auto& [header, voxels] : {std::pair{"X.HDR", "X.IMG"}, {"X.hdr", "X.IMG"}, {"X.HDR", "X.img"}}) {
    write_file(folder_ / header, recipe.file());
    write_file(folder_ / voxels, recipe.stored_voxels());
    for (const char* name : {header, voxels}) {
      const auto image = open_nifti(folder_ / name);
      ASSERT_TRUE(image) << name;
      EXPECT_EQ(voxels_of(*image, 0, VoxelDomain::stored)[1], -290) << name;
      copy_image(*image, folder_ / "out.hdr", VoxelDomain::real, replacing());
      EXPECT_EQ(test::read_file(folder_ / "out.img"), recipe.stored_voxels());
    }
    fs::remove(folder_ / header);
    fs::remove(folder_ / voxels);
  }
  write_file(folder_ / "X.HDR", recipe.file());
  write_file(folder_ / "X.IMG", recipe.stored_voxels());
  recipe.voxels.assign(recipe.voxels.size(), 0);
  write_file(folder_ / "X.hdr", recipe.file());
  write_file(folder_ / "X.img", recipe.stored_voxels());  // another image, where names differ by case
  EXPECT_EQ(voxels_of(*open_nifti(folder_ / "X.HDR"), 0, VoxelDomain::stored)[1], -290);
  EXPECT_EQ(voxels_of(*open_nifti(folder_ / "X.IMG"), 0, VoxelDomain::stored)[1], -290);
  EXPECT_EQ(voxels_of(*open_nifti(folder_ / "X.hdr"), 0, VoxelDomain::stored)[1], 0);
}

TEST_F(NiftiTest, VoxelsThatLookLikeGzipAreVoxels) {
  NiftiRecipe recipe = NiftiRecipe{}.with<std::uint8_t>(2, [](std::int64_t i) {
    return static_cast<std::uint8_t>(i == 0 ? 0x1f : i == 1 ? 0x8b : 8);
  });
  recipe.single_file = false;
  const auto image = open(recipe, "in.hdr");
  copy_image(*image, folder_ / "out.hdr");
  EXPECT_EQ(test::read_file(folder_ / "out.img"), recipe.voxels);
}

TEST_F(NiftiTest, AnotherContainerChangesMagicAndOffsetOnly) {
  for (const int version : {1, 2}) {
    NiftiRecipe recipe = int16_recipe();
    recipe.version = version;
    recipe.extension = Bytes(16, 7);
    NiftiRecipe pair = recipe;
    pair.single_file = false;
    const WriteOptions force = replacing();

    copy_image(*open(recipe, "in.nii"), folder_ / "a.hdr", VoxelDomain::real, force);
    EXPECT_EQ(test::read_file(folder_ / "a.hdr"), pair.file());
    EXPECT_EQ(test::read_file(folder_ / "a.img"), pair.stored_voxels());

    copy_image(*open(pair, "in.hdr"), folder_ / "b.nii.gz", VoxelDomain::real, force);
    NiftiRecipe single = recipe;
    const std::size_t header = version == 1 ? 348 : 540;
    single.extension.resize((header + 4 + 16 + 15) / 16 * 16 - header - 4);  // voxels begin at a multiple of 16
    EXPECT_EQ(unpacked(folder_ / "b.nii.gz"), single.file());
  }
}

TEST_F(NiftiTest, BareHeaderFileBecomesSingleFile) {
  NiftiRecipe recipe = int16_recipe();
  recipe.single_file = false;
  write_file(folder_ / "in.hdr", recipe.header());  // without the four bytes after it
  write_file(folder_ / "in.img", recipe.stored_voxels());
  copy_image(*open_nifti(folder_ / "in.hdr"), folder_ / "out.nii");
  recipe.single_file = true;
  EXPECT_EQ(test::read_file(folder_ / "out.nii"), recipe.file());
}

TEST_F(NiftiTest, RescaleIsAppliedAndUndone) {
  NiftiRecipe recipe = int16_recipe();
  recipe.slope = 0.5;
  recipe.inter = -10;
  const auto image = open(recipe);
  EXPECT_TRUE(image->can_filter_stored(0));
  EXPECT_EQ(voxels_of(*image, 0, VoxelDomain::real)[3], 0.5f * -270 - 10);
  EXPECT_EQ(voxels_of(*image, 0, VoxelDomain::stored)[3], -270);

  // 0.25 real is half a stored step: rounded away from zero. 1e6 is beyond int16.
  std::int64_t index = 0;
  const auto change = [&](float voxel) {
    const std::int64_t i = index++;
    return i == 0 ? voxel + 0.25f : i == 1 ? 1e6f : i == 2 ? -1e6f : i == 40 ? voxel + 0.25f : voxel;
  };
  const WriteReport report = rewrite(*image, folder_ / "out.nii", VoxelDomain::real, {}, 3, {}, change);
  EXPECT_EQ(report.clamped, 2);
  const auto stored = voxels_of(*open_nifti(folder_ / "out.nii"), 0, VoxelDomain::stored);
  EXPECT_EQ(stored[0], -300);  // -299.5
  EXPECT_EQ(stored[1], 32767);
  EXPECT_EQ(stored[2], -32768);
  EXPECT_EQ(stored[3], -270);
  EXPECT_EQ(stored[40], 101);  // 100.5
}

/// A header that says too few slices or volumes.
TEST_F(NiftiTest, SlicesBehindTheVoxelsAreKeptAndSaid) {
  for (const bool compressed : {false, true}) {
    for (const std::size_t more : {0, 39, 40, 120}) {  // a slice of 5 x 4 voxels of 16 bits has 40
      NiftiRecipe recipe = int16_recipe();
      recipe.after_voxels = Bytes(more, static_cast<Bytes::value_type>(7));
      const fs::path in = folder_ / (compressed ? "in.nii.gz" : "in.nii"), out = folder_ / "out.nii";
      write_file(in, compressed ? test::gzip(recipe.file()) : recipe.file());
      const auto image = open_nifti(in);
      const WriteReport report = copy_image(*image, out, VoxelDomain::real, replacing());
      EXPECT_EQ(test::read_file(out), recipe.file());
      std::vector<std::string> warnings = image->warnings();  // of what is compressed, more is known at the end
      warnings.insert(warnings.end(), report.warnings.begin(), report.warnings.end());
      const bool are_slices = more == 40 || more == 120;
      ASSERT_EQ(warnings.size(), are_slices ? 1U : 0U) << more;
      if (!are_slices) continue;
      const std::string said = more == 40 ? "as many bytes as a slice has" : "as many bytes as 3 slices have";
      EXPECT_NE(warnings[0].find(said), std::string::npos) << warnings[0];
    }
  }
}

TEST_F(NiftiTest, StoredValuesAreWrittenAsTheyAre) {
  NiftiRecipe recipe = int16_recipe();
  recipe.slope = 0.001;
  recipe.inter = 12345;
  const auto image = open(recipe);
  rewrite(*image, folder_ / "out.nii", VoxelDomain::stored, {}, 1, {}, [](float voxel) { return voxel + 1; });
  EXPECT_EQ(voxels_of(*open_nifti(folder_ / "out.nii"), 0, VoxelDomain::stored)[5], -249);
  Bytes expected =
      recipe.with<std::int16_t>(4, [](std::int64_t i) { return static_cast<std::int16_t>(10 * i - 299); }).file();
  EXPECT_EQ(test::read_file(folder_ / "out.nii"), expected);
}

TEST_F(NiftiTest, RescaleThatFloatsCannotFollowLeavesTheStoredNumbers) {
  const auto check = [&](double slope, double inter, const std::string& why) {
    NiftiRecipe recipe = int16_recipe();
    recipe.slope = slope;
    recipe.inter = inter;
    const auto image = open(recipe);
    for (const VoxelDomain domain : {VoxelDomain::real, VoxelDomain::real_with_padding}) {
      expect_error(Errc::unsupported, why, [&] { image->volume(0, domain); });
      expect_error(Errc::unsupported, "in.nii: ", [&] { image->writer(folder_ / "out.nii", domain, {}); });
    }
    expect_error(Errc::unsupported, why,
                 [&] { image->writer(folder_ / "out.nii", VoxelDomain::stored, replacing(ScalarType::float32)); });
    EXPECT_EQ(image->offset() == 0, why.find("beyond") != std::string::npos);
    EXPECT_EQ(voxels_of(*image, 0, VoxelDomain::stored)[3], -270);
    copy_image(*image, folder_ / "out.nii", VoxelDomain::stored, replacing());
    EXPECT_EQ(test::read_file(folder_ / "out.nii"), recipe.file());
  };
  check(1e-6, 1000, "scl_inter = 1000 is too large beside scl_slope");
  check(-1e-6, -1000, "scl_inter = -1000 is too large beside scl_slope");
  check(1e36, 0, "beyond 32-bit floats");
  check(1e-39, 0, "beyond 32-bit floats");

  // 2^22 steps away from zero is the limit; here it is the far end of the stored range that matters.
  NiftiRecipe recipe = int16_recipe();
  recipe.inter = (1 << 22) - 32767;
  EXPECT_NO_THROW(open(recipe)->volume(0, VoxelDomain::real));
  recipe.inter += 1;
  EXPECT_THROW(open(recipe)->volume(0, VoxelDomain::real), Error);
}

TEST_F(NiftiTest, LargeIntegersThatARescaleMovesAreLookedAtOneByOne) {
  const auto read = [&](std::int32_t special, double slope) {
    NiftiRecipe recipe =
        NiftiRecipe{}.with<std::int32_t>(8, [&](std::int64_t i) { return i == 30 ? special : std::int32_t(i); });
    recipe.slope = slope;
    recipe.inter = 16;
    return voxels_of(*open(recipe), 0, VoxelDomain::real)[30];
  };
  EXPECT_EQ(read(1 << 20, 0.1F), static_cast<float>(double{0.1F} * (1 << 20) + 16));
  EXPECT_EQ(read(0xfffff0, 2), 0x1fffff0);  // no digit is lost
  expect_error(Errc::unsupported, "in.nii: voxel value 16777231", [&] { read(0xffffff, 1); });
}

TEST_F(NiftiTest, NoRescaleWhereSlopeIsZeroAndNoneStoredWhereItIsNegative) {
  NiftiRecipe recipe = int16_recipe();
  recipe.slope = 0;
  recipe.inter = 1000;
  auto image = open(recipe);
  EXPECT_EQ(voxels_of(*image, 0, VoxelDomain::real)[0], -300);
  EXPECT_TRUE(image->can_filter_stored(0));
  recipe.slope = -1;
  image = open(recipe);
  EXPECT_EQ(voxels_of(*image, 0, VoxelDomain::real)[0], 1300);
  EXPECT_FALSE(image->can_filter_stored(0));
  copy_image(*image, folder_ / "out.nii");
  EXPECT_EQ(test::read_file(folder_ / "out.nii"), recipe.file());
}

TEST_F(NiftiTest, VoxelsThatAreNotFiniteKeepTheirBits) {
  const std::vector<std::uint32_t> bits = {0x7fc00000, 0xffc12345, 0x7f800001, 0x7f800000, 0xff800000, 0x80000000, 1};
  for (const double slope : {1.0, 2.0}) {
    NiftiRecipe recipe = NiftiRecipe{}.with<float>(16, [&](std::int64_t i) {
      return i < static_cast<std::int64_t>(bits.size()) ? std::bit_cast<float>(bits[i]) : static_cast<float>(i);
    });
    recipe.slope = slope;
    const auto image = open(recipe);
    const auto values = voxels_of(*image, 0, VoxelDomain::real);
    EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1]) && std::isnan(values[2]));
    EXPECT_EQ(values[3], std::numeric_limits<float>::infinity());
    EXPECT_EQ(values[4], -std::numeric_limits<float>::infinity());
    copy_image(*image, folder_ / "out.nii", VoxelDomain::real, replacing());
    EXPECT_EQ(test::read_file(folder_ / "out.nii"), recipe.file());
  }
}

TEST_F(NiftiTest, ZeroKeepsItsSignWhereAFilterGivesTheOther) {
  const NiftiRecipe recipe =
      NiftiRecipe{}.with<float>(16, [](std::int64_t i) { return i % 3 == 0 ? -0.0F : static_cast<float>(i % 3 - 1); });
  const auto image = open(recipe);
  rewrite(*image, folder_ / "out.nii", VoxelDomain::real, {}, 1, {},
          [](float voxel) { return voxel == 0 ? 0.0F : voxel; });
  EXPECT_EQ(test::read_file(folder_ / "out.nii"), recipe.file());
}

TEST_F(NiftiTest, IntegersKeepTheirValueWhereAFilterGivesNone) {
  const auto image = open(int16_recipe());
  rewrite(*image, folder_ / "out.nii", VoxelDomain::real, {}, 1, {},
          [](float) { return std::numeric_limits<float>::quiet_NaN(); });
  EXPECT_EQ(test::read_file(folder_ / "out.nii"), int16_recipe().file());
}

TEST_F(NiftiTest, UnchangedDoublesKeepAllTheirDigits) {
  const NiftiRecipe recipe =
      NiftiRecipe{}.with<double>(64, [](std::int64_t i) { return 1.0 / (3.0 + static_cast<double>(i)); });
  const auto image = open(recipe);
  std::int64_t index = 0;
  rewrite(*image, folder_ / "out.nii", VoxelDomain::real, {}, 3, {},
          [&](float voxel) { return index++ == 7 ? 0.75f : voxel; });
  const NiftiRecipe expected = NiftiRecipe{}.with<double>(
      64, [](std::int64_t i) { return i == 7 ? 0.75 : 1.0 / (3.0 + static_cast<double>(i)); });
  EXPECT_EQ(test::read_file(folder_ / "out.nii"), expected.file());
}

template <class T>
NiftiRecipe with_one(int code, T special) {
  return NiftiRecipe{}.with<T>(code, [&](std::int64_t i) { return i == 30 ? special : static_cast<T>(i); });
}

TEST_F(NiftiTest, NumbersThatFloatsCannotHoldAreRefused) {
  const auto refused = [&](const NiftiRecipe& recipe, const std::string& number) {
    const auto image = open(recipe);
    expect_error(Errc::unsupported, number, [&] { voxels_of(*image, 0, VoxelDomain::real); });
    expect_error(Errc::unsupported, "in.nii", [&] { copy_image(*image, folder_ / "out.nii"); });
    EXPECT_EQ(folder_.names(), Names{"in.nii"});
  };
  refused(with_one<std::int32_t>(8, 16777217), "16777217");
  refused(with_one<std::int32_t>(8, -16777217), "-16777217");
  refused(with_one<std::uint32_t>(768, 4294967295u), "4294967295");
  refused(with_one<std::int64_t>(1024, std::numeric_limits<std::int64_t>::max()), "9223372036854775807");
  refused(with_one<std::uint64_t>(1280, std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  refused(with_one<double>(64, 1e300), "1e+300");

  const auto kept = [&](const NiftiRecipe& recipe) {
    copy_image(*open(recipe), folder_ / "out.nii", VoxelDomain::real, replacing());
    EXPECT_EQ(test::read_file(folder_ / "out.nii"), recipe.file());
  };
  kept(with_one<std::int32_t>(8, -16777216));
  kept(with_one<std::int32_t>(8, std::numeric_limits<std::int32_t>::min()));
  kept(with_one<std::int64_t>(1024, std::numeric_limits<std::int64_t>::min()));
  kept(with_one<std::uint64_t>(1280, std::uint64_t{1} << 63));
}

TEST_F(NiftiTest, HigherAxesAreVolumes) {
  NiftiRecipe recipe;
  recipe.dim = {5, 4, 3, 2, 3, 2, 1, 1};
  recipe = recipe.with<std::int16_t>(4, [](std::int64_t i) { return static_cast<std::int16_t>(i); });
  for (const std::string name : {"in.nii", "in.nii.gz"}) {
    const auto image = open(recipe, name);
    ASSERT_EQ(image->volume_count(), 6u);
    for (const std::size_t volume : {5, 0, 3}) {
      EXPECT_EQ(voxels_of(*image, volume, VoxelDomain::real)[7], static_cast<float>(24 * volume + 7));
    }
    const auto writer = image->writer(folder_ / "out.nii", VoxelDomain::real, replacing());
    expect_error(Errc::internal, "order", [&] { writer->begin_volume(1, {}); });
    expect_error(Errc::internal, "not all", [&] { writer->commit(); });
    copy_image(*image, folder_ / "out.nii", VoxelDomain::real, replacing());
    EXPECT_EQ(test::read_file(folder_ / "out.nii"), recipe.file());
  }
}

TEST_F(NiftiTest, ImagesOfFewerAxes) {
  for (const std::vector<std::int64_t>& dim :
       {std::vector<std::int64_t>{1, 7, 0, 0, 0, 0, 0, 0}, {2, 7, 5, 0, -1, 0, 0, 0}, {3, 1, 1, 1, 0, 0, 0, 0}}) {
    NiftiRecipe recipe;
    recipe.dim = dim;
    recipe = recipe.with<std::uint8_t>(2, [](std::int64_t i) { return static_cast<std::uint8_t>(i); });
    const auto image = open(recipe);
    EXPECT_EQ(image->geometry(0).extent.voxels(), recipe.voxel_count());
    copy_image(*image, folder_ / "out.nii", VoxelDomain::real, replacing());
    EXPECT_EQ(test::read_file(folder_ / "out.nii"), recipe.file());
  }
}

TEST_F(NiftiTest, OutputTypeChangesTypeAndRescaleOnly) {
  NiftiRecipe recipe = NiftiRecipe{}.with<std::uint8_t>(2, [](std::int64_t i) { return static_cast<std::uint8_t>(i); });
  recipe.slope = 1.5;
  recipe.inter = -10;
  const auto image = open(recipe);
  const auto expect = [&](NiftiRecipe expected, ScalarType type, VoxelDomain domain, std::int64_t clamped) {
    const WriteReport report = copy_image(*image, folder_ / "out.nii", domain, replacing(type));
    expected.slope = 1;
    expected.inter = 0;
    EXPECT_EQ(test::read_file(folder_ / "out.nii"), expected.file()) << to_string(type);
    EXPECT_EQ(report.clamped, clamped);
  };
  const auto real = [](std::int64_t i) { return 1.5 * static_cast<double>(i) - 10; };
  for (const VoxelDomain domain : {VoxelDomain::real, VoxelDomain::stored}) {
    expect(recipe.with<float>(16, [&](std::int64_t i) { return static_cast<float>(real(i)); }), ScalarType::float32,
           domain, 0);
    expect(recipe.with<std::int16_t>(4, [&](std::int64_t i) { return static_cast<std::int16_t>(std::round(real(i))); }),
           ScalarType::int16, domain, 0);
    expect(recipe.with<std::uint16_t>(
               512, [&](std::int64_t i) { return static_cast<std::uint16_t>(std::max(0.0, std::round(real(i)))); }),
           ScalarType::uint16, domain, 7);  // -10 to -1
  }
  expect(recipe.with<double>(64, real), ScalarType::float64, VoxelDomain::real, 0);
}

TEST_F(NiftiTest, DifferencesAreFloatsWithoutRescaleWindowOrWhatFollows) {
  for (const int version : {1, 2}) {
    for (const bool big_endian : {false, true}) {
      NiftiRecipe recipe = NiftiRecipe{}.with<float>(16, [](std::int64_t i) { return static_cast<float>(i); });
      recipe.version = version;
      recipe.big_endian = big_endian;
      recipe.slope = 0.5;
      recipe.inter = 4096;
      recipe.after_voxels = Bytes(20, 9);
      const auto image = open(recipe);
      copy_image(*image, folder_ / "same.nii", VoxelDomain::real, replacing());
      EXPECT_EQ(test::read_file(folder_ / "same.nii"), recipe.file());
      WriteOptions options = replacing();
      options.are_differences = true;
      copy_image(*image, folder_ / "out.nii", VoxelDomain::real, options);
      recipe.slope = 1;
      recipe.inter = 0;
      recipe.after_voxels.clear();
      recipe = recipe.with<float>(16, [](std::int64_t i) { return 0.5f * static_cast<float>(i) + 4096; });
      Bytes expected = recipe.file();
      std::fill_n(expected.begin() + (version == 1 ? 124 : 192), version == 1 ? 8 : 16,
                  std::uint8_t{0});  // cal_max, cal_min
      EXPECT_EQ(test::read_file(folder_ / "out.nii"), expected);
    }
  }
}

TEST_F(NiftiTest, OutputTypeRefusesWhatItCannotHold) {
  const auto image = open(with_one<float>(16, std::numeric_limits<float>::quiet_NaN()));
  expect_error(Errc::unsupported, (folder_ / "out.nii").string() + ": the image holds voxels that are not finite",
               [&] { copy_image(*image, folder_ / "out.nii", VoxelDomain::real, replacing(ScalarType::int16)); });
  EXPECT_EQ(folder_.names(), Names{"in.nii"});
}

TEST_F(NiftiTest, CompressedOutputIsTheSameEveryTime) {
  const auto image = open(int16_recipe());
  copy_image(*image, folder_ / "a.nii.gz");
  copy_image(*image, folder_ / "b.nii.gz");
  const Bytes bytes = test::read_file(folder_ / "a.nii.gz");
  EXPECT_EQ(bytes, test::read_file(folder_ / "b.nii.gz"));
  EXPECT_EQ(Bytes(bytes.begin(), bytes.begin() + 8), (Bytes{0x1f, 0x8b, 8, 0, 0, 0, 0, 0}));  // no name, no time
}

TEST_F(NiftiTest, NameSaysWhatTheOutputIs) {
  const auto image = open(int16_recipe());
  expect_error(Errc::output_path, ".nii.gz", [&] { image->writer(folder_ / "out.foo", VoxelDomain::real, {}); });
  expect_error(Errc::output_path, ".nii.gz", [&] { image->writer(folder_ / "out.gz", VoxelDomain::real, {}); });
  expect_error(Errc::invalid_argument, "ending",
               [&] { image->writer(folder_ / "out.nii", VoxelDomain::real, compressing(true)); });
  expect_error(Errc::invalid_argument, "ending",
               [&] { image->writer(folder_ / "out.nii.gz", VoxelDomain::real, compressing(false)); });
  expect_error(Errc::output_path, "is also given as input",
               [&] { image->writer(folder_ / "in.nii", VoxelDomain::real, replacing()); });
  EXPECT_EQ(folder_.names(), Names{"in.nii"});
}

TEST_F(NiftiTest, InputIsNeverReplacedByEitherFileOfAPair) {
  NiftiRecipe recipe = int16_recipe();
  recipe.single_file = false;
  const auto image = open(recipe, "in.nii");  // its voxels are in in.img
  expect_error(Errc::output_path, "is also given as input",
               [&] { image->writer(folder_ / "in.hdr", VoxelDomain::real, replacing()); });
  EXPECT_EQ(folder_.names(), (Names{"in.img", "in.nii"}));
}

TEST_F(NiftiTest, VectorsTensorsColoursAndComplexNumbersAreRefusedByName) {
  const auto with_type = [](int code, int bits) {
    NiftiRecipe recipe = int16_recipe();
    recipe.datatype = code;
    recipe.bitpix = bits;
    return recipe;
  };
  expect_refused(Errc::unsupported, "complex", with_type(32, 64));
  expect_refused(Errc::unsupported, "RGB", with_type(128, 24));
  expect_refused(Errc::unsupported, "RGBA", with_type(2304, 32));
  expect_refused(Errc::unsupported, "float128", with_type(1536, 128));
  expect_refused(Errc::unsupported, "binary", with_type(1, 1));
  expect_refused(Errc::corrupt, "999", with_type(999, 16));
}

TEST_F(NiftiTest, TheIntentSaysWhatTheNumbersAre) {
  const auto expect = [&](int intent, std::optional<DataKind> kind, const std::string& source) {
    Bytes bytes = int16_recipe().file();
    int16_recipe().put<std::int16_t>(bytes, 68, static_cast<std::int16_t>(intent));
    write_file(folder_ / "in.nii", bytes);
    const HeaderFacts facts = open_nifti(folder_ / "in.nii")->volume(0, VoxelDomain::real)->header();
    EXPECT_EQ(facts.kind, kind) << intent;
    EXPECT_EQ(facts.kind_source, source);
    const HeaderFacts forced = open_nifti(folder_ / "in.nii", {.series_uid = {}, .kind = DataKind::magnitude})
                                   ->volume(0, VoxelDomain::real)
                                   ->header();
    EXPECT_EQ(forced.kind, DataKind::magnitude);
    EXPECT_EQ(forced.kind_source, "the kind given is magnitude");
  };
  expect(0, std::nullopt, "");
  expect(2001, std::nullopt, "");
  expect(5, DataKind::scalar, "the voxels are a statistic (NIfTI intent 5)");
  expect(1002, DataKind::labels, "the voxels are labels (NIfTI intent 1002)");
  expect(1005, DataKind::vectors, "the voxels are symmetric matrices (tensors) (NIfTI intent 1005)");
  expect(1007, DataKind::vectors, "the voxels are vectors (NIfTI intent 1007)");
  expect(2004, DataKind::colours, "the voxels are RGBA vectors (NIfTI intent 2004)");
  expect(2005, DataKind::lists, "the voxels are the shape of a surface (NIfTI intent 2005)");
  expect(2007, DataKind::vectors, "the voxels are coefficients of a warp (FSL) (NIfTI intent 2007)");
  expect(2018, DataKind::vectors, "the voxels are a field of topup (FSL) (NIfTI intent 2018)");
}

/// FreeSurfer writes the vertices of a surface into NIfTI, folded where there are many.
TEST_F(NiftiTest, GridsOfListsAreNoImages) {
  for (const auto& [extent, is_list] : {std::pair(Extent{10242, 1, 1}, true),
                                        {Extent{27307, 1, 6}, true},
                                        {Extent{6, 1, 27307}, true},
                                        {Extent{642, 1, 1}, true},
                                        {Extent{512, 1, 1}, false},
                                        {Extent{2048, 3, 1}, false},
                                        {Extent{2048, 8, 1}, false},
                                        {Extent{512, 512, 1}, false}}) {
    const auto writer = create_nifti(folder_ / "in.nii", {.extent = extent}, 1, {.force = true});
    writer->begin_volume(0, {});
    const std::vector<float> voxels(static_cast<std::size_t>(extent.voxels()), 1);
    writer->write({voxels.data(), extent});
    writer->commit();
    const HeaderFacts facts = open_nifti(folder_ / "in.nii")->volume(0, VoxelDomain::real)->header();
    EXPECT_EQ(facts.kind == DataKind::lists, is_list) << extent.x;
    if (is_list) {
      EXPECT_NE(facts.kind_source.find("is that of a list"), std::string::npos) << facts.kind_source;
    }
  }
}

TEST_F(NiftiTest, OtherFilesAreNotNifti) {
  write_file(folder_ / "text.txt", {'h', 'e', 'l', 'l', 'o'});
  write_file(folder_ / "empty", {});
  write_file(folder_ / "text.txt.gz", test::gzip({'h', 'i'}));
  write_file(folder_ / "half.gz", {0x1f, 0x8b, 8});
  for (const std::string name : {"text.txt", "empty", "text.txt.gz", "half.gz", ""}) {
    EXPECT_EQ(open_nifti(folder_ / name), nullptr) << name;
  }
  write_file(folder_ / "text.nii", {'h', 'e', 'l', 'l', 'o'});
  expect_error(Errc::corrupt, "text.nii", [&] { open_nifti(folder_ / "text.nii"); });
}

TEST_F(NiftiTest, ImagesAreFilesOrFolders) {
  ASSERT_EQ(mkfifo((folder_ / "pipe.nii").c_str(), 0600), 0);
  expect_error(Errc::input_path, "neither", [&] { open_image(folder_ / "pipe.nii", {}); });
  expect_error(Errc::input_path, "neither", [&] { open_image("/dev/zero", {}); });
  expect_error(Errc::input_path, "no such", [&] { open_image(folder_ / "none.nii", {}); });
}

}  // namespace
}  // namespace quietvox::io
