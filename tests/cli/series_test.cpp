// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/images.hpp"
#include "cli/process.hpp"
#include "support/make_dicom.hpp"
#include "support/test_data.hpp"

namespace quietvox::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// DICOM series that the program made itself.
class SeriesOnDisk : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  TemporaryFolder folder_;
};

std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(folder)) files.push_back(file.path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST_F(SeriesOnDisk, PhantomsHaveTheSizeAskedFor) {
  for (const std::string kind : {"ct", "mr", "mammogram"}) {
    const int slices = kind == "mammogram" ? 1 : 6;
    quietvox_ok({"phantom", path(kind), "--kind", kind, "--size", "40x48x" + std::to_string(slices)});
    EXPECT_EQ(files_of(path(kind)).size(), static_cast<std::size_t>(slices));
    const Json info = Json::parse(quietvox_ok({"info", path(kind), "--json"}).out);
    EXPECT_EQ(info["format"], "DICOM");
    EXPECT_EQ(info["extent"], Json({40, 48, slices}));
  }
}

TEST_F(SeriesOnDisk, PhantomsAreTheSameInEveryFormat) {
  quietvox_ok({"phantom", path("a"), "--size", "32x24x5"});
  quietvox_ok({"phantom", path("a.nii"), "--size", "32x24x5"});
  const Json result = Json::parse(quietvox_ok({"compare", path("a.nii"), path("a"), "--json"}).out)["volumes"][0];
  EXPECT_LE(result["max_error"].get<double>(), 0.5);  // DICOM stores whole numbers
}

/// On a machine that has the library in another place, or without its files.
TEST_F(SeriesOnDisk, DicomIsReadWhereDcmtkFindsNoDictionary) {
  quietvox_ok({"phantom", path("ct"), "--size", "32x24x5"});
  quietvox_ok({"median", path("ct"), path("as-usual")});
  const Environment none(std::map<std::string, std::string>{{"DCMDICTPATH", "/nowhere/at/all"}});
  quietvox_ok({"median", path("ct"), path("without")});
  const Json result = Json::parse(quietvox_ok({"compare", path("as-usual"), path("without"), "--json"}).out);
  EXPECT_EQ(result["volumes"][0]["max_error"], 0);
}

/// Terminals take some bytes of a text for commands.
TEST_F(SeriesOnDisk, InfoPrintsNoControlCharacters) {
  fs::create_directory(folder_ / "in");
  for (const std::string series : {"1.2.3",
                                   "1.2\x1b[31m.3\xc2\x9b"
                                   "1m"}) {
    write_dicom(folder_ / "in" / std::to_string(series.size()), {.series = series,
                                                                 .more = {{DCM_SeriesDescription,
                                                                           "caf\xc3\xa9 \xc2\x9b"
                                                                           "1m \x9b"
                                                                           "2m \xe2\x82\xac"}}});
  }
  const std::string text = quietvox_ok({"info", path("in")}).out;
  for (const char* bytes : {"\x1b", "\xc2\x9b", "\x9b"}) EXPECT_EQ(text.find(bytes), std::string::npos) << text;
  EXPECT_NE(text.find("1.2?[31m.3??1m"), std::string::npos) << text;
  EXPECT_NE(text.find("caf\xc3\xa9 ??1m ?2m \xe2\x82\xac"), std::string::npos) << text;
}

TEST_F(SeriesOnDisk, RadiusZeroKeepsEveryVoxelAndNamesAndCounts) {
  make_series(folder_ / "in");
  const auto before = contents(folder_ / "in");
  const Json run = Json::parse(quietvox_ok({"median", path("in"), path("out"), "--radius", "0", "--json"}).out);
  EXPECT_EQ(run["format"], "DICOM");
  EXPECT_EQ(run["files"].size(), 5U);
  EXPECT_EQ(read_voxels(folder_ / "in"), read_voxels(folder_ / "out"));
  EXPECT_EQ(contents(folder_ / "in"), before);
  const auto in = files_of(folder_ / "in"), out = files_of(folder_ / "out");
  ASSERT_EQ(in.size(), out.size());
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(in[i].filename(), out[i].filename());
}

TEST_F(SeriesOnDisk, GoToOtherFormats) {
  make_series(folder_ / "in");
  quietvox_ok({"median", path("in"), path("out")});
  for (const char* name : {"a.nii", "b.nii.gz", "c.nrrd", "d.mha"}) {
    quietvox_ok({"median", path("in"), path(name)});
    const Json result = Json::parse(quietvox_ok({"compare", path("out"), path(name), "--json"}).out);
    EXPECT_EQ(result["volumes"][0]["different"], 0) << name;
  }
}

TEST_F(SeriesOnDisk, InfoTellsWhatAllImagesHaveInCommon) {
  fs::create_directory(folder_ / "in");
  const auto write = [&](int z, E_TransferSyntax syntax, const char* slope) {
    write_dicom(folder_ / ("in/" + std::to_string(z)),
                {.columns = 16,
                 .rows = 16,
                 .position = {0, 0, 1.0 * z},
                 .more = {{DCM_RescaleSlope, slope}, {DCM_RescaleIntercept, "-5"}},
                 .syntax = syntax});
  };
  const auto info = [&] { return Json::parse(quietvox_ok({"info", path("in"), "--json"}).out); };
  for (int z = 0; z < 3; ++z) write(z, EXS_LittleEndianExplicit, "2");
  EXPECT_EQ(info()["rescale"], (Json{{"slope", 2}, {"intercept", -5}}));
  EXPECT_EQ(info()["encoding"], "Little Endian Explicit");
  write(2, EXS_JPEGProcess14SV1, "3");
  EXPECT_EQ(info()["rescale"], Json());
  EXPECT_EQ(info()["encoding"], "mixed");
  EXPECT_EQ(info()["dicom"]["output_transfer_syntax"], "mixed");
}

TEST_F(SeriesOnDisk, InfoWarnsWhereVolumesDiffer) {
  fs::create_directory(folder_ / "in");
  const auto write = [&](int z, const char* echo) {
    write_dicom(folder_ / ("in/" + std::string(echo) + std::to_string(z)),
                {.position = {0, 0, 1.0 * z}, .more = {{DCM_Modality, "MR"}, {DCM_EchoTime, echo}}});
  };
  const auto warns = [&] {
    return quietvox({"info", path("in")}).err.find("the volumes differ in geometry") != std::string::npos;
  };
  for (int z = 0; z < 3; ++z) write(z, "10");
  for (int z = 0; z < 2; ++z) write(z, "20");
  EXPECT_TRUE(warns());
  write(2, "20");
  EXPECT_FALSE(warns());
}

TEST_F(SeriesOnDisk, InfoNamesNoPatient) {
  fs::create_directory(folder_ / "in");
  write_dicom(folder_ / "in/a.dcm", {});
  ASSERT_NE(read_file(folder_ / "in/a.dcm").find("Nobody"), std::string::npos);
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--json"}}) {
    std::vector<std::string> words{"info", path("in")};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(quietvox_ok(words).out.find("Nobody"), std::string::npos);
  }
}

