// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bm4d.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/filters/bm4d/matching.cuh"
#include "cuda/filters/bm4d/shrinking.cuh"
#include "cuda/filters/common/canonical_zero.cuh"
#include "cuda/filters/common/copy.hpp"
#include "cuda/filters/common/device_noise_map.hpp"
#include "cuda/launch.cuh"
#include "filters/bm4d/restore_small_features.hpp"
#include "filters/bm4d/stage_setup.hpp"

namespace quietvox {
namespace {

using namespace cuda;
using namespace cuda::bm4d;
using bm4d_kernel::Basis, bm4d_kernel::Covariances, bm4d_kernel::Places, bm4d_kernel::Significance;
using bm4d_kernel::reference_places;
using bm4d_kernel::Stage;

// Each stage matches and shrinks some layers of references at a time, and divides the sums at the end. After the last
// stage, small features that were removed are put back. A warp makes a group. Sums are whole numbers, so their order
// does not matter. The first stage rounds as the CPU does; otherwise the second would form other groups.

/// Makes the volume that matching compares: the pilot times `per_voxel`, rounded to whole numbers; NaN at missing
/// voxels and in the margin.
__global__ void make_compared(DeviceView<const float> pilot, DeviceView<float> compared, int3 margin,
                              double per_voxel) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= compared.x || y >= compared.y) return;
  const int3 p{x - margin.x, y - margin.y, z - margin.z};
  const bool inside = p.x >= 0 && p.x < pilot.x && p.y >= 0 && p.y < pilot.y && p.z >= 0 && p.z < pilot.z;
  const float value = inside ? pilot.row(p.y, p.z)[p.x] : NAN;
  compared.row(y, z)[x] = is_present(value) ? static_cast<float>(rint(value * per_voxel)) : NAN;
}

/// out = noisy + sum of changes / sum of weights, that change bounded. Voxels that are missing or in no group stay.
__global__ void add_changes(DeviceView<const float> noisy, DeviceView<const ulonglong2> sums, DeviceView<float> out,
                            int3 noisy_offset, int3 sums_offset, double change_grid, double weight_grid, double most) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= out.x || y >= out.y) return;
  const float voxel = noisy.row(y + noisy_offset.y, z + noisy_offset.z)[x + noisy_offset.x];
  const ulonglong2 sum = sums.row(y + sums_offset.y, z + sums_offset.z)[x + sums_offset.x];
  const double change = static_cast<double>(static_cast<long long>(sum.x)) * change_grid;
  const double weight = static_cast<double>(static_cast<long long>(sum.y)) * weight_grid;
  const bool changes = sum.y > 0 && is_present(voxel);
  const double bounded = bm4d_kernel::bounded_change(change / weight, most);
  out.row(y, z)[x] = canonical_zero(changes ? static_cast<float>(voxel + bounded) : voxel);
}

/// What restore_small_features() is given.
struct Restoring {
  DeviceView<const float> noisy, filtered;
  DeviceView<float> out;
  int3 noisy_offset, filtered_offset;  ///< of `out`
  bool across;                         ///< boxes reach across slices
  Significance significance;
  CoarseFieldView map;  ///< without values: 1
  Index3 origin;        ///< of `out` in the volume

  /// What was taken from a voxel of `out` or beside it; nothing outside.
  __device__ float taken(int x, int y, int z) const {
    const int3 p{x + filtered_offset.x, y + filtered_offset.y, z + filtered_offset.z};
    if (p.x < 0 || p.y < 0 || p.z < 0 || p.x >= filtered.x || p.y >= filtered.y || p.z >= filtered.z) return 0;
    return bm4d_kernel::taken_from(noisy.row(y + noisy_offset.y, z + noisy_offset.z)[x + noisy_offset.x],
                                   filtered.row(p.y, p.z)[p.x]);
  }

  /// What was made of a voxel beside (x, y, z) of `out`, in the same slice; of one outside, what was made of that one.
  __device__ float filtered_beside(int x, int y, int z, int dx, int dy) const {
    const int3 p{x + filtered_offset.x, y + filtered_offset.y, z + filtered_offset.z};
    const bool is_there = p.x + dx >= 0 && p.x + dx < filtered.x && p.y + dy >= 0 && p.y + dy < filtered.y;
    return is_there ? filtered.row(p.y + dy, p.z)[p.x + dx] : filtered.row(p.y, p.z)[p.x];
  }
};

constexpr int restored_slices = 16;  // by a thread, which reads each slice once

