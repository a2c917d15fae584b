// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/quadratic.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <regex>

#include "filters/quadratic/coefficients.hpp"
#include "filters/quadratic/training.hpp"
#include "filters/registry.hpp"
#include "support/difference.hpp"
#include "support/expect_error.hpp"
#include "support/instruction_sets.hpp"
#include "support/reference_quadratic.hpp"
#include "support/temporary_folder.hpp"

namespace quietvox::test {
namespace {

QuadraticParams resolved(const Volume& in, const QuadraticParams& params) {
  return params.resolved({in.extent, in.spacing, {}, [&] {
                            Range<double> range{1e30, -1e30};
                            for (const float voxel : in.voxels) {
                              if (!std::isfinite(voxel)) continue;
                              range = {std::min<double>(range.min, voxel), std::max<double>(range.max, voxel)};
                            }
                            return range;
                          }});
}

Volume filtered(const Volume& in, const QuadraticParams& params) {
  Volume out(in.extent, in.spacing, std::numeric_limits<float>::quiet_NaN());
  quadratic_cpu(in.view(), out.view(), params, {});
  return out;
}

void expect_reference(const Volume& in, const QuadraticParams& requested) {
  const QuadraticParams params = resolved(in, requested);
  const Volume expected = reference_quadratic(in, params, quadratic_coefficients(requested.coefficients));
  EXPECT_EQ(first_difference(expected, filtered(in, params), quadratic_tolerance(in, params)), "");
}

/// Coefficients of no meaning, of all signs; nothing about them is flat.
QuadraticCoefficients random_coefficients(int size, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto next = [&](int count) { return (static_cast<double>(random() % 2001) - 1000) / 1000 * 4 / count; };
  QuadraticCoefficients h;
  h.size = size;
  h.h0 = next(10);
  for (int i = 0; i < h.voxels(); ++i) h.h1.push_back(next(h.voxels()));
  for (int i = 0; i < h.voxels() * (h.voxels() + 1) / 2; ++i) h.h2.push_back(next(h.voxels() * h.voxels() / 2));
  return h;
}

std::string file_of(const TemporaryFolder& folder, const std::string& text) {
  const auto path = folder / "coefficients.json";
  std::ofstream(path) << text;
  return path.string();
}

TEST(Quadratic, AgreesWithTheFormula) {
  const TemporaryFolder folder;
  for (const int size : {3, 5}) {
    const std::string file = file_of(folder, to_json(random_coefficients(size, 5)));
    for (const std::string& coefficients : {file, std::string("denoise"), std::string("mammogram-enhance")}) {
      for (const White white : {White::high, White::low}) {
        for (const Border border : {Border::replicate, Border::reflect, Border::copy}) {
          QuadraticParams params;
          params.coefficients = coefficients;
          params.white = white;
          params.border = border;
          params.gain = 1.5;
          for (const Extent& extent : {Extent{{37, 21, 2}}, Extent{{5, 5, 1}}, Extent{{1, 33, 2}}}) {
            Volume in = busy_volume(extent, 4);
            expect_reference(in, params);
            for (std::size_t i = 3; i < in.voxels.size(); i += 7) in.voxels[i] = std::nanf("");
            expect_reference(in, params);
          }
        }
      }
    }
  }
}

TEST(Quadratic, EveryInstructionSetAgreesWithTheReference) {
  const Volume in = busy_volume({{45, 19, 3}}, 4);
  for_each_instruction_set([&] { expect_reference(in, {}); });
}

TEST(Quadratic, PresetsKeepFlatAreasToTheBit) {
  const Volume in({{9, 8, 2}}, {1, 1, 1}, 0.1F);
  for (const QuadraticCoefficients& preset : quadratic_presets()) {
    QuadraticParams params;
    params.coefficients = preset.name;
    params.lowest = -3;
    params.highest = 7;
    EXPECT_EQ(filtered(in, params.resolved({in.extent, in.spacing, {}})), in) << preset.name;
  }
}

/// An image and its negative, told so, give results that are each other's negatives.
TEST(Quadratic, AnImageWhoseSmallValuesAreWhiteIsFilteredAsItsNegative) {
  const Volume in = busy_volume({{24, 17, 1}}, 6, true);
  Volume negative = in;
  for (float& voxel : negative.voxels) voxel = 4095 - voxel;
  QuadraticParams params;
  params.coefficients = "mammogram-enhance";
  Volume expected = filtered(in, resolved(in, params));
  for (float& voxel : expected.voxels) voxel = 4095 - voxel;
  params.white = White::low;
  EXPECT_EQ(first_difference(expected, filtered(negative, resolved(negative, params)), 1e-2), "");
  params.white = White::high;
  EXPECT_NE(first_difference(expected, filtered(negative, resolved(negative, params)), 10), "");
}

TEST(Quadratic, WhatIsWhiteIsWhatTheVolumeSaysUnlessToldOtherwise) {
  for (const bool min_is_white : {false, true}) {
    VolumeFacts facts{{{9, 9, 1}}, {1, 1, 1}, {}, [] { return Range<double>{0, 65535}; }};
    facts.header.min_is_white = min_is_white;
    QuadraticParams params;
    EXPECT_EQ(params.resolved(facts).white, min_is_white ? White::low : White::high);
    for (const White white : {White::high, White::low}) {
      params.white = white;
      EXPECT_EQ(params.resolved(facts).white, white);
    }
  }
}

TEST(Quadratic, AVolumeOfOneValueDoesNotChange) {
  const Volume in({{6, 6, 1}}, {1, 1, 1}, 42);
  EXPECT_EQ(filtered(in, resolved(in, {})), in);
}

TEST(Quadratic, EnhancementMakesASpotStandOutMore) {
  Volume in({{11, 11, 1}}, {1, 1, 1}, 1000);
  in.view().at(5, 5, 0) = 1200;
  QuadraticParams params;
  params.coefficients = "mammogram-enhance";
  params.lowest = 0;
  params.highest = 4095;
  Volume out = filtered(in, resolved(in, params));
  EXPECT_GT(out.view().at(5, 5, 0), 1210);
  EXPECT_EQ(out.view().at(1, 1, 0), 1000);
}

TEST(QuadraticFile, ComesBackAsItWasWritten) {
  QuadraticCoefficients h = random_coefficients(5, 9);
  h.name = "mine";
  h.provenance = "made up";
  h.range = {-1024, 3071};
  const QuadraticCoefficients back = quadratic_from_json(to_json(h), "here.json");
  EXPECT_EQ(back.size, 5);
  EXPECT_EQ(back.h0, h.h0);
  EXPECT_EQ(back.h1, h.h1);
  EXPECT_EQ(back.h2, h.h2);
  EXPECT_EQ(back.range->min, -1024);
  EXPECT_EQ(back.name, "mine");
  EXPECT_EQ(back.provenance, "made up");
}

TEST(QuadraticFile, WhatIsWrongWithItIsNamed) {
  const std::string good = to_json(random_coefficients(3, 1));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const auto first_number_of = [&](const std::string& key, const std::string& value) {
    const std::size_t begin = good.find('[', good.find("\"" + key + "\"")) + 1, end = good.find(',', begin);
    return good.substr(0, begin) + value + good.substr(end);
  };
  const std::pair<std::string, std::string> cases[] = {
      {"nonsense", "this is not JSON"},
      {"[1, 2]", "this is not a JSON object"},
      {changed("\"size\": 3", "\"size\": 4"), "size is 4; give 3 or 5"},
      {changed("\"size\": 3", "\"size\": 5"), "h1 has 9 numbers; size 5 takes 25"},
      {changed("\"size\": 3", "\"size\": \"3\""), "size is not a finite number"},
      {changed("\"h0\"", "\"h00\""), "'h00' is not a known entry"},
      {changed("\"range\": \"volume\"", "\"range\": [5, 5]"), "range[0] is not below range[1]"},
      {changed("\"range\": \"volume\"", "\"range\": \"mine\""), "range is neither"},
      {changed("\"name\": \"\"", "\"name\": 3"), "name is not text"},
      {first_number_of("h2", "null"), "h2[0] is not a finite number"},
      {first_number_of("h1", "1e999"), "this is not JSON at h1[0]; numbers must be finite"},
      {first_number_of("h1", "NaN"), "this is not JSON at h1[0]; numbers must be finite"},
      {first_number_of("h2", "1, -Infinity"), "this is not JSON at h2[1]"},
      {changed("\"h0\": ", "\"h0\": nan, \"h0\": "), "this is not JSON at h0"},
      {first_number_of("h2", "1, 1"), "h2 has 46 numbers; size 3 takes 45"},
      {"{\"size\": 3}", "the entry h0 is missing"}};
  for (const auto& [text, message] : cases) {
    expect_error(Errc::corrupt, "bad.json: " + message,
                 [&json = text] { (void)quadratic_from_json(json, "bad.json"); });
  }
}

TEST(QuadraticFile, ProvenanceTellsFilesApartByWhatTheyHold) {
  const TemporaryFolder folder;
  FilterConfig settings(find_filter("quadratic"));
  const auto identified = [&] { return settings.with_content_hashes().get("coefficients"); };
  EXPECT_EQ(identified(), "denoise");
  settings.set("coefficients", file_of(folder, to_json(random_coefficients(3, 1))));
  const std::string first = identified();
  EXPECT_TRUE(std::regex_match(first, std::regex("sha256:[0-9a-f]{16}"))) << first;
  EXPECT_EQ(settings.resolved({{{9, 9, 1}},
                               {1, 1, 1},
                               {},
                               [] {
                                 return Range<double>{0, 1};
                               }})
                .get("coefficients"),
            first);
  file_of(folder, to_json(random_coefficients(3, 2)));
  EXPECT_NE(identified(), first);
}

TEST(QuadraticFile, AMissingOneIsAnErrorThatNamesThePresets) {
  FilterConfig settings(find_filter("quadratic"));
  const TemporaryFolder folder;
  for (const std::string& name : {std::string("no-such-file.json"), folder.path().string()}) {
    settings.set("coefficients", name);
    expect_error(Errc::input_path, "give denoise, mammogram-enhance, or a JSON file", [&] {
      (void)settings.resolved({{{9, 9, 1}}, {1, 1, 1}, {}, {}});
    });
  }
}

TEST(Quadratic, LowestAboveHighestIsRefused) {
  QuadraticParams params;
  params.lowest = 5;
  params.highest = 4;
  expect_error(Errc::invalid_argument, "lowest = 5 is above highest = 4", [&] {
    (void)params.resolved({{{9, 9, 1}}, {1, 1, 1}, {}, {}});
  });
}

/// Training finds the filter that made the clean image of the noisy one.
TEST(TrainQuadratic, FindsTheFilterBehindTheData) {
  const Volume noisy = busy_volume({{90, 70, 3}}, 8);
  QuadraticParams params;
  params.coefficients = "mammogram-enhance";
  params.lowest = -1000;
  params.highest = 2000;
  const Volume clean = filtered(noisy, resolved(noisy, params));
  for (const bool keep_flat : {true, false}) {
    const TrainedQuadratic trained =
        train_quadratic(noisy.view(), clean.view(), {-1000, 2000}, {3, 1e-9, keep_flat}, {});
    const QuadraticCoefficients& expected = quadratic_presets()[1];
    for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(trained.coefficients.h1[i], expected.h1[i], 1e-3) << i;
    for (std::size_t i = 0; i < 45; ++i) EXPECT_NEAR(trained.coefficients.h2[i], expected.h2[i], 1e-3) << i;
    EXPECT_NEAR(trained.coefficients.h0, 0, 1e-3);
    EXPECT_GT(trained.quadratic_psnr, 80);
    EXPECT_GT(trained.quadratic_psnr, trained.linear_psnr + 20);
    EXPECT_GT(trained.held_out, trained.trained_on / 5);
  }
}

TEST(TrainQuadratic, IsTheSameForAnyNumberOfThreads) {
  const Volume noisy = busy_volume({{60, 50, 2}}, 8), clean = busy_volume({{60, 50, 2}}, 9);
  const auto train = [&](int threads) {
    Execution execution;
    execution.threads = threads;
    return to_json(train_quadratic(noisy.view(), clean.view(), {-1000, 2000}, {}, execution).coefficients);
  };
  EXPECT_EQ(train(1), train(4));
}

TEST(TrainQuadratic, NothingToLearnFromIsAnError) {
  const Volume flat({{40, 40, 1}}, {1, 1, 1}, 3);
  expect_error(Errc::invalid_argument, "too little in it to learn from", [&] {
    (void)train_quadratic(flat.view(), flat.view(), {0, 10}, {}, {});
  });
  expect_error(Errc::invalid_argument, "the same extent", [&] {
    (void)train_quadratic(flat.view(), Volume(Extent{{40, 39, 1}}).view(), {0, 10}, {}, {});
  });
}

}  // namespace
}  // namespace quietvox::test
