// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "core/input_limits.hpp"
#include "io/image.hpp"
#include "io/nifti/file.hpp"
#include "io/nifti/files.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_data.hpp"
#include "support/volumes.hpp"

namespace quietvox::io {
namespace {

namespace fs = std::filesystem;
using test::Bytes;
using test::expect_error;
using test::NiftiRecipe;

NiftiRecipe small_recipe(int version) {
  NiftiRecipe recipe;
  recipe.version = version;
  return recipe.with<std::int16_t>(4, [](std::int64_t i) { return static_cast<std::int16_t>(i); });
}

class NiftiDamageTest : public testing::Test {
 protected:
  enum class Until { written, committed };

  /// Copies the file if it can be read, the last step only where asked for: it waits for the disk. Either all went
  /// well, or there was one Error about the input and nothing is left. True where all went well.
  bool copies(const fs::path& input, Until until) {
    const fs::path output = folder_ / "out.nii";
    bool done = false;
    try {
      if (const auto image = open_nifti(input)) {
        const auto writer = image->writer(output, VoxelDomain::real, {});
        for (std::size_t volume = 0; volume < image->volume_count(); ++volume) {
          writer->begin_volume(volume, {});
          const Extent extent = image->geometry(volume).extent;
          const auto source = image->volume(volume, VoxelDomain::real);
          std::vector<float> slice(static_cast<std::size_t>(extent.slice()));
          for (std::int64_t z = 0; z < extent.z; ++z) {
            const VolumeView<float> view{slice.data(), {{extent.x, extent.y, 1}}, source->spacing(), {0, 0, z}};
            source->read(view);
            writer->write(view);
          }
        }
        if (until == Until::committed) {
          writer->commit();
          fs::remove(output);
        }
        done = true;
      }
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == Errc::corrupt || error.code() == Errc::unsupported) << error.what();
      EXPECT_NE(std::string(error.what()).find(input.filename().string()), std::string::npos) << error.what();
    }
    for (const std::string& name : folder_.names()) EXPECT_NE(name.substr(0, 3), "out");
    return done;
  }

  void expect_refused(Errc code, const std::string& text, const Bytes& bytes, const std::string& name = "in.nii") {
    test::write_file(folder_ / name, bytes);
    expect_error(code, text, [&] { open_nifti(folder_ / name); });
  }