TEST_F(SeriesOnDisk, AreCompressedByTheCodecThatIsNamed) {
  make_series(folder_ / "in");
  const auto syntax = [&](const std::string& name) {
    const Json info = Json::parse(quietvox_ok({"info", path(name), "--json"}).out);
    return info["encoding"].get<std::string>();
  };
  const std::vector<float> voxels = read_voxels(folder_ / "in");
  const std::pair<std::vector<std::string>, const char*> ways[] = {
      {{"--compress"}, "JPEG-LS Lossless"},
      {{"--codec", "jpeg-ls"}, "JPEG-LS Lossless"},
      {{"--codec=rle", "--compress"}, "RLE Lossless"},
      {{"--codec=jpeg-lossless"}, "JPEG Lossless, Non-hierarchical, 1st Order Prediction"}};
  for (const auto& [options, name] : ways) {
    std::vector<std::string> words{"median", path("in"), path("out"), "--radius", "0", "--force"};
    words.insert(words.end(), options.begin(), options.end());
    quietvox_ok(words);
    EXPECT_EQ(syntax("out"), name);
    EXPECT_EQ(read_voxels(folder_ / "out"), voxels);
  }
  EXPECT_EQ(quietvox({"median", path("in"), path("a"), "--codec", "rle", "--no-compress"}).status, 64);
  EXPECT_EQ(quietvox({"median", path("in"), path("a.nii.gz"), "--codec", "rle"}).status, 64);
  EXPECT_EQ(quietvox({"median", path("in"), path("a"), "--codec", "jpeg"}).status, 64);
}

TEST_F(SeriesOnDisk, StayCompressedAsTheyWere) {
  fs::create_directory(folder_ / "in");
  for (int z = 0; z < 3; ++z) {
    write_dicom(folder_ / ("in/" + std::to_string(z)),
                {.columns = 64, .rows = 64, .position = {0, 0, 1.0 * z}, .syntax = EXS_JPEGProcess14SV1});
  }
  const auto info = [&](const std::string& name) {
    return Json::parse(quietvox_ok({"info", path(name), "--json"}).out);
  };
  const Json jpeg = info("in")["encoding"];
  EXPECT_EQ(info("in")["dicom"]["output_transfer_syntax"], jpeg);
  quietvox_ok({"median", path("in"), path("same"), "--radius", "0"});
  EXPECT_EQ(info("same")["encoding"], jpeg);
  quietvox_ok({"median", path("in"), path("raw"), "--radius", "0", "--no-compress"});
  EXPECT_EQ(info("raw")["encoding"], "Little Endian Explicit");
  EXPECT_EQ(read_voxels(folder_ / "same"), read_voxels(folder_ / "raw"));
}

/// pixdim[4] of a NIfTI file, and the units of its header.
std::pair<float, char> time_step_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  float seconds = -1;
  char units = 0;
  file.seekg(76 + 4 * 4).read(reinterpret_cast<char*>(&seconds), sizeof seconds);
  file.seekg(123).read(&units, 1);
  return {seconds, units};
}

