// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/dct.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "cuda/resources.hpp"
#include "support/difference.hpp"
#include "support/reference_dct.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {
namespace {

constexpr DctBlock blocks[] = {DctBlock::cube, DctBlock::square};

DctParams make_params(const Volume& volume, DctBlock block, double sigma = 80) {
  DctParams params;
  params.sigma = sigma;
  params.block = block;
  return params.resolved({volume.extent, volume.spacing});
}

Volume with_holes(Volume volume) {
  for (std::size_t i = 37; i < volume.voxels.size(); i += 331) {
    volume.voxels[i] = std::numeric_limits<float>::quiet_NaN();
  }
  for (std::size_t i = 171; i < volume.voxels.size(); i += 997) {
    volume.voxels[i] = std::numeric_limits<float>::infinity();
  }
  return volume;
}

Volume emulated(const Volume& in, const DctParams& params, int multiprocessors) {
  constexpr float not_written = -7777;
  Volume out(in.extent, in.spacing, not_written);
  dct_cuda(in.view(), out.view(), params, {.multiprocessors = multiprocessors});
  return out;
}

void expect_reference(const Volume& in, const DctParams& params, int multiprocessors = 3) {
  EXPECT_EQ(first_difference(reference_dct(in, params), emulated(in, params, multiprocessors), dct_tolerance(in)), "")
      << in.extent.x << "x" << in.extent.y << "x" << in.extent.z << ", blocks of " << params.lengths.x << "x"
      << params.lengths.y << "x" << params.lengths.z << ", sigma " << *params.sigma;
}

/// Blocks that have a kernel of their own and others, several tiles along every axis and less than one.
TEST(EmulatedDct, EveryExtent) {
  for (const Extent extent : {Extent{41, 29, 9}, Extent{6, 5, 140}, Extent{140, 20, 2}, Extent{5, 4, 4},
                              Extent{8, 9, 1}, Extent{3, 9, 6}, Extent{70, 7, 3}, Extent{1, 1, 9}, Extent{9, 135, 1}}) {
    const Volume in = busy_volume(extent, 1);
    for (const DctBlock block : blocks) {
      expect_reference(in, make_params(in, block));
      expect_reference(with_holes(in), make_params(in, block));
    }
  }
}

TEST(EmulatedDct, EveryStrength) {
  const Volume in = with_holes(busy_volume({19, 13, 9}, 3));
  for (const double sigma : {0.0, 1e-40, 1e-30, 1e-6, 0.5, 60.0, 700.0, 1e6, 1e30}) {
    for (const DctBlock block : blocks) expect_reference(in, make_params(in, block, sigma));
  }
}

TEST(EmulatedDct, EveryScaleOfData) {
  for (const double scale : {1e-30, 1e-3, 1e6, 1e30}) {
    Volume in = busy_volume({9, 8, 5}, 2);
    for (float& voxel : in.voxels) voxel = static_cast<float>(voxel * scale);
    for (const double sigma : {1e-30, 80 * scale}) {
      for (const DctBlock block : blocks) expect_reference(in, make_params(in, block, sigma));
    }
  }
}

/// Shared memory of 99 KiB, as many devices have it.
TEST(EmulatedDct, LittleSharedMemory) {
  const Volume in = busy_volume({17, 12, 9}, 5);
  const std::size_t most = emulation::most_shared_bytes;
  emulation::most_shared_bytes = 99 * 1024;
  for (const DctBlock block : blocks) expect_reference(in, make_params(in, block));
  emulation::most_shared_bytes = most;
}

/// However many tiles a thread block makes, and wherever they begin.
TEST(EmulatedDct, TilesNeverShow) {
  const Volume whole = with_holes(busy_volume({45, 35, 31}, 7));
  const Index3 origin{6, 2, 5};
  const Extent extent{{30, 27, 19}};
  for (const DctBlock block : blocks) {
    const DctParams params = make_params(whole, block);
    const Volume expected = emulated(whole, params, 1);
    for (const int multiprocessors : {2, 5, 1000}) {
      EXPECT_TRUE(same_bytes(emulated(whole, params, multiprocessors), expected));
      const Volume box = filtered_box(whole, origin, extent, params.halo(), [&](auto from, auto to) {
        dct_cuda(from, to, params, {.multiprocessors = multiprocessors});
      });
      EXPECT_TRUE(same_bytes(box, box_of(expected, origin, extent)));
    }
  }
}

}  // namespace
}  // namespace quietvox::test
