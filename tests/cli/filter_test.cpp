// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/images.hpp"
#include "cli/process.hpp"
#include "io/create.hpp"
#include "support/deflated.hpp"
#include "support/make_dicom.hpp"
#include "support/programs.hpp"
#include "support/test_data.hpp"
#include "support/text_file.hpp"

namespace quietvox::test {
namespace {

using Json = nlohmann::json;

constexpr Extent extent{{9, 8, 7}};

/// A folder with a small integer volume `in.nii` in it.
class FilterCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    voxels_ = random_integers(static_cast<std::size_t>(extent.voxels()), 1);
    write_nifti(folder_ / "in.nii", extent, voxels_);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<float> read(const std::string& name, std::size_t volume = 0) const {
    return read_voxels(folder_ / name, volume);
  }

  TemporaryFolder folder_;
  std::vector<std::int16_t> voxels_;
};

class FilterCommandUnderALimit : public FilterCommand {
 protected:
  void SetUp() override {
    FilterCommand::SetUp();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the memory of a sanitizer counts too, and is more than the limit";
#endif
  }
};

TEST_F(FilterCommand, RadiusZeroGivesTheSameBytes) {
  const std::string before = read_file(folder_ / "in.nii");
  quietvox_ok({"median", path("in.nii"), path("out.nii"), "--radius", "0"});
  EXPECT_EQ(read_file(folder_ / "out.nii"), before);
  EXPECT_EQ(read_file(folder_ / "in.nii"), before);
}

/// Offsets of 45 to 1500 times the range of the values.
TEST_F(FilterCommand, AnyOffsetBesideSmallStepsIsFiltered) {
  constexpr std::size_t header = 352;
  std::string bytes = read_file(folder_ / "in.nii");
  for (std::size_t at = header; at < bytes.size(); at += 2) {  // nearly the whole range of 16 bits
    const auto number = static_cast<std::int16_t>(static_cast<int>(at * 7919 % 65536) - 32768);
    std::memcpy(bytes.data() + at, &number, 2);
  }
  write_file(folder_ / "wide.nii", bytes);
  quietvox_ok({"gaussian", path("wide.nii"), path("plain.nii")});
  const std::string plain = read_file(folder_ / "plain.nii");
  for (const float inter : {3e3F, 5.6e3F, 1e4F, 1.8e4F, 3e4F, 1e5F, -1e4F}) {
    std::string fine = bytes;
    const float slope = 0.001F;
    std::memcpy(fine.data() + 112, &slope, sizeof slope);
    std::memcpy(fine.data() + 116, &inter, sizeof inter);
    write_file(folder_ / "fine.nii", fine);
    quietvox_ok({"info", path("fine.nii")});
    quietvox_ok({"gaussian", path("fine.nii"), path("out.nii"), "--force"});
    const std::string out = read_file(folder_ / "out.nii");
    ASSERT_EQ(out.size(), plain.size());
    for (std::size_t at = header; at < out.size(); at += 2) {
      std::int16_t one = 0, other = 0;
      std::memcpy(&one, out.data() + at, 2);
      std::memcpy(&other, plain.data() + at, 2);
      ASSERT_NEAR(one, other, 1) << inter;
    }
  }
}

TEST_F(FilterCommand, RealValuesThatFloatsCannotTellApartAreFilteredAroundTheirMiddle) {
  std::string bytes = read_file(folder_ / "in.nii");
  const float slope = 1e-6F, inter = 1000;
  std::memcpy(bytes.data() + 112, &slope, sizeof slope);
  std::memcpy(bytes.data() + 116, &inter, sizeof inter);
  write_file(folder_ / "fine.nii", bytes);
  const auto before = folder_.names();
  const Result refused =
      quietvox({"bilateral", path("fine.nii"), path("out.nii"), "--radius", "1", "--output-type", "float32"});
  EXPECT_EQ(refused.status, 4);
  EXPECT_NE(refused.err.find("32-bit floats would lose digits"), std::string::npos) << refused.err;
  EXPECT_EQ(folder_.names(), before);
  EXPECT_NE(quietvox_ok({"info", path("fine.nii")}).out.find("noise"), std::string::npos);

  const auto expect_same = [&](const std::vector<std::string>& fine, const std::vector<std::string>& plain) {
    std::vector<std::string> words{fine[0], path("fine.nii"), path("out.nii"), "--force"};
    words.insert(words.end(), fine.begin() + 1, fine.end());
    quietvox_ok(words);
    words = {plain[0], path("in.nii"), path("plain.nii"), "--force"};
    words.insert(words.end(), plain.begin() + 1, plain.end());
    quietvox_ok(words);
    EXPECT_EQ(read_file(folder_ / "out.nii").substr(352), read_file(folder_ / "plain.nii").substr(352)) << fine[0];
  };
  expect_same({"median"}, {"median"});
  expect_same({"gaussian", "--sigma", "1"}, {"gaussian", "--sigma", "1"});
}

TEST_F(FilterCommand, RicianNoiseIsThatOfMagnitudes) {
  const auto expect_refused = [&](const std::string& input, const std::string& why, const char* dry = "--quiet") {
    const auto before = folder_.names();
    const Result refused = quietvox({"nlm", input, path("out"), "--output-format", "auto", "--search-radius", "1x1x0",
                                     "--patch-radius", "0", "--sigma", "9", "--noise-model", "rician", dry});
    EXPECT_EQ(refused.status, 64) << refused.err;
    EXPECT_NE(refused.err.find("is for magnitudes, which are never negative, but " + why), std::string::npos)
        << refused.err;
    EXPECT_NE(refused.err.find("give --noise-model gaussian"), std::string::npos) << refused.err;
    EXPECT_EQ(folder_.names(), before);
  };
  make_series(folder_ / "ct");
  expect_refused(path("ct"), "the modality is CT");
  expect_refused(path("ct"), "the modality is CT", "--dry-run");

  std::vector<std::int16_t> magnitudes = voxels_;
  for (std::int16_t& voxel : magnitudes) voxel = static_cast<std::int16_t>(std::abs(voxel) / 2 + 1);
  write_nifti(folder_ / "magnitudes.nii", extent, magnitudes);
  const std::vector<std::string> rician{"--noise-model", "rician", "--sigma", "9", "--search-radius", "1"};
  const auto nlm = [&](const std::string& in, const std::string& out) {
    std::vector<std::string> words{"nlm", path(in), path(out)};
    words.insert(words.end(), rician.begin(), rician.end());
    return quietvox(words);
  };
  EXPECT_EQ(nlm("magnitudes.nii", "out.nii").status, 0);
  magnitudes[17] = -1;
  write_nifti(folder_ / "signed.nii", extent, magnitudes);
  const Result refused = nlm("signed.nii", "signed-out.nii");
  EXPECT_EQ(refused.status, 64);
  EXPECT_NE(refused.err.find("but the smallest value is -1; give --noise-model gaussian"), std::string::npos)
      << refused.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "signed-out.nii"));
}

/// 9x8 slices, 1 mm apart in both directions, and `distance` mm apart from one another.
void write_slices(const std::filesystem::path& file, std::int64_t slices, float distance) {
  const Extent size{{9, 8, slices}};
  write_nifti(file, size, random_integers(static_cast<std::size_t>(size.voxels()), 3));
  std::string bytes = read_file(file);
  std::memcpy(bytes.data() + 88, &distance, sizeof distance);
  write_file(file, bytes);
}

TEST_F(FilterCommand, DefaultsFitIntoEveryVolume) {
  for (int slices = 1; slices <= 13; ++slices) {
    write_slices(folder_ / "thin.nii", slices, 1);
    for (const std::string filter : {"median", "nlm", "bilateral", "adaptive-bilateral", "gaussian", "quadratic"}) {
      quietvox_ok({filter, path("thin.nii"), path("out.nii"), "--force", "--quiet"});
    }
  }
  write_slices(folder_ / "thin.nii", 2, 1);
  const Result refused = quietvox({"median", path("thin.nii"), path("out.nii"), "--radius", "1", "--force"});
  EXPECT_EQ(refused.status, 64);
  EXPECT_NE(refused.err.find("a half width of 1x1x0 fits"), std::string::npos) << refused.err;
}

TEST_F(FilterCommand, DefaultsStayWithinThickSlices) {
  write_slices(folder_ / "thick.nii", 7, 2.5);
  write_slices(folder_ / "thin.nii", 7, 2);
  const auto filtered = [&](const std::string& in, const std::vector<std::string>& more) {
    std::vector<std::string> words{"median", path(in), path("out.nii"), "--force"};
    words.insert(words.end(), more.begin(), more.end());
    const Result result = quietvox_ok(words);
    return std::pair(read("out.nii"), result.err);
  };
  const auto [by_default, notes] = filtered("thick.nii", {});
  EXPECT_EQ(by_default, filtered("thick.nii", {"--radius", "1x1x0"}).first);
  EXPECT_NE(notes.find("radius=1x1x0"), std::string::npos) << notes;
  EXPECT_EQ(notes.find("warning"), std::string::npos) << notes;
  EXPECT_EQ(filtered("thin.nii", {}).first, filtered("thin.nii", {"--radius", "1"}).first);

  const auto [across, warned] = filtered("thick.nii", {"--radius", "1"});
  EXPECT_NE(across, by_default);
  EXPECT_NE(warned.find("median: the window extends along z, where voxels lie 2.5 mm apart, against 1 mm"),
            std::string::npos)
      << warned;
  // Once, however many filters and volumes there are.
  write_nifti(folder_ / "series.nii", {{9, 8, 6}}, random_integers(9 * 8 * 6 * 3, 3), 3);
  std::string bytes = read_file(folder_ / "series.nii");
  const float distance = 3;
  std::memcpy(bytes.data() + 88, &distance, sizeof distance);
  write_file(folder_ / "series.nii", bytes);
  const std::string err = quietvox_ok({"run", path("series.nii"), path("out.nii"), "--filter", "median:radius=1",
                                       "--filter", "gaussian:sigma=3", "--force"})
                              .err;
  EXPECT_NE(err.find("the window extends"), std::string::npos) << err;
  EXPECT_EQ(err.find("the window extends"), err.rfind("the window extends")) << err;
}

