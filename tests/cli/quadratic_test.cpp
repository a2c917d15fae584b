// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/images.hpp"
#include "cli/process.hpp"
#include "support/make_dicom.hpp"

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
            .out)["psnr_by_filter"];
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

TEST_F(Quadratic, TrainingPairsVoxelsOfOnePlace) {
  quietvox_ok({"phantom", path("clean.mha"), "--size", "64x64x8"});
  std::string file = read_file(folder_ / "clean.mha");
  const std::string matrix = "TransformMatrix = 1 ", offset = "Offset = 0 ";
  ASSERT_NE(file.find(matrix), std::string::npos);
  write_file(folder_ / "turned.mha",
             std::string(file).replace(file.find(matrix), matrix.size(), "TransformMatrix = -1 "));
  write_file(folder_ / "shifted.mha", std::string(file).replace(file.find(offset), offset.size(), "Offset = 7 "));
  const Result turned = quietvox({"train-quadratic", path("clean.mha"), path("turned.mha"), path("h.json")});
  EXPECT_EQ(turned.status, 64) << turned.err;
  EXPECT_NE(turned.err.find("the axes of CLEAN are not those of NOISY"), std::string::npos) << turned.err;
  const Result shifted = quietvox({"train-quadratic", path("clean.mha"), path("shifted.mha"), path("h.json")});
  EXPECT_EQ(shifted.status, 0) << shifted.err;
  EXPECT_NE(shifted.err.find("CLEAN and NOISY lie in different places"), std::string::npos) << shifted.err;
}

/// As where the coefficients are used.
TEST_F(Quadratic, TrainsInSlicesAlongWhateverAxis) {
  const auto coefficients_along = [&](int axis) {
    Extent size{{48, 40, 8}};
    std::swap(size[axis], size.z);
    std::vector<float> clean, noisy;
    for (std::int64_t i = 0; i < size.voxels(); ++i) {
      Index3 place{i % size.x, i / size.x % size.y, i / size.slice()};
      std::swap(place[axis], place.z);
      const std::int64_t number = (place.z * 40 + place.y) * 48 + place.x;
      clean.push_back(static_cast<float>(100 * (place.x / 8 % 3) + 50 * (place.y / 5 % 2)));
      noisy.push_back(clean.back() + static_cast<float>(number * 7919 % 61 - 30));
    }
    const auto write = [&](const std::string& name, const std::vector<float>& voxels) {
      write_nifti(folder_ / name, size, voxels);
      std::fstream file(folder_ / name, std::ios::in | std::ios::out | std::ios::binary);
      const float thick = 5;
      file.seekp(76 + 4 * (axis + 1)).write(reinterpret_cast<const char*>(&thick), sizeof thick);  // pixdim
    };
    write("noisy.nii", noisy);
    write("clean.nii", clean);
    quietvox_ok({"train-quadratic", path("noisy.nii"), path("clean.nii"), path("h.json"), "--force"});
    return Json::parse(read_file(folder_ / "h.json"))["h1"];
  };
  const Json along_z = coefficients_along(2);
  EXPECT_EQ(coefficients_along(0), along_z);
  EXPECT_EQ(coefficients_along(1), along_z);
}

