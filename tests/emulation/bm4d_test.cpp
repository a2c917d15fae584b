// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bm4d.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "cuda/resources.hpp"
#include "support/difference.hpp"
#include "support/reference_dct.hpp"
#include "support/volumes.hpp"
#include "support/white_noise.hpp"

namespace quietvox::test {
namespace {

constexpr DctBlock blocks[] = {DctBlock::cube, DctBlock::square};
constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

Bm4dParams make_params(const Volume& volume, DctBlock block, std::optional<Radius3> search, double sigma = 80,
                       Bm4dQuality quality = Bm4dQuality::standard) {
  Bm4dParams params;
  params.sigma = sigma;
  params.quality = quality;
  params.search_radius = search;
  params.block = block;
  return params.resolved({volume.extent, volume.spacing});
}

Volume with_holes(Volume volume) {
  for (std::size_t i = 37; i < volume.voxels.size(); i += 331) volume.voxels[i] = nan;
  for (std::size_t i = 171; i < volume.voxels.size(); i += 997) volume.voxels[i] = infinity;
  return volume;
}

Volume on_cpu(const Volume& in, const Bm4dParams& params) {
  Volume out(in.extent, in.spacing);
  bm4d_cpu(in.view(), out.view(), params, {});
  return out;
}

Volume emulated(const Volume& in, const Bm4dParams& params) {
  constexpr float not_written = -7777;
  Volume out(in.extent, in.spacing, not_written);
  bm4d_cuda(in.view(), out.view(), params, cuda::LaunchContext());
  return out;
}

/// The first stage to the bit, since the second would group other blocks else, and both.
void expect_as_on_cpu(const Volume& in, Bm4dParams params) {
  SCOPED_TRACE(testing::Message() << in.extent.x << "x" << in.extent.y << "x" << in.extent.z << ", blocks of "
                                  << params.lengths.x << "x" << params.lengths.y << "x" << params.lengths.z
                                  << ", search-radius " << params.search_radius->x << "x" << params.search_radius->y
                                  << "x" << params.search_radius->z << ", sigma " << *params.sigma);
  params.stages = 1;
  const Volume first = on_cpu(in, params), first_emulated = emulated(in, params);
  EXPECT_EQ(first_difference(first, first_emulated), "");
  EXPECT_TRUE(same_bytes(first, first_emulated));
  params.stages = 2;
  EXPECT_EQ(first_difference(on_cpu(in, params), emulated(in, params), dct_tolerance(in)), "");
}

/// Blocks that have a kernel of their own and others.
TEST(EmulatedBm4d, EveryLengthOfBlocks) {
  for (const DctBlock block : blocks) {
    for (const Extent extent :
         {Extent{21, 10, 7}, Extent{3, 11, 9}, Extent{1, 6, 5}, Extent{9, 1, 6}, Extent{60, 2, 3}, Extent{10, 3, 1},
          Extent{5, 4, 2}, Extent{2, 2, 4}, Extent{1, 1, 5}, Extent{1, 1, 1}, Extent{8, 8, 1}}) {
      const Volume in = busy_volume(extent, 1);
      for (const double sigma : {20.0, 700.0}) expect_as_on_cpu(in, make_params(in, block, Radius3{2, 1, 1}, sigma));
      expect_as_on_cpu(with_holes(in), make_params(in, block, Radius3{1, 2, 1}));
      expect_as_on_cpu(in, make_params(in, block, Radius3{2, 2, 2}, 80, Bm4dQuality::best));
    }
  }
}

/// Windows as wide as one strip and as several.
TEST(EmulatedBm4d, EveryRadius) {
  const Volume in = busy_volume({19, 17, 9}, 2);
  for (const Radius3 search :
       {Radius3{0, 0, 0}, Radius3{1, 0, 0}, Radius3{0, 3, 1}, Radius3{3, 0, 2}, Radius3{4, 2, 1}, Radius3{5, 1, 3},
        Radius3{12, 1, 1}, Radius3{5, 5, 5}, Radius3{7, 7, 7}, Radius3{9, 9, 1}, Radius3{13, 13, 1}}) {
    for (const DctBlock block : blocks) expect_as_on_cpu(in, make_params(in, block, search));
  }
  const Volume wide = busy_volume({66, 35, 3}, 3);
  expect_as_on_cpu(wide, make_params(wide, DctBlock::square, Radius3{31, 17, 0}));
}

TEST(EmulatedBm4d, EveryStrength) {
  const Volume in = with_holes(busy_volume({19, 13, 9}, 3));
  for (const double sigma : {0.0, 1e-30, 1e-6, 0.5, 20.0, 60.0, 700.0, 1e4, 1e30}) {
    for (const DctBlock block : blocks) expect_as_on_cpu(in, make_params(in, block, Radius3{2, 2, 2}, sigma));
  }
}

TEST(EmulatedBm4d, CorrelatedNoiseAndNoiseThatVaries) {
  NoiseSpectrum spectrum{{{4, 3, 5}}, {}, {}};
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 4; ++x)
      spectrum.in_plane.push_back(std::exp2(-1.0F * static_cast<float>(x) - 0.7F * static_cast<float>(y)));
  }
  for (int z = 0; z < 5; ++z) spectrum.across.push_back(std::exp2(-0.4F * static_cast<float>(z)));
  const Volume in = with_holes(busy_volume({21, 14, 9}, 9));
  for (const DctBlock block : blocks) {
    Bm4dParams params = make_params(in, block, Radius3{3, 2, 1});
    params.map = {{{2, 1, 2}}, {0.4F, 1.5F, 1, 0.2F}};
    expect_as_on_cpu(in, params);
    params.spectrum = spectrum;
    expect_as_on_cpu(in, params);
    params.search_radius = Radius3{9, 9, 1};
    expect_as_on_cpu(in, params);
  }
}