TEST_F(FilterCommand, FewSlicesThatLieAlongXHaveRoomForAWindow) {
  io::Geometry geometry;
  geometry.extent = {{2, 24, 20}};
  geometry.spacing = {5, 1, 1};
  const auto writer = io::create_nifti(folder_ / "two.nii", geometry, 1, {});
  writer->begin_volume(0, {});
  std::vector<float> voxels(2 * 24 * 20);
  for (std::size_t i = 0; i < voxels.size(); ++i) voxels[i] = static_cast<float>(i * 7919 % 1000);
  writer->write({voxels.data(), geometry.extent, geometry.spacing});
  writer->commit();
  EXPECT_EQ(quietvox({"quadratic", path("two.nii"), path("out.nii")}).status, 0);
}

TEST_F(FilterCommand, InfoSaysWhatDefaultsBecome) {
  write_slices(folder_ / "thick.nii", 7, 2.5);
  const std::string text = quietvox_ok({"info", path("thick.nii")}).out;
  EXPECT_NE(text.find("median by default"), std::string::npos) << text;
  EXPECT_NE(text.find("  radius 1x1x0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  where asked for: slices lie 2.5 mm apart, voxels within them 1 mm"), std::string::npos)
      << text;
  const Json info = Json::parse(quietvox_ok({"info", path("thick.nii"), "--json"}).out);
  const auto by_default = [&](const std::string& filter) {
    for (const Json& each : info["defaults"]) {
      if (each["name"] == filter) return each.at("parameters");
    }
    return Json();
  };
  EXPECT_EQ(by_default("median")["radius"], (Json{1, 1, 0}));
  EXPECT_EQ(by_default("nlm")["search_radius"], (Json{2, 2, 0})) << "9x8 voxels leave room for no more";
  EXPECT_EQ(by_default("nlm")["sigma"], info["noise_sigma"]);
  EXPECT_TRUE(by_default("quadratic")["lowest"].is_null()) << "only a run finds it";
}

TEST_F(FilterCommand, LabelsVectorsAndColoursAreRefusedUnlessForced) {
  const std::string bytes = read_file(folder_ / "in.nii");
  const auto with_intent = [&](std::int16_t intent) {
    std::string changed = bytes;
    std::memcpy(changed.data() + 68, &intent, sizeof intent);
    write_file(folder_ / "kind.nii", changed);
  };
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"median", path("kind.nii"), path("out.nii"), "--force"};
    words.insert(words.end(), more.begin(), more.end());
    return quietvox(words);
  };
  for (const auto& [intent, why] :
       {std::pair<std::int16_t, std::string>{1002, "the voxels are labels (NIfTI intent 1002)"},
        {1007, "the voxels are vectors (NIfTI intent 1007)"},
        {2003, "the voxels are RGB vectors (NIfTI intent 2003)"}}) {
    with_intent(intent);
    for (const char* dry : {"--dry-run", "--quiet"}) {
      const Result refused = run({dry});
      EXPECT_EQ(refused.status, 4) << refused.err;
      EXPECT_NE(refused.err.find(why), std::string::npos) << refused.err;
      EXPECT_NE(refused.err.find("--force-kind scalar"), std::string::npos) << refused.err;
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out.nii"));
    EXPECT_NE(quietvox_ok({"info", path("kind.nii")}).out.find(why), std::string::npos);
    EXPECT_EQ(run({"--force-kind", "scalar"}).status, 0);
    std::filesystem::remove(folder_ / "out.nii");
  }
  with_intent(0);
  EXPECT_EQ(run({}).status, 0);
  EXPECT_EQ(run({"--force-kind", "labels"}).status, 4);
}

TEST_F(FilterCommand, IntegersThatLookLikeLabelsAreRefused) {
  const Extent size{{80, 80, 5}};
  std::vector<std::int16_t> voxels(static_cast<std::size_t>(size.voxels()));
  for (std::size_t i = 0; i < voxels.size(); ++i) {
    const double x = static_cast<double>(i % 80) - 40, y = static_cast<double>(i / 80 % 80) - 40;
    const double radius = std::hypot(x, y);
    voxels[i] = static_cast<std::int16_t>(radius < 16 ? 17 : radius < 32 ? 4 : 0);
  }
  for (const char* name : {"labels.nii", "labels.mha"}) {
    write_nifti(folder_ / "labels.nii", size, voxels);
    if (std::string(name) == "labels.mha") {
      quietvox_ok({"median", path("labels.nii"), path(name), "--radius", "0", "--force-kind", "scalar", "--output-type",
                   "int16"});
    }
    const Result refused = quietvox({"median", path(name), path("out.nii")});
    EXPECT_EQ(refused.status, 4) << refused.err;
    EXPECT_NE(refused.err.find("look like labels"), std::string::npos) << refused.err;
    quietvox_ok({"median", path(name), path("out.nii"), "--force-kind", "magnitude", "--force"});
    std::filesystem::remove(folder_ / "out.nii");
    std::filesystem::remove(folder_ / "out.json");
  }
  const std::vector<std::int16_t> noise = random_integers(voxels.size(), 5);
  for (std::size_t i = 0; i < voxels.size(); ++i) voxels[i] = static_cast<std::int16_t>(voxels[i] + noise[i] % 2);
  write_nifti(folder_ / "noisy.nii", size, voxels);
  quietvox_ok({"median", path("noisy.nii"), path("out.nii")});
  write_nifti(folder_ / "floats.nii", size, std::vector<float>(voxels.begin(), voxels.end()));
  quietvox_ok({"median", path("floats.nii"), path("out.nii"), "--force"});
}

TEST_F(FilterCommand, IntegersOfFewNumbersAreLabelsHoweverThinTheyAre) {
  const Extent size{{80, 80, 5}};
  const auto run = [&](const std::function<int(int, int)>& label) {
    std::vector<std::int16_t> voxels;
    for (std::int64_t i = 0; i < size.voxels(); ++i) {
      voxels.push_back(static_cast<std::int16_t>(label(static_cast<int>(i % 80), static_cast<int>(i / 80 % 80))));
    }
    write_nifti(folder_ / "in.nii", size, voxels);
    return quietvox({"median", path("in.nii"), path("out.nii"), "--force"});
  };
  const auto vessels = [](int x, int y) { return x % 10 == 0 || y % 10 == 3; };
  const auto tracts = [](int x, int y) { return x % 10 < 2 ? 1 + x / 30 : y % 10 < 2 ? 5 : 0; };
  for (const Result& refused : {run(vessels), run([&](int x, int y) { return vessels(x, y) * 255; }), run(tracts)}) {
    EXPECT_EQ(refused.status, 4) << refused.err;
    EXPECT_NE(refused.err.find(" different whole numbers"), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("--force-kind"), std::string::npos) << refused.err;
  }
  const auto counts = random_integers(6400, 9);
  const auto poor = run([&](int x, int y) {
    const int at = 80 * y + x;
    return std::abs(counts[static_cast<std::size_t>(at)]) % 6;
  });
  EXPECT_EQ(poor.status, 0) << poor.err;
}

TEST_F(FilterCommand, MasksOfSmallLesionsAreLabelsWhereverTheyLie) {
  const Extent size{{40, 40, 12}};
  const auto run = [&](const std::function<int(int, int, int)>& label) {
    std::vector<std::int16_t> voxels;
    for (int z = 0; z < size.z; ++z) {
      for (int y = 0; y < size.y; ++y) {
        for (int x = 0; x < size.x; ++x) voxels.push_back(static_cast<std::int16_t>(label(x, y, z)));
      }
    }
    write_nifti(folder_ / "in.nii", size, voxels);
    return quietvox({"median", path("in.nii"), path("out.nii"), "--force"});
  };
  const auto lies_in = [](int x, int y, int z, int at, int length) {
    return std::min({x - at, y - at, z - 1}) >= 0 && std::max({x - at, y - at, z - 1}) < length;
  };
  const auto lesion = [&](int x, int y, int z) { return x / 2 == 5 && y / 2 == 9 && z == 1 ? 1 : 0; };
  const auto regions = [&](int x, int y, int z) {
    return lies_in(x, y, z, 3, 5) ? 1 : lies_in(x, y, z, 12, 6) ? 2 : lies_in(x, y, z, 25, 4) ? 3 : 0;
  };
  for (const Result& refused : {run(lesion), run(regions)}) {
    EXPECT_EQ(refused.status, 4) << refused.err;
    EXPECT_NE(refused.err.find(" different whole numbers"), std::string::npos) << refused.err;
  }
  const auto counts = random_integers(40 * 40 * 12, 9);
  const auto few = run([&](int x, int y, int z) {
    const int at = 1600 * z + 40 * y + x;
    return std::max(std::abs(counts[static_cast<std::size_t>(at)]) % 20 - 16, 0);
  });
  EXPECT_EQ(few.status, 0) << few.err;
  EXPECT_EQ(run([](int, int, int) { return 7; }).status, 0);
}

/// One mask in each volume, of which the first is empty; a mask beside scans; floats that hold a mask.
TEST_F(FilterCommand, MasksAreKnownInWhicheverVolumeAndType) {
  constexpr int slice = 20 * 20, volume = slice * 12;
  const auto is_inside = [](int i) { return i % 20 > 6 && i / 20 % 20 > 9; };
  const auto counts = random_integers(std::size_t{3} * volume, 4);
  std::vector<std::int16_t> masks, mixed;
  for (int i = 0; i < 3 * volume; ++i) {
    const auto mask = static_cast<std::int16_t>(i >= volume && is_inside(i));
    masks.push_back(mask);
    mixed.push_back(i / volume == 1 ? mask : static_cast<std::int16_t>(counts[static_cast<std::size_t>(i)] % 500));
  }
  for (const auto& [name, voxels, left] :
       {std::tuple{"masks.nii", masks, "volumes 2, 3 are left"}, std::tuple{"mixed.nii", mixed, "volume 2 is left"}}) {
    write_nifti(folder_ / name, {{20, 20, 12}}, voxels, 3, true);
    const Result run = quietvox_ok({"gaussian", path(name), path("out.nii"), "--force"});
    EXPECT_NE(run.err.find(left), std::string::npos) << run.err;
    EXPECT_EQ(read_voxels(folder_ / "out.nii", 1), read_voxels(folder_ / name, 1));
  }
  write_nifti(folder_ / "floats.nii", {{20, 20, 12}}, read_voxels(folder_ / "mixed.nii", 1));
  EXPECT_EQ(quietvox({"gaussian", path("floats.nii"), path("floats-out.nii")}).status, 4);
}

