// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/volume_view.hpp"
#include "filters/common/tiles.hpp"

/// The inner loops of the CPU's DCT filter, in the widest vectors that the machine has.
///
/// Lanes are blocks side by side along x. Rows are transformed along x once, for all blocks that share them; a block's
/// coefficients are then made and shrunk in the first cache, transformed back along y and z, and added up. Transforming
/// back along x comes last, once for each row of results. A tile goes slice by slice. What is added to a voxel is added
/// in the order of the blocks' places, so that tiles may be cut anywhere.
namespace quietvox::dct_kernel {

constexpr int first_pass_order = 8, second_pass_order = 4;  ///< the n of G(r, n)

/// One pass over a volume. Boxes are told apart by their origins; what lies in none of `in` lies outside the
/// volume.
struct Pass {
  VolumeView<const float> in;
  const VolumeView<const float>* oracle;  ///< what the second pass takes the gains from; null in the first
  VolumeView<float> out;
  Radius3 lengths;  ///< voxels of a block per axis: 1, 2, 4 or 8, the product at most 64
  float rate;       ///< r = rate coefficient
};

Extent largest_tile(Radius3 lengths);

/// What a thread works in: rings of as many slices as a block has.
struct Scratch {
  std::vector<float> row;             ///< of the input
  std::vector<float> signal, oracle;  ///< rows transformed along x
  std::vector<float> sums;            ///< of blocks, transformed along x
  std::vector<float> weights;         ///< of blocks, by their first slice
  std::vector<float> inverted;        ///< a row of results for each place within a block
};
std::size_t scratch_bytes(Radius3 lengths);

/// The tile is at most largest_tile() along x and y.
void filter_tile(const Pass&, const Tile&, Scratch&);

}  // namespace quietvox::dct_kernel
