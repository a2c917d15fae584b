// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/images.hpp"
#include "cli/process.hpp"
#include "support/make_dicom.hpp"

namespace quietvox::test {
namespace {

using Json = nlohmann::json;

class Tools : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  TemporaryFolder folder_;
};

struct Picture {
  png_image image{};
  std::vector<png_byte> pixels;
  int at(unsigned x, unsigned y) const { return pixels[y * image.width + x]; }
};

Picture read_picture(const std::string& path) {
  Picture picture;
  picture.image.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(png_image_begin_read_from_file(&picture.image, path.c_str())) << picture.image.message;
  EXPECT_EQ(picture.image.format & PNG_FORMAT_FLAG_COLOR, 0U);
  picture.image.format = PNG_FORMAT_GRAY;
  picture.pixels.resize(PNG_IMAGE_SIZE(picture.image));
  EXPECT_TRUE(png_image_finish_read(&picture.image, nullptr, picture.pixels.data(), 0, nullptr));
  return picture;
}

TEST_F(Tools, CompareFindsTheDifference) {
  const std::vector<float> a{0, 100, 50, 50, 50, 50, 50, 50};
  auto b = a;
  b[3] = 60;
  write_nifti(folder_ / "a.nii", {{2, 2, 2}}, a);
  write_nifti(folder_ / "b.nii", {{2, 2, 2}}, b);
  const Json result = Json::parse(quietvox_ok({"compare", path("a.nii"), path("b.nii"), "--json"}).out)["volumes"][0];
  EXPECT_EQ(result["voxels"], 8);
  EXPECT_EQ(result["different"], 1);
  EXPECT_EQ(result["max_error"], 10);
  EXPECT_EQ(result["data_range"], 100);
  EXPECT_DOUBLE_EQ(result["mse"], 12.5);
  EXPECT_NEAR(result["psnr"].get<double>(), 10 * std::log10(100 * 100 / 12.5), 1e-9);
  const Json other = Json::parse(
      quietvox_ok({"compare", path("a.nii"), path("b.nii"), "--json", "--data-range", "200"}).out)["volumes"][0];
  EXPECT_NEAR(other["psnr"].get<double>(), 10 * std::log10(200 * 200 / 12.5), 1e-9);
}

TEST_F(Tools, CompareTellsOfVoxelsThatOneImageLacks) {
  std::vector<float> a{0, 100, 50, 50, 50, 50, 50, NAN}, b = a;
  b[2] = b[3] = b[4] = NAN;
  write_nifti(folder_ / "a.nii", {{2, 2, 2}}, a);
  write_nifti(folder_ / "b.nii", {{2, 2, 2}}, b);
  const Result result = quietvox_ok({"compare", path("a.nii"), path("b.nii"), "--json"});
  EXPECT_EQ(Json::parse(result.out)["volumes"][0]["in_one_only"], 3);
  EXPECT_NE(result.err.find("3 voxels are missing in one image"), std::string::npos) << result.err;
  EXPECT_EQ(quietvox_ok({"compare", path("a.nii"), path("a.nii")}).err, "");
  write_nifti(folder_ / "none.nii", {{2, 2, 2}}, std::vector<float>(8, NAN));
  EXPECT_NE(quietvox_ok({"compare", path("a.nii"), path("none.nii")}).err.find("no voxel is present in both images"),
            std::string::npos);
}

TEST_F(Tools, WhatLiesOutsideAMaskDoesNotCount) {
  const std::vector<float> a{0, 100, 50, 50, 50, 50, 50, 900};
  auto b = a;
  b[3] = 60;
  b[7] = 0;
  write_nifti(folder_ / "a.nii", {{2, 2, 2}}, a);
  write_nifti(folder_ / "b.nii", {{2, 2, 2}}, b);
  write_nifti(folder_ / "mask.nii", {{2, 2, 2}}, std::vector<std::int16_t>{1, 1, 1, 1, 1, 1, 1, 0});
  const auto compared = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"compare", path("a.nii"), path("b.nii"), "--mask", path("mask.nii"), "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return Json::parse(quietvox_ok(words).out)["volumes"][0];
  };
  const Json result = compared({});
  EXPECT_EQ(result["voxels"], 7);
  EXPECT_EQ(result["different"], 1);
  EXPECT_EQ(result["in_one_only"], 0);
  EXPECT_EQ(result["data_range"], 100);
  EXPECT_NEAR(result["mse"].get<double>(), 100.0 / 7, 1e-9);
  EXPECT_EQ(compared({"--picture", path("picture.png")}), result);
  write_nifti(folder_ / "small.nii", {{2, 2, 1}}, std::vector<std::int16_t>(4, 1));
  EXPECT_EQ(quietvox({"compare", path("a.nii"), path("b.nii"), "--mask", path("small.nii")}).status, 64);
}

TEST_F(Tools, MillionsOfVoxelsAreCountedExactly) {
  write_nifti(folder_ / "a.nii", {{1025, 1025, 1}}, std::vector<float>(1025 * 1025, 1));
  const Result result = quietvox_ok({"compare", path("a.nii"), path("a.nii")});
  EXPECT_NE(result.out.find(" 1050625\n"), std::string::npos) << result.out;
}