/// A series is not given up for a volume of which nothing is left in whole numbers.
TEST_F(FilterCommand, AVolumeThatRoundingEmptiesIsTold) {
  const auto random = random_integers(std::size_t{2} * 20 * 20 * 12, 6);
  std::vector<std::int16_t> voxels;
  for (std::size_t i = 0; i < random.size(); ++i) {
    const auto number = static_cast<std::int16_t>(std::abs(random[i]) % 1000);
    voxels.push_back(i < random.size() / 2 ? number : static_cast<std::int16_t>(number % 12 == 0));
  }
  for (std::size_t i = 0; i < random.size(); i += 50)
    voxels[i] = static_cast<std::int16_t>(voxels[i] == 1 ? 2 : voxels[i]);
  write_nifti(folder_ / "in.nii", {{20, 20, 12}}, voxels, 2, true);
  const Result run =
      quietvox_ok({"gaussian", path("in.nii"), path("out.nii"), "--sigma", "3", "--force-kind", "scalar"});
  EXPECT_NE(run.err.find("volume 2: values from "), std::string::npos) << run.err;
  EXPECT_NE(run.err.find(" would all be stored as 0; to keep them, give --output-type float32"), std::string::npos);
}

/// Counts of 0.4 in the first columns of each slice, 20 wide, and `many` in the others.
void write_few_counts(const std::filesystem::path& path, std::size_t columns, std::int16_t many) {
  const auto random = random_integers(std::size_t{20} * 20 * 12, 7);
  std::vector<std::int16_t> counts;
  for (std::size_t i = 0; i < random.size(); ++i) {
    counts.push_back(i % 20 < columns ? static_cast<std::int16_t>(std::abs(random[i]) % 5 < 2) : many);
  }
  write_nifti(path, {{20, 20, 12}}, counts, 1, true);
}

/// Smoothed counts of 0.4 are all rounded down.
TEST_F(FilterCommand, RoundingThatChangesTheMeanIsTold) {
  write_few_counts(folder_ / "in.nii", 14, 6);
  const Result run =
      quietvox_ok({"gaussian", path("in.nii"), path("out.nii"), "--sigma", "2", "--force-kind", "scalar"});
  EXPECT_NE(run.err.find("were rounded to whole numbers, which changes the mean of the volume from about "),
            std::string::npos)
      << run.err;
}

/// A few large counts beside them do not hide it.
TEST_F(FilterCommand, RoundingThatChangesTheMeanIsToldOfAWideRange) {
  write_few_counts(folder_ / "in.nii", 18, 60);
  const Result run =
      quietvox_ok({"gaussian", path("in.nii"), path("out.nii"), "--sigma", "0.7", "--force-kind", "scalar"});
  EXPECT_NE(run.err.find("values were rounded to whole numbers, which changes the mean of the volume from about "),
            std::string::npos)
      << run.err;
}

TEST_F(FilterCommand, PhasesAreNotAveraged) {
  QV_NEEDS_TEST_DATA();
  const std::string phase = test_data("mr_magnitude_phase/006.dcm").string();
  const Result refused = quietvox({"bilateral", phase, path("out.dcm")});
  EXPECT_EQ(refused.status, 4);
  EXPECT_NE(refused.err.find("Image Type says SW_P_FFE; a mean of phases is wrong"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.dcm"));
  quietvox_ok({"bilateral", phase, path("out.dcm"), "--force-kind", "scalar"});
  quietvox_ok({"median", phase, path("median.dcm")});
}

TEST_F(FilterCommand, ADryRunReadsAllThatTheRunReads) {
  quietvox_ok({"phantom", path("in.nii.gz"), "--kind", "mr", "--size", "40x40x20"});
  std::filesystem::resize_file(folder_ / "in.nii.gz", std::filesystem::file_size(folder_ / "in.nii.gz") / 2);
  const std::vector<std::string> words{"median", path("in.nii.gz"), path("out.nii.gz")};
  const Result run = quietvox(words);
  EXPECT_EQ(run.status, 4) << run.err;
  std::vector<std::string> dry = words;
  dry.emplace_back("--dry-run");
  EXPECT_EQ(quietvox(dry).err, run.err);
  EXPECT_EQ(quietvox(dry).status, 4);
}

TEST_F(FilterCommand, PhasesBesideMagnitudesStayAsTheyAre) {
  const Extent size{{20, 20, 3}};
  std::filesystem::create_directory(folder_ / "in");
  const auto random = random_integers(static_cast<std::size_t>(size.voxels()), 3);
  const auto add = [&](int z, const std::string& type, int number, std::uint16_t offset) {
    DicomSpec spec{.columns = 20,
                   .rows = 20,
                   .position = {0, 0, 1.0 * z},
                   .slope = type == "M" ? "5000" : "1",
                   .intercept = "0",
                   .instance_number = number};
    for (std::int64_t i = 0; i < size.slice(); ++i) {
      const auto noise = static_cast<std::uint16_t>(random[static_cast<std::size_t>(z * size.slice() + i)]);
      spec.cells.push_back(static_cast<std::uint16_t>(offset + noise % 100));
    }
    spec.more = {{DCM_Modality, "MR"}, {DCM_ImageType, "ORIGINAL\\PRIMARY\\" + type}};
    write_dicom(folder_ / "in" / (type + std::to_string(z)), spec);
  };
  for (int z = 0; z < 3; ++z) {
    add(z, "P", 1 + z, 2000);
    add(z, "M", 11 + z, 1000);
  }
  const auto what = [&](const std::string& name, const DcmTagKey& key) { return dicom_text(path(name), key); };
  const Result run = quietvox_ok({"gaussian", path("in"), path("out"), "--residual", path("residual.nii")});
  EXPECT_NE(run.err.find("volume 1 is left as it is: gaussian: Image Type says P; a mean of phases is wrong"),
            std::string::npos)
      << run.err;
  for (const std::string z : {"0", "1", "2"}) {
    EXPECT_EQ(dicom_cells(path("out/P" + z)), dicom_cells(path("in/P" + z)));
    EXPECT_NE(dicom_cells(path("out/M" + z)), dicom_cells(path("in/M" + z)));
    EXPECT_NE(what("out/P" + z, DCM_DerivationDescription).find(": left as it was; not for diag"), std::string::npos);
    EXPECT_NE(what("out/M" + z, DCM_DerivationDescription).find(": gaussian sigma="), std::string::npos);
    EXPECT_EQ(what("out/P" + z, DCM_SeriesInstanceUID), what("out/M" + z, DCM_SeriesInstanceUID));
  }
  const auto zero = [](float voxel) { return voxel == 0; };
  EXPECT_TRUE(std::ranges::all_of(read_voxels(folder_ / "residual.nii", 0), zero));
  EXPECT_FALSE(std::ranges::all_of(read_voxels(folder_ / "residual.nii", 1), zero));

  // Filtered all the same, they are other images.
  const std::string left = what("out/P0", DCM_SOPInstanceUID);
  quietvox_ok({"gaussian", path("in"), path("forced"), "--force-kind", "scalar"});
  EXPECT_NE(dicom_cells(path("forced/P0")), dicom_cells(path("out/P0")));
  EXPECT_NE(what("forced/P0", DCM_SOPInstanceUID), left);

  // The magnitudes come out as they do alone.
  std::filesystem::create_directory(folder_ / "alone");
  for (const char* name : {"M0", "M1", "M2"}) {
    std::filesystem::copy_file(folder_ / "in" / name, folder_ / "alone" / name);
  }
  for (const std::string command : {"denoise", "nlm"}) {
    quietvox_ok({command, path("in"), path("out"), "--force"});
    quietvox_ok({command, path("alone"), path("out-alone"), "--force"});
    for (const std::string name : {"M0", "M1", "M2"}) {
      EXPECT_EQ(dicom_cells(path("out/" + name)), dicom_cells(path("out-alone/" + name))) << command;
    }
    EXPECT_EQ(dicom_cells(path("out/P1")), dicom_cells(path("in/P1"))) << command;
  }
  EXPECT_NE(quietvox_ok({"nlm", path("in"), path("dry"), "--dry-run"}).err.find("volume 1 is left as it is"),
            std::string::npos);
  // What is asked for by hand is meant for the magnitudes too.
  for (const std::vector<std::string>& asked : {std::vector<std::string>{"nlm", "--noise-model", "rician"},
                                                std::vector<std::string>{"denoise", "--stabilise", "rician"}}) {
    std::vector<std::string> words{asked[0], path("in"), path("rician"), "--force"};
    words.insert(words.end(), asked.begin() + 1, asked.end());
    EXPECT_NE(quietvox_ok(words).err.find("volume 1 is left as it is"), std::string::npos) << asked[0];
    words.emplace_back("--dry-run");
    quietvox_ok(words);
  }
  // Other formats have no place for what the numbers are, and the file beside them has.
  for (const std::string ending : {".nii", ".mha"}) {
    quietvox_ok({"nlm", path("in"), path("both" + ending)});
    const Result again = quietvox_ok({"nlm", path("both" + ending), path("again" + ending)});
    EXPECT_NE(again.err.find("volume 1 is left as it is: nlm: both.json says phase"), std::string::npos) << again.err;
    std::filesystem::remove(folder_ / "both.json");
    std::filesystem::remove(folder_ / "again.json");
  }
  const Result filtered = quietvox_ok({"median", path("in"), path("median")});
  EXPECT_EQ(filtered.err.find("left as it is"), std::string::npos) << filtered.err;
  EXPECT_NE(dicom_cells(path("median/P1")), dicom_cells(path("in/P1")));
}

TEST_F(FilterCommand, ALostSliceOfASeriesIsNamedAndCountsForNoOther) {
  make_series(folder_ / "ct");
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder_ / "ct")) names.push_back(file.path().filename());
  const auto position = [&](const std::string& name) {
    return std::stod(dicom_text(path("ct/" + name), DCM_ImagePositionPatient)
                         .substr(dicom_text(path("ct/" + name), DCM_ImagePositionPatient).rfind('\\') + 1));
  };
  std::ranges::sort(names, {}, position);
  const std::string lost = path("ct/" + names[2]);
  const auto file = parse_dicom(lost);
  const std::vector<Uint16> zeros(dicom_cells(lost).size());
  ASSERT_TRUE(file->getDataset()->putAndInsertUint16Array(DCM_PixelData, zeros.data(), zeros.size()).good());
  ASSERT_TRUE(file->saveFile(lost.c_str()).good());
  const std::string said = "slice 3 (" + names[2] + ") holds one value, although the slices beside it hold an image: ";
  EXPECT_NE(quietvox_ok({"estimate", path("ct")}).err.find(said + "not measured"), std::string::npos);
  for (const std::string command : {"median", "gaussian"}) {
    const std::vector<std::string> window{command == "median" ? "--radius" : "--sigma", "1x1x1"};
    const Result run = quietvox_ok({command, path("ct"), path(command), window[0], window[1]});
    EXPECT_NE(run.err.find(said + "left as stored, and not used"), std::string::npos) << run.err;
    EXPECT_EQ(dicom_cells(path(command + "/" + names[2])), zeros);
    // To another format, too.
    quietvox_ok({command, path("ct"), path(command + ".nii"), window[0], window[1]});
    const std::vector<float> voxels = read(command + ".nii");
    const auto slice = std::ssize(voxels) / std::ssize(names);
    const auto is_blank = [](float voxel) { return voxel == -1024; };
    EXPECT_TRUE(std::all_of(voxels.begin() + 2 * slice, voxels.begin() + 3 * slice, is_blank));
    const auto [low, high] = std::minmax_element(voxels.begin() + slice, voxels.begin() + 2 * slice);
    EXPECT_NE(*low, *high);
  }
}