/// Where all blocks are alike, the first of the window are taken.
TEST(EmulatedBm4d, FlatVolumesWithAFewNoisyVoxels) {
  for (const float value : {0.0F, -1024.0F, 37.25F, 3e30F}) {
    const Volume in(Extent{13, 12, 9}, {1, 1, 1}, value);
    for (const DctBlock block : blocks) expect_as_on_cpu(in, make_params(in, block, Radius3{5, 5, 5}));
  }
  Volume in({30, 21, 9}, {1, 1, 1}, 100);
  for (std::size_t i = 500; i < in.voxels.size(); i += 1601) in.voxels[i] = 150;
  for (const DctBlock block : blocks) {
    for (const Bm4dQuality quality : {Bm4dQuality::fast, Bm4dQuality::standard}) {
      expect_as_on_cpu(in, make_params(in, block, {}, 20, quality));
    }
  }
}

TEST(EmulatedBm4d, SmallLesions) {
  Volume in = with_holes(small_lesions({31, 13, 34}, 15, 90).volume);
  for (std::size_t i = 301; i < in.voxels.size(); i += 613) in.voxels[i] += static_cast<float>(60 + i % 150);
  for (const DctBlock block : blocks) {
    Bm4dParams params = make_params(in, block, Radius3{2, 2, 1}, 15);
    expect_as_on_cpu(in, params);
    params.map = {{{2, 1, 2}}, {0.4F, 1.5F, 1, 0.2F}};
    expect_as_on_cpu(in, params);
  }
}

TEST(EmulatedBm4d, SeveralTiles) {
  const Volume in = with_holes(busy_volume({75, 29, 11}, 7)), lesions = small_lesions({75, 29, 11}, 15, 90).volume;
  for (const DctBlock block : blocks) {
    expect_as_on_cpu(in, make_params(in, block, {}));
    expect_as_on_cpu(lesions, make_params(lesions, block, Radius3{2, 1, 1}, 15));
  }
}

/// Shared memory of 99 KiB, as many devices have it, and of so little that blocks are compared from global memory.
TEST(EmulatedBm4d, LittleSharedMemory) {
  const Volume in = with_holes(busy_volume({35, 21, 11}, 7));
  const std::size_t most = emulation::most_shared_bytes;
  for (const std::size_t kibibytes : {99U, 20U}) {
    emulation::most_shared_bytes = kibibytes * 1024;
    for (const DctBlock block : blocks) expect_as_on_cpu(in, make_params(in, block, Radius3{5, 5, 5}));
  }
  emulation::most_shared_bytes = most;
}

TEST(EmulatedBm4d, ABoxComesOutAsItDoesInTheWhole) {
  const Index3 origin{6, 2, 5};
  const Extent extent{{20, 15, 17}};
  for (const auto& [volume, sigma] :
       {std::pair(busy_volume({33, 21, 29}, 7), 80.0), {small_lesions({33, 21, 29}, 15, 90).volume, 15.0}}) {
    const Volume whole = with_holes(volume);
    for (const DctBlock block : blocks) {
      const Bm4dParams params = make_params(whole, block, Radius3{2, 1, 1}, sigma);
      const Volume box = filtered_box(whole, origin, extent, params.halo(),
                                      [&](auto from, auto to) { bm4d_cuda(from, to, params, cuda::LaunchContext()); });
      EXPECT_TRUE(same_bytes(box, box_of(emulated(whole, params), origin, extent)));
    }
  }
}

}  // namespace
}  // namespace quietvox::test