TEST_F(Tools, EqualImagesHaveNoPsnr) {
  write_nifti(folder_ / "a.nii", {{2, 2, 2}}, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
  const Json result = Json::parse(quietvox_ok({"compare", path("a.nii"), path("a.nii"), "--json"}).out);
  EXPECT_TRUE(result["volumes"][0]["psnr"].is_null());
  EXPECT_EQ(result["volumes"][0]["different"], 0);
}

TEST_F(Tools, NoPictureStaysWhereALaterVolumeIsBroken) {
  const auto voxels = random_integers(32 * 32 * 8 * 3, 1);
  write_nifti(folder_ / "a.nii", {{32, 32, 8}}, voxels, 3);
  quietvox_ok({"median", path("a.nii"), path("b.nii.gz")});
  const std::string whole = read_file(folder_ / "b.nii.gz");
  write_file(folder_ / "b.nii.gz", whole.substr(0, whole.size() * 3 / 4));
  EXPECT_EQ(quietvox({"compare", path("a.nii"), path("b.nii.gz"), "--picture", path("picture.png")}).status, 4);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "picture.png"));
}

TEST_F(Tools, EstimateTellsNoiseMethodAndConfidence) {
  quietvox_ok({"phantom", path("mr.nii"), "--kind", "mr", "--size", "192x192x48", "--noise", "rician:30"});
  const Json volume = Json::parse(quietvox_ok({"estimate", path("mr.nii"), "--json"}).out)["volumes"][0];
  EXPECT_NEAR(volume["sigma"].get<double>(), 30, 4.5);
  EXPECT_EQ(volume["method"], "model");
  EXPECT_EQ(volume["noise"]["distribution"], "rician");
  for (const double length : volume["noise"]["correlation_length"]) EXPECT_NEAR(length, 1, 0.1);
  EXPECT_EQ(volume["noise"]["spectrum"]["in_plane"].size(), 8);
  EXPECT_NEAR(volume["methods"]["air"]["sigma"].get<double>(), 30, 2);
  const std::string text = quietvox_ok({"estimate", path("mr.nii")}).out;
  EXPECT_NE(text.find("model  sigma"), std::string::npos);
  EXPECT_NE(text.find("koay"), std::string::npos);
}

TEST_F(Tools, EstimateMeasuresInsideAMask) {
  const Extent extent{{96, 96, 16}};
  std::vector<float> image(static_cast<std::size_t>(extent.voxels()));
  std::vector<std::int16_t> left(image.size()), right(image.size());
  std::mt19937 random(3);
  std::normal_distribution<float> noise;
  for (std::size_t i = 0; i < image.size(); ++i) {
    left[i] = i % 96 < 48 ? 1 : 0;
    right[i] = 1 - left[i];
    image[i] = 1000 + (left[i] ? 10 : 200) * noise(random);
  }
  write_nifti(folder_ / "in.nii", extent, image);
  write_nifti(folder_ / "left.nii", extent, left);
  write_nifti(folder_ / "right.nii", extent, right);
  for (const auto& [mask, sigma] : {std::pair("left.nii", 10.0), std::pair("right.nii", 200.0)}) {
    const Result result = quietvox_ok({"estimate", path("in.nii"), "--mask", path(mask), "--threads", "1", "--json"});
    const Json found = Json::parse(result.out)["volumes"][0];
    EXPECT_NEAR(found["sigma"].get<double>(), sigma, 0.05 * sigma);
    EXPECT_NEAR(found["methods"]["haar"]["sigma"].get<double>(), sigma, 0.05 * sigma);
  }
}

TEST_F(Tools, EstimateWritesTheNoiseAtEachVoxel) {
  std::vector<float> cylinder;
  for (int i = 0; i < 96 * 96 * 32; ++i) {
    const double x = (i % 96 - 47.5) / 48, y = (i / 96 % 96 - 47.5) / 48;
    cylinder.push_back(x * x + y * y < 0.7 ? 1000 : 0);
  }
  write_nifti(folder_ / "flat.nii", {{96, 96, 32}}, cylinder);
  quietvox_ok({"add-noise", path("flat.nii"), path("mr.nii"), "--kind", "g-factor", "--amount", "30"});
  quietvox_ok({"estimate", path("mr.nii"), "--map", path("map.nii.gz")});
  const auto map = read_voxels(path("map.nii.gz"));
  ASSERT_EQ(map.size(), 96U * 96U * 32U);
  EXPECT_GT(map[(16 * 96 + 48) * 96 + 48], 1.15 * map[(16 * 96 + 48) * 96 + 12]);  // the centre, the rim
  EXPECT_EQ(quietvox({"estimate", path("mr.nii"), "--map", path("map.nii.gz")}).status, 20);
  quietvox_ok({"estimate", path("mr.nii"), "--map", path("map.nii.gz"), "--force"});
  EXPECT_EQ(quietvox({"estimate", path("mr.nii"), "--map", path("map.nrrd")}).status, 64);
  EXPECT_NE(quietvox({"estimate", path("mr.nii"), "--map", path("mr.nii"), "--force"}).status, 0);
}