/// A series whose header says nothing of it, or only what the scan was.
TEST_F(FilterCommand, LabelsAndPhasesOfDicomAreKnownByTheirLooks) {
  const auto run = [&](const std::string& modality, const std::string& type, const std::function<int(int, int)>& at,
                       const std::vector<std::string>& more = {}) {
    std::filesystem::remove_all(folder_ / "in");
    std::filesystem::create_directory(folder_ / "in");
    for (int z = 0; z < 4; ++z) {
      DicomSpec spec{.columns = 64, .rows = 64, .bits_stored = 16, .is_signed = true, .position = {0, 0, 1.0 * z}};
      for (int i = 0; i < 64 * 64; ++i) spec.cells.push_back(static_cast<std::uint16_t>(at(i % 64, i / 64)));
      spec.instance_number = z + 1;
      spec.more = {{DCM_Modality, modality}, {DCM_ImageType, type}};
      write_dicom(folder_ / "in" / std::to_string(z), spec);
    }
    std::vector<std::string> words{"gaussian", path("in"), path("out"), "--force"};
    words.insert(words.end(), more.begin(), more.end());
    return quietvox(words);
  };
  const auto random = random_integers(64 * 64, 3);
  const auto noise = [&](int x, int y) {
    const int at = 64 * y + x;
    return random[static_cast<std::size_t>(at)] % 200;
  };
  const auto region = [](int x, int y) { return std::hypot(x - 30, y - 33) < 20 ? 17 * (1 + (2 * x + y) / 50) : 0; };
  const auto phase = [&](int x, int y) { return (100 * x + 60 * y + noise(x, y) + 100'000) % 6284 - 3142; };
  const std::string ge = "ORIGINAL\\PRIMARY\\OTHER", magnitude = "ORIGINAL\\PRIMARY\\M\\ND";
  for (const Result& refused : {run("MR", ge, region), run("MR", magnitude, region), run("CT", "DERIVED", region)}) {
    EXPECT_EQ(refused.status, 4) << refused.err;
    EXPECT_NE(refused.err.find("look like labels"), std::string::npos) << refused.err;
  }
  const Result refused = run("MR", ge, phase);
  EXPECT_EQ(refused.status, 4) << refused.err;
  EXPECT_NE(refused.err.find("look like phases"), std::string::npos) << refused.err;
  EXPECT_EQ(run("MR", magnitude, phase).status, 0) << "its header says what it is";
  EXPECT_EQ(run("CT", "DERIVED", phase).status, 0);
  EXPECT_EQ(run("NM", "ORIGINAL\\PRIMARY", [](int x, int) { return x / 32; }).status, 0) << "few counts";
  EXPECT_EQ(run("MR", ge, region, {"--force-kind", "scalar"}).status, 0);
  EXPECT_EQ(run("MR", ge, [&](int x, int y) { return region(x, y) + noise(x, y); }).status, 0);
}

/// What is not to be filtered may stand behind what is, and looks the same in a compressed file.
TEST_F(FilterCommand, EachVolumeOfACompressedFileIsJudged) {
  const Extent size{{40, 40, 12}};
  const auto voxels = static_cast<std::size_t>(size.voxels());
  const auto random = random_integers(5 * voxels, 3);
  std::vector<float> series;
  for (std::size_t i = 0; i < 5 * voxels; ++i) {
    const std::size_t volume = i / voxels, x = i % 40, y = i / 40 % 40;
    const bool is_inside = x > 10 && x < 30 && y > 10 && y < 30;
    series.push_back(volume == 1 || volume == 4 ? (is_inside ? 1.F : 0.F)
                                                : 1000.F + static_cast<float>(random[i] % 100) / 3);
  }
  write_nifti(folder_ / "in.nii", size, series, 5);
  std::string bytes = read_file(folder_ / "in.nii");
  bytes[123] = 8;  // the fourth axis is in seconds
  put(folder_ / "in.nii", bytes);
  put(folder_ / "in.nii.gz", deflated(bytes, MAX_WBITS + 16));
  quietvox_ok({"median", path("in.nii"), path("in.nrrd"), "--radius", "0", "--force-kind", "scalar", "--compress"});
  std::filesystem::remove(folder_ / "in.json");
  for (const std::string command : {"gaussian", "nlm", "denoise"}) {
    for (const std::string ending : {".nii", ".nii.gz", ".nrrd"}) {
      const std::string in = path("in" + ending), name = command + ending.substr(1) + ".nii", out = path(name);
      const std::string warning = "volumes 2, 5 are left as they are";
      EXPECT_NE(quietvox_ok({command, in, out, "--dry-run"}).err.find(warning), std::string::npos) << command << ending;
      EXPECT_NE(quietvox_ok({command, in, out}).err.find(warning), std::string::npos) << command << ending;
      for (std::size_t volume = 0; volume < 5; ++volume) {
        const auto result = read(name, volume);
        if (ending == ".nii.gz") {
          EXPECT_EQ(result, read(command + "nii.nii", volume)) << command << volume;
        }
        EXPECT_EQ(result == read("in.nii", volume), volume == 1 || volume == 4) << command << ending << volume;
      }
    }
  }
}

/// A NIfTI file of doubles, or of floats or integers with an intercept.
class FarFromZero : public FilterCommand {
 protected:
  static constexpr Extent size{{20, 20, 6}};

  void SetUp() override {
    for (const std::int16_t noise : random_integers(static_cast<std::size_t>(size.voxels()), 7)) {
      values_.push_back(static_cast<float>(noise % 1000) / 500);
    }
  }
  void write_doubles(const std::string& name, double offset) {
    write_nifti(folder_ / name, size, values_);
    std::string bytes = read_file(folder_ / name).substr(0, 352);
    const std::int16_t type = 64, bits = 64;
    std::memcpy(bytes.data() + 70, &type, sizeof type);
    std::memcpy(bytes.data() + 72, &bits, sizeof bits);
    for (const float value : values_) {
      const double far = value + offset;
      bytes.append(reinterpret_cast<const char*>(&far), sizeof far);
    }
    write_file(folder_ / name, bytes);
  }
  std::vector<double> doubles(const std::string& name, double offset) const {
    const std::string bytes = read_file(folder_ / name);
    std::vector<double> values(static_cast<std::size_t>(size.voxels()));
    std::memcpy(values.data(), bytes.data() + 352, values.size() * sizeof(double));
    for (double& value : values) value -= offset;
    return values;
  }
  static double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
    return largest;
  }

  std::vector<float> values_;
};

TEST_F(FarFromZero, DoublesAreFilteredAsTheyWouldBeNearZero) {
  write_doubles("near.nii", 0);
  for (const double offset : {1e7, 1e8, -3e10}) {
    write_doubles("far.nii", offset);
    for (const std::string filter : {"bilateral", "nlm", "median", "gaussian", "adaptive-bilateral"}) {
      quietvox_ok({filter, path("near.nii"), path("near-out.nii"), "--force"});
      quietvox_ok({filter, path("far.nii"), path("far-out.nii"), "--force", "--residual", path("r.nii")});
      const auto near = doubles("near-out.nii", 0), far = doubles("far-out.nii", offset);
      const double rounding = 4 * std::abs(offset) * std::numeric_limits<double>::epsilon();
      EXPECT_LE(largest_difference(near, far), 2e-5 + rounding) << filter << " " << offset;
      EXPECT_GT(largest_difference(far, doubles("far.nii", offset)), 0.5) << filter << " filters";
      const std::vector<float> residual = read("r.nii");
      const auto before = doubles("far.nii", offset);
      for (std::size_t i = 0; i < residual.size(); ++i) {
        ASSERT_NEAR(residual[i], before[i] - far[i], 2e-5 + rounding) << filter << " " << offset;
      }
    }
  }
  // What needs the values themselves, or another type for them, says so.
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"quadratic"}, {"median", "--output-type", "float32"}}) {
    std::vector<std::string> all{words[0], path("far.nii"), path("none.nii")};
    all.insert(all.end(), words.begin() + 1, words.end());
    const Result refused = quietvox(all);
    EXPECT_EQ(refused.status, 4) << refused.err;
    EXPECT_NE(refused.err.find("where 32-bit floats would lose digits"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(quietvox({"median", path("far.nii"), path("none.nrrd")}).status, 4);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none.nii"));
}

TEST_F(FarFromZero, OtherFormatsToo) {
  const auto write = [&](const std::string& name, double offset) {
    std::string bytes =
        "NRRD0004\ntype: double\ndimension: 3\nsizes: 20 20 6\nencoding: raw\nendian: little\nspace: left-posterior-"
        "superior\nspace directions: (1,0,0) (0,1,0) (0,0,1)\nspace origin: (0,0,0)\n\n";
    for (const float value : values_) {
      const double far = value + offset;
      bytes.append(reinterpret_cast<const char*>(&far), sizeof far);
    }
    write_file(folder_ / name, bytes);
  };
  const auto voxels = [&](const std::string& name, double offset) {
    const std::string bytes = read_file(folder_ / name);
    std::vector<double> values(values_.size());
    std::memcpy(values.data(), bytes.data() + bytes.size() - values.size() * sizeof(double),
                values.size() * sizeof(double));
    for (double& value : values) value -= offset;
    return values;
  };
  write("near.nrrd", 0);
  write("far.nrrd", 1e8);
  for (const std::string filter : {"bilateral", "nlm", "median"}) {
    quietvox_ok({filter, path("near.nrrd"), path("near-out.nrrd"), "--force"});
    quietvox_ok({filter, path("far.nrrd"), path("far-out.nrrd"), "--force"});
    const auto far = voxels("far-out.nrrd", 1e8);
    EXPECT_LE(largest_difference(voxels("near-out.nrrd", 0), far), 2e-5) << filter;
    EXPECT_GT(largest_difference(far, voxels("far.nrrd", 1e8)), 0.5) << filter << " filters";
  }
  const Result refused = quietvox({"median", path("far.nrrd"), path("out.nii")});
  EXPECT_EQ(refused.status, 4);
  EXPECT_NE(refused.err.find("where 32-bit floats would lose digits"), std::string::npos) << refused.err;
}

/// What changes nothing in the doubles changes nothing here either, and a shift by 1 is one.
TEST_F(FarFromZero, ImagesAreComparedAroundTheirMiddle) {
  write_doubles("a.nii", 1e9);
  write_doubles("b.nii", 1e9 + 1);
  const Json same = Json::parse(quietvox_ok({"compare", path("a.nii"), path("a.nii"), "--json"}).out);
  const Json apart = Json::parse(quietvox_ok({"compare", path("a.nii"), path("b.nii"), "--json"}).out);
  EXPECT_EQ(same["volumes"][0]["mse"], 0) << same;
  EXPECT_NEAR(apart["volumes"][0]["mse"].get<double>(), 1, 1e-5) << apart;
}

TEST_F(FarFromZero, InterceptsAreTakenOff) {
  write_nifti(folder_ / "near.nii", size, values_);
  std::string bytes = read_file(folder_ / "near.nii");
  const float slope = 1, inter = 1e8F;
  std::memcpy(bytes.data() + 112, &slope, sizeof slope);
  std::memcpy(bytes.data() + 116, &inter, sizeof inter);
  write_file(folder_ / "far.nii", bytes);
  for (const std::string filter : {"bilateral", "nlm", "median"}) {
    quietvox_ok({filter, path("near.nii"), path("near-out.nii"), "--force"});
    quietvox_ok({filter, path("far.nii"), path("far-out.nii"), "--force"});
    const std::string near = read_file(folder_ / "near-out.nii"), far = read_file(folder_ / "far-out.nii");
    std::vector<float> a(values_.size()), b(values_.size());
    std::memcpy(a.data(), near.data() + 352, a.size() * sizeof(float));
    std::memcpy(b.data(), far.data() + 352, b.size() * sizeof(float));
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << filter;
  }
}

TEST_F(FarFromZero, AVolumeFarFromTheFirstIsNamed) {
  const std::size_t bytes_of_header = 352;
  const auto write_two = [&](const std::string& name, double first, double second) {
    write_doubles("a.nii", first);
    write_doubles("b.nii", second);
    std::string bytes = read_file(folder_ / "a.nii") + read_file(folder_ / "b.nii").substr(bytes_of_header);
    const std::int16_t axes = 4, volumes = 2;
    std::memcpy(bytes.data() + 40, &axes, sizeof axes);
    std::memcpy(bytes.data() + 48, &volumes, sizeof volumes);
    write_file(folder_ / name, bytes);
  };
  for (const auto& [first, second] : {std::pair{0.0, 1e8}, {1e8, 0.0}}) {
    write_two("two.nii", first, second);
    const Result result = quietvox_ok({"gaussian", path("two.nii"), path("out.nii"), "--force"});
    EXPECT_NE(result.err.find("volume 2: voxels lie around"), std::string::npos) << result.err;
  }
  write_two("two.nii", 1e8, 1e8);
  const Result alike = quietvox_ok({"gaussian", path("two.nii"), path("out.nii"), "--force"});
  EXPECT_EQ(alike.err.find("its voxels lie around"), std::string::npos) << alike.err;
}

TEST_F(FilterCommand, TimesAndDirectionsHaveOneNoise) {
  const Extent size{{24, 24, 6}};
  const std::size_t count = static_cast<std::size_t>(size.voxels()), volumes = 5;
  const std::vector<std::int16_t> noise = random_integers(count * volumes, 11);
  std::vector<std::int16_t> voxels(count * volumes);
  for (std::size_t i = 0; i < voxels.size(); ++i) {
    voxels[i] = static_cast<std::int16_t>(1000 + noise[i] % (100 + 5 * static_cast<int>(i / count)));
  }
  write_nifti(folder_ / "plain.nii", size, voxels, volumes);
  std::string bytes = read_file(folder_ / "plain.nii");
  bytes[123] = 2 + 8;  // millimetres, seconds
  write_file(folder_ / "times.nii", bytes);
  const std::string plain = read_file(folder_ / "plain.nii");
  write_file(folder_ / "directions.nii", plain);
  write_file(folder_ / "directions.bval", "0 1000 1000 1000 1000\n");
  write_file(folder_ / "both.nii", bytes);  // as dcm2niix writes directions
  write_file(folder_ / "both.bval", "0 1000 1000 1000 1000\n");
  write_file(folder_ / "CAPITALS.NII", plain);
  quietvox_ok({"gaussian", path("CAPITALS.NII"), path("CAPITALS.NII.GZ"), "--sigma", "0"});
  write_file(folder_ / "CAPITALS.bval", "0 1000 1000 1000 1000\n");
  EXPECT_NE(quietvox_ok({"info", path("CAPITALS.NII.GZ")}).out.find("noise (series)"), std::string::npos);
  Json summary;
  const auto sidecar = [&](const std::string& name) {
    const Result run =
        quietvox_ok({"bilateral", path(name + ".nii"), path(name + "-out.nii"), "--radius", "1", "--json"});
    summary = Json::parse(run.out);
    return Json::parse(read_file(folder_ / (name + "-out.json")));
  };
  Json sigma_of;
  for (const char* name : {"times", "directions", "both"}) {
    const Json series = sidecar(name);
    EXPECT_EQ(series["noise_source"], "one noise for the series, the median of volumes 1, 2, 3, 4, 5");
    EXPECT_EQ(summary["noise_source"], series["noise_source"]);
    ASSERT_EQ(series["volumes"].size(), 1U) << series;
    EXPECT_EQ(series["volumes"][0]["last"], 4);
    EXPECT_EQ(summary["volumes"][4]["noises"], summary["volumes"][0]["noises"]);
    sigma_of[name] = summary["volumes"][0]["noises"][0]["sigma"];
  }
  EXPECT_EQ(sigma_of["both"], sigma_of["directions"]) << "compared with the next volume";
  EXPECT_NE(sigma_of["both"], sigma_of["times"]) << "compared with the fourth one further on";
  const Json each = sidecar("plain");
  EXPECT_FALSE(each.contains("noise_source"));
  EXPECT_FALSE(summary.contains("noise_source"));
  EXPECT_EQ(each["volumes"].size(), 5U) << each;
}

TEST_F(FilterCommand, ChainEqualsTwoRuns) {
  quietvox_ok({"run", path("in.nii"), path("chain.nii"), "--filter", "median:radius=1x1x0", "--filter",
               "median:radius=1,shape=cross"});
  quietvox_ok({"median", path("in.nii"), path("one.nii"), "--radius", "1x1x0"});
  quietvox_ok({"median", path("one.nii"), path("two.nii"), "--radius", "1", "--shape", "cross"});
  EXPECT_EQ(read("chain.nii"), read("two.nii"));
  EXPECT_NE(read("chain.nii"), read("one.nii"));
}

TEST_F(FilterCommandUnderALimit, SlabsAndThreadsGiveTheSameBytes) {
  quietvox_ok({"phantom", path("big.nii"), "--kind", "mr", "--size", "256x256x80", "--noise", "rician:20"});
  quietvox_ok({"bilateral", path("big.nii"), path("whole.nii"), "--radius", "1", "--threads", "3"});
  // The volume takes 20 MiB, and twice that to filter it whole; the program itself takes less than the rest.
  quietvox_ok({"bilateral", path("big.nii"), path("slabs.nii"), "--radius", "1", "--memory-limit", "60"});
  EXPECT_TRUE(read_file(folder_ / "whole.nii") == read_file(folder_ / "slabs.nii"));
}

TEST_F(FilterCommandUnderALimit, MemoryStaysBelowItsLimit) {
  // 63 MB as floats: a file or volume held whole would be seen.
  quietvox_ok({"phantom", path("big.nii.gz"), "--kind", "mr", "--size", "256x256x240", "--noise", "rician:20"});
  quietvox_ok({"phantom", path("series"), "--size", "256x256x240"});
  const auto expect_below_limit = [&](const std::string& input, const std::string& output, const char* compress,
                                      const char* threads = "2") {
    const Result result = quietvox_ok(
        {"median", path(input), path(output), "--memory-limit", "65", "--threads", threads, "--force", compress});
    EXPECT_LE(result.peak_kib, 65 * 1024) << output << " " << compress;
  };
  expect_below_limit("big.nii.gz", "out.nii.gz", "--compress");
  expect_below_limit("big.nii.gz", "out.nii.gz", "--compress", "32");
  expect_below_limit("big.nii.gz", "plain.nii", "--no-compress");
  expect_below_limit("big.nii.gz", "apart.mhd", "--no-compress");
  expect_below_limit("big.nii.gz", "meta.mha", "--compress");
  expect_below_limit("meta.mha", "nearly.nrrd", "--compress");
  expect_below_limit("series", "out", "--no-compress");
  // Each thread of this filter works in megabytes.
  const Result result = quietvox_ok({"nlm", path("big.nii.gz"), path("nlm.nii.gz"), "--search-radius", "1",
                                     "--memory-limit", "100", "--threads", "16"});
  EXPECT_LE(result.peak_kib, 100 * 1024);
}

/// Of filters that keep what a first pass makes for a second one.
TEST_F(FilterCommandUnderALimit, MemoryStaysBelowItsLimitInTwoPasses) {
  const auto expect_below_limit = [&](std::vector<std::string> command, int limit) {
    std::string name;
    for (std::string& word : command) {
      name += word + " ";
      if (word.ends_with(".nii")) word = path(word);
    }
    command.push_back("--force");
    quietvox_ok(command);
    const std::string free = read_file(folder_ / "out.nii");
    command.insert(command.end(), {"--memory-limit", std::to_string(limit)});
    EXPECT_LE(quietvox_ok(command).peak_kib, limit * 1024) << name;
    EXPECT_TRUE(read_file(folder_ / "out.nii") == free) << name;
  };
  quietvox_ok({"phantom", path("scan.nii"), "--kind", "mr", "--size", "96x96x120", "--noise", "gaussian:20"});
  for (const char* const filter : {"dct", "prinlm", "bm4d"}) expect_below_limit({filter, "scan.nii", "out.nii"}, 64);
  quietvox_ok({"phantom", path("wide.nii"), "--kind", "mr", "--size", "192x192x40", "--noise", "gaussian:20"});
  expect_below_limit({"dct", "wide.nii", "out.nii"}, 60);
  expect_below_limit({"bm4d", "wide.nii", "out.nii", "--quality", "fast"}, 100);
  expect_below_limit({"prinlm", "wide.nii", "out.nii", "--guide", "bm4d", "--search-radius", "1"}, 140);
  // The second filter measures what the first one leaves: that one runs, and keeps what it needs, more than once.
  expect_below_limit({"run", "wide.nii", "out.nii", "--filter", "bm4d:quality=fast", "--filter", "bilateral:radius=1"},
                     130);
  // One slice, of blocks that lie within it.
  quietvox_ok({"phantom", path("slice.nii"), "--kind", "mammogram", "--size", "1024x1024x1", "--noise", "gaussian:20"});
  expect_below_limit({"bm4d", "slice.nii", "out.nii", "--quality", "fast"}, 130);
}

/// Where slices lie along x, some are looked at in another order before anything is filtered.
TEST_F(FilterCommandUnderALimit, MemoryStaysBelowItsLimitWhereSlicesLieAlongX) {
  constexpr int limit = 56;
  {  // let go before a process is forked, whose peak it would be
    const Extent size{{80, 300, 300}};
    std::vector<float> voxels(static_cast<std::size_t>(size.voxels()));
    for (std::size_t i = 0; i < voxels.size(); ++i) voxels[i] = static_cast<float>(i * 7919 % 1013);
    write_nifti(folder_ / "thick.nii", size, voxels);
    std::fstream header(folder_ / "thick.nii", std::ios::in | std::ios::out | std::ios::binary);
    constexpr int first_spacing = 80;
    const float mm = 5;
    header.seekp(first_spacing).write(reinterpret_cast<const char*>(&mm), sizeof mm);
  }
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--force-kind", "scalar"}}) {
    std::vector<std::string> words{"median", path("thick.nii"), path("out.nii"), "--force", "--radius", "1x1x0"};
    words.insert(words.end(), more.begin(), more.end());
    quietvox_ok(words);
    std::filesystem::rename(folder_ / "out.nii", folder_ / "free.nii");
    words.insert(words.end(), {"--memory-limit", std::to_string(limit), "--threads", "1"});
    EXPECT_LE(quietvox_ok(words).peak_kib, limit * 1024);
    EXPECT_TRUE(read_file(folder_ / "out.nii") == read_file(folder_ / "free.nii"));
  }
}

TEST_F(FilterCommandUnderALimit, MemoryLimitRefusesNothingThatFits) {
  // Two tiles, whatever the number of threads.
  quietvox_ok({"phantom", path("small.nii"), "--kind", "mr", "--size", "64x64x16", "--noise", "rician:20"});
  const Result small = quietvox_ok(
      {"nlm", path("small.nii"), path("out.nii"), "--search-radius", "5", "--memory-limit", "70", "--threads", "64"});
  EXPECT_LE(small.peak_kib, 70 * 1024);
}

TEST_F(FilterCommandUnderALimit, ATooSmallMemoryLimitTellsWhichOneWouldDo) {
  quietvox_ok({"phantom", path("wide.nii"), "--kind", "mr", "--size", "512x512x24", "--noise", "rician:20"});
  const auto run = [&](int limit) {
    return quietvox({"nlm", path("wide.nii"), path("out.nii"), "--search-radius", "1", "--patch-radius", "1",
                     "--memory-limit", std::to_string(limit), "--threads", "64", "--force"});
  };
  const Result refused = run(50);
  EXPECT_EQ(refused.status, 22) << refused.err;
  const std::string before = "give at least ";
  const std::size_t place = refused.err.find(before);
  ASSERT_NE(place, std::string::npos) << refused.err;
  const int enough_mib = std::stoi(refused.err.substr(place + before.size()));
  // How much of the program and its libraries lies in memory when it is measured differs by megabytes where much
  // else runs.
  const Result still = run(enough_mib - 6);
  EXPECT_EQ(still.status, 22) << still.err;
  const Result enough = run(enough_mib + 6);
  EXPECT_EQ(enough.status, 0) << enough.err;
}

TEST_F(FilterCommand, MaskKeepsVoxelsAndTheyDoNotCount) {
  // Left of the middle everything is masked; a voxel at the border of the mask sees only the right side.
  std::vector<std::int16_t> mask(voxels_.size()), loud = voxels_;
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = i % 9 >= 4 ? 1 : 0;
  for (std::size_t i = 0; i < mask.size(); ++i) loud[i] = mask[i] ? voxels_[i] : 20000;
  write_nifti(folder_ / "mask.nii", extent, mask);
  write_nifti(folder_ / "loud.nii", extent, loud);
  for (const std::string filter : {"median", "bilateral"}) {
    quietvox_ok({filter, path("in.nii"), path("a.nii"), "--radius", "1", "--mask", path("mask.nii"), "--force"});
    quietvox_ok({filter, path("loud.nii"), path("b.nii"), "--radius", "1", "--mask", path("mask.nii"), "--force"});
    const auto a = read("a.nii"), b = read("b.nii");
    std::size_t changed = 0;
    for (std::size_t i = 0; i < mask.size(); ++i) {
      if (mask[i]) {
        EXPECT_EQ(a[i], b[i]) << filter << " " << i;
        changed += a[i] != voxels_[i];
      } else {
        EXPECT_EQ(a[i], voxels_[i]) << filter << " " << i;
        EXPECT_EQ(b[i], 20000) << filter << " " << i;
      }
    }
    EXPECT_GT(changed, 0U) << filter;
  }
}

TEST_F(FilterCommand, PaddingOfADicomMaskAndWhatIsNoNumberAreOutside) {
  DicomSpec spec{.columns = 4, .rows = 4, .bits_stored = 16, .intercept = "0"};
  for (int i = 0; i < 16; ++i) spec.cells.push_back(static_cast<std::uint16_t>(i * i * 7 % 100));
  write_dicom(folder_ / "scan.dcm", spec);
  for (int i = 0; i < 16; ++i) spec.cells[static_cast<std::size_t>(i)] = i % 4 < 2 ? 0 : 1;
  spec.change = [](DcmDataset& data) { data.putAndInsertUint16(DCM_PixelPaddingValue, 0); };
  write_dicom(folder_ / "padded.dcm", spec);
  std::vector<float> zeros(16, 1), nans(16, 1);
  for (std::size_t i = 0; i < 16; ++i) {
    if (i % 4 < 2) zeros[i] = 0, nans[i] = std::numeric_limits<float>::quiet_NaN();
  }
  write_nifti(folder_ / "zeros.nii", {{4, 4, 1}}, zeros);
  write_nifti(folder_ / "nans.nii", {{4, 4, 1}}, nans);
  for (const std::string mask : {"zeros.nii", "nans.nii", "padded.dcm"}) {
    quietvox_ok({"median", path("scan.dcm"), path(mask + ".out.nii"), "--mask", path(mask)});
  }
  const auto expected = read("zeros.nii.out.nii"), before = read("scan.dcm");
  EXPECT_NE(expected, before);
  for (std::size_t i = 0; i < 16; ++i) {
    if (i % 4 < 2) {
      EXPECT_EQ(expected[i], before[i]) << i;
    }
  }
  EXPECT_EQ(read("nans.nii.out.nii"), expected);
  EXPECT_EQ(read("padded.dcm.out.nii"), expected);
}

TEST_F(FilterCommand, AMaskWithNothingInsideIsToldOf) {
  std::vector<float> mask(9 * 8 * 7);
  write_nifti(folder_ / "mask.nii", {{9, 8, 7}}, mask);
  const std::vector<std::string> words{"median",  path("in.nii"), path("out.nii"),
                                       "--force", "--mask",       path("mask.nii")};
  EXPECT_NE(quietvox_ok(words).err.find("no voxel is inside"), std::string::npos);
  std::vector<std::string> dry = words;
  dry.push_back("--dry-run");
  EXPECT_NE(quietvox_ok(dry).err.find("no voxel is inside"), std::string::npos);
  mask[100] = std::numeric_limits<float>::infinity();  // is not 0
  write_nifti(folder_ / "mask.nii", {{9, 8, 7}}, mask);
  EXPECT_EQ(quietvox_ok(words).err.find("no voxel is inside"), std::string::npos);
}

TEST_F(FilterCommand, AMaskWithNothingInsideForOneVolumeIsToldOf) {
  constexpr std::size_t volume = 9 * 8 * 7;
  std::vector<std::int16_t> scans(3 * volume), mask(3 * volume, 1);
  for (std::size_t i = 0; i < scans.size(); ++i) scans[i] = voxels_[i % volume];
  std::fill_n(mask.begin() + volume, volume, std::int16_t{0});
  write_nifti(folder_ / "scans.nii", {{9, 8, 7}}, scans, 3);
  write_nifti(folder_ / "mask.nii", {{9, 8, 7}}, mask, 3);
  const Result result = quietvox_ok({"median", path("scans.nii"), path("out.nii"), "--mask", path("mask.nii")});
  EXPECT_NE(result.err.find("volume 2: no voxel is inside"), std::string::npos) << result.err;
}

TEST_F(FilterCommand, MaskOfAnotherExtentIsRefused) {
  write_nifti(folder_ / "mask.nii", {{3, 3, 3}}, std::vector<std::int16_t>(27, 1));
  const Result result = quietvox({"median", path("in.nii"), path("out.nii"), "--mask", path("mask.nii")});
  EXPECT_EQ(result.status, 64);
  EXPECT_NE(result.err.find("3x3x3"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("9x8x7"), std::string::npos) << result.err;
}

TEST_F(FilterCommand, ResidualIsInputMinusOutput) {
  quietvox_ok({"median", path("in.nii"), path("out.nii"), "--residual", path("residual.nii")});
  const auto in = read("in.nii"), out = read("out.nii"), residual = read("residual.nii");
  ASSERT_EQ(residual.size(), in.size());
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(residual[i], in[i] - out[i]) << i;
}

TEST_F(FilterCommand, ResidualIsOfTheValuesThatAreStored) {
  const auto expect_residual = [&](const std::string& name, const std::vector<std::string>& options) {
    SCOPED_TRACE(name + (options.empty() ? "" : " as " + options.back()));
    std::vector<std::string> words{"gaussian", path(name),   path("out.nii"), "--sigma",
                                   "1",        "--residual", path("r.nii")};
    words.insert(words.end(), {"--force"});
    words.insert(words.end(), options.begin(), options.end());
    quietvox_ok(words);
    const auto in = read(name), out = read("out.nii"), residual = read("r.nii");
    EXPECT_NE(in, out);
    for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(residual[i], in[i] - out[i]) << i;
  };
  expect_residual("in.nii", {});  // rounded
  std::string bytes = read_file(folder_ / "in.nii");
  const float slope = 0.3F, inter = -7;
  std::memcpy(bytes.data() + 112, &slope, sizeof slope);
  std::memcpy(bytes.data() + 116, &inter, sizeof inter);
  write_file(folder_ / "scaled.nii", bytes);
  expect_residual("scaled.nii", {});
  std::vector<float> large(voxels_.begin(), voxels_.end());
  for (float& value : large) value = 31000.25F + 3 * value;
  write_nifti(folder_ / "large.nii", extent, large);
  for (const char* type : {"int16", "uint16", "float32"}) expect_residual("large.nii", {"--output-type", type});
}

TEST_F(FilterCommand, ResidualOfNiftiKeepsItsHeader) {
  write_nifti(folder_ / "in.nii", extent, random_integers(6 * static_cast<std::size_t>(extent.voxels()), 2), 6);
  std::string bytes = read_file(folder_ / "in.nii");
  const std::array<std::int16_t, 7> dim{6, 9, 8, 7, 1, 2, 3};
  const float repetition_time = 2.5f, slope = 0.1f, inter = 1000;
  std::memcpy(bytes.data() + 40, dim.data(), sizeof dim);
  std::memcpy(bytes.data() + 76 + 4 * 4, &repetition_time, 4);
  std::memcpy(bytes.data() + 112, &slope, 4);
  std::memcpy(bytes.data() + 116, &inter, 4);
  std::ofstream(folder_ / "in.nii", std::ios::binary) << bytes;

  quietvox_ok({"median", path("in.nii"), path("out.nii"), "--residual", path("r.nii")});
  const std::int16_t datatype = 16, bitpix = 32;
  const float one = 1, zero = 0;
  std::memcpy(bytes.data() + 70, &datatype, 2);
  std::memcpy(bytes.data() + 72, &bitpix, 2);
  std::memcpy(bytes.data() + 112, &one, 4);
  std::memcpy(bytes.data() + 116, &zero, 4);
  EXPECT_EQ(read_file(folder_ / "r.nii").substr(0, 352), bytes.substr(0, 352));
  for (const std::size_t volume : {0, 5}) {
    const auto in = read("in.nii", volume), out = read("out.nii", volume), residual = read("r.nii", volume);
    for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(residual[i], in[i] - out[i]) << i;
  }
}

TEST_F(FilterCommand, EveryVolumeIsFilteredOnItsOwn) {
  const auto second = random_integers(voxels_.size(), 2);
  auto both = voxels_;
  both.insert(both.end(), second.begin(), second.end());
  write_nifti(folder_ / "4d.nii", extent, both, 2);
  write_nifti(folder_ / "second.nii", extent, second);
  for (const char* name : {"4d", "in", "second"}) {
    quietvox_ok({"bilateral", path(std::string(name) + ".nii"), path(std::string(name) + "-out.nii"), "--radius", "2",
                 "--domain-sigma", "1.5", "--range-sigma", "400"});
  }
  EXPECT_EQ(read("4d-out.nii", 0), read("in-out.nii"));
  EXPECT_EQ(read("4d-out.nii", 1), read("second-out.nii"));
}

TEST_F(FilterCommand, FormatsAreConverted) {
  for (const char* name : {"a.nrrd", "b.mha", "c.nii.gz"}) {
    quietvox_ok({"median", path("in.nii"), path(name), "--radius", "1"});
    quietvox_ok({"median", path(name), path("back.nii"), "--radius", "0", "--force"});
    quietvox_ok({"median", path("in.nii"), path("direct.nii"), "--radius", "1", "--force"});
    EXPECT_EQ(read("back.nii"), read("direct.nii")) << name;
  }
}

TEST_F(FilterCommand, PaddingKeepsItsRealValueInAnotherFormat) {
  DicomSpec spec{.columns = 4, .rows = 4, .bits_stored = 16, .is_signed = true};
  spec.cells = std::vector<std::uint16_t>(16, 10);
  spec.cells[0] = 0xf830;  // -2000
  spec.change = [](DcmDataset& data) { data.putAndInsertSint16(DcmTag(DCM_PixelPaddingValue, EVR_SS), -2000); };
  write_dicom(folder_ / "in.dcm", spec);
  std::vector<float> expected(16, -1014);
  expected[0] = -3024;
  for (const std::string type : {"int16", "float32"}) {
    for (const std::string name : {"a.nii", "b.nrrd", "c.mha"}) {
      quietvox_ok({"median", path("in.dcm"), path(name), "--output-type", type, "--force"});
      quietvox_ok({"median", path(name), path("back.nii"), "--radius", "0", "--force"});
      EXPECT_EQ(read("back.nii"), expected) << name << " " << type;
    }
  }
  quietvox_ok({"add-noise", path("in.dcm"), path("noisy.nii"), "--output-type", "int16"});
  EXPECT_EQ(read("noisy.nii")[0], -3024);
  EXPECT_NE(read_file(folder_ / "noisy.json").find(R"("Modality": "CT")"), std::string::npos)
      << "its noise follows no signal, which the next command is to know";
  quietvox_ok({"median", path("in.dcm"), path("d.nii"), "--residual", path("residual.nii")});
  EXPECT_EQ(read("residual.nii"), std::vector<float>(16, 0));
  const Result result = quietvox({"median", path("in.dcm"), path("e.nii"), "--output-type", "uint16"});
  EXPECT_NE(result.err.find("16 voxels did not fit into --output-type"), std::string::npos) << result.err;
}

TEST_F(FilterCommand, TellsWhereEachFileWent) {
  std::filesystem::create_directories(folder_ / "series/deeper");
  std::filesystem::create_directories(folder_ / "elsewhere");
  write_dicom(folder_ / "series/deeper/1.dcm", {});
  const Result result =
      quietvox({"median", path("series"), path("out"), "--radius", "1x1x0", "--residual", path("elsewhere/r.nii")});
  const std::string expected =
      "wrote DICOM to " + path("out") + ", 1 file with " + path("elsewhere/r.nii") + ", " + path("elsewhere/r.json");
  EXPECT_NE(result.err.find(expected + "\n"), std::string::npos) << result.err;
}

TEST_F(FilterCommand, WindowsThatDoNotFitAreRefusedBeforeAnythingIsWritten) {
  const Result result = quietvox({"median", path("in.nii"), path("out.nii"), "--radius", "1x1x5"});
  EXPECT_EQ(result.status, 64);
  EXPECT_NE(result.err.find("--radius = 1x1x5"), std::string::npos) << result.err;
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"in.nii"});
}

