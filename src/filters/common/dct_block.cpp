// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/common/dct_block.hpp"

namespace quietvox {

DctBlock default_block(const VolumeFacts& facts, double thick) {
  const bool apart = !facts.header.slices_are_even || facts.spacing.z > thick * facts.in_plane_spacing();
  return apart || facts.extent.z < 4 ? DctBlock::square : DctBlock::cube;
}

Radius3 block_lengths(DctBlock block, const Extent& extent) {
  Radius3 lengths = block == DctBlock::cube ? Radius3{4, 4, 4} : Radius3{8, 8, 1};
  for (int axis = 0; axis < 3; ++axis) {
    while (lengths[axis] > extent[axis]) lengths[axis] /= 2;
  }
  return lengths;
}

}  // namespace quietvox