TEST_F(Tools, AMapOfTheNoiseTellsNoMoreOfAMaskThanItsOwnerAllows) {
  quietvox_ok({"phantom", path("mr.nii"), "--kind", "mr", "--size", "48x48x12", "--noise", "gaussian:50"});
  std::filesystem::create_directory(folder_ / "Doe^John");
  quietvox_ok({"phantom", path("Doe^John/mask.nii"), "--kind", "mr", "--size", "48x48x12"});
  constexpr auto owner_only = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::filesystem::permissions(folder_ / "Doe^John/mask.nii", owner_only);
  quietvox_ok({"estimate", path("mr.nii"), "--mask", path("Doe^John/mask.nii"), "--map", path("map.nii")});
  for (const char* file : {"map.nii", "map.json"}) {
    EXPECT_EQ(std::filesystem::status(folder_ / file).permissions(), owner_only) << file;
  }
  const std::string sidecar = read_file(folder_ / "map.json");
  EXPECT_EQ(sidecar.find("Doe"), std::string::npos) << sidecar;
  EXPECT_EQ(Json::parse(sidecar)["mask"].get<std::string>().size(), 16U);
  EXPECT_EQ(Json::parse(sidecar)["volumes"][0]["filters"][0]["parameters"], Json::object());
}

TEST_F(Tools, FiltersTellTheNoiseThatTheyFound) {
  quietvox_ok({"phantom", path("mr.nii"), "--kind", "mr", "--size", "96x96x24", "--noise", "gaussian:100"});
  const std::vector<std::string> words{"bilateral", path("mr.nii"), path("out.nii"), "--radius", "1", "--json"};
  const Json volume = Json::parse(quietvox_ok(words).out)["volumes"][0];
  const double sigma = volume["noises"][0]["sigma"];
  EXPECT_NEAR(sigma, 100, 15);
  EXPECT_EQ(Json::parse(read_file(folder_ / "out.json"))["volumes"][0]["noises"][0]["sigma"], sigma);
  quietvox_ok({"bilateral", path("mr.nii"), path("given.nii"), "--domain-sigma", "2", "--range-sigma", "60"});
  EXPECT_FALSE(Json::parse(read_file(folder_ / "given.json"))["volumes"][0].contains("noises"));
}

/// Rician noise is made Gaussian before a filter takes its parameters by it. Volumes of a series are filtered alike, so
/// that none is tried out; a mask does not change that.
TEST_F(Tools, InfoTellsWhatDefaultsBecomeInARun) {
  quietvox_ok({"phantom", path("one.nii"), "--kind", "mr", "--size", "96x96x24", "--noise", "rician:60"});
  std::vector<float> series;
  for (int volume = 0; volume < 2; ++volume) {
    quietvox_ok({"phantom", path("volume.nii"), "--kind", "mr", "--size", "64x64x16", "--noise", "gaussian:50",
                 "--seed", std::to_string(volume), "--force"});
    const std::vector<float> scan = read_voxels(path("volume.nii"));
    series.insert(series.end(), scan.begin(), scan.end());
  }
  write_nifti(folder_ / "two.nii", {{64, 64, 16}}, series, 2);
  write_nifti(folder_ / "mask.nii", {{64, 64, 16}}, std::vector<std::int16_t>(64 * 64 * 16, 1));
  for (const std::string name : {"one.nii", "two.nii"}) {
    const Json info = Json::parse(quietvox_ok({"info", path(name), "--json"}).out)["defaults"];
    for (const std::string filter : {"bilateral", "nlm"}) {
      std::vector<std::string> words{filter, path(name), path("out.nii"), "--force", "--json"};
      const auto expect_same = [&] {
        const Json run = Json::parse(quietvox_ok(words).out)["volumes"][0]["filters"][0];
        EXPECT_NE(std::ranges::find(info, run), info.end()) << words.back() << ": " << run << info;
      };
      expect_same();
      words.insert(words.end(), {"--mask", path("mask.nii")});
      if (name == "two.nii") expect_same();
    }
  }
}

/// What a filter takes for the standard deviation of the noise of an image, by default.
double sigma_taken(const Json& filter, const Json& noise) {
  const Json& values = filter["parameters"];
  const bool is_bilateral = filter["name"] == "bilateral", is_adaptive = filter["name"] == "adaptive-bilateral";
  if (is_bilateral || is_adaptive) {  // times the factor that was best of those that are tried
    const double sigma = noise["sigma"], contrast = noise["contrast"];
    const double usual = is_adaptive ? 0.5 : std::clamp(3.2 * std::pow(contrast / sigma, -0.2), 2.0, 3.5);
    const double factor = values[is_adaptive ? "lowest_range_sigma" : "range_sigma"].get<double>() / (usual * sigma);
    constexpr std::array tried{0.7, 0.85, 1.0, 1.2, 1.5};
    EXPECT_TRUE(std::ranges::any_of(tried, [&](double one) { return std::abs(factor - one) < 1e-4; })) << factor;
    return sigma;
  }
  return values["sigma"];
}

constexpr std::array<const char*, 6> filters_that_ask_for_noise{
    "bilateral", "adaptive-bilateral", "nlm", "dct", "prinlm", "bm4d"};