TEST_F(FilterCommand, ImagesWithoutNoiseAreNotLeftAloneSilently) {
  write_nifti(folder_ / "flat.nii", {{40, 40, 2}}, std::vector<float>(3200, 100));
  for (const std::string filter : {"bilateral", "run"}) {
    std::vector<std::string> words{filter, path("flat.nii"), path("out.nii"), "--force"};
    if (filter == "run") words.insert(words.end(), {"--filter", "median:radius=1x1x0", "--filter", "bilateral"});
    const Result result = quietvox_ok(words);
    EXPECT_NE(result.err.find("bilateral: no noise was found, so --range-sigma = auto became 0"), std::string::npos)
        << result.err;
  }
  EXPECT_EQ(quietvox_ok({"bilateral", path("flat.nii"), path("out.nii"), "--force", "--range-sigma", "0"})
                .err.find("warning"),
            std::string::npos);
  // The smallest voxel, which the noise does not decide, may well be 0.
  std::vector<float> ramp(3200);
  std::iota(ramp.begin(), ramp.end(), 0.0F);
  write_nifti(folder_ / "ramp.nii", {{40, 40, 2}}, ramp);
  EXPECT_EQ(quietvox_ok({"quadratic", path("ramp.nii"), path("out.nii"), "--force"}).err.find("no noise was found"),
            std::string::npos);
}

