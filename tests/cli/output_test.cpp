// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/images.hpp"
#include "cli/process.hpp"
#include "filters/registry.hpp"

namespace quietvox::test {
namespace {

using Json = nlohmann::json;

class Output : public ::testing::Test {
 protected:
  void SetUp() override { write_nifti(folder_ / "in.nii", {{8, 8, 8}}, random_integers(512, 1)); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  TemporaryFolder folder_;
};

TEST_F(Output, OfAFilterGoesToStderrAndIsShort) {
  const Result result = quietvox_ok({"median", path("in.nii"), path("out.nii"), "--backend", "cpu", "--progress=none"});
  EXPECT_EQ(result.out, "");
  EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 2) << result.err;
  EXPECT_NE(result.err.find("median radius=1x1x1 shape=box border=replicate"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("backend cpu"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(path("out.nii")), std::string::npos) << result.err;
}

TEST_F(Output, NamesEveryFileThatWasWritten) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"median", path("in.nii"), path("a.hdr"), "--residual", path("r.nii")},
                                             {"add-noise", path("in.nii"), path("b.hdr")},
                                             {"phantom", path("c.hdr"), "--size", "16x16x4"}}) {
    const auto before = folder_.names();
    const Result result = quietvox_ok(words);
    for (const std::string& name : folder_.names()) {
      if (std::find(before.begin(), before.end(), name) != before.end()) continue;
      EXPECT_NE(result.err.find(name), std::string::npos) << name << "\n" << result.err;
    }
  }
}

TEST_F(Output, OfTwoFilesIsReplacedByEitherName) {
  for (const std::string name : {"a.hdr", "a.img"}) {
    quietvox_ok({"median", path("in.nii"), path(name), "--force"});
    quietvox_ok({"median", path("in.nii"), path(name), "--force"});
  }
}

TEST_F(Output, AutoSaysWhichBackendItTookAndWhy) {
  const Result result = quietvox_ok({"median", path("in.nii"), path("out.nii")});
  EXPECT_NE(result.err.find("(auto: "), std::string::npos) << result.err;
}

TEST_F(Output, AutoGoesByHowMuchThereIsToDo) {
  write_nifti(folder_ / "larger.nii", {{48, 48, 48}}, random_integers(48 * 48 * 48, 2));
  const auto reason = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--threads", "1", "--dry-run", "--json"});
    return Json::parse(quietvox_ok(words).out)["backend_reason"].get<std::string>();
  };
  EXPECT_EQ(reason({"median", path("larger.nii"), path("out.nii")}), "auto: too little work for a GPU");
  const std::string much = reason({"nlm", path("larger.nii"), path("out.nii"), "--search-radius", "15"});
  EXPECT_TRUE(much.starts_with("auto: ") && !much.ends_with("too little work for a GPU")) << much;
}

TEST_F(Output, SaysWhatAutoBecame) {
  const Json document =
      Json::parse(quietvox_ok({"bilateral", path("in.nii"), path("out.nii"), "--radius", "1", "--json"}).out);
  EXPECT_EQ(document["requested"][0]["parameters"]["range_sigma"], "auto");
  EXPECT_TRUE(document["volumes"][0]["filters"][0]["parameters"]["range_sigma"].is_number());
}

TEST_F(Output, QuietIsQuiet) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"median", path("in.nii"), path("a.nii"), "--quiet", "--verbose", "--progress=plain"},
           {"add-noise", path("in.nii"), path("b.nii"), "--quiet"},
           {"phantom", path("c.nii"), "--size", "16x16x4", "--quiet"}}) {
    const Result result = quietvox_ok(words);
    EXPECT_EQ(result.out + result.err, "");
  }
}