TEST_F(Tools, FiltersTakeTheWholeOfCorrelatedNoise) {
  quietvox_ok({"phantom", path("clean.nii"), "--kind", "ct", "--size", "128x128x32"});
  for (const char* kind : {"zero-filled", "interpolated"}) {
    SCOPED_TRACE(kind);
    quietvox_ok({"add-noise", path("clean.nii"), path("noisy.nii"), "--kind", kind, "--amount", "80", "--force"});
    const Json estimate = Json::parse(quietvox_ok({"estimate", path("noisy.nii"), "--json"}).out)["volumes"][0];
    ASSERT_LT(estimate["methods"]["haar"]["sigma"], 0.6 * 80) << "what differences of neighbours show";
    double coarse = 1;  // of block filters, which see little but low frequencies, where this noise is strongest
    for (const Json& length : estimate["noise"]["correlation_length"]) coarse *= std::sqrt(length.get<double>());
    EXPECT_GT(coarse, 1.5);
    const Json info = Json::parse(quietvox_ok({"info", path("noisy.nii"), "--json"}).out);
    for (const char* name : filters_that_ask_for_noise) {
      const std::vector<std::string> words{name, path("noisy.nii"), path("out.nii"), "--json", "--force"};
      const Json volume = Json::parse(quietvox_ok(words).out)["volumes"][0], run = volume["filters"][0];
      const bool is_coarse = run["name"] == "dct" || run["name"] == "prinlm";
      EXPECT_NEAR(sigma_taken(run, volume["noises"][0]) / (is_coarse ? coarse : 1), 80, 0.15 * 80) << name;
      const auto same = [&](const Json& filter) { return filter == run; };
      EXPECT_TRUE(std::ranges::any_of(info["defaults"], same)) << name << " as info tells it";
    }
  }
}

TEST_F(Tools, ImagesWithoutNoiseComeBackUnchanged) {
  for (const char* kind : {"ct", "mr"}) {
    quietvox_ok({"phantom", path("clean.nii"), "--kind", kind, "--size", "64x64x12", "--force"});
    const std::vector<float> clean = read_voxels(path("clean.nii"));
    const auto [low, high] = std::ranges::minmax(clean);
    for (const char* name : filters_that_ask_for_noise) {
      quietvox_ok({name, path("clean.nii"), path("out.nii"), "--force"});
      const std::vector<float> out = read_voxels(path("out.nii"));
      double largest = 0;
      for (std::size_t i = 0; i < clean.size(); ++i) {
        largest = std::max(largest, std::abs(static_cast<double>(out[i]) - static_cast<double>(clean[i])));
      }
      EXPECT_LT(largest, 0.001 * static_cast<double>(high - low)) << kind << " " << name;
    }
  }
}

TEST_F(Tools, VolumesOfASeriesAreMeasuredByTheirDifference) {
  const auto texture = random_integers(32 * 32 * 8, 1);
  std::vector<float> series;
  for (int volume = 0; volume < 3; ++volume) {
    const auto noise = random_integers(32 * 32 * 8, 2 + volume);
    for (std::size_t i = 0; i < texture.size(); ++i) {
      series.push_back(static_cast<float>(texture[i]) + 0.05F * static_cast<float>(noise[i]));
    }
  }
  write_nifti(folder_ / "series.nii", {{32, 32, 8}}, series, 3);
  const Json volumes = Json::parse(quietvox_ok({"estimate", path("series.nii"), "--json"}).out)["volumes"];
  for (const Json& volume : volumes) {
    const double alone = volume["methods"]["haar"]["sigma"];
    EXPECT_NEAR(volume["sigma"].get<double>(), 0.05 * alone, 0.01 * alone);
  }
}

TEST_F(Tools, WeakVolumesOfASeriesAreMagnitudesWhereAStrongOneIs) {
  // Tissue of 1.5 to 4 sigma does not show that its noise is Rician.
  quietvox_ok({"phantom", path("clean.nii"), "--kind", "mr", "--size", "96x96x24"});
  const std::vector<float> clean = read_voxels(path("clean.nii"));
  std::mt19937 random(5);
  std::normal_distribution<float> noise(0, 10);
  std::vector<float> series;
  for (const float weight : {1.0F, 0.04F, 0.04F}) {
    for (const float voxel : clean) series.push_back(std::hypot(weight * voxel + noise(random), noise(random)));
  }
  write_nifti(folder_ / "series.nii", {{96, 96, 24}}, series, 3);
  write_nifti(folder_ / "weak.nii", {{96, 96, 24}}, std::vector(series.end() - std::ssize(clean), series.end()));
  const auto distribution = [&](const char* file, std::size_t volume) {
    return Json::parse(quietvox_ok({"estimate", path(file), "--json"}).out)["volumes"][volume]["noise"]["distribution"];
  };
  EXPECT_EQ(distribution("weak.nii", 0), "gaussian");
  for (const std::size_t volume : {0U, 1U, 2U}) EXPECT_EQ(distribution("series.nii", volume), "rician") << volume;
}