TEST_F(FilterCommand, OneSliceIsFlatWithoutBeingAsked) {
  write_nifti(folder_ / "slice.nii", {{9, 8, 1}}, random_integers(72, 3));
  quietvox_ok({"median", path("slice.nii"), path("a.nii"), "--radius", "1"});
  quietvox_ok({"median", path("slice.nii"), path("b.nii"), "--radius", "1x1x0"});
  EXPECT_EQ(read("a.nii"), read("b.nii"));
}

TEST_F(FilterCommand, DryRunWritesNothingAndTellsTheTruth) {
  const Result good = quietvox_ok({"median", path("in.nii"), path("out.nii"), "--dry-run"});
  EXPECT_NE(good.err.find("would write NIfTI to " + path("out.nii")), std::string::npos) << good.err;
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"in.nii"});
  const Result told = quietvox_ok({"median", path("in.nii"), path("out.nii"), "--dry-run", "--json"});
  EXPECT_EQ(Json::parse(told.out)["files"], Json::array());
  // What the run would resolve, as far as the header tells.
  const std::vector<std::string> bilateral{"bilateral", path("in.nii"), path("out.nii"), "--json"};
  const auto parameters_of = [&](std::vector<std::string> words, const char* more) {
    words.emplace_back(more);
    return Json::parse(quietvox_ok(words).out)["volumes"][0]["filters"][0]["parameters"];
  };
  Json dry = parameters_of(bilateral, "--dry-run");
  const Json wet = parameters_of(bilateral, "--quiet");
  for (const char* by_noise : {"range_sigma", "domain_sigma", "radius"}) {
    EXPECT_TRUE(dry[by_noise].is_null()) << by_noise;
    dry[by_noise] = wet[by_noise];
  }
  EXPECT_EQ(dry, wet);
  std::filesystem::remove(folder_ / "out.nii");
  std::filesystem::remove(folder_ / "out.json");
  EXPECT_EQ(quietvox({"median", path("in.nii"), path("in.nii"), "--dry-run"}).status, 6);
  EXPECT_EQ(quietvox({"median", path("in.nii"), path("out.nii"), "--dry-run", "--compress"}).status, 64);
  EXPECT_EQ(quietvox({"median", path("in.nii"), path("no/such/out.nii"), "--dry-run"}).status, 6);
  EXPECT_EQ(quietvox({"median", path("in.nii"), path("out.nii"), "--dry-run", "--radius", "1x1x5"}).status, 64);
  write_file(folder_ / "out.nii", "precious");
  EXPECT_EQ(quietvox({"median", path("in.nii"), path("out.nii"), "--dry-run"}).status, 20);
  EXPECT_EQ(read_file(folder_ / "out.nii"), "precious");
}