/// Dynamic series, as of a contrast agent: a volume is made of many repetitions, and others follow when it suits.
TEST_F(SeriesOnDisk, VolumesAtUnevenTimesHaveNoTimeBetweenThem) {
  const auto seconds_of = [&](const std::string& name, const std::vector<std::string>& times,
                              const std::string& repetition, bool warns) {
    fs::create_directory(folder_ / name);
    for (std::size_t volume = 0; volume < times.size(); ++volume) {
      for (int z = 0; z < 2; ++z) {
        const int number = static_cast<int>(2 * volume) + z + 1;
        DicomSpec spec{.position = {0, 0, 1.0 * z}, .instance_number = number};
        const std::size_t word = times[volume].find(' ') + 1;  // 0: none
        const std::string which = times[volume].substr(0, word);
        spec.more = {{DCM_TemporalPositionIdentifier, std::to_string(volume + 1)},
                     {which == "content "   ? DCM_ContentTime
                      : which == "trigger " ? DCM_TriggerTime
                      : which == "frame "   ? DCM_FrameReferenceTime
                                            : DCM_AcquisitionTime,
                      times[volume].substr(word)}};
        if (!repetition.empty()) spec.more.emplace_back(DCM_RepetitionTime, repetition);
        write_dicom(folder_ / name / std::to_string(number), spec);
      }
    }
    const Result result = quietvox_ok({"median", path(name), path(name + ".nii"), "--radius", "0"});
    EXPECT_EQ(result.err.find("unevenly spaced in time") != std::string::npos, warns) << name << result.err;
    EXPECT_EQ(quietvox_ok({"median", path(name), path(name + "-dicom")}).err.find("unevenly"), std::string::npos);
    const auto [seconds, units] = time_step_of(folder_ / (name + ".nii"));
    return units == 2 + 8 ? seconds : 0;
  };
  EXPECT_EQ(seconds_of("uneven", {"101500", "101510", "101520", "101600", "101700"}, "5", true), 0);
  EXPECT_EQ(seconds_of("even", {"101500.5", "101510.5", "101520.5", "101530.5"}, "5", false), 10);
  EXPECT_EQ(seconds_of("no repetition", {"101500.5", "101510.5", "101520.5", "101530.5"}, "", false), 10);
  EXPECT_EQ(seconds_of("rounded clock", {"101500", "101502", "101505", "101507", "101510"}, "2500", false), 2.5F);
  EXPECT_EQ(seconds_of("no clock", {"", "", ""}, "2500", false), 2.5F);
  EXPECT_EQ(seconds_of("fast echoes", {"101500.25", "101512.25", "101524.25"}, "3.4", false), 12);
  EXPECT_EQ(seconds_of("content times", {"content 101500.25", "content 101512.25"}, "", false), 12);
  EXPECT_EQ(seconds_of("uneven triggers", {"trigger 0", "trigger 1000", "trigger 5000"}, "2500", true), 0);
  EXPECT_EQ(seconds_of("uneven frames", {"frame 5000", "frame 65000", "frame 305000"}, "2500", true), 0);
  EXPECT_EQ(seconds_of("fast echoes, no clock", {"", "", ""}, "3.4", true), 0) << "no volume takes 3.4 ms";
}

TEST_F(SeriesOnDisk, BecomeNoFolderThatIsNamedAsAnotherKindOfFile) {
  quietvox_ok({"phantom", path("in"), "--size", "16x16x3"});
  for (const char* name : {"out.png", "out.mgz", "out.nii.bz2", "out.TIF"}) {
    const Result result = quietvox({"median", path("in"), path(name)});
    EXPECT_EQ(result.status, 64);
    EXPECT_NE(result.err.find("the ending names no known format"), std::string::npos) << result.err;
  }
  quietvox_ok({"median", path("in"), path("out.2026")});
}

TEST_F(SeriesOnDisk, ATimePointThatWasEndedEarlyIsNamed) {
  fs::create_directory(folder_ / "in");
  for (int i = 0; i < 10; ++i) {
    DicomSpec spec{.position = {0, 0, 1.0 * (i % 4)}, .instance_number = i + 1};
    spec.more = {{DCM_TemporalPositionIdentifier, std::to_string(i / 4 + 1)}};
    write_dicom(folder_ / "in" / (std::to_string(i) + ".dcm"), spec);
  }
  const Result result = quietvox({"median", path("in"), path("out.nii")});
  EXPECT_EQ(result.status, 10);
  EXPECT_NE(result.err.find("volume 3 has 2 slices, the first one 4, and one NIfTI file cannot hold both; write DICOM"),
            std::string::npos)
      << result.err;
}

