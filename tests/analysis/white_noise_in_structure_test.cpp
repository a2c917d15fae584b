// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/white_noise_in_structure.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/memory_volume.hpp"
#include "phantom/scanner_noise.hpp"

namespace quietvox {
namespace {

constexpr Extent extent{{64, 64, 20}};
using Voxels = std::vector<float>;

Voxels with_noise(const Voxels& voxels, NoiseKind kind, double sigma) {
  Voxels noisy = voxels;
  MemoryVolume source({voxels.data(), extent});
  NoiseAdder(source, {kind, sigma, 4711}, {}).add({noisy.data(), extent});
  return noisy;
}

double measured(const Voxels& voxels) {
  MemoryVolume source({voxels.data(), extent});
  return white_noise_in_structure(NoiseBricks(source, nullptr, 1),
                                  std::min(static_cast<double>(*std::ranges::min_element(voxels)), 0.0));
}

Voxels flat() { return Voxels(static_cast<std::size_t>(extent.voxels()), 1000); }

/// Discs about 8 voxels wide, whose sharp edges leave gaps of 6 voxels but few of 8x8x4.
Voxels full_of_edges() {
  Voxels voxels = flat();
  for (std::int64_t z = 0; z < extent.z; ++z) {
    for (std::int64_t y = 0; y < extent.y; ++y) {
      for (std::int64_t x = 0; x < extent.x; ++x) {
        const double across = std::sin(0.4 * static_cast<double>(x) + 1.7 * static_cast<double>(z)),
                     down = std::sin(0.4 * static_cast<double>(y) + 0.9 * static_cast<double>(z * z));
        voxels[static_cast<std::size_t>((z * extent.y + y) * extent.x + x)] += across + down > 0.4 ? 200.0F : 0.0F;
      }
    }
  }
  return voxels;
}

TEST(WhiteNoiseInStructure, IsFound) {
  for (const double sigma : {1.0, 10.0}) {
    EXPECT_NEAR(measured(with_noise(flat(), NoiseKind::gaussian, sigma)), sigma, 0.05 * sigma);
  }
}

TEST(WhiteNoiseInStructure, IsFoundBetweenEdges) {
  EXPECT_NEAR(measured(with_noise(full_of_edges(), NoiseKind::gaussian, 5)), 5, 1);
}

/// Their noise may be weaker, as in emission tomography.
TEST(WhiteNoiseInStructure, IsNotFoundIfTheQuietestPartsAreMuchDarker) {
  Voxels voxels = full_of_edges(), dark = voxels;
  for (std::size_t i = 0; i < voxels.size() / 5; ++i) dark[i] *= 0.4F;
  const auto partly_dark = [&](double sigma_of_dark) {
    Voxels noisy = with_noise(dark, NoiseKind::gaussian, 20);
    const Voxels quiet = with_noise(dark, NoiseKind::gaussian, sigma_of_dark);
    std::copy_n(quiet.begin(), voxels.size() / 5, noisy.begin());
    return noisy;
  };
  EXPECT_EQ(measured(partly_dark(4)), 0);
  for (const float offset : {0.0F, -2000.0F}) {
    for (float& voxel : voxels) voxel += offset;
    EXPECT_GT(measured(with_noise(voxels, NoiseKind::gaussian, 20)), 0) << offset;
  }
}

TEST(WhiteNoiseInStructure, IsNotFoundIfTheNoiseIsNotWhite) {
  for (const NoiseKind kind : {NoiseKind::zero_filled, NoiseKind::interpolated}) {
    EXPECT_EQ(measured(with_noise(flat(), kind, 10)), 0) << static_cast<int>(kind);
  }
}

TEST(WhiteNoiseInStructure, IsNotFoundWhereManyPiecesHoldOneValue) {
  EXPECT_EQ(measured(full_of_edges()), 0);
  Voxels voxels = with_noise(full_of_edges(), NoiseKind::gaussian, 10);
  for (std::size_t i = 0; i < voxels.size(); ++i) {  // an eighth of all
    if (i % 64 < 32 && i / (64 * 64) % 4 == 0) voxels[i] = 1000.3F;
  }
  EXPECT_EQ(measured(voxels), 0);
}

TEST(WhiteNoiseInStructure, DoesNotCountPiecesWithMissingVoxels) {
  Voxels voxels = with_noise(flat(), NoiseKind::gaussian, 10);
  for (std::size_t i = 0; i < voxels.size(); i += 97) voxels[i] = std::nanf("");
  EXPECT_NEAR(measured(voxels), 10, 1);
}

}  // namespace
}  // namespace quietvox
