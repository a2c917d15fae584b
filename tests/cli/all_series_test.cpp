// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Folders that hold several series.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/images.hpp"
#include "cli/process.hpp"
#include "support/make_dicom.hpp"
#include "support/test_data.hpp"

namespace quietvox::test {
namespace {

using Json = nlohmann::json;

class SeveralSeries : public ::testing::Test {
 protected:
  /// Two series, 1.2.3.1 of three slices and 1.2.3.2 of one, and a text among them.
  SeveralSeries() {
    std::filesystem::create_directory(folder_ / "in");
    for (int z = 0; z < 3; ++z) {
      write_dicom(folder_ / ("in/a" + std::to_string(z)), {.position = {0, 0, 1.0 * z}, .series = "1.2.3.1"});
    }
    write_dicom(folder_ / "in/b", {.columns = 7, .series = "1.2.3.2"});
    write_file(folder_ / "in/readme.txt", "no image\n");
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  Result filter_all(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"median", path("in"), path("out"), "--all-series", "--progress", "none"};
    words.insert(words.end(), more.begin(), more.end());
    return quietvox(words);
  }

  TemporaryFolder folder_;
};

TEST_F(SeveralSeries, AreListedByInfo) {
  std::filesystem::create_directory(folder_ / "in/ct");
  for (const char* name : {"a0", "a1", "a2"}) {
    std::filesystem::rename(folder_ / "in" / name, folder_ / "in/ct" / name);
  }
  const std::string text = quietvox_ok({"info", path("in")}).out;
  EXPECT_NE(text.find("1.2.3.1  CT 7, 3 images, 5 x 4 pixels, Head; ct\n"), std::string::npos) << text;
  EXPECT_NE(text.find("1.2.3.2  CT 7, 1 image, 7 x 4 pixels, Head; b\n"), std::string::npos) << text;
  const Json json = Json::parse(quietvox_ok({"info", path("in"), "--json"}).out);
  ASSERT_EQ(json["series"].size(), 2U);
  EXPECT_EQ(json["series"][0]["series_uid"], "1.2.3.1");
  EXPECT_EQ(json["series"][0]["images"], 3);
  EXPECT_EQ(json["series"][0]["place"], "ct");
  EXPECT_EQ(json["warnings"], Json::array({"skipped readme.txt: not DICOM"}));
}

/// Four mammograms differ in nothing else that a list could name.
TEST_F(SeveralSeries, OfMammogramsAreListedBySideAndProjection) {
  const auto add_view = [&](const char* uid, const char* side, const char* view) {
    write_dicom(folder_ / "mg" / (std::string(side) + view),
                {.series = uid, .more = {{DCM_Modality, "MG"}, {DCM_ImageLaterality, side}, {DCM_ViewPosition, view}}});
  };
  std::filesystem::create_directory(folder_ / "mg");
  add_view("1.2.3.5", "R", "CC");
  add_view("1.2.3.5", "R", "MLO");
  add_view("1.2.3.6", "L", "CC");
  const std::string text = quietvox_ok({"info", path("mg")}).out;
  EXPECT_NE(text.find("1.2.3.5  MG 7, R CC, R MLO, 2 images, 5 x 4 pixels, Head\n"), std::string::npos) << text;
  EXPECT_NE(text.find("1.2.3.6  MG 7, L CC, 1 image, 5 x 4 pixels, Head; LCC\n"), std::string::npos) << text;
  EXPECT_EQ(Json::parse(quietvox_ok({"info", path("mg"), "--json"}).out)["series"][1]["view"], "L CC");
  const std::string error = quietvox({"median", path("mg"), path("out")}).err;
  EXPECT_NE(error.find("1.2.3.6 (MG 7, L CC, 1 image, 5 x 4 pixels, Head; LCC)"), std::string::npos) << error;
}

TEST_F(SeveralSeries, OneIsTakenBySeries) {
  EXPECT_EQ(quietvox({"median", path("in"), path("out")}).status, 64);
  quietvox_ok({"median", path("in"), path("out"), "--series", "1.2.3.1"});
  EXPECT_EQ(TemporaryFolder::names_in(folder_ / "out"), (std::vector<std::string>{"a0", "a1", "a2"}));
  EXPECT_EQ(quietvox({"median", path("in"), path("other"), "--series", "1.2.3"}).status, 64);
}

TEST_F(SeveralSeries, OneIsTakenByWhatItsHeaderSays) {
  write_dicom(folder_ / "in/c",
              {.series = "1.2.3.3",
               .more = {{DCM_Modality, "MR"}, {DCM_SeriesNumber, "12"}, {DCM_SeriesDescription, "T1 axial"}}});
  const auto files_of = [&](const std::vector<std::string>& choice) {
    std::vector<std::string> words{"median", path("in"), path("out"), "--force"};
    words.insert(words.end(), choice.begin(), choice.end());
    quietvox_ok(words);
    return TemporaryFolder::names_in(folder_ / "out");
  };
  const std::vector<std::string> c{"c"};
  EXPECT_EQ(files_of({"--modality", "mr"}), c);
  EXPECT_EQ(files_of({"--series-number", "12"}), c);
  EXPECT_EQ(files_of({"--series-description", "t1"}), c);
  EXPECT_EQ(files_of({"--modality", "CT", "--series", "1.2.3.2"}), (std::vector<std::string>{"b"}));
  const Result several = quietvox({"median", path("in"), path("other"), "--modality", "CT"});
  EXPECT_EQ(several.status, 64);
  EXPECT_NE(several.err.find(" series match: 1.2.3.1 (CT 7, 3 images, 5 x 4 pixels, Head), "), std::string::npos)
      << several.err;
  EXPECT_NE(several.err.find("; choose one by --series UID"), std::string::npos) << several.err;
  EXPECT_EQ(several.err.find("1.2.3.3"), std::string::npos) << several.err;
  const Result none = quietvox({"info", path("in"), "--modality", "PT"});
  EXPECT_EQ(none.status, 64);
  EXPECT_NE(none.err.find("no series matches"), std::string::npos) << none.err;
  std::filesystem::create_directory(folder_ / "empty");
  EXPECT_EQ(quietvox({"info", path("empty"), "--modality", "CT"}).status, 2);
  std::ofstream(folder_ / "empty/a.dcm") << std::string(128, '\0') << "DICM and no more";
  EXPECT_EQ(quietvox({"info", path("empty"), "--modality", "CT"}).status, quietvox({"info", path("empty")}).status);
  EXPECT_NE(quietvox_ok({"info", path("in"), "--modality", "MR"}).out.find("T1 axial"), std::string::npos);
  EXPECT_EQ(quietvox({"median", path("in"), path("other"), "--modality", "MR", "--series", "1.2.3.1"}).status, 64);
}

TEST_F(SeveralSeries, WhatIsRarelyMeantIsSkippedAndCounted) {
  write_dicom(folder_ / "in/l", {.series = "1.2.3.4", .more = {{DCM_ImageType, "ORIGINAL\\PRIMARY\\LOCALIZER"}}});
  write_dicom(folder_ / "in/s", {.series = "1.2.3.5", .more = {{DCM_SOPClassUID, UID_SecondaryCaptureImageStorage}}});
  quietvox_ok({"median", path("in/b"), path("in/d")});  // an earlier result
  const auto filtered = [&](const std::vector<std::string>& more) {
    std::filesystem::remove_all(folder_ / "out");
    std::vector<std::string> words{"--radius", "1x1x0", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Result result = filter_all(words);
    EXPECT_EQ(result.status, 0) << result.err;
    const Json json = Json::parse(result.out);
    return std::pair(json["series"].size(), json["skipped"].size());
  };
  EXPECT_EQ(filtered({}), std::pair(2UL, 3UL));
  EXPECT_EQ(filtered({"--include", "processed"}), std::pair(3UL, 2UL));
  EXPECT_EQ(filtered({"--include", "localizer,processed"}), std::pair(4UL, 1UL));
  EXPECT_EQ(filtered({"--include", "secondary-capture,localizer,processed"}), std::pair(5UL, 0UL));
  EXPECT_EQ(filtered({"--series-number", "7"}), std::pair(2UL, 3UL));
  for (const char* other : {"a0", "a1", "a2"}) std::filesystem::remove(folder_ / "in" / other);
  quietvox_ok({"median", path("in"), path("only"), "--modality", "CT"});  // b, not its result, nor the localizer
  EXPECT_EQ(dicom_text(folder_ / "only/b", DCM_SOPClassUID), UID_CTImageStorage);
  for (int z = 0; z < 3; ++z)
    write_dicom(folder_ / ("in/a" + std::to_string(z)), {.position = {0, 0, 1.0 * z}, .series = "1.2.3.1"});
  std::filesystem::remove_all(folder_ / "out");
  const Result run = filter_all({"--radius", "1x1x0"});
  EXPECT_NE(run.err.find("3 series skipped: 1 localizer, 1 processed, 1 secondary-capture; --include "
                         "localizer,processed,secondary-capture filters them too"),
            std::string::npos)
      << run.err;
  EXPECT_EQ(filter_all({"--include", "everything", "--force"}).status, 64);
  std::filesystem::remove_all(folder_ / "out");
  const Result none = filter_all({"--modality", "PT"});
  EXPECT_EQ(none.status, 2) << none.err;
  EXPECT_NE(none.err.find("no series is left to be filtered, 5 series skipped: 5 not chosen; choose others"),
            std::string::npos)
      << none.err;
  EXPECT_EQ(none.err.find("series skipped"), none.err.rfind("series skipped")) << none.err;
  const std::string info = quietvox_ok({"info", path("in")}).out;
  EXPECT_NE(info.find("3 images, 5 x 4 pixels, Head\n"), std::string::npos) << info;  // in the folder itself
  for (const char* kind : {", localizer, ", ", secondary-capture, ", ", processed, "}) {
    EXPECT_NE(info.find(kind), std::string::npos) << info;
  }
}

/// Scripts must hear of a slice that a copy lost, and of every file that was left out.
TEST_F(SeveralSeries, AFileThatMayHaveBeenAnImageIsAFailure) {
  for (const int i : {1, 2, 3, 4, 5, 6, 7}) write_file(folder_ / "in" / ("note" + std::to_string(i)), "no image");
  write_file(folder_ / "in/a3.dcm", "");
  const Result result = filter_all({"--radius", "1x1x0", "--json", "--log-file", path("log")});
  EXPECT_EQ(result.status, 4) << result.err;
  const Json json = Json::parse(result.out);
  ASSERT_EQ(json["series"].size(), 3U);  // both are filtered
  const std::string lost = "a3.dcm: not DICOM, although its name says so: an image may be lost";
  EXPECT_NE(json["series"][0]["error"]["message"].get<std::string>().find(lost), std::string::npos) << result.out;
  EXPECT_EQ(json["skipped_files"].size(), 9U);
  EXPECT_EQ(json["skipped_files"][0], lost);
  EXPECT_EQ(json["skipped_files"][8], "readme.txt: not DICOM");
  EXPECT_NE(read_file(path("log")).find("skipped note7: not DICOM"), std::string::npos);
}

TEST_F(SeveralSeries, AllAreFilteredIntoFoldersOfTheirOwn) {
  const auto before = contents(folder_ / "in");
  const Result result = filter_all({"--radius", "1x1x0", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out)["series"].size(), 2U);
  EXPECT_EQ(TemporaryFolder::names_in(folder_ / "out"),
            (std::vector<std::string>{"1.2.3.1", "1.2.3.1/a0", "1.2.3.1/a1", "1.2.3.1/a2", "1.2.3.2", "1.2.3.2/b"}));
  quietvox_ok({"median", path("in"), path("one"), "--radius", "1x1x0", "--series", "1.2.3.1"});
  EXPECT_EQ(read_voxels(folder_ / "one"), read_voxels(folder_ / "out/1.2.3.1"));
  EXPECT_EQ(contents(folder_ / "in"), before);
}

/// Of a run that has just begun there, or of somebody else: nothing that would be replaced.
TEST_F(SeveralSeries, ComeBesideWhatAnotherRunHasNotFinished) {
  const std::filesystem::path unfinished = folder_ / "out/.quietvox-0123456789abcdef.part";
  std::filesystem::create_directories(unfinished);
  write_file(unfinished / "0123456789abcdef.lock", "");
  std::filesystem::permissions(unfinished, std::filesystem::perms::owner_all);
  const int lock = open((unfinished / "0123456789abcdef.lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
  const Result result = filter_all();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(std::filesystem::exists(unfinished / "0123456789abcdef.lock"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "out"), {}), 3);
  close(lock);
}

TEST_F(SeveralSeries, OneOfThemIsChosenWhereTwoImagesBelongTogether) {
  quietvox_ok({"median", path("in"), path("one"), "--radius", "1x1x0", "--series", "1.2.3.1"});
  quietvox_ok({"median", path("in"), path("one.nii"), "--radius", "1x1x0", "--series", "1.2.3.1"});
  for (const char* clean : {"one", "one.nii"}) {
    quietvox_ok({"train-quadratic", path("in"), path(clean), path("c.json"), "--series", "1.2.3.1", "--force"});
    quietvox_ok({"compare", path("in"), path(clean), "--series", "1.2.3.1"});
  }
  quietvox_ok({"compare", path("one.nii"), path("in"), "--series", "1.2.3.1"});
  const Result mask = quietvox({"median", path("one.nii"), path("out.nii"), "--mask", path("in")});
  EXPECT_EQ(mask.status, 64);
  EXPECT_NE(mask.err.find("--mask: "), std::string::npos) << mask.err;
  EXPECT_NE(mask.err.find("; give a folder that holds the mask alone"), std::string::npos) << mask.err;
  const Result file = quietvox({"info", path("one.nii"), "--modality", "MR"});
  EXPECT_EQ(file.status, 64);
  EXPECT_NE(file.err.find("one.nii: is a file, and has no series"), std::string::npos) << file.err;
}

TEST_F(SeveralSeries, TakingAllIsOfferedWhereItCouldBeDone) {
  const auto error_of = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"median", path("in"), "--json"});
    return Json::parse(quietvox(words).out)["error"];
  };
  EXPECT_EQ(error_of({path("out")})["remedy"], "choose one by --series UID, or take all by --all-series");
  EXPECT_EQ(error_of({path("out.nii")})["remedy"], "choose one by --series UID");
  EXPECT_EQ(error_of({path("out"), "--residual", path("r.nii")})["remedy"], "choose one by --series UID");
}

TEST_F(SeveralSeries, AFailureDoesNotKeepOthersFromBeingFiltered) {
  write_dicom(folder_ / "in/c0", {.position = {0, 0, 0}, .series = "1.2.3.0"});
  write_dicom(folder_ / "in/c1", {.position = {0, 0, 1}, .series = "1.2.3.0"});
  write_dicom(folder_ / "in/c2", {.position = {0, 0, 5}, .series = "1.2.3.0"});  // slices are missing
  write_dicom(folder_ / "in/d", {.series = "1.2.3.3",
                                 .change = [](DcmDataset& data) { data.putAndInsertUint16(DCM_SamplesPerPixel, 3); }});
  const Result result = filter_all({"--radius", "1", "--json"});
  EXPECT_EQ(result.status, 10) << result.err;  // of the first failure
  EXPECT_NE(result.err.find("series 1.2.3.0: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("series 1.2.3.3: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("2 series or files could not be filtered, 2 series could"), std::string::npos)
      << result.err;
  const Json series = Json::parse(result.out)["series"];
  ASSERT_EQ(series.size(), 4U);
  EXPECT_EQ(series[0]["error"]["status"], 10);
  EXPECT_EQ(series[3]["error"]["status"], 4);
  EXPECT_EQ(Json::parse(result.out)["error"]["status"], 10);
  const Json alone = Json::parse(
      quietvox({"median", path("in"), path("one"), "--series", "1.2.3.0", "--radius", "1", "--json"}).out)["error"];
  for (const char* const said : {"parameter", "remedy"}) {
    ASSERT_TRUE(alone.contains(said) && series[0]["error"].contains(said)) << said << alone << series[0];
    EXPECT_EQ(series[0]["error"][said], alone[said]) << said;
  }
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/1.2.3.1/a2"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/1.2.3.2/b"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/1.2.3.0"));
}

TEST_F(SeveralSeries, FilesThatBelongToNoneAreNamedAndCountAsFailures) {
  write_dicom(folder_ / "in/lost", {.series = ""});
  const Result one = quietvox({"median", path("in"), path("one"), "--series", "1.2.3.1"});
  EXPECT_EQ(one.status, 0) << one.err;  // a series was chosen, and the file names none
  EXPECT_NE(one.err.find("lost: SeriesInstanceUID"), std::string::npos) << one.err;
  EXPECT_EQ(quietvox({"median", path("in"), path("two")}).status, 4);
  const Result all = filter_all();
  EXPECT_EQ(all.status, 4);
  EXPECT_NE(all.err.find("lost: SeriesInstanceUID"), std::string::npos) << all.err;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/1.2.3.2/b"));
}

TEST_F(SeveralSeries, NothingIsLeftWhereNoneCanBeFiltered) {
  std::filesystem::remove_all(folder_ / "in");
  std::filesystem::create_directory(folder_ / "in");
  write_file(folder_ / "in/text", "no image\n");
  EXPECT_EQ(filter_all().status, 2);
  write_file(folder_ / "in/a.dcm", "");
  const Result lost = filter_all();
  EXPECT_EQ(lost.status, 4);
  EXPECT_NE(lost.err.find("a.dcm: not DICOM, although its name says so"), std::string::npos) << lost.err;
  std::filesystem::remove(folder_ / "in/a.dcm");
  write_dicom(folder_ / "in/d", {.slope = "0"});
  EXPECT_EQ(filter_all().status, 4);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(SeveralSeries, IdentifiersThatAreNoNamesOfFoldersDoNotLeadAstray) {
  write_dicom(folder_ / "in/evil", {.series = "../../1.2"});
  ASSERT_EQ(filter_all().status, 0);
  const auto names = TemporaryFolder::names_in(folder_ / "out");
  const auto evil = std::ranges::find_if(names, [](const std::string& name) { return name.ends_with("/evil"); });
  ASSERT_TRUE(evil != names.end());
  EXPECT_TRUE(evil->starts_with("series-")) << *evil;
  // The next export has another series without a good name, and must not replace this one.
  std::filesystem::remove(folder_ / "in/evil");
  write_dicom(folder_ / "in/other", {.series = "../../1.3"});
  EXPECT_EQ(filter_all({"--force"}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / *evil));
  const auto after = TemporaryFolder::names_in(folder_ / "out");
  EXPECT_TRUE(std::ranges::any_of(after, [](const std::string& name) { return name.ends_with("/other"); }));
}

TEST_F(SeveralSeries, ExistingOutputsAndOtherOptionsAreRefused) {
  ASSERT_EQ(filter_all().status, 0);
  EXPECT_EQ(filter_all().status, 20);
  EXPECT_EQ(filter_all({"--force"}).status, 0);
  EXPECT_EQ(filter_all({"--force", "--series", "1.2.3.1"}).status, 64);
  EXPECT_EQ(filter_all({"--force", "--residual", path("r.nii")}).status, 64);
  EXPECT_EQ(filter_all({"--force", "--mask", path("in/b")}).status, 64);
  EXPECT_EQ(filter_all({"--force", "--output-format", "nifti"}).status, 64);
  const Result contradictory = filter_all({"--force", "--codec", "rle", "--no-compress"});
  EXPECT_EQ(contradictory.status, 64);
  EXPECT_EQ(std::ranges::count(contradictory.err, '\n'), 1) << contradictory.err;  // once, not for each series
  EXPECT_EQ(quietvox({"median", path("in/b"), path("x"), "--all-series"}).status, 64);
  EXPECT_EQ(quietvox({"median", path("in/b"), path("x"), "--include", "localizer"}).status, 64);
  EXPECT_EQ(quietvox({"median", path("in"), path("in/x"), "--all-series"}).status, 6);
}

/// At once and with one message, not one for each series.
TEST_F(SeveralSeries, AMissingFolderAboveTheOutputIsRefused) {
  for (const bool is_dry : {false, true}) {
    std::vector<std::string> words{"median", path("in"), path("none/out"), "--all-series"};
    if (is_dry) words.emplace_back("--dry-run");
    const Result result = quietvox(words);
    EXPECT_EQ(result.status, 6);
    EXPECT_EQ(result.err, "quietvox: " + path("none/out") + ": there is no folder " + path("none") +
                              "; make it first or give another output\n");
  }
}

/// Series that differ in their numbers, as all of a real study do.
TEST_F(SeveralSeries, ForceReplacesTheResultOfEachAndNothingElse) {
  write_dicom(folder_ / "in/b", {.columns = 7, .series = "1.2.3.2", .more = {{DCM_SeriesNumber, "8"}}});
  ASSERT_EQ(filter_all({"--radius", "0"}).status, 0);
  write_file(folder_ / "out/letter.txt", "dear");
  const Result refused = filter_all({"--radius", "1x1x0"});
  EXPECT_EQ(refused.status, 20);
  EXPECT_NE(refused.err.find("out: exists already; use --force to replace the results of the series that are filtered; "
                             "nothing else in it changes"),
            std::string::npos)
      << refused.err;
  const auto of_a = read_voxels(folder_ / "out/1.2.3.1"), of_b = read_voxels(folder_ / "out/1.2.3.2");
  const Result replaced = filter_all({"--radius", "1x1x0", "--force"});
  EXPECT_EQ(replaced.status, 0) << replaced.err;
  EXPECT_NE(read_voxels(folder_ / "out/1.2.3.1"), of_a);
  EXPECT_NE(read_voxels(folder_ / "out/1.2.3.2"), of_b);
  EXPECT_EQ(read_file(folder_ / "out/letter.txt"), "dear");

  write_file(folder_ / "out/1.2.3.1/letter.txt", "dear");
  const Result one = filter_all({"--radius", "0", "--force"});
  EXPECT_EQ(one.status, 20) << one.err;
  EXPECT_NE(one.err.find("out/1.2.3.1: holds letter.txt, which was not made by quietvox"), std::string::npos)
      << one.err;
  EXPECT_EQ(read_file(folder_ / "out/1.2.3.1/letter.txt"), "dear");
  EXPECT_NE(read_voxels(folder_ / "out/1.2.3.1/a0"), std::vector<float>());
  EXPECT_EQ(read_voxels(folder_ / "out/1.2.3.2"), of_b);
  EXPECT_EQ(quietvox({"median", path("in"), path(""), "--all-series", "--force"}).status, 6) << "it holds the input";
}

/// Images of one series may have two numbers, as of a scout in two planes.
TEST_F(SeveralSeries, ForceReplacesTheResultOfASeriesWithTwoNumbers) {
  write_dicom(folder_ / "in/b", {.columns = 7, .series = "1.2.3.2", .more = {{DCM_SeriesNumber, "8"}}});
  write_dicom(folder_ / "in/c",
              {.columns = 7, .position = {0, 0, 3}, .series = "1.2.3.2", .more = {{DCM_SeriesNumber, "9"}}});
  const Result first = filter_all({"--radius", "0"});
  ASSERT_EQ(first.status, 0) << first.err;
  const Result replaced = filter_all({"--radius", "1x1x0", "--force"});
  EXPECT_EQ(replaced.status, 0) << replaced.err;
}

TEST_F(SeveralSeries, AStoppedRunSaysWhatItWrote) {
  for (int i = 0; i < 30; ++i) {
    write_dicom(folder_ / ("in/z" + std::to_string(i)), {.series = "1.2.4." + std::to_string(i)});
  }
  Process process({"median", path("in"), path("out"), "--all-series", "--json", "--verbose"});
  ASSERT_TRUE(process.wait_for_stderr("wrote"));
  process.send(SIGTERM);
  const Result result = process.finish();
  const Json document = Json::parse(result.out);
  EXPECT_EQ(document["error"]["code"], "cancelled");
  EXPECT_EQ(document["error"]["status"], 128 + SIGTERM);
  EXPECT_EQ(document["input"], path("in"));
  std::vector<std::string> told;
  for (const Json& series : document["series"]) {
    if (series.contains("output"))
      told.push_back(std::filesystem::path(series["output"].get<std::string>()).filename());
  }
  std::ranges::sort(told);
  EXPECT_FALSE(told.empty());
  std::vector<std::string> there = TemporaryFolder::names_in(folder_ / "out");
  std::erase_if(there, [](const std::string& name) { return name.find('/') != std::string::npos; });
  EXPECT_EQ(told, there);
}

TEST_F(SeveralSeries, ACrashOfACodecTakesOnlyItsSeries) {
  write_dicom(folder_ / "in/jpeg", {.series = "1.2.3.15", .syntax = EXS_JPEGProcess14SV1});  // between the others
  const Environment crashes(fault_variables());
  const Result result = filter_all({"--json", "--radius", "0"});
  EXPECT_EQ(result.status, 70) << result.err;
  EXPECT_NE(result.err.find("series 1.2.3.15: the process that read it ended with signal 9"), std::string::npos)
      << result.err;
  EXPECT_EQ(result.err.find("damaged"), std::string::npos) << "it may have been killed for memory";
  EXPECT_NE(result.err.find("1 series or file could not be filtered, 2 series could"), std::string::npos) << result.err;
  const Json series = Json::parse(result.out)["series"];
  ASSERT_EQ(series.size(), 3U);
  EXPECT_EQ(series[1]["error"]["status"], 70);
  EXPECT_EQ(TemporaryFolder::names_in(folder_ / "out"),
            (std::vector<std::string>{"1.2.3.1", "1.2.3.1/a0", "1.2.3.1/a1", "1.2.3.1/a2", "1.2.3.2", "1.2.3.2/b"}));
}

TEST_F(SeveralSeries, ACrashOfTheParserTakesOnlyItsFiles) {
  for (const char* name : {"crashes-the-parser-1", "crashes-the-parser-2"}) {
    write_dicom(folder_ / "in" / name, {.series = "1.2.3.3"});
  }
  const Environment crashes(fault_variables());
  const Result result = filter_all({"--json"});
  EXPECT_EQ(result.status, 70) << result.err;
  EXPECT_NE(result.err.find("crashes-the-parser-1: the process that read it ended with"), std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("2 series or files could not be filtered, 2 series could"), std::string::npos)
      << result.err;
  const Json document = Json::parse(result.out);
  EXPECT_EQ(document["series"].size(), 4U);
  EXPECT_EQ(document["warnings"].size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/1.2.3.2/b"));
}

TEST_F(SeveralSeries, AnEmptyOutputFolderIsNoResult) {
  std::filesystem::create_directory(folder_ / "out");
  EXPECT_EQ(filter_all().status, 0);
  EXPECT_EQ(filter_all().status, 20);
}

TEST_F(SeveralSeries, DryRunsWriteNothing) {
  const Result result = filter_all({"--dry-run"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

}  // namespace
}  // namespace quietvox::test
