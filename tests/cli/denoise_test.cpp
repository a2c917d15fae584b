// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "cli/images.hpp"
#include "cli/process.hpp"
#include "support/make_dicom.hpp"

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
  const std::vector<float> light = denoised({"--strength", "light"}), strong = denoised({"--strength", "strong"}),
                           medium = denoised();
  EXPECT_NEAR(sidecar()["noises"][0]["sigma"].get<double>(), 60, 6);
  EXPECT_LT(apart(noisy, light), 0.8 * apart(noisy, medium));
  EXPECT_GT(apart(noisy, strong), apart(noisy, medium));
  const std::vector<float> clean = read_voxels(path("clean.nii"));
  EXPECT_LT(apart(clean, medium), 0.7 * apart(clean, light));
  EXPECT_LT(apart(clean, medium), apart(clean, strong));
}

/// It keeps a background that was cut out, so that its voxels may differ from those of the filter that it chooses.
TEST_F(Denoise, IsNotTakenForTheFilterThatItChooses) {
  quietvox_ok({"phantom", path("series"), "--size", "32x32x8", "--noise", "gaussian:40"});
  std::set<std::string> series;
  for (const std::string command : {"denoise", "bm4d"}) {
    quietvox_ok({command, path("series"), path(command)});
    series.insert(Json::parse(quietvox_ok({"info", path(command), "--json"}).out)["dicom"]["series_uid"]);
  }
  EXPECT_EQ(series.size(), 2U);
  quietvox_ok({"denoise", path("series"), path("out.nii")});
  EXPECT_EQ(Json::parse(read_file(folder_ / "out.json"))["by"], "denoise");
}

TEST_F(Denoise, LeavesImagesWithoutNoiseAlone) {
  const std::vector<float> clean = read_voxels(path("clean.nii"));
  const auto [low, high] = std::minmax_element(clean.begin(), clean.end());
  const Result run = quietvox_ok({"denoise", path("clean.nii"), path("out.nii")});
  EXPECT_NE(run.err.find("so nothing was changed; the filter 'bm4d' with a number for --sigma filters anyway"),
            std::string::npos)
      << run.err;
  EXPECT_LT(apart(clean, read_voxels(path("out.nii"))), 1e-3 * (*high - *low));
  add_noise("gaussian", "60");
  const double first = apart(read_voxels(path("noisy.nii")), denoised());
  const std::vector<float> once = read_voxels(path("out.nii"));
  EXPECT_LT(apart(once, filtered({"denoise", path("out.nii"), path("twice.nii")})), first / 4);
}

double mean_in_air(const std::vector<float>& clean, const std::vector<float>& voxels) {
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < voxels.size(); ++i) {
    if (clean[i] != 0) continue;
    sum += voxels[i];
    ++count;
  }
  EXPECT_GT(count, 1000);
  return sum / count;
}

TEST_F(Denoise, TakesTheBiasOutOfMagnitudes) {
  add_noise("rician", "60");
  const std::vector<float> clean = read_voxels(path("clean.nii"));
  EXPECT_GT(mean_in_air(clean, denoised({"--stabilise", "none"})), 60);
  EXPECT_FALSE(sidecar().contains("stabilised"));
  EXPECT_LT(mean_in_air(clean, denoised()), 0.15 * 60);
  EXPECT_EQ(sidecar()["stabilised"], "Rician noise");
  EXPECT_EQ(sidecar()["noises"][0]["distribution"], "rician");
  quietvox_ok({"dct", path("noisy.nii"), path("out.nii"), "--force", "--stabilise", "rician", "--sigma", "60"});
  EXPECT_LT(mean_in_air(clean, read_voxels(path("out.nii"))), 0.25 * 60);  // dct leaves more than denoise does
  EXPECT_EQ(sidecar()["stabilised"], "Rician noise");
  denoised({"--mask", path("clean.nii")});  // which hides the air
  EXPECT_EQ(sidecar()["stabilised"], "Rician noise");
}

/// A mammogram as its detector writes it, whose noise grows with the value.
class DenoiseCounts : public Denoise {
 protected:
  void SetUp() override {
    quietvox_ok({"phantom", path("clean.nii"), "--kind", "mammogram", "--size", "320x320x1"});
    add_noise("poisson", "70");
  }
};