TEST_F(FilterCommand, ExistingSidecarsAreFoundBeforeTheWork) {
  write_file(folder_ / "out.json", "precious");
  const auto before = contents(folder_.path());
  for (const std::string extra : {"--dry-run", "--force", "--quiet"}) {
    const Result result = quietvox({"median", path("in.nii"), path("out.nii"), extra});
    EXPECT_EQ(result.status, 20) << result.err;
    EXPECT_NE(result.err.find("out.json"), std::string::npos) << result.err;
    EXPECT_EQ(quietvox({"median", path("in.nii"), path("a.nii"), "--residual", path("out.nii"), extra}).status, 20);
    EXPECT_EQ(quietvox({"add-noise", path("in.nii"), path("out.nii"), extra}).status, 20);
  }
  EXPECT_EQ(contents(folder_.path()), before);
}

TEST_F(FilterCommand, ProvenanceOfAnotherImageIsNotReplaced) {
  quietvox_ok({"median", path("in.nii"), path("x.nrrd")});
  const auto before = contents(folder_.path());
  for (const std::string extra : {"--dry-run", "--force", "--quiet"}) {
    const Result result = quietvox({"median", path("in.nii"), path("x.nii.gz"), extra});
    EXPECT_EQ(result.status, 20) << result.err;
    for (const char* part : {"x.json", "x.nrrd"}) EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  }
  EXPECT_EQ(contents(folder_.path()), before);
  quietvox_ok({"median", path("in.nii"), path("x.nrrd"), "--force"});
  std::filesystem::remove(folder_ / "x.nrrd");
  quietvox_ok({"median", path("in.nii"), path("x.nii.gz"), "--force"});
}