/// Within a mask, a brain of strong diffusion weighting looks like air, and a third of it became 0.
TEST_F(Tools, WeakVolumesWithinAMaskAreNoAir) {
  quietvox_ok({"phantom", path("clean.nii"), "--kind", "mr", "--size", "96x96x24"});
  const std::vector<float> clean = read_voxels(path("clean.nii"));
  std::mt19937 random(5);
  std::normal_distribution<float> noise(0, 60);
  std::vector<float> series, mask;
  const float most = *std::ranges::max_element(clean);
  for (const float voxel : clean) mask.push_back(voxel > 0.1F * most ? 1 : 0);
  for (const float weight : {1.0F, 1.0F, 0.25F, 0.25F}) {
    for (const float voxel : mask) {
      series.push_back(std::hypot(300 * weight * voxel + noise(random), noise(random)));
    }
  }
  write_nifti(folder_ / "dwi.nii", {{96, 96, 24}}, series, 4);
  write_file(folder_ / "dwi.bval", "0 0 2500 2500\n");
  write_nifti(folder_ / "mask.nii", {{96, 96, 24}}, mask);
  quietvox_ok({"denoise", path("dwi.nii"), path("out.nii"), "--mask", path("mask.nii")});
  const std::vector<float> result = read_voxels(path("out.nii"), 3);
  double sum = 0, inside = 0;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] == 0) continue;
    sum += static_cast<double>(result[i]);
    ++inside;
  }
  EXPECT_NEAR(sum / inside, 75, 8);
}

TEST_F(Tools, CompareRefusesOtherExtents) {
  write_nifti(folder_ / "a.nii", {{2, 2, 2}}, std::vector<float>(8));
  write_nifti(folder_ / "b.nii", {{2, 2, 3}}, std::vector<float>(12));
  EXPECT_EQ(quietvox({"compare", path("a.nii"), path("b.nii")}).status, 64);
}

TEST_F(Tools, CompareTakesTheOnlySeriesOfTheResultWhicheverIsChosenOfSeveral) {
  make_series(folder_ / "tree/ct");
  quietvox_ok({"phantom", path("tree/mr"), "--kind", "mr", "--size", "8x8x3"});
  const std::string facts = quietvox_ok({"info", path("tree/ct")}).out;
  const std::size_t begin = facts.find("2.25."), end = facts.find_first_not_of("0123456789.", begin);
  const std::string uid = facts.substr(begin, end - begin);
  quietvox_ok({"median", path("tree"), path("out"), "--series", uid});
  const Result compared = quietvox_ok({"compare", path("tree"), path("out"), "--series", uid, "--json"});
  EXPECT_EQ(Json::parse(compared.out)["volumes"][0]["voxels"], 32 * 24 * 5);
}

TEST_F(Tools, CompareTellsOfImagesThatLieElsewhere) {
  write_nifti(folder_ / "a.nii", {{2, 2, 2}}, std::vector<std::int16_t>(8), 1, true);
  std::string moved = read_file(folder_ / "a.nii");
  const float origin = 5;
  std::memcpy(moved.data() + 292, &origin, sizeof origin);  // srow_x[3]
  write_file(folder_ / "b.nii", moved);
  const std::string text = "B lies elsewhere than A: origin ";
  EXPECT_NE(quietvox_ok({"compare", path("a.nii"), path("b.nii")}).err.find(text), std::string::npos);
  EXPECT_EQ(quietvox_ok({"compare", path("a.nii"), path("a.nii")}).err.find(text), std::string::npos);
}

/// Of two series with the same ends and the same number of slices, one lacks the third slice and one the fourth.
TEST_F(Tools, CompareTellsOfSlicesThatLieElsewhere) {
  for (const auto& [name, places] : {std::pair<std::string, std::array<int, 5>>{"a", {0, 1, 3, 4, 5}},
                                     std::pair<std::string, std::array<int, 5>>{"b", {0, 1, 2, 4, 5}}}) {
    std::filesystem::create_directory(folder_ / name);
    for (const int place : places) {
      write_dicom(folder_ / name / std::to_string(place), {.position = {0, 0, 1.0 * place}});
    }
  }
  const auto warning = [&](const std::string& b) { return quietvox_ok({"compare", path("a"), path(b)}).err; };
  EXPECT_NE(warning("b").find("B lies elsewhere than A: slice 3 lies at 0, 0, 2 mm instead of 0, 0, 3 mm"),
            std::string::npos)
      << warning("b");
  EXPECT_EQ(warning("a").find("lies elsewhere"), std::string::npos) << warning("a");
}

/// Writes `a.nii` with other axes: B's x is A's y, B's y is A's x run backwards.
TEST_F(Tools, CompareTakesVoxelsOfTheSamePlaceWhereAxesAreTurned) {
  const Extent extent{{12, 12, 9}};
  const auto voxels = random_integers(static_cast<std::size_t>(extent.voxels()), 5);
  write_nifti(folder_ / "a.nii", extent, voxels, 1, true);
  std::vector<std::int16_t> turned;
  for (std::int64_t z = 0; z < 9; ++z) {
    for (std::int64_t y = 0; y < 12; ++y) {
      for (std::int64_t x = 0; x < 12; ++x) turned.push_back(voxels[(z * 12 + x) * 12 + 11 - y]);
    }
  }
  turned[5] += 100;
  write_nifti(folder_ / "b.nii", extent, turned, 1, true);
  std::string b = read_file(folder_ / "b.nii");
  const float rows[3][4] = {{0, -1, 0, 11}, {1, 0, 0, 0}, {0, 0, 1, 0}};
  std::memcpy(b.data() + 280, rows, sizeof rows);
  write_file(folder_ / "b.nii", b);
  const Json document = Json::parse(quietvox_ok({"compare", path("a.nii"), path("b.nii"), "--json"}).out);
  EXPECT_EQ(document["warnings"], Json::array());
  EXPECT_EQ(document["volumes"][0]["different"], 1);
  EXPECT_EQ(document["volumes"][0]["max_error"], 100);
  const float elsewhere = 13;
  std::memcpy(b.data() + 292, &elsewhere, sizeof elsewhere);
  write_file(folder_ / "b.nii", b);
  const Result refused = quietvox({"compare", path("a.nii"), path("b.nii")});
  EXPECT_EQ(refused.status, 64);
  EXPECT_NE(refused.err.find("the axes of B are not those of A, and its voxels lie elsewhere"), std::string::npos)
      << refused.err;
}