TEST_F(SeriesOnDisk, WithoutAPlaceBecomeNiftiWithoutOne) {
  DicomSpec spec{.position = {}};
  spec.more = {{DCM_Modality, "DX"}};
  write_dicom(folder_ / "image.dcm", spec);
  const auto codes = [&](const std::string& name) {
    std::ifstream file(folder_ / name, std::ios::binary);
    std::array<std::int16_t, 2> found{-1, -1};  // qform, sform
    file.seekg(252).read(reinterpret_cast<char*>(found.data()), sizeof found);
    return found;
  };
  quietvox_ok({"median", path("image.dcm"), path("out.nii"), "--residual", path("residual.nii")});
  for (const char* name : {"out.nii", "residual.nii"}) {
    EXPECT_EQ(codes(name), (std::array<std::int16_t, 2>{0, 0})) << name;
  }
  spec.position = {1, 2, 3};
  write_dicom(folder_ / "image.dcm", spec);
  quietvox_ok({"median", path("image.dcm"), path("out.nii"), "--force"});
  EXPECT_EQ(codes("out.nii"), (std::array<std::int16_t, 2>{1, 1}));
}

/// Times and diffusion directions are made one after the other, echoes and kinds of images in the same time.
TEST_F(SeriesOnDisk, KeepTheirRepetitionTimeInNifti) {
  using Elements = std::vector<std::pair<DcmTagKey, std::string>>;
  const std::tuple<std::string, std::array<Elements, 2>, float> cases[] = {
      {"times", {{{{DCM_TemporalPositionIdentifier, "1"}}, {{DCM_TemporalPositionIdentifier, "2"}}}}, 2.5F},
      {"diffusion",
       {{{{DCM_DiffusionBValue, "0"}, {DCM_DiffusionDirectionality, "NONE"}},
         {{DCM_DiffusionBValue, "800"}, {DCM_DiffusionDirectionality, "DIRECTIONAL"}}}},
       2.5F},
      {"clock",
       {{{{DCM_TemporalPositionIdentifier, "1"}, {DCM_AcquisitionTime, "101500.25"}},
         {{DCM_TemporalPositionIdentifier, "2"}, {DCM_AcquisitionTime, "101512.25"}}}},
       12},
      {"rounded clock",
       {{{{DCM_TemporalPositionIdentifier, "1"}, {DCM_AcquisitionTime, "101500.25"}},
         {{DCM_TemporalPositionIdentifier, "2"}, {DCM_AcquisitionTime, "101502.76"}}}},
       2.5F},
      {"reconstruction",
       {{{{DCM_TemporalPositionIdentifier, "1"}, {DCM_ContentTime, "101500.25"}},
         {{DCM_TemporalPositionIdentifier, "2"}, {DCM_ContentTime, "101500.85"}}}},
       2.5F},
      {"cine", {{{{DCM_TriggerTime, "0"}}, {{DCM_TriggerTime, "40"}}}}, 0.04F},
      {"fast cine",
       {{{{DCM_TriggerTime, "0"}, {DCM_RepetitionTime, "3.4"}},
         {{DCM_TriggerTime, "42"}, {DCM_RepetitionTime, "3.4"}}}},
       0.042F},
      {"resolution",
       {{{{DCM_TemporalPositionIdentifier, "1"}, {DCM_TemporalResolution, "12000"}},
         {{DCM_TemporalPositionIdentifier, "2"}, {DCM_TemporalResolution, "12000"}}}},
       12},
      {"resolution below a repetition",
       {{{{DCM_TemporalPositionIdentifier, "1"}, {DCM_TemporalResolution, "12"}},
         {{DCM_TemporalPositionIdentifier, "2"}, {DCM_TemporalResolution, "12"}}}},
       2.5F},
      {"frame time",
       {{{{DCM_TemporalPositionIdentifier, "1"}, {DCM_FrameTime, "3000"}},
         {{DCM_TemporalPositionIdentifier, "2"}, {DCM_FrameTime, "3000"}}}},
       3},
      {"reference time",
       {{{{DCM_TemporalPositionIdentifier, "1"}, {DCM_FrameReferenceTime, "5000"}},
         {{DCM_TemporalPositionIdentifier, "2"}, {DCM_FrameReferenceTime, "65000"}}}},
       60},
      {"echoes", {{{{DCM_EchoTime, "3"}}, {{DCM_EchoTime, "6"}}}}, 0},
      {"kinds", {{{{DCM_ImageType, "ORIGINAL\\PRIMARY\\M"}}, {{DCM_ImageType, "ORIGINAL\\PRIMARY\\P"}}}}, 0}};
  for (const auto& [name, volumes, expected] : cases) {
    fs::create_directory(folder_ / name);
    for (int file = 0; file < 6; ++file) {
      const int z = file % 3;
      DicomSpec spec{.position = {0, 0, 1.0 * z}, .instance_number = file + 1, .more = volumes[file / 3]};
      spec.more.insert(spec.more.begin(), {DCM_RepetitionTime, "2500"});
      write_dicom(folder_ / (name + "/" + std::to_string(file)), spec);
    }
    const std::string output = name + ".nii", residual = name + "-residual.nii";
    const Result result =
        quietvox_ok({"median", path(name), path(output), "--radius", "0", "--residual", path(residual)});
    EXPECT_EQ(result.err.find("b-values") != std::string::npos, name == "diffusion") << result.err;
    for (const std::string& made : {output, residual}) {
      const auto [seconds, units] = time_step_of(folder_ / made);
      if (expected > 0) {
        EXPECT_EQ(seconds, expected) << made;
        EXPECT_EQ(units, 2 + 8) << made << ": mm and s";
      } else {
        EXPECT_NE(seconds, 2.5F) << made;
        EXPECT_EQ(units, 2) << made << ": mm";
      }
    }
  }
}

