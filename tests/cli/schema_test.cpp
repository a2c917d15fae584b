// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// What --json prints, against docs/schema.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/process.hpp"
#include "support/make_dicom.hpp"
#include "support/programs.hpp"

namespace quietvox::test {
namespace {

class Schema : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!python_has("jsonschema")) GTEST_SKIP() << "python3-jsonschema is not installed";
    quietvox_ok({"phantom", path("in.nii"), "--size", "16x16x8", "--noise", "gaussian:20"});
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void expect(const std::string& definition, std::vector<std::string> words, int status = 0) const {
    words.emplace_back("--json");
    const Result result = quietvox(words);
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_EQ(against_schema(result.out, definition), "") << definition << ": " << result.out;
  }

  TemporaryFolder folder_;
};

TEST_F(Schema, HoldsForEveryCommand) {
  expect("filter", {"median", path("in.nii"), path("median.nii")});
  EXPECT_EQ(against_schema(read_file(path("median.json")), "sidecar"), "");
  expect("filter", {"nlm", path("in.nii"), path("dry.nii"), "--dry-run", "--search-radius", "2"});
  expect("filter", {"run", path("in.nii"), path("run.nii"), "--filter", "bilateral", "--filter", "quadratic"});
  EXPECT_EQ(against_schema(read_file(path("run.json")), "sidecar"), "");
  expect("info", {"info", path("in.nii")});
  expect("filters", {"filters"});
  expect("compare", {"compare", path("in.nii"), path("in.nii")});
  expect("compare", {"compare", path("in.nii"), path("median.nii")});
  expect("estimate", {"estimate", path("in.nii")});
  expect("filter", {"bilateral", path("in.nii"), path("bilateral.nii"), "--radius", "1"});
  EXPECT_EQ(against_schema(read_file(path("bilateral.json")), "sidecar"), "");
  quietvox_ok({"phantom", path("counts.nii"), "--kind", "mammogram", "--size", "256x256x1", "--noise", "poisson:30"});
  expect("info", {"info", path("counts.nii")});
  expect("estimate", {"estimate", path("counts.nii")});
  expect("filter", {"denoise", path("counts.nii"), path("denoised.nii")});
  EXPECT_NE(read_file(path("denoised.json")).find("\"stabilised\": \"Poisson noise\""), std::string::npos);
  EXPECT_EQ(against_schema(read_file(path("denoised.json")), "sidecar"), "");
  expect("phantom", {"phantom", path("phantom.nii"), "--size", "16x16x4"});
  expect("add_noise", {"add-noise", path("in.nii"), path("noisy.nii")});
  expect("train_quadratic", {"train-quadratic", path("in.nii"), path("median.nii"), path("coefficients.json")});
}

/// So that a key can be read without a look at what it belongs to. Null stands beside any type; values of a filter's
/// parameters are those of the filter.
TEST(SchemaKeys, HaveOneTypeEach) {
  using Json = nlohmann::json;
  using Types = std::set<std::string>;
  const Json schema = Json::parse(read_file(QUIETVOX_SOURCE_DIR "/docs/schema/quietvox-1.json"));
  std::map<std::string, Types> types;
  const std::function<Types(const Json&)> types_of = [&](const Json& value) -> Types {
    if (value.contains("$ref")) {
      const std::string name = value["$ref"];
      return types_of(schema.at(Json::json_pointer(name.substr(1))));
    }
    Types found;
    for (const Json& each : value.value("oneOf", Json::array())) found.merge(types_of(each));
    for (const Json& each : value.value("enum", Json::array())) found.insert(each.is_string() ? "string" : "other");
    if (value.contains("const")) found.insert(value["const"].is_string() ? "string" : "number");
    Json named = value.value("type", Json::array());
    if (named.is_string()) named = Json::array({named});
    for (const std::string name : named) {
      if (name == "null") continue;
      const bool is_number = name == "integer" || name == "number";
      std::string items;
      if (name == "array") {
        for (const std::string& item : types_of(value.at("items"))) items += " of " + item;
      }
      found.insert((is_number ? "number" : name) + items);
    }
    return found;
  };
  const std::function<void(const Json&)> walk = [&](const Json& node) {
    if (node.is_object() && node.contains("properties")) {
      for (const auto& [key, value] : node["properties"].items()) types[key].merge(types_of(value));
    }
    if (node.is_structured()) {
      for (const Json& part : node) walk(part);
    }
  };
  walk(schema);
  EXPECT_GT(types.size(), 100U);
  for (const auto& [key, found] : types) EXPECT_EQ(found.size(), 1U) << key << ": " << Json(found).dump();
}

TEST_F(Schema, HoldsForEveryFilter) {
  using Json = nlohmann::json;
  const Json all = Json::parse(quietvox_ok({"filters", "--json"}).out);
  ASSERT_GE(all["filters"].size(), 9U);
  for (const Json& filter : all["filters"]) {
    expect("filter", {filter["name"].get<std::string>(), path("in.nii"), path("dry.nii"), "--dry-run"});
  }
}

TEST_F(Schema, HoldsForProgress) {
  const Result result = quietvox({"median", path("in.nii"), path("out.nii"), "--progress", "json"});
  std::istringstream lines(result.err);
  std::size_t told = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('{')) continue;
    EXPECT_EQ(against_schema(line, "progress"), "") << line;
    ++told;
  }
  EXPECT_GT(told, 0U) << result.err;
}

TEST_F(Schema, HoldsForFailures) {
  expect("failure", {"info", path("nothing.nii")}, 5);
  expect("failure", {"median", path("in.nii")}, 64);
  expect("failure", {"mediann"}, 64);
}

TEST_F(Schema, HoldsForFoldersOfSeveralSeries) {
  std::filesystem::create_directory(folder_ / "series");
  for (int z = 0; z < 3; ++z) {
    write_dicom(folder_ / ("series/a" + std::to_string(z)), {.position = {0, 0, 1.0 * z}, .series = "1.2.3.1"});
    write_dicom(folder_ / ("series/b" + std::to_string(z)), {.position = {0, 0, 1.0 * z * z}, .series = "1.2.3.2"});
  }
  expect("series", {"info", path("series")});
  expect("info", {"info", path("series"), "--series", "1.2.3.1"});
  expect("all_series", {"median", path("series"), path("out"), "--all-series", "--radius", "1"}, 10);
  expect("filter", {"median", path("series"), path("one"), "--series", "1.2.3.1"});
}

}  // namespace
}  // namespace quietvox::test
