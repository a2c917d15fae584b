// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/images.hpp"
#include "cli/process.hpp"

namespace quietvox::test {
namespace {

using Json = nlohmann::json;

class Denoise : public ::testing::Test {
 protected:
  void SetUp() override { quietvox_ok({"phantom", path("clean.nii"), "--kind", "mr", "--size", "96x96x32"}); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void add_noise(const std::string& kind, const std::string& amount) const {
    quietvox_ok({"add-noise", path("clean.nii"), path("noisy.nii"), "--kind", kind, "--amount", amount, "--seed", "9",
                 "--force"});
  }
  std::vector<float> filtered(std::vector<std::string> words) const {
    words.emplace_back("--force");
    quietvox_ok(words);
    return read_voxels(words[2]);
  }
  std::vector<float> denoised(const std::vector<std::string>& options = {}) const {
    std::vector<std::string> words{"denoise", path("noisy.nii"), path("out.nii")};
    words.insert(words.end(), options.begin(), options.end());
    return filtered(words);
  }
  Json sidecar() const { return Json::parse(read_file(folder_ / "out.json"))["volumes"][0]; }
  /// Root mean square difference.
  static double apart(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return std::sqrt(sum / static_cast<double>(a.size()));
  }

  TemporaryFolder folder_;
};

TEST_F(Denoise, TakesOutNoiseOfEveryKindThatScannersWrite) {
  // Fine voxels: correlated noise is told from structure by parts without any.
  quietvox_ok({"phantom", path("clean.nii"), "--kind", "mr", "--size", "160x192x48", "--force"});
  const std::vector<float> clean = read_voxels(path("clean.nii"));
  for (const char* kind : {"gaussian", "rician", "g-factor", "ct", "interpolated"}) {
    add_noise(kind, "60");
    const double before = apart(clean, read_voxels(path("noisy.nii"))), after = apart(clean, denoised());
    EXPECT_LT(after, 0.6 * before) << kind;
  }
}

TEST_F(Denoise, TheDialTakesOutMoreOrLess) {
  add_noise("gaussian", "60");
  const std::vector<float> noisy = read_voxels(path("noisy.nii"));
  const double light = apart(noisy, denoised({"--strength", "light"})), medium = apart(noisy, denoised()),
               strong = apart(noisy, denoised({"--strength", "strong"}));
  EXPECT_LT(light, 0.8 * medium);
  EXPECT_GT(strong, medium);
  EXPECT_NEAR(medium, 60, 6);
}

TEST_F(Denoise, LeavesImagesWithoutNoiseAlone) {
  const std::vector<float> clean = read_voxels(path("clean.nii"));
  const auto [low, high] = std::minmax_element(clean.begin(), clean.end());
  EXPECT_LT(apart(clean, filtered({"denoise", path("clean.nii"), path("out.nii")})), 1e-3 * (*high - *low));
  add_noise("gaussian", "60");
  const double first = apart(read_voxels(path("noisy.nii")), denoised());
  const std::vector<float> once = read_voxels(path("out.nii"));
  EXPECT_LT(apart(once, filtered({"denoise", path("out.nii"), path("twice.nii")})), first / 4);
}

TEST_F(Denoise, TakesTheBiasOutOfMagnitudes) {
  add_noise("rician", "60");
  const std::vector<float> clean = read_voxels(path("clean.nii"));
  const auto mean_in_air = [&](const std::vector<float>& voxels) {
    double sum = 0;
    int count = 0;
    for (std::size_t i = 0; i < voxels.size(); ++i) {
      if (clean[i] != 0) continue;
      sum += voxels[i];
      ++count;
    }
    EXPECT_GT(count, 1000);
    return sum / count;
  };
  EXPECT_GT(mean_in_air(denoised({"--stabilise", "none"})), 60);
  EXPECT_FALSE(sidecar().contains("stabilised"));
  EXPECT_LT(mean_in_air(denoised()), 0.15 * 60);
  EXPECT_EQ(sidecar()["stabilised"], "Rician noise");
  EXPECT_EQ(sidecar()["noise"][0]["distribution"], "rician");
}

TEST_F(Denoise, FollowsNoiseThatVaries) {
  add_noise("g-factor", "100");
  const std::vector<float> clean = read_voxels(path("clean.nii"));
  const double flat = apart(clean, filtered({"bm4d", path("noisy.nii"), path("out.nii"), "--sigma", "100"}));
  EXPECT_LT(apart(clean, denoised()), 0.95 * flat);
}

TEST_F(Denoise, LeavesTheSignOfWhatIsNoMagnitude) {
  add_noise("rician", "60");
  std::vector<float> voxels = read_voxels(path("noisy.nii"));
  std::fill_n(voxels.begin(), 96 * 96 * 4, -1000.0F);
  write_nifti(folder_ / "noisy.nii", {{96, 96, 32}}, voxels);
  const std::vector<float> after = denoised();
  EXPECT_FALSE(sidecar().contains("stabilised"));
  for (std::size_t i = 0; i < 96 * 96 * 3; ++i) ASSERT_NEAR(after[i], -1000, 5) << i;
  EXPECT_EQ(quietvox({"denoise", path("noisy.nii"), path("none.nii"), "--stabilise", "rician"}).status, 64);
  make_series(folder_ / "ct");
  const Result ct = quietvox({"denoise", path("ct"), path("none"), "--stabilise", "rician"});
  EXPECT_EQ(ct.status, 64);
  EXPECT_NE(ct.err.find("the modality is CT"), std::string::npos) << ct.err;
}

TEST_F(Denoise, TellsTheNoiseAlsoWhereNothingIsWritten) {
  add_noise("gaussian", "60");
  const auto before = folder_.names();
  const Result dry = quietvox_ok({"denoise", path("noisy.nii"), path("out.nii"), "--dry-run"});
  EXPECT_NE(dry.err.find("noise: sigma "), std::string::npos) << dry.err;
  EXPECT_NE(dry.err.find("nothing written"), std::string::npos) << dry.err;
  EXPECT_EQ(folder_.names(), before);
}

TEST_F(Denoise, StabilisationSuitsOneFilterThatGoesByTheMeasuredNoise) {
  add_noise("rician", "60");
  const std::vector<std::string> median{"median", path("noisy.nii"), path("out.nii"), "--stabilise", "rician"};
  EXPECT_EQ(quietvox(median).status, 64);
  const std::vector<std::string> given{"nlm", path("noisy.nii"), path("out.nii"), "--sigma",
                                       "50",  "--stabilise",     "rician"};
  EXPECT_EQ(quietvox(given).status, 64);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.nii"));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"median", path("noisy.nii"), path("out.nii")},
        {"run", path("noisy.nii"), path("out.nii"), "--filter", "median", "--filter", "bilateral"}}) {
    std::vector<std::string> with_auto = words;
    with_auto.insert(with_auto.end(), {"--stabilise", "auto", "--force"});
    EXPECT_NE(quietvox_ok(with_auto).err.find("--stabilise auto does nothing here"), std::string::npos) << words[0];
    EXPECT_FALSE(sidecar().contains("stabilised")) << words[0];
  }
  const std::vector<float> by_run =
      filtered({"run", path("noisy.nii"), path("out.nii"), "--filter", "bilateral", "--stabilise", "auto"});
  EXPECT_EQ(by_run, filtered({"bilateral", path("noisy.nii"), path("out.nii"), "--stabilise", "auto"}));
  EXPECT_EQ(sidecar()["stabilised"], "Rician noise");
}

}  // namespace
}  // namespace quietvox::test
