// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <any>
#include <cctype>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "filters/nlm.hpp"
#include "gpu/gpu_test.hpp"

namespace quietvox::test {
namespace {

using GpuNlm = GpuTest;
using Option = std::pair<std::string, std::string>;
using Options = std::vector<Option>;

void expect_near(const Backend& backend, const FilterConfig& step, const Volume& volume) {
  const Reference& exact = reference("nlm");
  EXPECT_EQ(first_difference(exact.run(volume, step), run(backend, {step}, volume), exact.tolerance(volume, step)), "")
      << step.get("patch-radius") << " " << step.get("search-radius") << " " << step.get("noise-model") << ", "
      << volume.extent.x << "x" << volume.extent.y << "x" << volume.extent.z;
}

void expect_near(const Backend& backend, const Options& options, const Volume& volume) {
  expect_near(backend, resolved(settings("nlm", options), volume, {0, 3000}), volume);
}

/// Patches with a kernel of their own, and others; no noise bias has one too.
TEST_F(GpuNlm, EqualsTheReferenceForEveryPatch) {
  const Volume flat = busy_volume({67, 45, 2}, 1), deep = busy_volume({37, 21, 13}, 2);
  for (const char* bias : {"0", "2"}) {
    for (const char* patch : {"0x0x0", "1x1x0", "2x2x0", "3x3x0", "4x4x0", "1x2x0"}) {
      const Options options{{"patch-radius", patch}, {"search-radius", "3x2x0"}, {"noise-bias", bias}};
      expect_near(*backend, options, flat);
      expect_near(*backend, options, with_holes(flat, 31));
    }
    for (const char* patch : {"1x1x1", "2x2x1", "2x2x2", "3x1x1"}) {
      for (const char* search : {"2x1x2", "1x5x1"}) {  // 11 offsets along y and more have a kernel of their own
        const Options options{{"patch-radius", patch}, {"search-radius", search}, {"noise-bias", bias}};
        expect_near(*backend, options, deep);
        expect_near(*backend, options, with_holes(deep, 31));
      }
    }
  }
}

const Option varied[] = {{"noise-model", "rician"}, {"noise-bias", "1"},        {"strength", "0.5"},
                         {"spatial-sigma", "1.5"},  {"spatial-sigma", "1e-30"}, {"intensity-sigma", "40"},
                         {"border", "reflect"},     {"border", "copy"},         {"sigma", "0"},
                         {"sigma", "1e-6"},         {"sigma", "1e6"},           {"search-radius", "0"}};

TEST_F(GpuNlm, NoiseThatVaries) {
  const Volume flat = busy_volume({41, 37, 3}, 7), deep = busy_volume({37, 21, 7}, 8);
  for (const char* patch : {"0x0x0", "1x1x0", "2x2x0", "3x3x0", "1x1x1", "2x2x1", "2x2x2"}) {
    const Volume& whole = patch[4] == '0' ? flat : deep;
    for (const Volume& volume : {whole, with_holes(whole, 31)}) {
      for (const Options& more :
           {Options{{"search-radius", "2x5x1"}}, Options{{"search-radius", "3x2x0"}, {"noise-model", "rician"}},
            Options{{"search-radius", "all"}, {"border", "reflect"}},
            Options{{"search-radius", "3x2x0"}, {"intensity-sigma", "40"}, {"border", "copy"}}}) {
        Options options{{"patch-radius", patch}};
        options.insert(options.end(), more.begin(), more.end());
        expect_near(*backend, resolved_by_map(settings("nlm", options), volume), volume);
      }
    }
  }
}

class GpuNlmOption : public GpuTest, public testing::WithParamInterface<Option> {};

TEST_P(GpuNlmOption, EqualsTheReference) {
  Volume volume = with_holes(busy_volume({33, 19, 7}, 3), 89);
  volume.spacing = {0.7, 0.9, 2.5};
  for (const char* search : {"2x2x1", "all"}) {
    expect_near(*backend, {{"search-radius", search}, GetParam()}, volume);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, GpuNlmOption, testing::ValuesIn(varied), [](const auto& test) {
  std::string name = test.param.first + "_" + test.param.second;
  for (char& letter : name) {
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  }
  return name;
});

/// More offsets in a row than are staged at once.
TEST_F(GpuNlm, SearchesWideSlices) {
  const Volume wide = busy_volume({150, 9, 1}, 4);
  for (const char* patch : {"1x1x0", "4x4x0"}) {
    expect_near(*backend, {{"patch-radius", patch}, {"search-radius", "all"}}, wide);
  }
  expect_near(*backend, {{"patch-radius", "1x1x0"}, {"search-radius", "31x1x0"}}, wide);
}

/// Beside the CPU, which adds up in doubles; each patch has another kernel.
TEST_F(GpuNlm, SumsOfMillionsOfNeighboursStayAccurate) {
  for (const auto& [patch, slices] : {std::pair{"1x1x0", 1}, {"1x1x1", 3}, {"1x2x0", 1}}) {
    Volume noise(Extent{{2048, 2048, slices}});
    std::mt19937 random(13);
    for (float& voxel : noise.voxels) voxel = static_cast<float>(random() % 4096) / 64.0F + 68.0F;
    const FilterConfig step =
        resolved(settings("nlm", {{"patch-radius", patch}, {"search-radius", "all"}, {"sigma", "40"}}), noise);
    const auto box_by = [&, middle = slices / 2](const auto& filter) {
      Volume box(Extent{{40, 24, 1}});
      VolumeView<float> out = box.view();
      out.origin = {1000, 900, middle};
      filter(noise.view(), out);
      return box;
    };
    const Volume expected =
        box_by([&](auto from, auto to) { nlm_cpu(from, to, std::any_cast<const NlmParams&>(step.params()), {}); });
    const Volume actual = box_by([&](auto from, auto to) { backend->run(std::vector{step}, from, to, {}); });
    EXPECT_EQ(first_difference(expected, actual, reference("nlm").tolerance(noise, step)), "") << patch;
  }
}

/// Slabs with and without missing voxels take different code; the bytes are the same.
TEST_F(GpuNlm, WhereVoxelsAreMissingDoesNotShowElsewhere) {
  const Volume whole = busy_volume({70, 40, 24}, 5);
  Volume holed = whole;
  holed.voxels[0] = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [radius, reach, bias] :
       {std::tuple{1, 2, "2"}, {2, 2, "2"}, {1, 5, "2"}, {2, 5, "2"}, {1, 5, "0"}, {2, 5, "0"}}) {
    const std::string patch = std::to_string(radius), search = "2x" + std::to_string(reach) + "x2";
    const Options options{{"patch-radius", patch}, {"search-radius", search}, {"noise-bias", bias}};
    const FilterConfig step = resolved(settings("nlm", options), whole);
    const Volume expected = run(*backend, {step}, whole), actual = run(*backend, {step}, holed);
    for (std::int64_t z = 0; z < 24; ++z) {
      for (std::int64_t y = 0; y < 40; ++y) {
        for (std::int64_t x = 0; x < 70; ++x) {
          if (x <= radius + 2 && y <= radius + reach && z <= radius + 2) continue;
          ASSERT_EQ(expected.view().at(x, y, z), actual.view().at(x, y, z)) << x << " " << y << " " << z;
        }
      }
    }
  }
}

TEST_F(GpuNlm, ABoxInNoiseThatVariesComesOutAsItDoesInTheWhole) {
  const Volume whole = with_holes(busy_volume({150, 61, 9}, 9), 1031);
  for (const char* patch : {"1x1x0", "2x2x0", "1x1x1", "2x2x2", "4x1x0"}) {
    for (const char* search : {"2x1x1", "3x12x1"}) {
      const FilterConfig step =
          resolved_by_map(settings("nlm", {{"patch-radius", patch}, {"search-radius", search}}), whole);
      const Volume expected = run(*backend, {step}, whole);
      for (const Index3& origin : {Index3{3, 5, 1}, {2, 2, 2}, {65, 11, 3}}) {
        const Extent extent{whole.extent.x - origin.x - 1, whole.extent.y - origin.y - 2,
                            whole.extent.z - origin.z - 3};
        const Volume box = filtered_box(whole, origin, extent, step.halo(),
                                        [&](auto from, auto to) { backend->run(std::vector{step}, from, to, {}); });
        EXPECT_TRUE(same_bytes(box, box_of(expected, origin, extent))) << patch << " " << search;
      }
    }
  }
}

/// Patch radius, search radius, and whether voxels are missing.
class GpuNlmBox : public GpuTest, public testing::WithParamInterface<std::tuple<std::string, std::string, bool>> {};

/// Sums are made in the same order wherever a box begins, in blocks that share sums and in offsets that are staged
/// together.
TEST_P(GpuNlmBox, ComesOutAsItDoesInTheWhole) {
  const auto& [patch, search, holed] = GetParam();
  // A search of whole slices takes every block to every voxel of them; two blocks side by side are enough there.
  const Extent size = search == "all" ? Extent{70, 20, 9} : Extent{150, 61, 9};
  const Volume present = busy_volume(size, 6), whole = holed ? with_holes(present, 1031) : present;
  const FilterConfig step = resolved(settings("nlm", {{"patch-radius", patch}, {"search-radius", search}}), whole);
  const Volume expected = run(*backend, {step}, whole);
  for (const Index3& origin : {Index3{3, 5, 1}, {2, 2, 2}, {65, 11, 3}}) {
    const Extent extent{size.x - origin.x - 1, size.y - origin.y - 2, size.z - origin.z - 3};
    const Volume box = filtered_box(whole, origin, extent, step.halo(),
                                    [&](auto from, auto to) { backend->run(std::vector{step}, from, to, {}); });
    EXPECT_TRUE(same_bytes(box, box_of(expected, origin, extent)))
        << "from " << origin.x << "x" << origin.y << "x" << origin.z;
  }
}

INSTANTIATE_TEST_SUITE_P(Radii, GpuNlmBox,
                         testing::Combine(testing::Values("2x2x0", "1x1x1", "2x2x1", "2x2x2"),
                                          testing::Values("2x1x1", "13x12x1", "all"), testing::Bool()),
                         [](const auto& test) {
                           const bool holed = std::get<2>(test.param);
                           return std::get<0>(test.param) + "_" + std::get<1>(test.param) +
                                  (holed ? "_with_holes" : "");
                         });

}  // namespace
}  // namespace quietvox::test
