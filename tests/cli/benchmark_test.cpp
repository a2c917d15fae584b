// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/process.hpp"
#include "support/programs.hpp"

namespace quietvox::test {
namespace {

using Json = nlohmann::json;

TEST(Benchmark, TellsRatesRatiosAndWhereTheTimeGoes) {
  const TemporaryFolder folder;
  const std::string text =
      quietvox_ok({"benchmark", "--seconds", "0", "--slices", "8", "--folder", folder.path().string(), "--json"}).out;
  if (python_has("jsonschema")) {
    EXPECT_EQ(against_schema(text, "benchmark"), "");
  }
  const Json report = Json::parse(text);
  EXPECT_TRUE(folder.names().empty());
  EXPECT_EQ(report["extent"], (Json{512, 512, 8}));
  EXPECT_EQ(report["cuda"].is_null(), !report["cuda_reason"].get<std::string>().empty());
  EXPECT_EQ(report["itk"].get<std::string>().front(), '5');

  std::set<std::string> filters;
  int others = 0;
  for (const Json& row : report["filters"]) {
    filters.insert(row["filter"]["name"]);
    const Json& speed = row["voxels_per_second"];
    EXPECT_GT(speed["itk"], 0);
    EXPECT_DOUBLE_EQ(row["over_itk"]["cpu"].get<double>(), speed["cpu"].get<double>() / speed["itk"].get<double>());
    EXPECT_EQ(speed.contains("cuda"), !report["cuda"].is_null());
    others += speed.contains("opencv");
    if (row["filter"]["name"] == "median") {
      EXPECT_EQ(row["largest_difference"], 0);
    } else {
      EXPECT_GT(row["largest_difference"], 0) << "another way of computing, and yet the same bits";
    }
  }
  EXPECT_EQ(others, report["opencv"].get<std::string>().empty() ? 0 : 3)
      << "OpenCV has medians of 3 x 3 and 5 x 5, and a bilateral filter";
  EXPECT_EQ(filters, (std::set<std::string>{"median", "bilateral", "gaussian"}));

  std::set<std::string> formats;
  for (const Json& row : report["commands"]) {
    formats.insert(row["format"]);
    for (const char* step : {"open", "read", "filter", "write", "finish", "whole", "copy"}) {
      EXPECT_GT(row["seconds_by_step"][step], 0) << step;
    }
    EXPECT_DOUBLE_EQ(row["over_copy"].get<double>(),
                     row["seconds_by_step"]["whole"].get<double>() / row["seconds_by_step"]["copy"].get<double>());
  }
  for (const Json& row : report["commands"]) {
    double awaited = 0;
    for (const char* step : {"open", "read", "filter", "write", "finish"}) {
      const double busy = row["busy"][step], alone = row["awaited"][step];
      EXPECT_GT(busy, 0) << step;
      EXPECT_LE(alone, busy + 1e-9) << step;
      awaited += alone;
    }
    EXPECT_LE(awaited, 1) << "at most one step at a time is waited for";
  }
  EXPECT_EQ(report["commands"].size(), report["cuda"].is_null() ? 3U : 6U) << "a series, a file, a compressed file";
  EXPECT_EQ(formats, (std::set<std::string>{"DICOM", "NIfTI"}));
  EXPECT_EQ(report["commands"][0]["file_count"], 8);
  EXPECT_GT(report["commands"][0]["bytes"], 8 * 512 * 512 * 2);
}

TEST(Benchmark, NeedsAFolderForItsFiles) {
  const Result result = quietvox({"benchmark", "--seconds", "0", "--slices", "8", "--folder", "/nowhere/at/all"});
  EXPECT_EQ(result.status, 7) << result.err;
  EXPECT_NE(result.err.find("/nowhere/at/all"), std::string::npos);
  EXPECT_EQ(result.out, "");
}

TEST(Benchmark, ATemporaryFolderThatIsNoneIsToldOf) {
  const TemporaryFolder folder;
  const std::string command =
      "TMPDIR=/nowhere/at/all " QUIETVOX_BINARY_DIR "/bin/quietvox benchmark 2>" + (folder / "stderr").string();
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 6);
  const std::string text = read_file(folder / "stderr");
  EXPECT_NE(text.find("give another by --folder"), std::string::npos) << text;
}

}  // namespace
}  // namespace quietvox::test