TEST_F(Output, JsonIsOneDocumentAndNothingElse) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"median", path("in.nii"), path("a.nii")},
                                             {"median", path("in.nii"), path("dry.nii"), "--dry-run"},
                                             {"run", path("in.nii"), path("b.nii"), "--filter", "median"},
                                             {"info", path("in.nii")},
                                             {"filters"},
                                             {"filters", "median"},
                                             {"compare", path("in.nii"), path("in.nii")},
                                             {"phantom", path("c.nii"), "--size", "16x16x4"},
                                             {"add-noise", path("in.nii"), path("d.nii")}}) {
    std::vector<std::string> all = words;
    all.push_back("--json");
    const Result result = quietvox_ok(all);
    EXPECT_TRUE(Json::accept(result.out)) << words[0] << ": " << result.out;
  }
}

TEST_F(Output, JsonOfARunNamesEverything) {
  const Json document = Json::parse(quietvox_ok({"median", path("in.nii"), path("out.nii"), "--json"}).out);
  EXPECT_EQ(document["input"], path("in.nii"));
  EXPECT_EQ(document["output"], path("out.nii"));
  EXPECT_EQ(document["format"], "NIfTI");
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["volumes"][0]["filters"][0]["name"], "median");
  EXPECT_EQ(document["volumes"][0]["filters"][0]["parameters"]["radius"], Json({1, 1, 1}));
  const Json whole = Json::parse(
      quietvox_ok({"nlm", path("in.nii"), path("whole.nii"), "--search-radius", "all", "--dry-run", "--json"}).out);
  EXPECT_EQ(whole["volumes"][0]["filters"][0]["parameters"]["search_radius"], "all");
  const Json sidecar = Json::parse(read_file(path("out.json")));
  EXPECT_EQ(sidecar["schema"], 1);
  EXPECT_EQ(sidecar["requested"], document["requested"]);
  EXPECT_EQ(sidecar["volumes"][0]["filters"], document["volumes"][0]["filters"]);
  EXPECT_EQ(document["clamped_voxels"], 0);
  ASSERT_FALSE(document["files"].empty());
  for (const auto& file : document["files"]) EXPECT_TRUE(std::filesystem::exists(file.get<std::string>())) << file;
}

TEST_F(Output, JsonTellsOfAFailureToo) {
  const auto expect = [&](const std::vector<std::string>& words, int status, const char* code) {
    const Result result = quietvox(words);
    const Json error = Json::parse(result.out)["error"];
    EXPECT_EQ(result.status, status);
    EXPECT_EQ(error["status"], status);
    EXPECT_EQ(error["code"], code);
    EXPECT_EQ("quietvox: " + error["message"].get<std::string>() + "\n", result.err);
  };
  expect({"info", path("nothing.nii"), "--json"}, 5, "input_path");
  expect({"median", path("in.nii"), path("out.nii"), "--json", "--radios", "1"}, 64, "invalid_argument");
  write_file(path("there.nii"), "precious");
  expect({"median", path("in.nii"), path("there.nii"), "--json"}, 20, "exists");
}

/// Several runs share a log: each line says what it speaks of.
TEST_F(Output, EveryLineNamesItsInput) {
  const auto expect_named = [&](const std::string& text, const std::string& before) {
    std::istringstream lines(text);
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      EXPECT_NE(line.find(before + path("in.nii") + ": "), std::string::npos) << line;
    }
    EXPECT_GT(count, 0);
  };
  const Result run = quietvox_ok({"median", path("in.nii"), path("out.nii"), "--verbose", "--log-file", path("log")});
  expect_named(run.err, "");
  expect_named(read_file(path("log")), "Z ");
  const Result plain = quietvox_ok({"median", path("in.nii"), path("b.nii"), "--progress", "plain", "--verbose"});
  expect_named(plain.err, "");
}

TEST_F(Output, JsonOfTheFiltersIsTheRegistry) {
  const Json document = Json::parse(quietvox_ok({"filters", "--json"}).out)["filters"];
  ASSERT_EQ(document.size(), filters().size());
  for (std::size_t i = 0; i < filters().size(); ++i) {
    EXPECT_EQ(document[i]["name"], filters()[i].name);
    ASSERT_EQ(document[i]["parameter_list"].size(), filters()[i].fields.size());
    for (std::size_t j = 0; j < filters()[i].fields.size(); ++j) {
      EXPECT_EQ(document[i]["parameter_list"][j]["name"], filters()[i].fields[j].name);
      EXPECT_EQ(document[i]["parameter_list"][j]["help"], filters()[i].fields[j].help);
    }
  }
}