TEST_F(SeriesOnDisk, WithAModalityLutAreInItsUnits) {
  QV_NEEDS_TEST_DATA();
  const std::string in = test_data("luts/mlut_18.dcm").string();
  quietvox_ok({"median", in, path("in.nii"), "--radius", "0"});
  const auto before = read_voxels(folder_ / "in.nii");
  EXPECT_GT(*std::ranges::max_element(before), 32768) << "stored are -2048 to 2047, meant 0 to 65535";
  EXPECT_GE(*std::ranges::min_element(before), 0);
  quietvox_ok({"gaussian", in, path("out.dcm"), "--sigma", "2", "--residual", path("residual.nii")});
  quietvox_ok({"median", path("out.dcm"), path("out.nii"), "--radius", "0"});
  const auto after = read_voxels(folder_ / "out.nii"), residual = read_voxels(folder_ / "residual.nii");
  double largest = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    ASSERT_EQ(residual[i], before[i] - after[i]) << i;
    largest = std::max(largest, std::abs(static_cast<double>(residual[i])));
  }
  EXPECT_GT(largest, 4096) << "nothing was filtered";
}

TEST_F(SeriesOnDisk, ResidualIsOfTheValuesThatAreStored) {
  make_series(folder_ / "in");
  const auto in = read_voxels(folder_ / "in");
  for (const std::string output : {"out", "out.nrrd"}) {
    quietvox_ok({"gaussian", path("in"), path(output), "--sigma", "5", "--residual", path("r.nii"), "--output-type",
                 output == "out" ? "same" : "int16", "--force"});
    quietvox_ok({"median", path(output), path("back.nii"), "--radius", "0", "--force"});
    const auto out = read_voxels(folder_ / "back.nii"), residual = read_voxels(folder_ / "r.nii");
    EXPECT_NE(in, out);
    for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(residual[i], in[i] - out[i]) << i;
  }
}

TEST_F(SeriesOnDisk, MaskAndResidualAreInRealUnits) {
  make_series(folder_ / "in");
  std::vector<float> mask(32 * 24 * 5);
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = i % 32 < 16 ? 1.0F : 0.0F;
  write_nifti(folder_ / "mask.nii", {{32, 24, 5}}, mask);
  quietvox_ok({"median", path("in"), path("out"), "--mask", path("mask.nii"), "--residual", path("residual.nii")});
  const auto in = read_voxels(folder_ / "in"), out = read_voxels(folder_ / "out"),
             residual = read_voxels(folder_ / "residual.nii");
  EXPECT_NE(in, out);
  for (std::size_t i = 0; i < in.size(); ++i) {
    EXPECT_EQ(residual[i], in[i] - out[i]) << i;
    if (mask[i] == 0) {
      EXPECT_EQ(in[i], out[i]) << i;
    }
  }
}

TEST_F(SeriesOnDisk, MasksAreToldApart) {
  make_series(folder_ / "in");
  std::vector<float> mask(32 * 24 * 5);
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = i % 32 < 16 ? 1.0F : 0.0F;
  write_nifti(folder_ / "left.nii", {{32, 24, 5}}, mask);
  for (float& voxel : mask) voxel *= 7;
  write_nifti(folder_ / "seven.nii", {{32, 24, 5}}, mask);
  for (float& voxel : mask) voxel = 7 - voxel;
  write_nifti(folder_ / "right.nii", {{32, 24, 5}}, mask);
  const auto derivation = [&](const std::string& name) {
    quietvox_ok({"median", path("in"), path("out-" + name), "--mask", path(name + ".nii")});
    return dicom_text(files_of(folder_ / ("out-" + name))[0], DCM_DerivationDescription);
  };
  const std::string left = derivation("left");
  EXPECT_NE(left.find("; within mask "), std::string::npos) << left;
  EXPECT_EQ(left, derivation("seven"));
  EXPECT_NE(left, derivation("right"));
}

