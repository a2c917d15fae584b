// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// What is read is never written, whichever of its files an output, or what belongs to an output, would be.
#include <gtest/gtest.h>

#include "cli/images.hpp"
#include "cli/process.hpp"

namespace quietvox::test {
namespace {

class Overlap : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  void make(const std::string& name, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"phantom", path(name), "--size", "9x8x5", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    quietvox_ok(words);
  }

  /// The command ends with 6, one line that says `part`, and every file as it was.
  void expect_refused(const std::vector<std::string>& words, const std::string& part) const {
    const auto before = contents(folder_.path());
    std::vector<std::string> all = words;
    all.emplace_back("--force");
    std::string line;
    for (const std::string& word : all) line += word + " ";
    const Result result = quietvox(all);
    EXPECT_EQ(result.status, 6) << line << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << line << result.err;
    EXPECT_TRUE(contents(folder_.path()) == before) << line;
  }

  TemporaryFolder folder_;
};

TEST_F(Overlap, OutputsSpareTheVoxelsBesideTheHeaderOfTheInput) {
  make("v.mhd");
  make("w.nhdr");
  make("n.hdr");
  expect_refused({"gaussian", path("v.mhd"), path("v.nhdr"), "--sigma", "40"}, "v.raw");
  expect_refused({"gaussian", path("w.nhdr"), path("w.mhd"), "--sigma", "40"}, "w.raw");
  expect_refused({"add-noise", path("v.mhd"), path("v.nhdr")}, "v.raw");
  expect_refused({"median", path("n.hdr"), path("n.img")}, "n.hdr");
}

TEST_F(Overlap, ThroughLinksToo) {
  make("v.mhd");
  std::filesystem::create_hard_link(folder_ / "v.raw", folder_ / "hard.raw");
  std::filesystem::create_symlink(folder_ / "v.raw", folder_ / "soft.raw");
  expect_refused({"median", path("v.mhd"), path("hard.nhdr")}, "hard.raw");
  expect_refused({"median", path("v.mhd"), path("soft.nhdr")}, "soft.raw");
  std::filesystem::create_symlink(folder_.path(), folder_ / "again");
  expect_refused({"median", path("v.mhd"), path("again/v.nhdr")}, "v.raw");
}

TEST_F(Overlap, OutputsSpareTheVoxelsOfTheMask) {
  make("n.nii.gz");
  make("k.mhd");
  make("m.hdr");
  expect_refused({"median", path("n.nii.gz"), path("k.nhdr"), "--mask", path("k.mhd")}, "k.raw");
  expect_refused({"median", path("n.nii.gz"), path("m.hdr"), "--mask", path("m.img")}, "m.hdr");
  expect_refused({"median", path("n.nii.gz"), path("o.nii"), "--mask", path("m.img"), "--residual", path("m.hdr")},
                 "m.hdr");
}

TEST_F(Overlap, AMapOfTheNoiseSparesTheMask) {
  make("n.nii");
  make("k.mhd");
  make("m.hdr");
  expect_refused({"estimate", path("n.nii"), "--mask", path("m.hdr"), "--map", path("m.img")}, "m.hdr");
  std::filesystem::create_hard_link(folder_ / "k.raw", folder_ / "k.nii");
  expect_refused({"estimate", path("n.nii"), "--mask", path("k.mhd"), "--map", path("k.nii")}, "k.nii");
}

TEST_F(Overlap, CoefficientsAreSpared) {
  make("n.nii");
  make("clean.nii");
  quietvox_ok({"train-quadratic", path("n.nii"), path("clean.nii"), path("c.json"), "--quiet"});
  write_file(folder_ / "k.nii", read_file(folder_ / "c.json"));
  expect_refused({"quadratic", path("n.nii"), path("k.nii"), "--coefficients", path("k.nii")}, "k.nii");
  expect_refused({"run", path("n.nii"), path("o.nii"), "--filter", "quadratic:coefficients=" + path("k.nii"),
                  "--residual", path("k.nii")},
                 "k.nii");
}

TEST_F(Overlap, TrainingSparesTheVoxelsOfBothImages) {
  make("tq.hdr", {"--noise", "gaussian:20"});
  make("clean.hdr");
  make("other.nii");
  expect_refused({"train-quadratic", path("tq.hdr"), path("clean.hdr"), path("tq.img")}, "tq.img");
  expect_refused({"train-quadratic", path("tq.hdr"), path("clean.hdr"), path("clean.img")}, "clean.img");
}

TEST_F(Overlap, PicturesSpareTheVoxelsOfBothImages) {
  make("a.hdr");
  make("b.nii");
  std::filesystem::create_symlink(folder_ / "a.img", folder_ / "a.png");
  expect_refused({"compare", path("a.hdr"), path("b.nii"), "--picture", path("a.png")}, "a.png");
  expect_refused({"compare", path("b.nii"), path("a.hdr"), "--picture", path("a.png")}, "a.png");
  expect_refused({"compare", path("b.nii"), path("b.nii"), "--mask", path("a.hdr"), "--picture", path("a.png")},
                 "a.png");
}

TEST_F(Overlap, LogsAreAppendedToLogsOnly) {
  make("pp.hdr");
  make("v.mhd");
  make("clean.hdr");
  quietvox_ok({"train-quadratic", path("pp.hdr"), path("clean.hdr"), path("c.json"), "--quiet"});
  write_file(folder_ / "notes.txt", "mine\n");
  expect_refused({"median", path("pp.hdr"), path("o.nii"), "--log-file", path("pp.img")}, "pp.img");
  expect_refused({"median", path("v.mhd"), path("o.nii"), "--log-file", path("v.raw")}, "v.raw");
  expect_refused({"median", path("v.mhd"), path("o.nii"), "--mask", path("pp.hdr"), "--log-file", path("pp.img")},
                 "pp.img");
  expect_refused(
      {"quadratic", path("pp.hdr"), path("o.nii"), "--coefficients", path("c.json"), "--log-file", path("c.json")},
      "c.json");
  expect_refused({"median", path("v.mhd"), path("o.nii"), "--log-file", path("notes.txt")}, "notes.txt");
}

TEST_F(Overlap, LogsAreNoPartOfAnOutput) {
  make("v.mhd");
  for (const char* log : {"o.nhdr", "o.raw", "o.raw.gz", "o.json"}) {
    expect_refused({"median", path("v.mhd"), path("o.nhdr"), "--log-file", path(log)}, log);
  }
  expect_refused({"median", path("v.mhd"), path("o.nii"), "--residual", path("r.hdr"), "--log-file", path("r.img")},
                 "r.img");
}

}  // namespace
}  // namespace quietvox::test
