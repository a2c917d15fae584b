// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "cuda/filters/gaussian/axis_pass.cuh"

namespace quietvox {
namespace {

using namespace cuda;
using namespace gaussian;

/// The type in which a sampled Gaussian is added up. Floats are enough for sums of differences to a voxel nearby. But
/// if that one is missing, differences are nearly as large as the voxels.
enum class Sums { floats, doubles };

bool uses_floats(const Axis& axis) { return !axis.recursive && convolves_in_floats(sampled_weights(axis)); }

void filter_axes(VolumeView<const float> in, VolumeView<float> out, const GaussianParams& params, Reading reading,
                 Sums sums, int* found_missing, const LaunchContext& context) {
  const std::vector<int> axes = filtered_axes(params);
  Radius3 halo = params.reach;
  VolumeView<const float> from = in;
  DeviceBuffer<float> between;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = axes[i];
    halo[axis] = 0;
    VolumeView<float> to = expanded(out, halo, in);
    DeviceBuffer<float> buffer;
    if (to.extent == out.extent && (i + 1 == axes.size() || i + 3 == axes.size())) {
      to.data = out.data;  // the first of three passes does not come in the way of the last
    } else {
      buffer = DeviceBuffer<float>(static_cast<std::size_t>(to.extent.voxels()), context);
      to.data = buffer.get();
    }
    const Axis plan = axis_of(params, in.spacing, axis);
    const AxisPass pass(from, to, axis, params.border, i == 0 ? reading : Reading::plain, sums == Sums::doubles,
                        found_missing);
    if (plan.recursive) {
      filter_recursively(pass, plan.sigma, from.origin[axis], context);
    } else if (sums == Sums::floats && uses_floats(plan)) {
      convolve_in_floats(pass, sampled_weights(plan), from.origin[axis], context);
    } else {
      convolve(pass, sampled_weights(plan), context);
    }
    between = std::move(buffer);
    from = to;
  }
}

struct Finish {
  DeviceView<const float> in;
  DeviceView<float> out;
  DeviceView<float> sums, presence;  ///< where voxels are missing; the sums may be the outputs
  int3 offset, rim;
  Border border;
  bool filters;
  float least;
  const int* found_missing;
};

/// Divides the sums by the weights of the voxels present, and restores the voxels that must keep their value.
__global__ void finish(const __grid_constant__ Finish job) {
  const bool found_missing = job.filters && *job.found_missing != 0;
  if (!found_missing && job.filters && job.border != Border::copy) return;
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= job.out.x || y >= job.out.y) return;
  const int in_x = x + job.offset.x, in_y = y + job.offset.y;
  const bool in_rim_of_slice =
      in_x < job.rim.x || in_x + job.rim.x >= job.in.x || in_y < job.rim.y || in_y + job.rim.y >= job.in.y;
  for (int z = blockIdx.z; z < job.out.z; z += gridDim.z) {
    const int in_z = z + job.offset.z;
    const bool in_rim = in_rim_of_slice || in_z < job.rim.z || in_z + job.rim.z >= job.in.z;
    const float centre = job.in.row(in_y, in_z)[in_x];
    float& result = job.out.row(y, z)[x];
    const float weight = found_missing ? job.presence.row(y, z)[x] : 1.0F;
    if (!is_present(centre)) {
      result = centre;
    } else if (!job.filters || weight < job.least || (job.border == Border::copy && in_rim)) {
      result = centre + 0.0F;
    } else if (weight != 1.0F) {
      result = clamp_to_finite(job.sums.row(y, z)[x] / weight) + 0.0F;
    }
  }
}

}  // namespace

void gaussian_cuda(VolumeView<const float> in, VolumeView<float> out, const GaussianParams& params,
                   const LaunchContext& context) {
  const std::vector<int> axes = filtered_axes(params);
  const bool filters = !axes.empty();
  const bool in_floats =
      std::any_of(axes.begin(), axes.end(), [&](int axis) { return uses_floats(axis_of(params, in.spacing, axis)); });
  const DeviceBuffer<int> found_missing(1, context);
  QV_CUDA(cudaMemsetAsync(found_missing.get(), 0, sizeof(int), context.stream));
  const auto voxels = static_cast<std::size_t>(out.extent.voxels());
  DeviceBuffer<float> of_voxels, of_presence;
  VolumeView<float> sums = out, presence = out;
  filter_axes(in, out, params, Reading::present, Sums::floats, found_missing.get(), context);
  if (in_floats) {
    of_voxels = DeviceBuffer<float>(voxels, context);
    sums.data = of_voxels.get();
    filter_axes(in, sums, params, Reading::present, Sums::doubles, found_missing.get(), context);
  }
  if (filters) {
    of_presence = DeviceBuffer<float>(voxels, context);
    presence.data = of_presence.get();
    filter_axes(in, presence, params, Reading::presence, Sums::doubles, found_missing.get(), context);
  }
  const Radius3 width = rim(params, in.spacing);
  const Finish job{in,
                   out,
                   sums,
                   presence,
                   offset_within(in, out),
                   {width.x, width.y, width.z},
                   params.border,
                   filters,
                   has_recursion(params, in.spacing) ? least_present : 0.0F,
                   found_missing.get()};
  const dim3 block(32, 8);
  const dim3 grid(static_cast<unsigned>(ceil_div(out.extent.x, block.x)),
                  static_cast<unsigned>(ceil_div(out.extent.y, block.y)), idle_grid_layers(out.extent.z));
  finish<<<grid, block, 0, context.stream>>>(job);
  QV_CUDA(cudaGetLastError());
}

}  // namespace quietvox
