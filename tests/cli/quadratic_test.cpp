// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/images.hpp"
#include "cli/process.hpp"

namespace quietvox::test {
namespace {

using Json = nlohmann::json;

class Quadratic : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  TemporaryFolder folder_;
};

TEST_F(Quadratic, WhatIsTrainedCanBeUsedAndDenoises) {
  quietvox_ok({"phantom", path("clean.nii"), "--size", "96x96x8"});
  quietvox_ok({"add-noise", path("clean.nii"), path("noisy.nii"), "--amount", "60"});
  for (const std::string size : {"3x3", "5x5"}) {
    const std::string file = path("h-" + size + ".json");
    const Json psnr = Json::parse(
        quietvox_ok({"train-quadratic", path("noisy.nii"), path("clean.nii"), file, "--size", size, "--json"})
            .out)["psnr"];
    EXPECT_GT(psnr["linear"].get<double>(), psnr["noisy"].get<double>() + 1);
    EXPECT_GT(psnr["quadratic"].get<double>(), psnr["noisy"].get<double>() + 1);
    quietvox_ok({"quadratic", path("noisy.nii"), path(size + ".nii"), "--coefficients", file});
    const auto error = [&](const std::string& name) {
      return Json::parse(quietvox_ok({"compare", path("clean.nii"), path(name), "--json"}).out)["volumes"][0]["psnr"]
          .get<double>();
    };
    EXPECT_GT(error(size + ".nii"), error("noisy.nii") + 1);
  }
  EXPECT_EQ(quietvox({"train-quadratic", path("noisy.nii"), path("clean.nii"), path("h-3x3.json")}).status, 20);
}

TEST_F(Quadratic, FollowsTheMedianInAChain) {
  quietvox_ok({"phantom", path("in.nii"), "--kind", "mammogram", "--size", "64x80x1"});
  quietvox_ok({"run", path("in.nii"), path("out.nii"), "--filter", "median:radius=1x1x0", "--filter",
               "quadratic:coefficients=mammogram-enhance,gain=2"});
  quietvox_ok({"median", path("in.nii"), path("median.nii"), "--radius", "1x1x0"});
  quietvox_ok(
      {"quadratic", path("median.nii"), path("both.nii"), "--coefficients", "mammogram-enhance", "--gain", "2"});
  EXPECT_EQ(read_voxels(path("out.nii")), read_voxels(path("both.nii")));
}

TEST_F(Quadratic, EnhancingIsNotCalledSmoothingInDicom) {
  quietvox_ok({"phantom", path("in"), "--kind", "mammogram", "--size", "64x80x1"});
  const auto codes = [&](const std::string& name, const std::vector<std::string>& filters) {
    std::vector<std::string> words{"run", path("in"), path(name)};
    for (const std::string& filter : filters) words.insert(words.end(), {"--filter", filter});
    quietvox_ok(words);
    const std::string bytes = read_file(std::filesystem::directory_iterator(path(name))->path());
    const auto holds = [&](const char* code) { return bytes.find(code) != std::string::npos; };
    return std::pair(holds("113087"), holds("113086"));
  };
  const std::string enhance = "quadratic:coefficients=mammogram-enhance";
  EXPECT_EQ(codes("smooth", {"quadratic:coefficients=denoise"}), std::pair(true, false));
  EXPECT_EQ(codes("sharp", {enhance}), std::pair(false, true));
  EXPECT_EQ(codes("both", {"median:radius=1x1x0", enhance}), std::pair(true, true));
}

TEST_F(Quadratic, ABadFileOfCoefficientsIsRefusedInOneLine) {
  write_nifti(folder_ / "in.nii", {{8, 8, 1}}, random_integers(64, 1));
  write_file(folder_ / "bad.json", R"({"size": 3, "range": "volume", "h0": 0, "h1": [1, 2], "h2": []})");
  const Result result = quietvox({"quadratic", path("in.nii"), path("out.nii"), "--coefficients", path("bad.json")});
  EXPECT_EQ(result.status, 4);
  EXPECT_NE(result.err.find("bad.json: h1 has 2 numbers; size 3 takes 9"), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_FALSE(std::filesystem::exists(path("out.nii")));
}

}  // namespace
}  // namespace quietvox::test
