// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/filters/common/copy.hpp"

#include "cuda/filters/common/canonical_zero.cuh"
#include "cuda/filters/common/device_view.cuh"
#include "cuda/launch.cuh"

namespace quietvox::cuda {
namespace {

__global__ void copy_box(DeviceView<const float> in, DeviceView<float> out, int3 offset) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= out.x || y >= out.y) return;
  out.row(y, z)[x] = canonical_zero(in.row(y + offset.y, z + offset.z)[x + offset.x]);
}

}  // namespace

void copy_voxels(VolumeView<const float> in, VolumeView<float> out, const LaunchContext& context) {
  const dim3 block(32, 4), grid(ceil_div(out.extent.x, block.x), ceil_div(out.extent.y, block.y), out.extent.z);
  launch(copy_box, grid, block, 0, context, in, out, offset_within(in, out));
}

}  // namespace quietvox::cuda
