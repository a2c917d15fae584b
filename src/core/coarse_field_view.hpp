// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/host_device_macro.hpp"
#include "core/noise_model.hpp"

namespace quietvox {

/// How code of both backends reads a CoarseField over a volume: the same bits everywhere. `values` lie where it runs.
struct CoarseFieldView {
  const float* values;
  Extent size, volume;

  /// Where a voxel lies along an axis: so far from a node to the next.
  struct Place {
    std::int64_t node, next;
    double weight;
  };
  static QV_HD Place place(std::int64_t voxel, std::int64_t voxels, std::int64_t nodes) {
    if (nodes == 1 || voxels == 1) return {0, 0, 0};
    const std::int64_t whole = voxel * (nodes - 1) / (voxels - 1), node = whole < nodes - 1 ? whole : nodes - 2;
    return {node, node + 1, weight(voxel, node, voxels, nodes)};
  }
  static QV_HD double weight(std::int64_t voxel, std::int64_t node, std::int64_t voxels, std::int64_t nodes) {
    const std::int64_t beyond = voxel * (nodes - 1) - node * (voxels - 1);
    return static_cast<double>(beyond) / static_cast<double>(voxels - 1);
  }

  QV_HD double at(std::int64_t x, std::int64_t y, std::int64_t z) const {
    const Place at_x = place(x, volume.x, size.x), at_y = place(y, volume.y, size.y);
    const Place at_z = place(z, volume.z, size.z);
    return bounded(between(at_node(at_x.node, at_y, at_z), at_node(at_x.next, at_y, at_z), at_x.weight));
  }
  /// Of a row of the volume, at a node along x.
  QV_HD double at_node(std::int64_t x, const Place& y, const Place& z) const {
    const auto value = [&](std::int64_t at_y, std::int64_t at_z) {
      return static_cast<double>(values[(at_z * size.y + at_y) * size.x + x]);
    };
    return between(between(value(y.node, z.node), value(y.next, z.node), y.weight),
                   between(value(y.node, z.next), value(y.next, z.next), y.weight), z.weight);
  }
  static QV_HD double between(double first, double next, double weight) {
#ifdef __CUDA_ARCH__
    return __dmul_rn(first, 1 - weight) + __dmul_rn(next, weight);  // fused, it is rounded otherwise
#else
    return first * (1 - weight) + next * weight;
#endif
  }
  static QV_HD double bounded(double value) {
    constexpr double least = 1e-3;
    return value > least ? value : least;
  }
};

}  // namespace quietvox
