// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bm4d/significance.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "filters/bm4d/noise.hpp"

namespace quietvox::bm4d_kernel {
namespace {

/// Sums of two neighbours: of each voxel and the one before it, with nothing before the first and after the last.
using PairSums = std::vector<float>;

/// What was taken from a row, in pairs; nothing where the row lies outside.
void pairs_of_row(const VolumeView<const float>& noisy, const VolumeView<const float>& filtered, std::int64_t y,
                  std::int64_t z, PairSums& pairs) {
  const Extent& extent = filtered.extent;
  std::ranges::fill(pairs, 0.0F);
  if (y < 0 || z < 0 || y >= extent.y || z >= extent.z) return;
  const float* const before =
      noisy.row(y + filtered.origin.y - noisy.origin.y, z + filtered.origin.z - noisy.origin.z) +
      (filtered.origin.x - noisy.origin.x);
  const float* const after = filtered.row(y, z);
  float previous = 0;
  for (std::int64_t x = 0; x < extent.x; ++x) {
    const float taken = Significance::taken(before[x], after[x]);
    pairs[static_cast<std::size_t>(x)] = previous + taken;
    previous = taken;
  }
  pairs[static_cast<std::size_t>(extent.x)] = previous;
}

}  // namespace

Significance significance_of(const Bm4dParams& params) {
  Radius3 box;
  for (int axis = 0; axis < 3; ++axis) box[axis] = std::min(params.lengths[axis], 2);
  const double voxels = static_cast<double>(box.x * box.y * box.z);
  const double variance =
      covariances_of(params.spectrum, Basis::wavelets, box, {0, 0, 0}).values.front() * variance_grid / voxels;
  const double of_white_noise = 1 / voxels;  // low frequencies may be stronger than they seem
  return {static_cast<float>(params.most_noise() * std::sqrt(std::max(variance, of_white_noise))),
          static_cast<float>(1 / voxels), static_cast<float>(params.most_change())};
}

void restore_significant(VolumeView<const float> noisy, VolumeView<const float> filtered, VolumeView<float> out,
                         const Bm4dParams& params, const Execution& execution) {
  constexpr std::int64_t grain = 32;  // rows
  const Significance significance = significance_of(params);
  const auto row_length = static_cast<std::size_t>(filtered.extent.x) + 1;
  const std::int64_t first = out.origin.x - filtered.origin.x;
  parallel_for(execution, out.extent.y * out.extent.z, grain, [&](std::int64_t begin, std::int64_t end) {
    std::array<std::array<PairSums, 3>, 3> pairs;  // of rows about the one that is written, by z and y
    for (auto& of_slice : pairs) of_slice.fill(PairSums(row_length));
    PairSums high(row_length), low(row_length);  // of boxes that begin at a voxel, among those of the row
    std::vector<float> map(static_cast<std::size_t>(out.extent.x), 1.0F);
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t y = row % out.extent.y + out.origin.y, z = row / out.extent.y + out.origin.z;
      for (std::int64_t dz = 0; dz < 3; ++dz) {
        for (std::int64_t dy = 0; dy < 3; ++dy) {
          // Blocks of one slice have neighbours in none, whatever lies there.
          const std::int64_t slice = dz == 1 || params.neighbours().z > 0 ? z + dz - 1 - filtered.origin.z : -1;
          pairs_of_row(noisy, filtered, y + dy - 1 - filtered.origin.y, slice,
                       pairs[static_cast<std::size_t>(dz)][static_cast<std::size_t>(dy)]);
        }
      }
      std::ranges::fill(high, 0.0F);
      std::ranges::fill(low, 0.0F);
      for (std::size_t dz = 0; dz < 2; ++dz) {
        for (std::size_t dy = 0; dy < 2; ++dy) {
          const float *const a = pairs[dz][dy].data(), *const b = pairs[dz][dy + 1].data();
          const float *const c = pairs[dz + 1][dy].data(), *const d = pairs[dz + 1][dy + 1].data();
          for (std::size_t x = 0; x < row_length; ++x) {
            const float sum = (a[x] + b[x]) + (c[x] + d[x]);
            high[x] = std::max(high[x], sum);
            low[x] = std::min(low[x], sum);
          }
        }
      }
      if (params.map.varies()) params.map.row({out.origin.x, y, z}, params.volume, map);
      const float* const before = noisy.row(y - noisy.origin.y, z - noisy.origin.z) + (out.origin.x - noisy.origin.x);
      const float* const after = filtered.row(y - filtered.origin.y, z - filtered.origin.z) + first;
      float* const to = out.row(y - out.origin.y, z - out.origin.z);
      for (std::int64_t x = 0; x < out.extent.x; ++x) {
        const auto pair = static_cast<std::size_t>(first + x);
        to[x] = significance.restored(before[x], after[x], std::max(high[pair], high[pair + 1]),
                                      std::min(low[pair], low[pair + 1]), map[static_cast<std::size_t>(x)]);
      }
    }
  });
}

}  // namespace quietvox::bm4d_kernel