TEST_F(DenoiseCounts, MakesTheNoiseGaussianFirst) {
  const std::vector<float> clean = read_voxels(path("clean.nii"));
  const auto mean_where = [&](const std::vector<float>& voxels, float low, float high) {
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < voxels.size(); ++i) {
      if (clean[i] < low || clean[i] >= high) continue;
      sum += voxels[i];
      ++count;
    }
    EXPECT_GT(count, 3000);
    return sum / count;
  };
  for (const auto& [kind, amount, name, gain, less] :
       {std::tuple("poisson", "70", "Poisson noise", 70.0, 0.98), {"speckle", "0.2", "speckle", 0.04, 0.85}}) {
    add_noise(kind, amount);
    const double without = apart(clean, denoised({"--stabilise", "none"}));
    EXPECT_FALSE(sidecar().contains("stabilised"));
    const std::vector<float> after = denoised();
    EXPECT_LT(apart(clean, after), less * without) << kind;
    EXPECT_EQ(sidecar()["stabilised"], name);
    EXPECT_EQ(sidecar()["noises"][0]["distribution"], kind);
    EXPECT_NEAR(sidecar()["noises"][0]["gain"], gain, 0.15 * gain);
    for (const auto& [low, high] : {std::pair(500.0F, 1200.0F), {1200.0F, 1800.0F}, {1800.0F, 2600.0F}}) {
      const double truth = mean_where(clean, low, high);
      EXPECT_NEAR(mean_where(after, low, high), truth, 0.005 * truth) << kind << " " << low;
    }
    const std::vector<float> by_hand = denoised({"--stabilise", kind});
    EXPECT_EQ(by_hand, after) << kind;
  }
}

TEST_F(DenoiseCounts, ByHandItTakesNoiseThatGrowsWithTheValue) {
  const auto refused = [&](const std::vector<std::string>& words, const std::string& why) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--stabilise", "poisson", "--force"});
    for (const bool dry_run : {false, true}) {
      if (dry_run) all.emplace_back("--dry-run");
      const Result result = quietvox(all);
      EXPECT_EQ(result.status, 64) << words[0];
      EXPECT_NE(result.err.find(why), std::string::npos) << result.err;
      EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
    }
  };
  make_series(folder_ / "ct");
  refused({"nlm", path("ct"), path("none")}, "is for noise that grows with the value, but the modality is CT");
  add_noise("gaussian", "100");
  refused({"denoise", path("noisy.nii"), path("out.nii")}, "needs noise that grows with the value, and none was found");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.nii"));
  quietvox_ok({"denoise", path("noisy.nii"), path("out.nii")});
  EXPECT_FALSE(sidecar().contains("stabilised"));
}

TEST_F(DenoiseCounts, OtherFiltersAreTheBetterForItToo) {
  const std::vector<float> clean = read_voxels(path("clean.nii"));
  for (const char* filter : {"nlm", "prinlm", "dct"}) {
    const double without = apart(clean, filtered({filter, path("noisy.nii"), path("out.nii"), "--stabilise", "none"}));
    EXPECT_FALSE(sidecar().contains("stabilised"));
    EXPECT_LT(apart(clean, filtered({filter, path("noisy.nii"), path("out.nii")})), 0.98 * without) << filter;
    EXPECT_EQ(sidecar()["stabilised"], "Poisson noise");
  }
}