__global__ void restore_small_features(const __grid_constant__ Restoring restoring) {
  const DeviceView<float>& out = restoring.out;
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= out.x || y >= out.y) return;
  const int first = blockIdx.z * restored_slices, last = min(first + restored_slices, out.z);
  float taken[3][3][3] = {};  // about the voxel, by z, y and x
  const auto read = [&](int slice, int z) {
    for (int i = 0; i < 9; ++i) taken[slice][i / 3][i % 3] = restoring.taken(x + i % 3 - 1, y + i / 3 - 1, z);
  };
  if (restoring.across) read(0, first - 1);
  read(1, first);
  for (int z = first; z < last; ++z) {
    if (restoring.across) read(2, z + 1);
    const auto sums =
        bm4d_kernel::BoxSums::about_voxel([&](int dx, int dy, int dz) { return taken[dz + 1][dy + 1][dx + 1]; });
    const Index3& origin = restoring.origin;
    const float map =
        restoring.map.values ? static_cast<float>(restoring.map.at(x + origin.x, y + origin.y, z + origin.z)) : 1.0F;
    const int3 from = restoring.noisy_offset, filtered = restoring.filtered_offset;
    out.row(y, z)[x] = restoring.significance.restored(
        restoring.noisy.row(y + from.y, z + from.z)[x + from.x],
        restoring.filtered.row(y + filtered.y, z + filtered.z)[x + filtered.x], sums, map,
        [&](int dx, int dy) { return restoring.filtered_beside(x, y, z, dx, dy); });
    if (restoring.across) {
      for (int i = 0; i < 9; ++i) {
        taken[0][i / 3][i % 3] = taken[1][i / 3][i % 3];
        taken[1][i / 3][i % 3] = taken[2][i / 3][i % 3];
      }
    } else if (z + 1 < last) {
      read(1, z + 1);
    }
  }
}

template <class T>
int3 triple(const Triple<T>& t) {
  return {static_cast<int>(t.x), static_cast<int>(t.y), static_cast<int>(t.z)};
}

dim3 grid_of(const Extent& extent, dim3 block) {
  return dim3(ceil_div(extent.x, block.x), ceil_div(extent.y, block.y), extent.z);
}

/// Leaves out the distances from which on blocks share no noise.
Covariances without_zeros(const Covariances& all) {
  Covariances some;
  some.size = {{1, 1, 1}};
  for (std::int64_t i = 0; i < all.size.voxels(); ++i) {
    const Index3 distance{i % all.size.x, i / all.size.x % all.size.y, i / all.size.slice()};
    const std::int32_t* const values = all.of(distance.x, distance.y, distance.z);
    if (std::all_of(values, values + block_room, [](std::int32_t value) { return value == 0; })) continue;
    for (int axis = 0; axis < 3; ++axis) some.size[axis] = std::max(some.size[axis], distance[axis] + 1);
  }
  for (std::int64_t i = 0; i < some.size.voxels(); ++i) {
    const std::int32_t* const values = all.of(i % some.size.x, i / some.size.x % some.size.y, i / some.size.slice());
    some.values.insert(some.values.end(), values, values + block_room);
  }
  return some;
}

/// The references whose groups may change voxels of `out`.
ReferenceGrid references_for(const Bm4dParams& params, const VolumeView<float>& out, const Index3& origin) {
  Index3 count, first, step, last;
  for (int axis = 0; axis < 3; ++axis) {
    const Places places = reference_places(params, axis, out.origin[axis], out.origin[axis] + out.extent[axis]);
    count[axis] = std::ssize(places);
    first[axis] = places.front() - origin[axis];
    step[axis] = params.step(axis);
    last[axis] = places.back() - origin[axis];
  }
  return {triple(count), triple(first), triple(step), triple(last)};
}