TEST_F(Output, ProgressAsJsonIsOneObjectALine) {
  const Result result = quietvox_ok({"median", path("in.nii"), path("out.nii"), "--progress", "json"});
  std::istringstream lines(result.err);
  double last = -1;
  for (std::string line; std::getline(lines, line);) {
    if (line[0] != '{') continue;
    const double progress = Json::parse(line)["progress"];
    EXPECT_GT(progress, last);
    last = progress;
  }
  EXPECT_EQ(last, 1.0);
}

TEST_F(Output, NoColourNoBarWithoutATerminal) {
  const Result result = quietvox_ok({"median", path("in.nii"), path("out.nii")});
  EXPECT_EQ(result.err.find('\033'), std::string::npos);
  EXPECT_EQ(result.err.find('\r'), std::string::npos);
}

TEST_F(Output, LogFileHoldsTheMessages) {
  quietvox_ok({"median", path("in.nii"), path("out.nii"), "--log-file", path("log"), "--quiet"});
  quietvox({"median", path("in.nii"), path("out.nii"), "--log-file", path("log"), "--quiet"});
  const std::string log = read_file(folder_ / "log");
  EXPECT_NE(log.find("median radius=1x1x1"), std::string::npos) << log;
  EXPECT_NE(log.find("quietvox: " + path("out.nii") + ": exists"), std::string::npos) << log;
}

TEST_F(Output, AFullDiskUnderTheLogIsToldOnceAndStopsNothing) {
  const std::size_t most = 4096;
  write_file(folder_ / "log", "2024-05-06T07:08:09Z " + std::string(most - 40, '.') + "\n");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{most, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  const Result run =
      quietvox_ok({"median", path("in.nii"), path("out.nii"), "--log-file", path("log"), "--verbose", "--dry-run"});
  setrlimit(RLIMIT_FSIZE, &before);
  const std::string warning = "warning: --log-file " + path("log") + ": cannot be written";
  const std::size_t at = run.err.find(warning);
  ASSERT_NE(at, std::string::npos) << run.err;
  EXPECT_EQ(run.err.find(warning, at + 1), std::string::npos) << run.err;
}

TEST_F(Output, ALogIsARegularFileForItsOwnerAlone) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", folder_ / "link");
  // Logs already, which a link or a second name leads to from elsewhere.
  const std::string earlier = "2024-05-06T07:08:09Z a line\n";
  write_file(folder_ / "other", earlier);
  std::filesystem::create_symlink("other", folder_ / "to-other");
  std::filesystem::create_hard_link(folder_ / "other", folder_ / "second-name");
  std::vector<std::string> logs{path("pipe"),     path("link"),  "/dev/null",        path(""),
                                path("to-other"), path("other"), path("second-name")};
  std::filesystem::create_symlink("nowhere", folder_ / "dangling");
  logs.push_back(path("dangling"));
  if (geteuid() == 0) {
    write_file(folder_ / "another's", earlier);
    ASSERT_EQ(chown(path("another's").c_str(), 65534, 65534), 0);
    logs.push_back(path("another's"));
  }
  for (const std::string& log : logs) {
    const Result run = quietvox({"median", path("in.nii"), path("out.nii"), "--log-file", log});
    EXPECT_EQ(run.status, 6) << run.err;
    EXPECT_NE(run.err.find("--log-file " + log), std::string::npos) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
  EXPECT_EQ(read_file(folder_ / "other"), earlier);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "nowhere"));
  write_file(folder_ / "old-log", earlier);
  std::filesystem::permissions(folder_ / "old-log", static_cast<std::filesystem::perms>(0644));
  for (const char* log : {"log", "old-log"}) {
    quietvox_ok({"info", path("in.nii"), "--verbose", "--log-file", path(log)});
    struct stat status {};
    ASSERT_EQ(stat(path(log).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U) << log;
  }
}

