// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bilateral_window.hpp"

namespace quietvox {

BilateralWindow::BilateralWindow(const BilateralParams& params, const Spacing& spacing) {
  constexpr double smallest = -126;  // below, a weight is not a normal float
  const Radius3 r = params.halo();
  log2_weights_.reserve(static_cast<std::size_t>(2 * r.x + 1) * (2 * r.y + 1) * (2 * r.z + 1));
  for (int dz = -r.z; dz <= r.z; ++dz) {
    for (int dy = -r.y; dy <= r.y; ++dy) {
      const auto counts = [&](int dx) {
        return in_window(params, {dx, dy, dz}) && log2_domain_weight(params, spacing, {dx, dy, dz}) >= smallest;
      };
      int reach = r.x;
      while (reach >= 0 && !counts(reach)) --reach;
      if (reach < 0) continue;
      rows_.push_back({dy, dz, reach, false, log2_weights_.data() + log2_weights_.size()});
      for (int dx = -reach; dx <= reach; ++dx) {
        log2_weights_.push_back(static_cast<float>(log2_domain_weight(params, spacing, {dx, dy, dz})));
      }
    }
  }
  constexpr int group = 128;
  int voxels = 0;
  for (Row& row : rows_) {
    voxels += 2 * row.reach + 1;
    const Row* next = &row == &rows_.back() ? nullptr : &row + 1;
    row.ends_group = !next || voxels + 2 * next->reach + 1 > group;
    if (row.ends_group) voxels = 0;
  }
}

}  // namespace quietvox