TEST_F(Tools, PictureShowsBeforeAfterAndDifference) {
  const std::vector<float> a{0, 100, 200, 50, 0, 100, 200, 50};
  std::vector<float> b = a;
  b[4] = 100;  // middle slice: z = 1
  b[6] = 100;
  write_nifti(folder_ / "a.nii", {{4, 1, 2}}, a);
  write_nifti(folder_ / "b.nii", {{4, 1, 2}}, b);
  quietvox_ok({"compare", path("a.nii"), path("b.nii"), "--picture", path("p.png"), "--window-center", "100",
               "--window-width", "200"});
  const Picture picture = read_picture(path("p.png"));
  ASSERT_EQ(picture.image.height, 1U);
  ASSERT_GE(picture.image.width, 12U);
  const unsigned step = (picture.image.width - 4) / 2;
  EXPECT_EQ(picture.at(0, 0), 0);
  EXPECT_EQ(picture.at(1, 0), 128);
  EXPECT_EQ(picture.at(2, 0), 255);
  EXPECT_EQ(picture.at(step, 0), 128);
  EXPECT_EQ(picture.at(step + 2, 0), 128);
  EXPECT_EQ(picture.at(2 * step, 0), 255);      // 100 more, half of the width
  EXPECT_EQ(picture.at(2 * step + 1, 0), 128);  // the same
  EXPECT_EQ(picture.at(2 * step + 2, 0), 0);    // 100 less
}

TEST_F(Tools, PictureShowsThePartAskedFor) {
  std::vector<float> a(5 * 4 * 2, 0);
  a[1 * 20 + 2 * 5 + 3] = 200;  // (3, 2, 1)
  write_nifti(folder_ / "a.nii", {{5, 4, 2}}, a);
  const auto compare = [&](const std::string& from, const std::string& size) {
    return quietvox({"compare", path("a.nii"), path("a.nii"), "--picture", path("p.png"), "--picture-from", from,
                     "--picture-size", size, "--window-center", "100", "--window-width", "200", "--force"});
  };
  ASSERT_EQ(compare("3x1x1", "2x3x1").status, 0);
  const Picture picture = read_picture(path("p.png"));
  EXPECT_EQ(picture.image.height, 3U);
  EXPECT_EQ(picture.image.width, 3 * 2U + 2 * 4U);
  EXPECT_EQ(picture.at(0, 0), 0);
  EXPECT_EQ(picture.at(0, 1), 255);
  for (const auto& [from, size] : {std::pair{"4x0x0", "2x2x1"}, {"0x0x2", "1x1x1"}, {"0x0x0", "2x2x2"}}) {
    const Result outside = compare(from, size);
    EXPECT_EQ(outside.status, 64);
    EXPECT_NE(outside.err.find("--picture-from = " + std::string(from)), std::string::npos) << outside.err;
    EXPECT_NE(outside.err.find("5x4x2"), std::string::npos) << outside.err;
  }
}

TEST_F(Tools, PhantomNoiseIsThatOfAddNoise) {
  quietvox_ok({"phantom", path("clean.nii"), "--size", "32x32x4"});
  quietvox_ok({"phantom", path("noisy.nii"), "--size", "32x32x4", "--noise", "gaussian:25", "--seed", "7"});
  quietvox_ok({"add-noise", path("clean.nii"), path("added.nii"), "--kind", "gaussian", "--amount", "25", "--seed=7"});
  quietvox_ok({"add-noise", path("clean.nii"), path("other.nii"), "--kind", "gaussian", "--amount", "25", "--seed=8"});
  const auto clean = read_voxels(folder_ / "clean.nii"), noisy = read_voxels(folder_ / "noisy.nii");
  EXPECT_EQ(noisy, read_voxels(folder_ / "added.nii"));
  EXPECT_NE(noisy, read_voxels(folder_ / "other.nii"));
  double square = 0;
  for (std::size_t i = 0; i < clean.size(); ++i) square += std::pow(noisy[i] - clean[i], 2);
  EXPECT_NEAR(std::sqrt(square / static_cast<double>(clean.size())), 25, 1.5);
}

TEST_F(Tools, NoiseInDicomIsDerivedAndNeitherSmoothingNorEnhancement) {
  quietvox_ok({"phantom", path("clean"), "--size", "32x32x2"});
  quietvox_ok({"add-noise", path("clean"), path("noisy"), "--amount", "25"});
  quietvox_ok({"add-noise", path("clean"), path("noisy.nii"), "--amount", "25"});
  for (const auto& file : std::filesystem::directory_iterator(path("noisy"))) {
    const std::string bytes = read_file(file);
    EXPECT_NE(bytes.find("DERIVED"), std::string::npos);
    EXPECT_EQ(bytes.find("113087"), std::string::npos);
    EXPECT_EQ(bytes.find("113086"), std::string::npos);
  }
  quietvox_ok({"median", path("noisy"), path("back.nii"), "--radius", "0"});
  const auto stored = read_voxels(path("back.nii")), real = read_voxels(path("noisy.nii"));
  ASSERT_EQ(stored.size(), real.size());
  for (std::size_t i = 0; i < real.size(); ++i) ASSERT_NEAR(stored[i], std::max(real[i], -1024.0F), 0.5) << i;
}