TEST_F(Output, ErrorsAreOneLineWhateverTheNameOfTheFile) {
  const Result result = quietvox({"info", path("a\nb\033[31m")});
  EXPECT_EQ(result.status, 5);
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_EQ(result.err.find('\033'), std::string::npos);
}

/// ITK has lines of its own.
TEST_F(Output, ErrorsOfHeadersThatItkReadsAreOneLine) {
  write_file(folder_ / "in.mha",
             "ObjectType = Image\nNDims = 3\nBinaryData = False\nDimSize = 2 2 2\n"
             "ElementDataFile = LOCAL\n0 1 2 3 4 5 6 7\n");
  const Result result = quietvox({"info", path("in.mha")});
  EXPECT_EQ(result.status, 4);
  EXPECT_EQ(result.err, "quietvox: " + path("in.mha") + ": ITK cannot read the header; it is damaged\n");
}

TEST_F(Output, NamesThatCannotBeAreNoInternalError) {
  const std::string longest(255 - 4, 'n');
  // The JSON beside it would be of an image that cannot be.
  write_file(folder_ / "o.json", R"({"quietvox":"0.1.0","image":")" + std::string(498, 'x') + "\"}");
  EXPECT_EQ(quietvox({"median", path("in.nii"), path("o.nii"), "--force"}).status, 0);
  // A header beside it, or its b-values, would have too long a name.
  std::filesystem::copy_file(folder_ / "in.nii", folder_ / (longest + ".img"));
  EXPECT_NE(quietvox({"info", path(longest + ".img")}).status, 70);
  std::string times = read_file(folder_ / "in.nii");
  times[123] = 2 + 8;  // millimetres, seconds
  write_file(folder_ / (longest + ".nii"), times);
  EXPECT_EQ(quietvox({"info", path(longest + ".nii")}).status, 0);
}

TEST_F(Output, EndingsInCapitalsAreEndings) {
  const auto voxels = read_voxels(folder_ / "in.nii").size();
  for (const char* name : {"a.NII", "b.NII.GZ"}) {
    quietvox_ok({"median", path("in.nii"), path(name)});
    const Result same = quietvox_ok({"compare", path(name), path("in.nii"), "--json"});
    EXPECT_EQ(Json::parse(same.out)["volumes"][0]["voxels"], voxels) << name;
  }
  for (const std::string name : {"d.NRRD", "e.nhdR", "f.MHA", "g.MHD"}) {
    const Result refused = quietvox({"median", path("in.nii"), path(name)});
    EXPECT_EQ(refused.status, 64) << name;
    EXPECT_NE(refused.err.find("small letters; give ."), std::string::npos) << refused.err;
  }
}

TEST_F(Output, VeryLongPathsAreShortenedInTheMiddle) {
  std::string long_path = path("start");
  while (long_path.size() < 3000) long_path += "/\u00e4\u00e4\u00e4\u00e4";
  const Result result = quietvox({"info", long_path + "/end"});
  EXPECT_EQ(result.status, 5);
  EXPECT_LT(result.err.size(), 600U);
  EXPECT_NE(result.err.find("quietvox: " + path("start")), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("\u00e4/end: "), std::string::npos) << result.err;
  const std::size_t at = result.err.find("...");
  ASSERT_NE(at, std::string::npos) << result.err;
  const auto is_inside_letter = [&](std::size_t i) {
    return (static_cast<unsigned char>(result.err[i]) & 0xc0) == 0x80;
  };
  EXPECT_FALSE(is_inside_letter(at + 3)) << result.err;
  EXPECT_TRUE(is_inside_letter(at - 1) || result.err[at - 1] == '/') << result.err;
}

TEST_F(Output, OfInfoSaysWhatTheInputIs) {
  const Result result = quietvox_ok({"info", path("in.nii")});
  EXPECT_EQ(result.err, "");
  for (const char* text :
       {"8 x 8 x 8", "noise", "windows across slices", "  yes\n", "median by default", "written as", "NIfTI"}) {
    EXPECT_NE(result.out.find(text), std::string::npos) << text << "\n" << result.out;
  }
}

}  // namespace
}  // namespace quietvox::test