/// `pilot` is compared; `map` has no values where it is 1. `pilot` covers all places of groups that may change voxels
/// of `out`.
void run_stage(const VolumeView<const float>& noisy, const VolumeView<const float>& pilot, const VolumeView<float>& out,
               const Bm4dParams& params, bool second, const CoarseFieldView& map, const LaunchContext& context) {
  const Radius3 r = *params.search_radius, lengths = params.lengths;
  const Covariances covariances =
      without_zeros(covariances_of(params.spectrum, second ? Basis::cosines : Basis::wavelets, lengths, r));
  const Stage stage = make_stage(params, noisy, second, covariances);
  const DeviceBuffer<std::int32_t> table = upload(covariances.values.data(), covariances.values.size(), context);

  const dim3 block(32, 4);
  const auto voxels = static_cast<std::size_t>(pilot.extent.voxels());
  VolumeView<ulonglong2> sums{nullptr, pilot.extent, pilot.spacing, pilot.origin};
  const DeviceBuffer<ulonglong2> sums_buffer(voxels, context);
  sums.data = sums_buffer.get();
  QV_CUDA(cudaMemsetAsync(sums.data, 0, voxels * sizeof(ulonglong2), context.stream));

  VolumeView<float> compared{nullptr, pilot.extent};
  for (int axis = 0; axis < 3; ++axis) compared.extent[axis] += 2 * r[axis];
  constexpr std::size_t slack = 64;  // strips may end beyond
  const DeviceBuffer<float> compared_buffer(static_cast<std::size_t>(compared.extent.voxels()) + slack, context);
  compared.data = compared_buffer.get();
  QV_CUDA(cudaMemsetAsync(compared.data + compared.extent.voxels(), 0, slack * sizeof(float), context.stream));
  launch(make_compared, grid_of(compared.extent, block), block, 0, context, pilot, compared, triple(r),
         stage.per_voxel);

  const ReferenceGrid all = references_for(params, out, pilot.origin);
  const int3 window{2 * r.x + 1, 2 * r.y + 1, 2 * r.z + 1};
  constexpr std::int64_t groups_together = std::int64_t{1} << 21;
  const std::int64_t of_layer = std::int64_t{all.count.x} * all.count.y;
  const int together = static_cast<int>(std::clamp<std::int64_t>(groups_together / of_layer, 1, all.count.z));
  const DeviceBuffer<unsigned> groups(static_cast<std::size_t>(together * of_layer * most_blocks), context);
  Shrinking shrinking{noisy,
                      pilot,
                      offset_within(noisy, pilot),
                      reinterpret_cast<unsigned long long*>(sums.data),
                      all,
                      groups.get(),
                      triple(r),
                      triple(lengths),
                      lengths.x * lengths.y * lengths.z,
                      {reinterpret_cast<const int2*>(table.get()), triple(covariances.size)},
                      map,
                      pilot.origin,
                      stage.threshold,
                      stage.rate,
                      stage.ratio,
                      1 / stage.change_grid,
                      1 / stage.weight_grid,
                      {},
                      {}};
  std::ranges::copy(bm4d_kernel::window_of(lengths), shrinking.window);
  std::ranges::copy(bm4d_kernel::shares_of(lengths), shrinking.shares);
  for (int layer = 0; layer < all.count.z; layer += together) {
    ReferenceGrid some = all;
    some.first.z += layer * all.step.z;
    some.count.z = std::min(together, all.count.z - layer);
    match({compared.data,
           compared.extent.x,
           compared.extent.slice(),
           static_cast<int>(compared.extent.x),
           some,
           window,
           lengths.y,
           lengths.z,
           0,
           0,
           Divider(1),
           Divider(window.y),
           {},
           0,
           0,
           groups.get()},
          lengths, context);
    shrinking.references = some;
    if (lengths == Radius3{4, 4, 4}) {
      shrink_all<Cubes>(shrinking, second, context);
    } else if (lengths == Radius3{8, 8, 1}) {
      shrink_all<Squares>(shrinking, second, context);
    } else {
      shrink_all<Any>(shrinking, second, context);
    }
  }
  launch(add_changes, grid_of(out.extent, block), block, 0, context, noisy, VolumeView<const ulonglong2>(sums), out,
         offset_within(noisy, out), offset_within(pilot, out), stage.change_grid, stage.weight_grid, stage.most_change);
}

}  // namespace

void bm4d_cuda(VolumeView<const float> in, VolumeView<float> out, const Bm4dParams& params,
               const LaunchContext& context) {
  if (params.h() < 0x1p-140) {  // no two floats are that near and not equal
    copy_voxels(in, out, context);
    return;
  }
  const DeviceNoiseMap device_map(params.map, params.volume, context);
  const CoarseFieldView map = params.map.varies() ? device_map.view() : CoarseFieldView{};
  VolumeView<float> filtered = expanded(out, params.neighbours(), in);
  const DeviceBuffer<float> filtered_buffer(static_cast<std::size_t>(filtered.extent.voxels()), context);
  filtered.data = filtered_buffer.get();
  if (params.stages == 1) {
    run_stage(in, in, filtered, params, false, map, context);
  } else {
    VolumeView<float> basic = expanded(out, params.halo_of(1), in);
    const DeviceBuffer<float> basic_buffer(static_cast<std::size_t>(basic.extent.voxels()), context);
    basic.data = basic_buffer.get();
    run_stage(in, in, basic, params, false, map, context);
    run_stage(in, basic, filtered, params, true, map, context);
  }
  const dim3 block(32, 4);
  const dim3 grid(ceil_div(out.extent.x, block.x), ceil_div(out.extent.y, block.y),
                  ceil_div(out.extent.z, restored_slices));
  launch(restore_small_features, grid, block, 0, context,
         Restoring{in, VolumeView<const float>(filtered), out, offset_within(in, out), offset_within(filtered, out),
                   params.neighbours().z > 0, bm4d_kernel::significance_of(params), map, out.origin});
}

}  // namespace quietvox