TEST_F(Tools, EveryNoiseKindRuns) {
  quietvox_ok({"phantom", path("clean.nii"), "--kind", "mr", "--size", "32x32x4"});
  const auto clean = read_voxels(folder_ / "clean.nii");
  for (const std::string kind : {"gaussian", "rician", "poisson", "speckle", "salt-and-pepper", "quantisation",
                                 "zero-filled", "g-factor", "ct", "interpolated"}) {
    const std::string amount = kind == "speckle" || kind == "salt-and-pepper" ? "0.1" : "12.5";
    quietvox_ok({"add-noise", path("clean.nii"), path(kind + ".nii"), "--kind", kind, "--amount", amount});
    EXPECT_NE(read_voxels(path(kind + ".nii")), clean) << kind;
  }
}

TEST_F(Tools, PhantomsHaveTheSizeAskedFor) {
  for (const std::string kind : {"ct", "mr", "mammogram"}) {
    const std::string size = kind == "mammogram" ? "40x48x1" : "40x48x6";
    quietvox_ok({"phantom", path(kind + ".nii.gz"), "--kind", kind, "--size", size});
    EXPECT_EQ(read_voxels(path(kind + ".nii.gz")).size(), 40U * 48U * (kind == "mammogram" ? 1U : 6U));
  }
}

TEST_F(Tools, AddedNoiseIsRefusedInADryRunAsInARun) {
  quietvox_ok({"phantom", path("ct"), "--size", "32x24x3"});
  std::vector<float> voxels(512, 100);
  voxels[7] = std::numeric_limits<float>::quiet_NaN();
  write_nifti(folder_ / "in.nii", {{8, 8, 8}}, voxels);
  const std::vector<std::vector<std::string>> all{{path("ct"), path("out"), "--codec", "rle", "--no-compress"},
                                                  {path("in.nii"), path("out.nii"), "--codec", "rle"},
                                                  {path("in.nii"), path("out.nii.gz"), "--codec", "rle"},
                                                  {path("in.nii"), path("out.nii"), "--series-offset", "7"},
                                                  {path("ct"), path("out"), "--kind", "salt-and-pepper", "--amount=2"},
                                                  {path("in.nii"), path("out.nii"), "--series-description-suffix", "x"},
                                                  {path("in.nii"), path("out.nii"), "--output-type", "int16"}};
  for (std::vector<std::string> words : all) {
    words.insert(words.begin(), "add-noise");
    const Result run = quietvox(words);
    EXPECT_EQ(run.status, words.back() == "int16" ? 4 : 64) << run.err;
    words.emplace_back("--dry-run");
    const Result dry_run = quietvox(words);
    EXPECT_EQ(dry_run.status, run.status) << dry_run.err;
    EXPECT_EQ(dry_run.err, run.err);
  }
}

TEST_F(Tools, EachVolumeHasNoiseOfItsOwn) {
  const Extent size{{16, 16, 4}};
  const auto count = static_cast<std::size_t>(size.voxels());
  write_nifti(folder_ / "series.nii", size, std::vector<float>(count * 3, 100), 3);
  quietvox_ok({"add-noise", path("series.nii"), path("noisy.nii"), "--amount", "10", "--seed", "5"});
  write_nifti(folder_ / "one.nii", size, std::vector<float>(count, 100));
  const Json volumes = Json::parse(read_file(folder_ / "noisy.json"))["volumes"];
  ASSERT_EQ(volumes.size(), 3U);
  EXPECT_EQ(volumes[0]["filters"][0]["parameters"]["seed"], 5);
  for (std::size_t volume = 0; volume < 3; ++volume) {  // each is made again by the seed that is told of it
    const int seed = volumes[volume]["filters"][0]["parameters"]["seed"];
    quietvox_ok({"add-noise", path("one.nii"), path("noisy-one.nii"), "--amount", "10", "--seed", std::to_string(seed),
                 "--force"});
    EXPECT_EQ(read_voxels(folder_ / "noisy.nii", volume), read_voxels(folder_ / "noisy-one.nii"));
  }
  quietvox_ok({"add-noise", path("series.nii"), path("next.nii"), "--amount", "10", "--seed", "6"});
  for (std::size_t volume = 0; volume < 3; ++volume) {
    for (std::size_t other = 0; other < 3; ++other) {
      EXPECT_NE(read_voxels(folder_ / "noisy.nii", volume), read_voxels(folder_ / "next.nii", other));
      if (volume != other) {
        EXPECT_NE(read_voxels(folder_ / "noisy.nii", volume), read_voxels(folder_ / "noisy.nii", other));
      }
    }
  }
}

