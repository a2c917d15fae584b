// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/dct.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "filters/dct_kernel.hpp"
#include "filters/kept.hpp"

namespace quietvox {
namespace {

using namespace dct_kernel;

/// Slices that are filtered together: what the first pass makes of them, and of their neighbours, is held.
std::int64_t slices_together(const Extent& extent) {
  constexpr std::int64_t voxels = std::int64_t{1} << 22;
  return std::clamp<std::int64_t>(voxels / std::max<std::int64_t>(extent.slice(), 1), 32,
                                  std::max<std::int64_t>(extent.z, 32));
}

/// Fills the slices [first, last) of the output of a pass.
void run_pass(const Pass& pass, std::int64_t first, std::int64_t last, const Execution& execution) {
  const Extent tile = largest_tile(pass.lengths), extent{{pass.out.extent.x, pass.out.extent.y, last - first}};
  Extent count;
  for (int axis = 0; axis < 3; ++axis) count[axis] = (extent[axis] + tile[axis] - 1) / tile[axis];
  parallel_for_workers(
      execution, count.voxels(), [] { return Scratch(); },
      [&](Scratch& scratch, std::int64_t i) {
        const Index3 index{i % count.x, i / count.x % count.y, i / count.slice()};
        Tile part;
        for (int axis = 0; axis < 3; ++axis) {
          const std::int64_t origin = axis == 2 ? first : pass.out.origin[axis];
          part.first[axis] = origin + index[axis] * tile[axis];
          part.last[axis] = std::min(part.first[axis] + tile[axis], origin + extent[axis]);
        }
        filter_tile(pass, part, scratch);
      });
}

float rate_of(double threshold) {
  return static_cast<float>(std::min<double>(1 / threshold, std::numeric_limits<float>::max()));
}

}  // namespace

DctParams DctParams::resolved(const VolumeFacts& facts) const {
  DctParams params = *this;
  if (!block) {
    constexpr double thick =
        5;  // in-plane voxels: chris_t1 with its slices averaged by n, of which 4 is below, 6 above
    const bool apart = !facts.header.slices_are_even || facts.spacing.z > thick * facts.in_plane_spacing();
    params.block = apart || facts.extent.z < 4 ? DctBlock::square : DctBlock::cube;
  }
  params.lengths = *params.block == DctBlock::cube ? Radius3{4, 4, 4} : Radius3{8, 8, 1};
  for (int axis = 0; axis < 3; ++axis) {
    while (params.lengths[axis] > facts.extent[axis]) params.lengths[axis] /= 2;
  }
  if (!sigma) params.sigma = facts.noise_sigma_for("sigma");
  return params;
}

std::size_t DctParams::working_bytes(const Extent& extent, int threads) const {
  const std::int64_t slices = std::min(slices_together(extent) + 2 * lengths.z, extent.z);
  return static_cast<std::size_t>(slices * extent.slice()) * sizeof(float) +
         static_cast<std::size_t>(threads) * scratch_bytes(lengths);
}

void dct_cpu(VolumeView<const float> in, VolumeView<float> out, const DctParams& params, const Execution& execution) {
  if (params.h() < 0x1p-140) {  // no two floats are that near and not equal
    keep_all(in, out);
    return;
  }
  const Radius3 reach{params.lengths.x - 1, params.lengths.y - 1, params.lengths.z - 1};
  const std::int64_t together = slices_together(out.extent), end = out.origin.z + out.extent.z;
  // Results of the first pass: slices that the next outputs reach too stay.
  VolumeView<float> basic = grown(out, reach, in);
  const std::int64_t slice = basic.extent.slice(), basic_end = basic.origin.z + basic.extent.z;
  std::vector<float> buffer(static_cast<std::size_t>(std::min(together + 2 * reach.z, basic.extent.z) * slice));
  basic.data = buffer.data();
  basic.extent.z = 0;
  for (std::int64_t first = out.origin.z; first < end; first += together) {
    const std::int64_t last = std::min(first + together, end), until = std::min(last + reach.z, basic_end);
    const std::int64_t from = std::max(basic.origin.z, first - reach.z), done = basic.origin.z + basic.extent.z;
    std::copy(buffer.data() + (from - basic.origin.z) * slice, buffer.data() + (done - basic.origin.z) * slice,
              buffer.data());
    basic.origin.z = from;
    basic.extent.z = until - from;
    const auto fraction = [&](std::int64_t z) {
      return static_cast<double>(z - out.origin.z) / static_cast<double>(out.extent.z);
    };
    const double begin = fraction(first), middle = (fraction(first) + fraction(last)) / 2;
    run_pass({in, nullptr, basic, params.lengths, rate_of(DctParams::first_threshold * params.h())}, done, until,
             execution.part(begin, middle));
    const VolumeView<const float> oracle = basic;
    run_pass({in, &oracle, out, params.lengths, rate_of(params.h())}, first, last,
             execution.part(middle, fraction(last)));
  }
}

}  // namespace quietvox
