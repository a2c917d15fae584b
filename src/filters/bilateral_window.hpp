// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "filters/bilateral.hpp"

namespace quietvox {

/// A neighbour that has a weight.
struct BilateralTap {
  std::int32_t offset;  ///< in memory, from the centre
  float log2_weight;    ///< of the spatial weight
};

/// The neighbours of a voxel without itself, of resolved parameters, in ascending order of z, y, x, for voxels that lie
/// `pitch` apart from row to row and `plane` from slice to slice.
std::vector<BilateralTap> bilateral_taps(const BilateralParams&, const Spacing&, std::int64_t pitch,
                                         std::int64_t plane);

}  // namespace quietvox
