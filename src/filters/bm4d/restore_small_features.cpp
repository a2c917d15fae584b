// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bm4d/restore_small_features.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "filters/bm4d/noise.hpp"

namespace quietvox::bm4d_kernel {
namespace {

/// A row of a box that lies within `view`, from the box's first voxel on.
template <class T>
T* row_of(const VolumeView<T>& view, const VolumeView<const float>& box, std::int64_t y, std::int64_t z) {
  return view.row(y + box.origin.y - view.origin.y, z + box.origin.z - view.origin.z) + (box.origin.x - view.origin.x);
}

/// Rows of what was taken about a row of `filtered`, by z and y, each with a 0 before and after.
class Taken {
 public:
  explicit Taken(std::int64_t row_length) {
    for (auto& of_slice : rows_) of_slice.fill(std::vector<float>(static_cast<std::size_t>(row_length) + 2));
  }

  /// `across`: slices beside this one count.
  void read(const VolumeView<const float>& noisy, const VolumeView<const float>& filtered, std::int64_t y,
            std::int64_t z, bool across) {
    for (int dz = -1; dz <= 1; ++dz) {
      for (int dy = -1; dy <= 1; ++dy) {
        float* const to = row(dy, dz);
        const std::int64_t at_y = y + dy, at_z = z + dz;
        const bool is_there = at_y >= 0 && at_y < filtered.extent.y && at_z >= 0 && at_z < filtered.extent.z;
        if (!is_there || (dz != 0 && !across)) {
          std::fill_n(to, filtered.extent.x, 0.0F);
          continue;
        }
        const float *const before = row_of(noisy, filtered, at_y, at_z), *const after = filtered.row(at_y, at_z);
        for (std::int64_t x = 0; x < filtered.extent.x; ++x) to[x] = taken_from(before[x], after[x]);
      }
    }
  }

  float* row(std::int64_t dy, std::int64_t dz) {
    return rows_[static_cast<std::size_t>(dz + 1)][static_cast<std::size_t>(dy + 1)].data() + 1;
  }

 private:
  std::array<std::array<std::vector<float>, 3>, 3> rows_;
};

}  // namespace

Significance significance_of(const Bm4dParams& params) {
  Radius3 box;
  for (int axis = 0; axis < 3; ++axis) box[axis] = std::min(params.lengths[axis], 2);
  const double voxels = box.x * box.y * box.z;
  const double variance =
      covariances_of(params.spectrum, Basis::wavelets, box, {0, 0, 0}).values.front() * variance_grid / voxels;
  const double of_white_noise = 1 / voxels;  // low frequencies may be stronger than they seem
  return {static_cast<float>(params.most_noise() * std::sqrt(std::max(variance, of_white_noise))),
          static_cast<float>(1 / voxels), static_cast<float>(params.most_noise()),
          static_cast<float>(params.most_change())};
}

void restore_small_features(VolumeView<const float> noisy, VolumeView<const float> filtered, VolumeView<float> out,
                            const Bm4dParams& params, const Execution& execution) {
  constexpr std::int64_t grain = 32;  // rows
  const Significance significance = significance_of(params);
  const std::int64_t first = out.origin.x - filtered.origin.x;
  parallel_for(execution, out.extent.y * out.extent.z, grain, [&](std::int64_t begin, std::int64_t end) {
    Taken taken(filtered.extent.x);
    std::vector<float> map(static_cast<std::size_t>(out.extent.x), 1.0F);
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t y = row % out.extent.y, z = row / out.extent.y;
      taken.read(noisy, filtered, y + out.origin.y - filtered.origin.y, z + out.origin.z - filtered.origin.z,
                 params.neighbours().z > 0);
      const float* rows[3][3];
      for (int dz = -1; dz <= 1; ++dz) {
        for (int dy = -1; dy <= 1; ++dy) rows[dz + 1][dy + 1] = taken.row(dy, dz) + first;
      }
      if (params.map.varies()) {
        params.map.row({out.origin.x, y + out.origin.y, z + out.origin.z}, params.volume, map);
      }
      const VolumeView<const float> place = out;
      const float *const before = row_of(noisy, place, y, z), *const after = row_of(filtered, place, y, z);
      float* const to = out.row(y, z);
      for (std::int64_t x = 0; x < out.extent.x; ++x) {
        const BoxSums sums = BoxSums::about_voxel([&](int dx, int dy, int dz) { return rows[dz + 1][dy + 1][x + dx]; });
        const auto filtered_at = [&](int dx, int dy) {
          const std::int64_t at_x = x + first + dx, at_y = y + out.origin.y - filtered.origin.y + dy;
          const bool is_there = at_x >= 0 && at_x < filtered.extent.x && at_y >= 0 && at_y < filtered.extent.y;
          return is_there ? filtered.row(at_y, z + out.origin.z - filtered.origin.z)[at_x] : after[x];
        };
        to[x] = significance.restored(before[x], after[x], sums, map[static_cast<std::size_t>(x)], filtered_at);
      }
    }
  });
}

}  // namespace quietvox::bm4d_kernel
