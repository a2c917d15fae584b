// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise_pieces.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "core/memory_volume.hpp"
#include "support/volumes.hpp"
#include "support/white_noise.hpp"

namespace quietvox::test {
namespace {

std::shared_ptr<const std::vector<VolumePiece>> pieces_of(const Volume& volume) {
  MemoryVolume source(volume.view());
  PieceKeeper keeper(source);
  Volume read(volume.extent);
  keeper.read(read.view());
  return keeper.pieces_of_object();
}

/// The darkest voxel of strong noise lies far below the air.
TEST(NoisePieces, AirIsNoPartOfTheObjectHoweverStrongTheNoiseIs) {
  Volume volume({96, 96, 48});
  for (std::int64_t y = 0; y < 96; ++y) {
    for (std::int64_t x = 0; x < 64; ++x) {
      for (std::int64_t z = 0; z < 48; ++z) volume.view().at(x, y, z) = 1000;
    }
  }
  for (const double sigma : {10.0, 90.0, 200.0}) {
    const auto pieces = pieces_of(with_white_noise(volume, sigma, 3));
    ASSERT_TRUE(pieces);
    EXPECT_EQ(pieces->size(), 5U);
    for (const VolumePiece& piece : *pieces) EXPECT_LT(piece.origin.x, 64) << sigma;
  }
}

TEST(NoisePieces, DarkTissueIsNotTakenForAir) {
  Volume volume({96, 96, 48}, {1, 1, 1}, 600);
  for (std::int64_t i = 0; i < volume.extent.voxels(); ++i) {
    if (i % 96 < 48) volume.voxels[static_cast<std::size_t>(i)] = 400;
  }
  const auto pieces = pieces_of(with_white_noise(volume, 20, 5));
  ASSERT_TRUE(pieces);
  EXPECT_TRUE(std::ranges::any_of(*pieces, [](const VolumePiece& piece) { return piece.origin.x < 16; }));
  const auto two = pieces_of(with_white_noise(Volume({60, 40, 20}, {1, 1, 1}, 500), 20, 6));
  ASSERT_TRUE(two);
  EXPECT_EQ(two->size(), 2U);
}

TEST(NoisePieces, AnImageHasMany) {
  const auto pieces = pieces_of(with_white_noise(Volume({512, 400, 1}, {1, 1, 1}, 500), 20, 4));
  ASSERT_TRUE(pieces);
  EXPECT_EQ(pieces->size(), 24U);
  for (const VolumePiece& piece : *pieces) EXPECT_EQ(piece.extent, (Extent{64, 64, 1}));
}

}  // namespace
}  // namespace quietvox::test
