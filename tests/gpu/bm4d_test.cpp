// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bm4d.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gpu/gpu_test.hpp"
#include "support/white_noise.hpp"

namespace quietvox::test {
namespace {

using GpuBm4d = GpuTest;
using Options = std::vector<std::pair<std::string, std::string>>;

std::string text_of(const FilterConfig& step, const Volume& volume) {
  std::string text =
      std::to_string(volume.extent.x) + "x" + std::to_string(volume.extent.y) + "x" + std::to_string(volume.extent.z);
  for (const char* field : {"block", "search-radius", "quality", "sigma", "stages"}) text += ", " + step.get(field);
  return text;
}

void expect_near(const Backend& backend, const FilterConfig& step, const Volume& volume) {
  const Reference& exact = reference("bm4d");
  EXPECT_EQ(first_difference(exact.run(volume, step), run(backend, {step}, volume), exact.tolerance(volume, step)), "")
      << text_of(step, volume);
}

void expect_near(const Backend& backend, const Options& options, const Volume& volume) {
  expect_near(backend, resolved(settings("bm4d", options), volume), volume);
}

Volume on_cpu(const FilterConfig& step, const Volume& volume) {
  Volume out(volume.extent, volume.spacing);
  bm4d_cpu(volume.view(), out.view(), std::any_cast<const Bm4dParams&>(step.params()), {});
  return out;
}

/// Blocks that have a kernel of their own and others, references in more tiles than one and in less.
TEST_F(GpuBm4d, EqualsTheReferenceForEveryExtent) {
  for (const Extent& extent : {Extent{41, 29, 9}, Extent{21, 10, 7}, Extent{3, 11, 9}, Extent{1, 6, 5}, Extent{9, 1, 6},
                               Extent{60, 2, 3}, Extent{10, 3, 1}, Extent{5, 4, 2}, Extent{1, 1, 5}, Extent{8, 8, 1}}) {
    const Volume volume = busy_volume(extent, 1);
    for (const char* block : {"4x4x4", "8x8x1"}) {
      for (const char* quality : {"default", "best"}) {
        const Options options{{"block", block}, {"quality", quality}, {"search-radius", "2x1x1"}, {"sigma", "80"}};
        expect_near(*backend, options, volume);
        expect_near(*backend, options, with_holes(volume, 331));
      }
    }
  }
}

/// Windows as wide as one strip and as several, with room in shared memory and without.
TEST_F(GpuBm4d, EqualsTheReferenceForEveryRadius) {
  const Volume volume = with_holes(busy_volume({23, 17, 9}, 2), 331);
  for (const char* radius : {"0", "1x0x0", "0x3x1", "3x0x2", "4x2x1", "5", "7x7x3", "9x9x1", "13x13x1", "31x1x1"}) {
    for (const char* block : {"4x4x4", "8x8x1"}) {
      expect_near(*backend, {{"block", block}, {"search-radius", radius}, {"sigma", "80"}}, volume);
    }
  }
}

TEST_F(GpuBm4d, EqualsTheReferenceForEveryStrength) {
  const Volume volume = with_holes(busy_volume({19, 13, 9}, 3), 331);
  for (const char* sigma : {"0", "1e-30", "1e-6", "0.5", "20", "60", "700", "1e4", "1e30"}) {
    for (const char* block : {"4x4x4", "8x8x1"}) {
      expect_near(*backend, {{"block", block}, {"sigma", sigma}, {"search-radius", "2"}}, volume);
    }
  }
}

/// The second stage would group other blocks else.
TEST_F(GpuBm4d, TheFirstStageGivesTheBytesOfTheCpu) {
  const auto expect_same = [&](const Options& options, const Volume& volume) {
    const FilterConfig step = resolved(settings("bm4d", options), volume);
    EXPECT_TRUE(same_bytes(on_cpu(step, volume), run(*backend, {step}, volume))) << text_of(step, volume);
  };
  const Volume volume = with_holes(busy_volume({110, 61, 40}, 4), 1031);
  for (const char* quality : {"fast", "default", "best"}) {
    for (const char* block : {"4x4x4", "8x8x1"}) {
      expect_same({{"quality", quality}, {"block", block}, {"stages", "1"}, {"sigma", "60"}}, volume);
    }
  }
  expect_same({{"search-radius", "20"}, {"stages", "1"}, {"sigma", "60"}}, busy_volume({40, 37, 41}, 5));
}

TEST_F(GpuBm4d, CorrelatedNoiseAndNoiseThatVaries) {
  NoiseModel noise{.sigma = 80, .spectrum = {{{4, 3, 5}}, {}, {}}};
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 4; ++x) noise.spectrum.in_plane.push_back(std::exp2(-1.0F * x - 0.7F * y));
  }
  for (int z = 0; z < 5; ++z) noise.spectrum.across.push_back(std::exp2(-0.4F * z));
  noise.map = {{{2, 1, 2}}, {0.4F, 1.5F, 1, 0.2F}};
  const Volume small = with_holes(busy_volume({21, 14, 9}, 6), 331);
  const Volume large = with_holes(busy_volume({110, 61, 40}, 7), 1031);
  for (const char* block : {"4x4x4", "8x8x1"}) {
    const auto step = [&](const Volume& volume, const Options& more) {
      FilterConfig wanted = settings("bm4d", more);
      wanted.set("block", block);
      return wanted.resolved({volume.extent, volume.spacing, [&] { return noise; }});
    };
    expect_near(*backend, step(small, {{"search-radius", "3x2x1"}}), small);
    const FilterConfig first = step(large, {{"stages", "1"}});
    EXPECT_TRUE(same_bytes(on_cpu(first, large), run(*backend, {first}, large)));
    const FilterConfig both = step(large, {});
    EXPECT_EQ(
        first_difference(on_cpu(both, large), run(*backend, {both}, large), reference("bm4d").tolerance(large, both)),
        "");
  }
}