/// What only the voxels can tell is left open while headers are looked at.
TEST_F(Quadratic, TakesAnyRangeAndFilesForVolumesThatBeginAtZero) {
  std::vector<float> ramp(3200);
  std::iota(ramp.begin(), ramp.end(), 0.0F);
  write_nifti(folder_ / "ramp.nii", {{40, 40, 2}}, ramp);
  quietvox_ok({"quadratic", path("ramp.nii"), path("out.nii"), "--lowest", "100"});
  quietvox_ok({"quadratic", path("ramp.nii"), path("out.nii"), "--highest", "-100", "--lowest", "-200", "--force"});
  std::string h2 = "0";
  for (int i = 1; i < 45; ++i) h2 += ", 0";
  write_file(folder_ / "c.json",
             R"({"size": 3, "range": "volume", "h0": 0, "h1": [0, 0, 0, 0, 1, 0, 0, 0, 0], "h2": [)" + h2 + "]}");
  quietvox_ok({"quadratic", path("ramp.nii"), path("out.nii"), "--coefficients", path("c.json"), "--force"});
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

/// A mammogram stored either way is the same picture, and so is what is made of it, at any depth.
TEST_F(Quadratic, SmallValuesOfMonochrome1AreWhite) {
  for (const int bits : {12, 14, 16}) {
    const int most = (1 << bits) - 1;
    DicomSpec bright{.columns = 24, .rows = 20, .bits_stored = bits, .intercept = "0"}, dark = bright;
    for (int i = 0; i < 24 * 20; ++i) {
      const int cell = most / 4 + i % 24 * (most / 64) + (i * 7919) % (most / 16);
      bright.cells.push_back(static_cast<std::uint16_t>(cell));
      dark.cells.push_back(static_cast<std::uint16_t>(most - cell));
    }
    dark.change = [](DcmDataset& data) { data.putAndInsertString(DCM_PhotometricInterpretation, "MONOCHROME1"); };
    write_dicom(path("bright.dcm"), bright);
    write_dicom(path("dark.dcm"), dark);
    const auto enhanced = [&](const std::string& name, const std::string& white) {
      const Json result = Json::parse(quietvox_ok({"quadratic", path(name), path("out.dcm"), "--coefficients",
                                                   "mammogram-enhance", "--force", "--json"})
                                          .out);
      EXPECT_EQ(result["volumes"][0]["filters"][0]["parameters"]["white"], white) << bits;
      return dicom_cells(path("out.dcm"));
    };
    const auto of_bright = enhanced("bright.dcm", "high"), of_dark = enhanced("dark.dcm", "low");
    int changed = 0;
    for (std::size_t i = 0; i < of_bright.size(); ++i) {
      EXPECT_LE(std::abs(of_bright[i] + of_dark[i] - most), 1) << bits << " " << i;  // halves are rounded up in both
      changed += of_bright[i] != bright.cells[i];
    }
    EXPECT_GT(changed, 400) << bits;
  }
}

TEST_F(Quadratic, ProvenanceTellsWhichCoefficientsByTheirHash) {
  write_dicom(path("in.dcm"), {.columns = 8, .rows = 8});
  write_nifti(folder_ / "in.nii", {{8, 8, 1}}, random_integers(64, 1));
  std::set<std::string> hashes, instances, series;
  for (const std::string h0 : {"0", "0.25"}) {
    std::string zeros = "0";
    for (int i = 1; i < 45; ++i) zeros += ",0";
    write_file(folder_ / "mine.json", R"({"size": 3, "range": "volume", "h1": [0,0,0,0,1,0,0,0,0], "h0": )" + h0 +
                                          R"(, "h2": [)" + zeros + "]}");
    for (const std::string ending : {".dcm", ".nii"}) {
      quietvox_ok(
          {"quadratic", path("in" + ending), path("out" + ending), "--coefficients", path("mine.json"), "--force"});
    }
    const std::string hash =
        Json::parse(read_file(path("out.json")))["volumes"][0]["filters"][0]["parameters"]["coefficients"];
    hashes.insert(hash);
    EXPECT_EQ(hash.substr(0, 7), "sha256:");
    const std::string text = dicom_text(path("out.dcm"), DCM_DerivationDescription);
    EXPECT_NE(text.find("coefficients=" + hash), std::string::npos) << text;
    EXPECT_EQ(text.find("mine.json"), std::string::npos) << text;
    instances.insert(dicom_text(path("out.dcm"), DCM_SOPInstanceUID));
    series.insert(dicom_text(path("out.dcm"), DCM_SeriesInstanceUID));
  }
  EXPECT_EQ(hashes.size(), 2U);
  EXPECT_EQ(instances.size(), 2U);
  EXPECT_EQ(series.size(), 2U);
  std::filesystem::rename(path("mine.json"), path("renamed.json"));
  quietvox_ok({"quadratic", path("in.dcm"), path("out.dcm"), "--coefficients", path("renamed.json"), "--force"});
  EXPECT_TRUE(instances.contains(dicom_text(path("out.dcm"), DCM_SOPInstanceUID)));
}

/// With --force too: a JSON file may be anything.
TEST_F(Quadratic, TrainingReplacesCoefficientsAlone) {
  quietvox_ok({"phantom", path("clean.nii"), "--size", "40x40x2"});
  quietvox_ok({"add-noise", path("clean.nii"), path("noisy.nii"), "--amount", "60"});
  const auto train = [&](const std::string& output) {
    return quietvox({"train-quadratic", path("noisy.nii"), path("clean.nii"), path(output), "--force"});
  };
  EXPECT_EQ(train("h.json").status, 0);
  EXPECT_EQ(train("h.json").status, 0);
  std::string by_hand = read_file(folder_ / "h.json");
  by_hand.replace(by_hand.find("quietvox"), 8, "somebody");
  const std::string sidecar = read_file(folder_ / "noisy.json");
  for (const std::string& foreign :
       {std::string(R"({"name": "quietvox"})"), by_hand, sidecar, std::string("quietvox")}) {
    write_file(folder_ / "foreign.json", foreign);
    const Result result = train("foreign.json");
    EXPECT_EQ(result.status, 20) << result.err;
    EXPECT_NE(result.err.find("foreign.json: was not made by"), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(read_file(folder_ / "foreign.json"), foreign);
  }
}

TEST_F(Quadratic, WhereNoRowsAreHeldOutNoPsnrIsTold) {
  quietvox_ok({"phantom", path("clean.nii"), "--size", "16x16x2"});
  quietvox_ok({"add-noise", path("clean.nii"), path("noisy.nii"), "--amount", "60"});
  const Result text = quietvox_ok({"train-quadratic", path("noisy.nii"), path("clean.nii"), path("a.json")});
  EXPECT_EQ(text.out.find("nan"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("unknown"), std::string::npos) << text.out;
  const Result json = quietvox_ok({"train-quadratic", path("noisy.nii"), path("clean.nii"), path("b.json"), "--json"});
  EXPECT_TRUE(Json::parse(json.out)["psnr_by_filter"]["noisy"].is_null()) << json.out;
}

TEST_F(Quadratic, ABadFileOfCoefficientsIsRefusedInOneLine) {
  write_nifti(folder_ / "in.nii", {{8, 8, 1}}, random_integers(64, 1));
  const std::string nine = "[0,0,0,0,1,0,0,0,0]";
  const std::pair<std::string, std::string> cases[] = {
      {R"({"size": 3, "range": "volume", "h0": 0, "h1": [1, 2], "h2": []})", "h1 has 2 numbers; size 3 takes 9"},
      {R"({"size": 3, "range": "volume", "h0": 0, "h1": [0, NaN], "h2": []})", "this is not JSON at h1[1]"},
      {R"({"size": 3, "range": "volume", "h0": 0, "h1": )" + nine + R"(, "h2": [], "h3": []})",
       "'h3' is not a known entry"},
      {R"({"size": 3, "range": "volume", "h0": 1e308, "h1": )" + nine + R"(, "h2": []})",
       "h0 is 1e+308; give -1e+06 to 1e+06"},
      {R"({"size": 3, "range": "volume", "h0": 0, "h1": [0,0,0,0,-2e6,0,0,0,0], "h2": []})",
       "h1[4] is -2000000.0; give -1e+06 to 1e+06"},
      {R"({"size": 4, "range": "volume", "h0": 0, "h1": )" + nine + R"(, "h2": []})", "size is 4; give 3 or 5"}};
  for (const auto& [text, message] : cases) {
    write_file(folder_ / "bad.json", text);
    const Result result = quietvox({"quadratic", path("in.nii"), path("out.nii"), "--coefficients", path("bad.json")});
    EXPECT_EQ(result.status, 4);
    EXPECT_NE(result.err.find("bad.json: " + message), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_FALSE(std::filesystem::exists(path("out.nii")));
  }
}

/// A regular file of which no byte can be read.
TEST_F(Quadratic, AFileOfCoefficientsThatCannotBeReadIsToldOf) {
  write_nifti(folder_ / "in.nii", {{8, 8, 1}}, random_integers(64, 1));
  const Result result = quietvox({"quadratic", path("in.nii"), path("out.nii"), "--coefficients", "/proc/self/mem"});
  EXPECT_EQ(result.status, 5);
  EXPECT_NE(result.err.find("'/proc/self/mem' cannot be read"), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

}  // namespace
}  // namespace quietvox::test