TEST_F(SeriesOnDisk, MasksLieWhereTheInputLies) {
  const auto make = [&](const std::string& name, double x, const std::string& orientation, const std::string& spacing) {
    std::filesystem::create_directory(folder_ / name);
    for (int z = 0; z < 3; ++z) {
      write_dicom(
          folder_ / name / (std::to_string(z) + ".dcm"),
          {.position = {x, 20, 2.0 * z}, .orientation = orientation, .spacing = spacing, .instance_number = z + 1});
    }
  };
  const std::string axes = "1\\0\\0\\0\\1\\0", spacing = "0.5\\0.25";
  make("in", 10, axes, spacing);
  make("same", 10.0004, axes, "0.50001\\0.25");
  make("moved", 10.5, axes, spacing);
  make("turned", 10, "0.8\\0.6\\0\\-0.6\\0.8\\0", spacing);
  make("finer", 10, axes, "0.4\\0.25");
  write_nifti(folder_ / "nowhere.nii", {{5, 4, 3}}, std::vector<std::int16_t>(60, 1));
  write_nifti(folder_ / "at-origin.nii", {{5, 4, 3}}, std::vector<std::int16_t>(60, 1), 1, true);
  const auto expect = [&](const std::string& mask, int status, const std::string& text) {
    const Result result = quietvox({"median", path("in"), path("out-" + mask), "--mask", path(mask)});
    EXPECT_EQ(result.status, status) << mask << ": " << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << mask << ": " << result.err;
    EXPECT_EQ(result.err.find("taken to lie") != std::string::npos, mask == "nowhere.nii") << result.err;
  };
  expect("in", 0, "");
  expect("same", 0, "");
  expect("moved", 64, "origin 10.5, 20, 0 mm instead of 10, 20, 0 mm");
  expect("turned", 64, "axes");
  expect("finer", 64, "spacing 0.25, 0.4, 2 mm instead of 0.25, 0.5, 2 mm");
  expect("nowhere.nii", 0, "warning");
  expect("at-origin.nii", 64, "spacing 1, 1, 1 mm instead of 0.25, 0.5, 2 mm");
}

TEST_F(SeriesOnDisk, MasksOfUnevenSlicesLieWhereTheInputLiesSliceBySlice) {
  const auto make = [&](const std::string& name, const std::vector<double>& places, int volumes = 1) {
    std::filesystem::create_directory(folder_ / name);
    for (std::size_t i = 0; i < places.size() * static_cast<std::size_t>(volumes); ++i) {
      const std::size_t volume = i / places.size();
      DicomSpec spec{.position = {0, 0, places[i % places.size()]}, .instance_number = static_cast<int>(i) + 1};
      spec.more = {{DCM_TemporalPositionIdentifier, std::to_string(volume + 1)}};
      write_dicom(folder_ / name / (std::to_string(i) + ".dcm"), spec);
    }
  };
  make("even", {0, 2, 4, 6, 8, 10});
  make("gap", {0, 2, 4, 16, 18, 20});
  make("gap-there", {0, 2, 4, 16.005, 18, 20});
  make("other-gap", {0, 2, 4, 6, 18, 20});
  make("two", {0, 2, 4, 6, 8, 10}, 2);
  quietvox_ok({"median", path("even"), path("placed.nii"), "--radius", "0"});
  const auto expect = [&](const std::string& in, const std::string& mask, int status, const std::string& text) {
    const Result result =
        quietvox({"median", path(in), path("out"), "--radius", "1x1x0", "--force", "--mask", path(mask)});
    EXPECT_EQ(result.status, status) << in << ", " << mask << ": " << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << in << ", " << mask << ": " << result.err;
  };
  const std::string fourth = "slice 4 lies at 0, 0, ";
  expect("even", "gap", 64, fourth + "16 mm instead of 0, 0, 6 mm");
  expect("two", "gap", 64, fourth + "16 mm instead of 0, 0, 6 mm");
  expect("gap", "even", 64, fourth + "6 mm instead of 0, 0, 16 mm");
  expect("gap", "other-gap", 64, fourth + "6 mm instead of 0, 0, 16 mm");
  expect("gap", "gap", 0, "--mask " + path("gap") + ": slices are missing: 2.dcm and 3.dcm");
  expect("gap", "gap-there", 0, "");
  expect("two", "even", 0, "");
  expect("two", "two", 0, "");
  expect("even", "placed.nii", 0, "");
  expect("gap", "placed.nii", 0,
         "taken to lie where the input lies, though the files do not say so: slices are missing");
  const Result refused = quietvox({"median", path("placed.nii"), path("out.nii"), "--mask", path("gap")});
  EXPECT_EQ(refused.status, 64) << refused.err;
  EXPECT_NE(refused.err.find(fourth + "16 mm instead of 0, 0, 6 mm"), std::string::npos) << refused.err;
}