TEST_F(DenoiseCounts, IdentifiersTellWhatWasStabilised) {
  const std::vector<float> voxels = read_voxels(path("noisy.nii"));
  DicomSpec spec{.columns = 320, .rows = 320, .bits_stored = 16, .intercept = "0"};
  for (const float voxel : voxels) spec.cells.push_back(static_cast<std::uint16_t>(std::lround(voxel)));
  spec.more = {{DCM_Modality, "MG"}, {DCM_SOPClassUID, UID_DigitalMammographyXRayImageStorageForProcessing}};
  write_dicom(folder_ / "mg.dcm", spec);
  std::set<std::string> images, series;
  std::string text;
  for (const std::string choice : {"none", "auto", "poisson", "speckle", "poisson"}) {
    quietvox_ok({"nlm", path("mg.dcm"), path("out.dcm"), "--stabilise", choice, "--force"});
    images.insert(dicom_text(folder_ / "out.dcm", DCM_SOPInstanceUID));
    series.insert(dicom_text(folder_ / "out.dcm", DCM_SeriesInstanceUID));
    text = dicom_text(folder_ / "out.dcm", DCM_DerivationDescription);
    EXPECT_EQ(text.find("; stabilised: ") != std::string::npos, choice != "none") << text;
  }
  EXPECT_NE(text.find("; stabilised: Poisson noise;"), std::string::npos) << text;
  EXPECT_EQ(images.size(), 4U);
  EXPECT_EQ(series.size(), 4U);
  EXPECT_NE(dicom_text(folder_ / "out.dcm", DCM_SeriesDescription).find(", stabilised"), std::string::npos);
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
  for (int z = 0; z < 4; ++z) std::fill_n(voxels.begin() + 96 * 96 * z, 96 * 40, -1000.0F);
  write_nifti(folder_ / "noisy.nii", {{96, 96, 32}}, voxels);
  const std::vector<float> after = denoised();
  EXPECT_FALSE(sidecar().contains("stabilised"));
  for (int z = 0; z < 3; ++z) {
    for (int i = 0; i < 96 * 39; ++i) ASSERT_NEAR(after[96 * 96 * z + i], -1000, 5) << i;
  }
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

TEST_F(Denoise, StabilisesAroundAnyFilter) {
  add_noise("rician", "60");
  const std::vector<float> clean = read_voxels(path("clean.nii"));
  for (const std::vector<std::string>& words : {std::vector<std::string>{"median", "--radius", "2"},
                                                {"gaussian", "--sigma", "4"},
                                                {"bilateral", "--range-sigma", "300"},
                                                {"run", "--filter", "gaussian:sigma=1", "--filter", "bilateral"}}) {
    const auto mean_of = [&](const char* input, const std::vector<std::string>& more = {}) {
      std::vector<std::string> all{words[0], path(input), path("out.nii")};
      all.insert(all.end(), words.begin() + 1, words.end());
      all.insert(all.end(), more.begin(), more.end());
      return mean_in_air(clean, filtered(all));
    };
    const double truth = mean_of("clean.nii");  // what the filter smears into the air
    EXPECT_GT(mean_of("noisy.nii"), truth + 60) << words[0];
    EXPECT_FALSE(sidecar().contains("stabilised")) << words[0];
    EXPECT_NEAR(mean_of("noisy.nii", {"--stabilise", "rician"}), truth, 0.25 * 60) << words[0];
    EXPECT_EQ(sidecar()["stabilised"], "Rician noise") << words[0];
    EXPECT_NEAR(sidecar()["noises"][0]["sigma"].get<double>(), 60, 6) << words[0];
  }
  const std::vector<float> by_run = filtered({"run", path("noisy.nii"), path("out.nii"), "--filter", "bilateral"});
  EXPECT_EQ(by_run, filtered({"bilateral", path("noisy.nii"), path("out.nii")}));
  EXPECT_EQ(sidecar()["stabilised"], "Rician noise");
  filtered({"run", path("noisy.nii"), path("out.nii"), "--filter", "median:radius=1", "--filter", "bilateral"});
  EXPECT_EQ(sidecar()["stabilised"], "Rician noise") << "a median makes the same of it";
  filtered({"run", path("noisy.nii"), path("out.nii"), "--filter", "bilateral", "--filter", "gaussian"});
  EXPECT_FALSE(sidecar().contains("stabilised")) << "a filter that averages across edges";
}

TEST_F(Denoise, SaysWhereNothingIsStabilised) {
  const Result clean = quietvox_ok({"median", path("clean.nii"), path("out.nii"), "--stabilise", "rician"});
  EXPECT_NE(clean.err.find("nothing is stabilised: the noise cannot be measured"), std::string::npos) << clean.err;
  EXPECT_FALSE(sidecar().contains("stabilised"));
  add_noise("rician", "60");
  const Result twice = quietvox(
      {"nlm", path("noisy.nii"), path("out.nii"), "--force", "--stabilise", "rician", "--noise-model", "rician"});
  EXPECT_EQ(twice.status, 64);
  EXPECT_NE(twice.err.find("takes the bias of magnitudes out, and so does --noise-model rician"), std::string::npos)
      << twice.err;
}

}  // namespace
}  // namespace quietvox::test
