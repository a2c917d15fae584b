// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/provenance/provenance_sidecar.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "filters/registry.hpp"
#include "io/image.hpp"
#include "io/nifti/files.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"
#include "support/text_file.hpp"

namespace quietvox::io {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::expect_error;
using test::NiftiRecipe;
using Names = std::vector<std::string>;

Provenance provenance(const std::string& range_sigma) {
  FilterConfig median(find_filter("median")), bilateral(find_filter("bilateral"));
  median.set("radius", "2x1x0");
  Provenance result{{median, bilateral}, {median, bilateral}, "cpu"};
  result.resolved[1].set("range-sigma", range_sigma);
  return result;
}

class ProvenanceSidecarTest : public testing::Test {
 protected:
  ProvenanceSidecarTest() {
    NiftiRecipe recipe;
    recipe.dim = {4, 3, 2, 2, 3, 1, 1, 1};
    recipe = recipe.with<std::int16_t>(4, [](std::int64_t i) { return static_cast<std::int16_t>(i); });
    test::write_file(folder_ / "in.nii", recipe.file());
  }

  WriteReport write(const std::string& output, bool force = false, const Provenance& done = provenance("1.5")) {
    WriteOptions options;
    options.force = force;
    return test::rewrite(*open_nifti(folder_ / "in.nii"), folder_ / output, VoxelDomain::real, options, 2, done,
                         [](float voxel) { return voxel; });
  }
  json read(const std::string& name) { return json::parse(std::ifstream(folder_ / name)); }

  test::TemporaryFolder folder_;
};

TEST_F(ProvenanceSidecarTest, NamesTheMask) {
  Provenance masked = provenance("1.5");
  masked.mask = "0123456789abcdef";
  write("masked.nii", false, masked);
  write("whole.nii");
  EXPECT_EQ(read("masked.json")["mask"], masked.mask);
  EXPECT_FALSE(read("whole.json").contains("mask"));
}

TEST_F(ProvenanceSidecarTest, TellsWhatWasDone) {
  const WriteReport report = write("out.nii.gz");
  EXPECT_EQ(report.files, (std::vector{folder_ / "out.nii.gz", folder_ / "out.json"}));
  const json found = read("out.json");
  EXPECT_EQ(found["quietvox"], version());
  EXPECT_EQ(found["image"], "out.nii.gz");
  EXPECT_EQ(found["backend"], "cpu");
  EXPECT_EQ(found["clamped_voxels"], 0);
  EXPECT_EQ(found["inputs"].size(), 1u);
  EXPECT_EQ(found["inputs"][0]["name"], "in.nii");
  EXPECT_EQ(found["inputs"][0]["bytes"], 352 + 72);
  EXPECT_EQ(found["inputs"][0]["xxh128"].get<std::string>().size(), 32u);
  EXPECT_EQ(found["requested"][0]["name"], "median");
  EXPECT_EQ(found["requested"][0]["parameters"]["radius"], "2x1x0");
  EXPECT_EQ(found["requested"][0]["parameters"]["border"], "replicate");
  EXPECT_EQ(found["requested"][1]["parameters"]["range_sigma"], "auto");
  ASSERT_EQ(found["volumes"].size(), 1u);
  EXPECT_EQ(found["volumes"][0]["first"], 0);
  EXPECT_EQ(found["volumes"][0]["last"], 2);
  EXPECT_EQ(found["volumes"][0]["filters"][1]["parameters"]["range_sigma"], 1.5);
}

TEST_F(ProvenanceSidecarTest, NamesNoFolder) {
  write("out.nii");
  std::ifstream file(folder_ / "out.json");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(text.find(folder_.path().filename().string()), std::string::npos);
}

TEST_F(ProvenanceSidecarTest, VolumesThatWereTreatedDifferentlyAreListed) {
  const auto image = open_nifti(folder_ / "in.nii");
  const auto writer = image->writer(folder_ / "out.nii", VoxelDomain::real, {});
  const std::vector<float> voxels(12);
  for (std::size_t volume = 0; volume < 3; ++volume) {
    writer->begin_volume(volume, provenance(volume == 1 ? "2" : "3"));
    writer->write({voxels.data(), image->geometry(volume).extent});
  }
  writer->commit();
  const json volumes = read("out.json")["volumes"];
  ASSERT_EQ(volumes.size(), 3u);
  EXPECT_EQ(volumes[1]["filters"][1]["parameters"]["range_sigma"], 2);
}

TEST_F(ProvenanceSidecarTest, NoneWhereNoFilterRan) {
  write("out.nii", false, {});
  EXPECT_EQ(folder_.names(), (Names{"in.nii", "out.nii"}));
}

TEST_F(ProvenanceSidecarTest, ForceReplacesOurOwnOnly) {
  write("out.nii");
  expect_error(Errc::exists, "out.nii", [&] { write("out.nii"); });
  write("out.nii", true);
  fs::remove(folder_ / "out.nii");
  expect_error(Errc::exists, "out.json", [&] { write("out.nii"); });
  std::ofstream(folder_ / "out.json") << R"({"RepetitionTime": 2.0})";
  for (const bool force : {false, true}) {
    expect_error(Errc::exists, "out.json", [&] { write("out.nii", force); });
  }
  EXPECT_EQ(folder_.names(), (Names{"in.nii", "out.json"}));
  EXPECT_EQ(read("out.json")["RepetitionTime"], 2.0);
}

TEST_F(ProvenanceSidecarTest, OneOfAnotherOriginThatComesMeanwhileIsKept) {
  write("out.nii");
  const std::string image = test::get(folder_ / "out.nii"), foreign = R"({"patients": 3})";
  WriteOptions options;
  options.force = true;
  expect_error(Errc::exists, (folder_ / "out.json").string() + ": was not made by quietvox", [&] {
    test::rewrite(*open_nifti(folder_ / "in.nii"), folder_ / "out.nii", VoxelDomain::real, options, 2,
                  provenance("1.5"), [&](float voxel) {
                    test::put(folder_ / "out.json", foreign);
                    return voxel + 1;
                  });
  });
  EXPECT_EQ(test::get(folder_ / "out.json"), foreign);
  EXPECT_TRUE(test::get(folder_ / "out.nii") == image);
  EXPECT_EQ(folder_.names(), (Names{"in.nii", "out.json", "out.nii"}));
}

TEST_F(ProvenanceSidecarTest, AppearsTogetherWithTheImageOrNotAtAll) {
  const auto image = open_nifti(folder_ / "in.nii");
  {
    const auto writer = image->writer(folder_ / "out.nii", VoxelDomain::real, {});
    const std::vector<float> voxels(12);
    for (std::size_t volume = 0; volume < 3; ++volume) {
      writer->begin_volume(volume, provenance("3"));
      writer->write({voxels.data(), image->geometry(volume).extent});
    }
    std::ofstream(folder_ / "out.json") << "{}";  // appears meanwhile
    expect_error(Errc::exists, "out.json", [&] { writer->commit(); });
  }
  EXPECT_EQ(folder_.names(), (Names{"in.nii", "out.json"}));
}

}  // namespace
}  // namespace quietvox::io