TEST_F(SeriesOnDisk, MasksMeetTheirEchoesWhateverTheFilesAreNamed) {
  const auto make = [&](const std::string& folder, const std::string& first, const std::string& second, bool is_mask) {
    std::filesystem::create_directory(folder_ / folder);
    for (int i = 0; i < 6; ++i) {
      const bool is_second = i >= 3;
      DicomSpec spec{.position = {0, 0, 2.0 * (i % 3)}, .slope = "", .intercept = "", .instance_number = i + 1};
      spec.more = {{DCM_EchoTime, is_second ? "20" : "10"}};
      if (is_mask) spec.cells.assign(20, is_second ? 0 : 1);
      write_dicom(folder_ / folder / ((is_second ? second : first) + std::to_string(i) + ".dcm"), spec);
    }
  };
  make("in", "a", "b", false);
  make("mask", "b", "a", true);
  quietvox_ok({"gaussian", path("in"), path("out"), "--mask", path("mask"), "--sigma", "1"});
  for (int i = 0; i < 6; ++i) {
    const std::string name = (i < 3 ? "a" : "b") + std::to_string(i) + ".dcm";
    const bool is_kept = dicom_cells(folder_ / "in" / name) == dicom_cells(folder_ / "out" / name);
    EXPECT_EQ(is_kept, i >= 3) << name;  // the mask of the second echo holds nothing
  }
}