  test::TemporaryFolder folder_;
};

TEST_F(NiftiDamageTest, WhatUnpacksToMuchBesidesVoxelsIsRefused) {
  const Bytes member = test::gzip(Bytes(std::size_t{16} << 20));
  const auto unpacks_to = [&](int mib, const Bytes& start, const std::string& name) {
    Bytes packed = test::gzip(start);
    for (int i = 0; i < mib / 16; ++i) packed.insert(packed.end(), member.begin(), member.end());
    test::write_file(folder_ / name, packed);
  };
  const std::string what = "more than 268435456 bytes in it are not voxels";
  const auto copy_of = [&](const std::string& name, const fs::path& output) {
    const auto image = open_nifti(folder_ / name);
    const auto writer = image->writer(folder_ / output, VoxelDomain::real, {});
    writer->begin_volume(0, {});
    const auto source = image->volume(0, VoxelDomain::real);
    test::Volume volume(source->extent(), source->spacing());
    source->read(volume.view());
    writer->write(std::as_const(volume).view());
    return writer->commit();
  };
  unpacks_to(256, small_recipe(1).file(), "in.nii.gz");
  copy_of("in.nii.gz", "copy.nii");
  EXPECT_EQ(fs::file_size(folder_ / "copy.nii"), small_recipe(1).file().size() + most_besides_voxels);
  unpacks_to(272, small_recipe(1).file(), "in.nii.gz");
  expect_error(Errc::unsupported, what, [&] { copy_of("in.nii.gz", "out.nii.gz"); });

  NiftiRecipe pair = small_recipe(1);
  pair.single_file = false;
  test::write_file(folder_ / "pair.img.gz", test::gzip(pair.stored_voxels()));
  unpacks_to(272, pair.header(), "pair.hdr.gz");
  expect_error(Errc::unsupported, "pair.hdr.gz: " + what, [&] { copy_of("pair.hdr.gz", "out.hdr.gz"); });
  expect_error(Errc::unsupported, "pair.hdr.gz: " + what, [&] { copy_of("pair.hdr.gz", "out.nii.gz"); });

  NiftiRecipe far = small_recipe(1);
  Bytes start = far.header();
  far.put<float>(start, 108, 0x1p29f);
  unpacks_to(1024, start, "far.nii.gz");
  expect_error(Errc::unsupported, "the voxels begin at byte 536870912", [&] { open_nifti(folder_ / "far.nii.gz"); });
  test::write_file(folder_ / "far.nii", start);
  fs::resize_file(folder_ / "far.nii", std::uintmax_t{1} << 40);
  expect_error(Errc::unsupported, "the voxels begin at byte 536870912", [&] { open_nifti(folder_ / "far.nii"); });
}

TEST_F(NiftiDamageTest, ImagesThatWouldTakeMuchMoreThanTheirFilesAreRefused) {
  NiftiRecipe recipe = small_recipe(1);
  recipe.datatype = 2;
  recipe.bitpix = 8;
  recipe.dim = {5, 1, 1, 1, 300, 300, 1, 1};
  recipe.voxels.assign(90000, 7);
  expect_refused(Errc::unsupported, "in.nii: filtering 90000 volumes would take 704 MiB", recipe.file());
  recipe.dim = {5, 1, 1, 1, 300, 100, 1, 1};
  test::write_file(folder_ / "in.nii", recipe.file());
  EXPECT_EQ(open_nifti(folder_ / "in.nii")->volume_count(), 30000U);

  // 400 MB of voxels that so small a file can hold only in theory.
  recipe.dim = {3, 20000, 20000, 1, 1, 1, 1, 1};
  recipe.voxels.clear();
  for (std::uint32_t i = 0, noise = 1; i < 400000; ++i, noise = noise * 1664525 + 1013904223) {
    recipe.voxels.push_back(static_cast<std::uint8_t>(noise >> 24));
  }
  expect_refused(Errc::unsupported, "in.nii.gz: a slice of 20000 x 20000 voxels would take 1526 MiB",
                 test::gzip(recipe.file()), "in.nii.gz");
}

TEST_F(NiftiDamageTest, FileThatEndsAnywhereIsRefused) {
  for (const int version : {1, 2}) {
    const Bytes whole = small_recipe(version).file();
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      test::write_file(folder_ / "in.nii", cut);
      EXPECT_FALSE(copies(folder_ / "in.nii", Until::written)) << size;
      test::write_file(folder_ / "in.nii.gz", test::gzip(cut));
      EXPECT_FALSE(copies(folder_ / "in.nii.gz", Until::written)) << size;
    }
    const Bytes packed = test::gzip(whole);
    for (std::size_t size = 0; size < packed.size(); ++size) {
      test::write_file(folder_ / "in.nii.gz",
                       Bytes(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(size)));
      EXPECT_FALSE(copies(folder_ / "in.nii.gz", Until::written)) << size;
    }
    test::write_file(folder_ / "in.nii.gz", packed);
    EXPECT_TRUE(copies(folder_ / "in.nii.gz", Until::committed));
  }
}

TEST_F(NiftiDamageTest, AnyHeaderByteMayBeAnything) {
  for (const int version : {1, 2}) {
    const Bytes whole = small_recipe(version).file();
    const std::size_t header = version == 1 ? 352 : 544;
    for (std::size_t at = 0; at < header; ++at) {
      for (const int value : {0x00, 0x7f, 0xff}) {
        Bytes bytes = whole;
        bytes[at] = static_cast<std::uint8_t>(value);
        test::write_file(folder_ / "in.nii", bytes);
        copies(folder_ / "in.nii", Until::written);
      }
    }
  }
}

