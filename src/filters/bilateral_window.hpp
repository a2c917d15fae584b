// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "filters/bilateral.hpp"

namespace quietvox {

/// The neighbours of a voxel that have a weight, as rows along x, for kernels that march along rows.
class BilateralWindow {
 public:
  /// Offsets (-reach .. reach, dy, dz).
  struct Row {
    int dy, dz, reach;
    bool ends_group;            ///< sums in float32 stay accurate over the rows of a group, about a hundred voxels
    const float* log2_weights;  ///< of the spatial weights; [0] belongs to dx = -reach
  };

  BilateralWindow(const BilateralParams&, const Spacing&);

  /// In ascending order of dz, then dy.
  std::span<const Row> rows() const { return rows_; }

 private:
  std::vector<Row> rows_;
  std::vector<float> log2_weights_;
};

}  // namespace quietvox