TEST_F(SeriesOnDisk, IrregularOnesEndWith10) {
  make_series(folder_ / "in");
  std::filesystem::remove(files_of(folder_ / "in")[2]);
  const Result result = quietvox({"median", path("in"), path("out"), "--radius", "1"});
  EXPECT_EQ(result.status, 10);
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_NE(result.err.find("--allow-gaps"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  quietvox_ok({"median", path("in"), path("flat"), "--radius", "1x1x0"});
  quietvox_ok({"median", path("in"), path("gaps"), "--radius", "1", "--allow-gaps"});
  EXPECT_NE(read_voxels(folder_ / "flat"), read_voxels(folder_ / "gaps"));
  const Result by_default = quietvox_ok({"median", path("in"), path("default")});
  EXPECT_NE(by_default.err.find("slices are missing"), std::string::npos) << by_default.err;
  EXPECT_EQ(read_voxels(folder_ / "flat"), read_voxels(folder_ / "default"));
}

TEST_F(SeriesOnDisk, VolumesThatLieApartAreNotWrittenToOneFileOfAnotherFormat) {
  for (const double apart : {1.0, 2.0}) {  // millimetres between the slices of the second volume
    const std::filesystem::path folder = folder_ / (apart == 1 ? "same" : "other");
    for (int slice = 0; slice < 6; ++slice) {
      DicomSpec spec;
      spec.instance_number = slice + 1;
      spec.position = {0, 0, slice < 3 ? slice : apart * (slice - 3)};
      spec.more = {{DCM_TemporalPositionIdentifier, slice < 3 ? "1" : "2"}};
      std::filesystem::create_directories(folder);
      write_dicom(folder / (std::to_string(slice) + ".dcm"), spec);
    }
  }
  quietvox_ok({"median", path("same"), path("same.nii")});
  quietvox_ok({"median", path("other"), path("out")});
  const Result refused = quietvox({"median", path("other"), path("other.nii")});
  EXPECT_EQ(refused.status, 4) << refused.err;
  EXPECT_NE(refused.err.find("spacing"), std::string::npos) << refused.err;
  EXPECT_EQ(quietvox({"median", path("other"), path("out2"), "--residual", path("r.nii")}).status, 4);
  EXPECT_FALSE(std::filesystem::exists(path("out2")));
}

TEST_F(SeriesOnDisk, AResidualOfVolumesInDifferentPlacesIsRefused) {
  QV_NEEDS_TEST_DATA();
  const Result refused = quietvox({"median", test_data("mr_mixed_orientation").string(), (folder_ / "out").string(),
                                   "--residual", (folder_ / "r.nii").string()});
  EXPECT_EQ(refused.status, 4) << refused.err;
  EXPECT_NE(refused.err.find("; leave out --residual"), std::string::npos) << refused.err;
}

TEST_F(SeriesOnDisk, IrregularOnesAreWrittenToOtherFormatsOnlyWhereGapsAreAllowed) {
  make_series(folder_ / "in");
  std::filesystem::remove(files_of(folder_ / "in")[2]);
  const auto before = contents(folder_.path());
  const auto expect = [&](std::vector<std::string> words, const std::string& instead) {
    const Result refused = quietvox(words);
    EXPECT_EQ(refused.status, 10) << refused.err;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
    EXPECT_NE(refused.err.find("slices are missing"), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("; " + instead + ", or give --allow-gaps"), std::string::npos) << refused.err;
    words.push_back("--dry-run");
    EXPECT_EQ(quietvox(words).err, refused.err);
    words.push_back("--allow-gaps");
    const Result dry = quietvox_ok(words);
    EXPECT_NE(dry.err.find("the slices are placed evenly in"), std::string::npos) << dry.err;
    EXPECT_EQ(contents(folder_.path()), before);
  };
  for (const char* name : {"out.nii", "out.nrrd", "out.mha"}) {
    expect({"median", path("in"), path(name), "--radius", "0"}, "write DICOM");
  }
  expect({"add-noise", path("in"), path("out.nii")}, "write DICOM");
  expect({"median", path("in"), path("out"), "--radius", "0", "--residual", path("r.nii")}, "leave out --residual");
  quietvox_ok({"median", path("in"), path("out.nii"), "--radius", "0", "--allow-gaps"});
  EXPECT_EQ(read_voxels(folder_ / "out.nii"), read_voxels(folder_ / "in"));
}

TEST_F(SeriesOnDisk, OutputInsideTheInputIsRefused) {
  make_series(folder_ / "in");
  const auto before = contents(folder_.path());
  EXPECT_EQ(quietvox({"median", path("in"), path("in/out")}).status, 6);
  EXPECT_EQ(quietvox({"median", path("in"), path("in/out.nii")}).status, 6);
  EXPECT_EQ(quietvox({"median", path("in"), path("in"), "--force"}).status, 6);
  EXPECT_EQ(quietvox({"median", path("in"), path("out"), "--log-file", path("in/log")}).status, 6);
  EXPECT_EQ(contents(folder_.path()), before);
}

TEST_F(SeriesOnDisk, LinkedFoldersAreReadAndNothingIsWrittenThere) {
  make_series(folder_ / "in");
  std::filesystem::create_directory(folder_ / "else");
  const auto files = files_of(folder_ / "in");
  for (std::size_t i = 3; i < 5; ++i) std::filesystem::rename(files[i], folder_ / "else" / files[i].filename());
  std::filesystem::create_directory_symlink("../else", folder_ / "in/more");
  const Json info = Json::parse(quietvox_ok({"info", path("in"), "--json"}).out);
  EXPECT_EQ(info["extent"][2], 5);
  const auto before = contents(folder_.path());
  for (const char* output : {"else/out", "else/out.nii"}) {
    const Result refused = quietvox({"median", path("in"), path(output)});
    EXPECT_EQ(refused.status, 6) << refused.err;
    EXPECT_NE(refused.err.find("lies inside the input"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(quietvox({"median", path("in"), path("else/out"), "--all-series"}).status, 6);
  EXPECT_EQ(quietvox({"median", path("in"), path("out.nii"), "--residual", path("else/r.nii")}).status, 6);
  EXPECT_EQ(contents(folder_.path()), before);
  quietvox_ok({"median", path("in"), path("out")});
  EXPECT_EQ(files_of(folder_ / "out").size(), 4U);
  EXPECT_EQ(files_of(folder_ / "out/more").size(), 2U);
}

TEST_F(SeriesOnDisk, ForceReplacesResultsButNoScans) {
  make_series(folder_ / "in");
  quietvox_ok({"median", path("in"), path("out")});
  quietvox_ok({"median", path("in"), path("out"), "--radius", "0", "--force"});
  quietvox_ok({"phantom", path("in"), "--size", "32x24x5", "--force"});
  std::filesystem::create_directory(folder_ / "scans");
  write_dicom(folder_ / "scans/1.dcm", {});
  const auto before = contents(folder_.path());
  for (const std::string extra : {"--verbose", "--dry-run"}) {
    const Result result = quietvox({"median", path("in"), path("scans"), "--force", extra});
    EXPECT_EQ(result.status, 20) << result.err;
    EXPECT_NE(result.err.find("not made by quietvox"), std::string::npos) << result.err;
  }
  EXPECT_EQ(contents(folder_.path()), before);
}

TEST_F(SeriesOnDisk, NothingElseMayLieInsideTheOutput) {
  make_series(folder_ / "in");
  quietvox_ok({"median", path("in"), path("out"), "--radius", "0"});
  quietvox_ok({"median", path("in"), path("mask"), "--radius", "0"});
  const std::string mask = files_of(folder_ / "out")[0].string();
  const auto before = contents(folder_.path());
  const auto expect_refused = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words{"median", path("in"), path("out"), "--force"};
    words.insert(words.end(), options.begin(), options.end());
    const Result result = quietvox(words);
    EXPECT_EQ(result.status, 6) << options[0] << " " << options[1] << ": " << result.err;
  };
  expect_refused({"--residual", path("out/residual.nii")});
  expect_refused({"--residual", path("mask/residual.nii"), "--mask", path("mask")});
  expect_refused({"--mask", mask});
  expect_refused({"--log-file", path("out/log")});
  expect_refused({"--residual", path("residual.nii"), "--log-file", path("residual.nii")});
  EXPECT_EQ(contents(folder_.path()), before);
}

TEST_F(SeriesOnDisk, SignalsLeaveTheWholeSeriesOrNothing) {
  quietvox_ok({"phantom", path("in"), "--size", "96x96x100", "--noise", "gaussian:20"});
  for (const int signal : {SIGINT, SIGTERM}) {
    Process process({"median", path("in"), path("out"), "--radius", "3", "--progress", "json"});
    ASSERT_TRUE(process.wait_for_stderr("progress"));
    process.send(signal);
    const Result result = process.finish();
    if (result.status == 0) {
      EXPECT_EQ(files_of(folder_ / "out").size(), 100U);
      std::filesystem::remove_all(folder_ / "out");
    } else {
      EXPECT_EQ(result.status, 128 + signal) << result.err;
    }
    EXPECT_EQ(files_of(folder_.path()).size(), 1U);
  }
}

}  // namespace
}  // namespace quietvox::test