TEST_F(Tools, NoiseBeyondTheStoredRangeIsToldOf) {
  make_series(folder_ / "ct");
  write_nifti(folder_ / "in.nii", {{8, 8, 8}}, std::vector<std::int16_t>(512, 32000));
  for (const auto& [in, out] : {std::pair{"ct", "noisy"}, {"in.nii", "noisy.nii"}}) {
    const Result result = quietvox_ok({"add-noise", path(in), path(out), "--amount", "30000"});
    EXPECT_NE(result.err.find("voxels came out beyond the range of the stored type and were clamped to it"),
              std::string::npos)
        << result.err;
  }
}

TEST_F(Tools, NoiseThatRoundingTakesAwayIsToldOf) {
  write_nifti(folder_ / "in.nii", {{8, 8, 8}}, std::vector<std::int16_t>(512, 100));
  const std::vector<std::string> words{"add-noise", path("in.nii"), path("out.nii"), "--force", "--amount"};
  const auto is_told = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return quietvox_ok(more).err.find("noise of less than a quarter of a step") != std::string::npos;
  };
  EXPECT_TRUE(is_told({"0.2"}));
  EXPECT_FALSE(is_told({"0.4"}));  // which rounding makes stronger
  EXPECT_FALSE(is_told({"2"}));
  EXPECT_FALSE(is_told({"0.2", "--output-type", "float32"}));
  EXPECT_FALSE(is_told({"0.2", "--kind", "salt-and-pepper"}));
}

TEST_F(Tools, NoiseOfAPhantomBeyondTheStoredRangeIsToldOf) {
  const Result result = quietvox_ok({"phantom", path("ct"), "--size", "32x32x4", "--noise", "gaussian:100"});
  EXPECT_NE(result.err.find("warning: " + path("ct") + ": "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("were clamped"), std::string::npos) << result.err;
  const Result refused = quietvox({"phantom", path("x.nii"), "--noise", "salt-and-pepper:2"});
  EXPECT_EQ(refused.status, 64);
  EXPECT_EQ(refused.err.find("--amount"), std::string::npos) << refused.err;
}

TEST_F(Tools, EachCommandTellsWhatItsReaderWarnsOf) {
  quietvox_ok({"phantom", path("ct"), "--size", "16x16x4", "--noise", "gaussian:20"});
  write_file(folder_ / "ct" / "notes.txt", "to do");
  quietvox_ok({"median", path("ct"), path("median"), "--quiet"});
  const std::string expected = "skipped notes.txt: not DICOM", of_input = path("ct") + ": ";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"estimate", path("ct")},
        {"add-noise", path("ct"), path("noisy"), "--amount", "1"},
        {"add-noise", path("ct"), path("dry"), "--dry-run"},
        {"compare", path("ct"), path("median")},
        {"train-quadratic", path("ct"), path("median"), path("trained.json")}}) {
    std::vector<std::string> with_json = words;
    with_json.emplace_back("--json");
    const Result result = quietvox_ok(with_json);
    const bool has_two_inputs = words[0] == "compare" || words[0] == "train-quadratic";
    EXPECT_EQ(Json::parse(result.out)["warnings"][0], has_two_inputs ? of_input + expected : expected) << words[0];
    EXPECT_NE(result.err.find("quietvox: warning: " + of_input + expected), std::string::npos) << result.err;
  }
}

TEST_F(Tools, WarningsOfAPhantomAreInItsJson) {
  const std::vector<std::string> words{"phantom", path("ct.nii"), "--size", "16x16x4",
                                       "--noise", "rician:15",    "--json"};
  const Json document = Json::parse(quietvox_ok(words).out);
  EXPECT_NE(document["warnings"][0].get<std::string>().find("voxels were negative"), std::string::npos);
}

TEST_F(Tools, NoiseOfMagnitudesAndCountsIsNotOfNegativeVoxels) {
  write_nifti(folder_ / "in.nii", {{8, 8, 8}}, std::vector<float>(512, -100));
  for (const auto& [kind, negative] :
       {std::pair{"rician", true}, {"zero-filled", true}, {"poisson", true}, {"ct", false}}) {
    const Result result = quietvox_ok({"add-noise", path("in.nii"), path("noisy.nii"), "--kind", kind, "--force"});
    EXPECT_EQ(result.err.find("512 voxels were negative") != std::string::npos, negative) << kind << result.err;
  }
  const Result made =
      quietvox_ok({"phantom", path("ct.nii"), "--kind", "ct", "--size", "16x16x4", "--noise", "rician:15"});
  EXPECT_NE(made.err.find("voxels were negative; rician noise is that of magnitudes"), std::string::npos) << made.err;
}

TEST_F(Tools, TheTimeBetweenVolumesStays) {
  const Extent size{{16, 16, 4}};
  write_nifti(folder_ / "series.nii", size, std::vector<float>(static_cast<std::size_t>(size.voxels()) * 3, 100), 3);
  std::string bytes = read_file(folder_ / "series.nii");
  constexpr std::size_t pixdim_4 = 92, units = 123;
  const float milliseconds = 2500;
  std::memcpy(bytes.data() + pixdim_4, &milliseconds, sizeof milliseconds);
  bytes[units] = 2 + 16;  // mm, ms
  write_file(folder_ / "series.nii", bytes);
  quietvox_ok({"median", path("series.nii"), path("out.mha")});
  const std::string header = read_file(folder_ / "out.mha").substr(0, 500);
  EXPECT_NE(header.find("ElementSpacing = 1 1 1 2.5\n"), std::string::npos) << header;
}

}  // namespace
}  // namespace quietvox::test