TEST_F(FilterCommand, SidecarsTellTheInputByAHashThatOthersCompute) {
  quietvox_ok({"median", path("in.nii"), path("out.nii")});
  const std::string hash = Json::parse(read_file(folder_ / "out.json"))["inputs"][0]["xxh128"];
  if (!has_program("xxh128sum")) GTEST_SKIP() << "xxh128sum is not installed";
  write_file(folder_ / "sums", hash + "  " + path("in.nii") + "\n");
  EXPECT_EQ(std::system(("xxh128sum --check --quiet '" + path("sums") + "'").c_str()), 0) << hash;
}

TEST_F(FilterCommand, SidecarsNameTheInputInEveryFormat) {
  for (const std::string name : {"a.nii.gz", "b.nrrd", "c.mha"}) {
    quietvox_ok({"median", path("in.nii"), path(name)});
    const std::string sidecar = read_file(folder_ / (name.substr(0, 1) + ".json"));
    for (const char* part : {"\"name\": \"in.nii\"", "\"bytes\": ", "\"xxh128\": "}) {
      EXPECT_NE(sidecar.find(part), std::string::npos) << sidecar;
    }
  }
}

TEST_F(FilterCommand, SidecarsNameTheSeriesOfDicom) {
  quietvox_ok({"phantom", path("ct"), "--size", "8x8x3"});
  const Json series = Json::parse(quietvox_ok({"info", path("ct"), "--json"}).out)["dicom"]["series_uid"];
  for (const std::string name : {"a.nii", "b.nrrd"}) {
    quietvox_ok({"median", path("ct"), path(name), "--radius", "0", "--residual", path("r.nii"), "--force"});
    for (const std::string& sidecar : {name.substr(0, 1), std::string("r")}) {
      const Json input = Json::parse(read_file(folder_ / (sidecar + ".json")))["inputs"][0];
      EXPECT_EQ(input, (Json{{"name", "ct"}, {"series_uid", series}}));
    }
  }
}

TEST_F(FilterCommand, OutputAndResidualNeedSidecarsOfTheirOwn) {
  for (const std::string extra : {"--dry-run", "--force", "--quiet"}) {
    for (const std::string residual : {"o.nii", "o.hdr"}) {
      const Result result = quietvox({"median", path("in.nii"), path("o.nii.gz"), "--residual", path(residual), extra});
      EXPECT_EQ(result.status, 64) << result.err;
      EXPECT_NE(result.err.find("o.json"), std::string::npos) << result.err;
    }
  }
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"in.nii"});
}

TEST_F(FilterCommand, ForceReplacesTheOutput) {
  write_file(folder_ / "out.nii", "old");
  quietvox_ok({"median", path("in.nii"), path("out.nii"), "--force"});
  EXPECT_EQ(read("out.nii").size(), voxels_.size());
}

TEST_F(FilterCommand, TheInputIsNeverTheOutput) {
  write_nifti(folder_ / "mask.nii", extent, std::vector<std::int16_t>(voxels_.size(), 1));
  const auto before = contents(folder_.path());
  std::filesystem::create_symlink(folder_ / "in.nii", folder_ / "link.nii");
  EXPECT_EQ(quietvox({"median", path("in.nii"), path("in.nii"), "--force"}).status, 6);
  EXPECT_EQ(quietvox({"median", path("in.nii"), path("link.nii"), "--force"}).status, 6);
  EXPECT_EQ(quietvox({"median", path("in.nii"), path("a.nii"), "--force", "--residual", path("in.nii")}).status, 6);
  EXPECT_EQ(quietvox({"median", path("in.nii"), path("a.nii"), "--residual", path("a.nii")}).status, 6);
  EXPECT_EQ(quietvox({"median", path("in.nii"), path("mask.nii"), "--force", "--mask", path("mask.nii")}).status, 6);
  EXPECT_EQ(quietvox({"median", path("in.nii"), path("a.nii"), "--log-file", path("in.nii")}).status, 6);
  EXPECT_EQ(quietvox({"add-noise", path("in.nii"), path("in.nii"), "--force"}).status, 6);
  EXPECT_EQ(quietvox({"compare", path("in.nii"), path("mask.nii"), "--picture", path("in.nii"), "--force"}).status, 64);
  std::filesystem::create_symlink(folder_ / "in.nii", folder_ / "link.png");
  EXPECT_EQ(quietvox({"compare", path("in.nii"), path("mask.nii"), "--picture", path("link.png"), "--force"}).status,
            6);
  std::filesystem::remove(folder_ / "link.png");
  std::filesystem::remove(folder_ / "link.nii");
  EXPECT_EQ(contents(folder_.path()), before);
}

TEST_F(FilterCommand, DicomIsWrittenFromDicomOnly) {
  for (const std::vector<std::string>& output :
       std::vector<std::vector<std::string>>{{path("x.dcm")}, {path("x"), "--output-format=dicom"}}) {
    std::vector<std::string> words{"median", path("in.nii")};
    words.insert(words.end(), output.begin(), output.end());
    const Result result = quietvox(words);
    EXPECT_EQ(result.status, 64) << result.err;
    EXPECT_NE(result.err.find("DICOM"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("NIfTI"), std::string::npos) << result.err;
  }
}

TEST_F(FilterCommand, OutputsNeedAnEndingThatNamesTheirFormat) {
  EXPECT_EQ(quietvox({"median", path("in.nii"), path("out")}).status, 64);
  EXPECT_EQ(quietvox({"median", path("in.nii"), path("out.nii"), "--output-format=nrrd"}).status, 64);
  EXPECT_EQ(quietvox({"median", path("in.nii"), path("out.nii"), "--residual", path("r.nrrd")}).status, 64);
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"in.nii"});
}

}  // namespace
}  // namespace quietvox::test