TEST_F(NiftiDamageTest, HeadersThatContradictThemselves) {
  const NiftiRecipe recipe = small_recipe(1);
  const auto with_short = [&](std::size_t at, int value) {
    Bytes bytes = recipe.file();
    recipe.put<std::int16_t>(bytes, at, static_cast<std::int16_t>(value));
    return bytes;
  };
  const auto with_float = [&](std::size_t at, double value) {
    Bytes bytes = recipe.file();
    recipe.put<float>(bytes, at, static_cast<float>(value));
    return bytes;
  };
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  expect_refused(Errc::corrupt, "dim[0] = 9", with_short(40, 9));
  expect_refused(Errc::corrupt, "dim[0] = 0", with_short(40, 0));
  expect_refused(Errc::corrupt, "dim[1] = 0", with_short(42, 0));
  expect_refused(Errc::corrupt, "dim[2] = -5", with_short(44, -5));
  expect_refused(Errc::corrupt, "datatype = 999", with_short(70, 999));
  expect_refused(Errc::corrupt, "scl_slope = inf", with_float(112, inf));
  expect_refused(Errc::corrupt, "scl_slope = nan", with_float(112, nan));
  expect_refused(Errc::corrupt, "scl_inter = inf", with_float(116, inf));
  for (const double offset : {nan, inf, -1.0, 0.0, 347.0, 352.5, 1e30}) {
    expect_refused(Errc::corrupt, "vox_offset", with_float(108, offset));
  }
  expect_refused(Errc::corrupt, "has only", with_float(108, 353));
  Bytes no_magic = recipe.file();
  no_magic[344] = 'x';
  expect_refused(Errc::unsupported, "Analyze", no_magic);
  NiftiRecipe pair = recipe;
  pair.single_file = false;
  expect_refused(Errc::corrupt, "in.img", pair.file(), "in.hdr");
}

TEST_F(NiftiDamageTest, HugeSizesAreRefusedBeforeMemoryIsTaken) {
  NiftiRecipe recipe;
  recipe.dim = {7, 32767, 32767, 32767, 32767, 32767, 32767, 32767};
  expect_refused(Errc::corrupt, "more voxels than", recipe.file());
  recipe.dim = {3, 32767, 32767, 32767, 1, 1, 1, 1};
  expect_refused(Errc::corrupt, "has only", recipe.file());
  expect_refused(Errc::corrupt, "no gzip file of", test::gzip(recipe.file()), "in.nii.gz");
  recipe.version = 2;
  recipe.dim = {3, std::numeric_limits<std::int64_t>::max(), 2, 2, 1, 1, 1, 1};
  expect_refused(Errc::corrupt, "more voxels than", recipe.file());
  recipe.dim = {3, std::int64_t{1} << 40, 1, 1, 1, 1, 1, 1};
  expect_refused(Errc::corrupt, "has only", recipe.file());
}

TEST_F(NiftiDamageTest, WrongChecksumIsFoundBeforeAnythingAppears) {
  NiftiRecipe recipe;
  recipe.dim = {3, 50, 40, 3, 1, 1, 1, 1};
  recipe = recipe.with<std::int16_t>(4, [](std::int64_t i) { return static_cast<std::int16_t>(i); });
  Bytes packed = test::gzip(recipe.file());
  packed[packed.size() - 5] ^= 1;
  test::write_file(folder_ / "in.nii.gz", packed);
  const auto image = open_nifti(folder_ / "in.nii.gz");
  expect_error(Errc::corrupt, "in.nii.gz", [&] { test::voxels_of(*image, 0, VoxelDomain::real); });
  expect_error(Errc::corrupt, "in.nii.gz", [&] { test::copy_image(*image, folder_ / "out.nii"); });
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"in.nii.gz"});
}

TEST_F(NiftiDamageTest, BytesAfterCompressedDataAreLeftOutWithAWarning) {
  Bytes packed = test::gzip(small_recipe(1).file());
  packed.insert(packed.end(), {'x', 'y', 'z'});
  test::write_file(folder_ / "in.nii.gz", packed);
  const WriteReport report = test::copy_image(*open_nifti(folder_ / "in.nii.gz"), folder_ / "out.nii");
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find("3 bytes after"), std::string::npos);
  EXPECT_EQ(test::read_file(folder_ / "out.nii"), small_recipe(1).file());
}

TEST_F(NiftiDamageTest, MalformedFiles) {
  QV_NEEDS_TEST_DATA();
  const std::vector<std::string> usable = {"gzip_bomb_134MB.nii.gz", "gzip_trailing_garbage.nii.gz", "pixdim_nan.nii",
                                           "pixdim_zero.nii", "sform_zero.nii"};
  for (const auto& entry : fs::directory_iterator(test::test_data("malformed_nifti"))) {
    const std::string name = entry.path().filename().string();
    const bool expected = std::find(usable.begin(), usable.end(), name) != usable.end();
    EXPECT_EQ(copies(entry.path(), Until::committed), expected) << name;
  }
}

}  // namespace
}  // namespace quietvox::io