/// Where all blocks are alike, the first of the window are taken.
TEST_F(GpuBm4d, FlatVolumesWithAFewNoisyVoxels) {
  Volume volume({60, 40, 20}, {1, 1, 1}, 100);
  for (std::size_t i = 1000; i < volume.voxels.size(); i += 1601) volume.voxels[i] = 150;
  const FilterConfig step = resolved(settings("bm4d", {{"sigma", "20"}}), volume);
  EXPECT_EQ(
      first_difference(on_cpu(step, volume), run(*backend, {step}, volume), reference("bm4d").tolerance(volume, step)),
      "");
}

TEST_F(GpuBm4d, SmallLesions) {
  Volume volume = with_holes(small_lesions({110, 61, 40}, 15, 90).volume, 1031);
  for (std::size_t i = 301; i < volume.voxels.size(); i += 613) volume.voxels[i] += static_cast<float>(60 + i % 150);
  NoiseModel noise{.sigma = 15, .map = {{{2, 1, 2}}, {0.4F, 1.5F, 1, 0.2F}}};
  for (const char* block : {"4x4x4", "8x8x1"}) {
    const auto step = [&](const char* stages) {
      FilterConfig wanted = settings("bm4d", {{"block", block}, {"stages", stages}});
      return wanted.resolved({volume.extent, volume.spacing, [&] { return noise; }});
    };
    const FilterConfig first = step("1"), both = step("2");
    EXPECT_TRUE(same_bytes(on_cpu(first, volume), run(*backend, {first}, volume)));
    EXPECT_EQ(first_difference(on_cpu(both, volume), run(*backend, {both}, volume),
                               reference("bm4d").tolerance(volume, both)),
              "");
  }
}

/// Whatever the order in which groups are added up.
TEST_F(GpuBm4d, ComesOutTheSameEveryTime) {
  const Volume volume = with_holes(busy_volume({150, 90, 50}, 8), 1031);
  for (const char* block : {"4x4x4", "8x8x1"}) {
    const FilterConfig step = resolved(settings("bm4d", {{"block", block}}), volume);
    const Volume once = run(*backend, {step}, volume);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(same_bytes(once, run(*backend, {step}, volume)));
  }
}

TEST_F(GpuBm4d, ABoxComesOutAsItDoesInTheWhole) {
  for (const auto& [volume, sigma] :
       {std::pair(busy_volume({150, 60, 80}, 9), "auto"), {small_lesions({150, 60, 80}, 15, 90).volume, "15"}}) {
    const Volume whole = with_holes(volume, 1031);
    for (const char* block : {"4x4x4", "8x8x1"}) {
      const Options options{{"block", block}, {"search-radius", "3x2x1"}, {"sigma", sigma}};
      const FilterConfig step = resolved(settings("bm4d", options), whole);
      const Volume expected = run(*backend, {step}, whole);
      for (const Index3& origin : {Index3{3, 5, 1}, {2, 2, 2}, {65, 11, 33}}) {
        const Extent extent{whole.extent.x - origin.x - 1, whole.extent.y - origin.y - 2,
                            whole.extent.z - origin.z - 3};
        const Volume box = filtered_box(whole, origin, extent, step.halo(),
                                        [&](auto from, auto to) { backend->run(std::vector{step}, from, to, {}); });
        EXPECT_TRUE(same_bytes(box, box_of(expected, origin, extent)))
            << block << " from " << origin.x << "x" << origin.y << "x" << origin.z;
      }
    }
  }
}

}  // namespace
}  // namespace quietvox::test
