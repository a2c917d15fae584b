// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/filters/nlm/common.cuh"
#include "cuda/resources.hpp"

/// Kernels for common patches. They return false where the patch is another, or takes more memory than the device has.
/// `offset` is the place of the first voxel of `out` in `in`.
namespace quietvox::cuda::nlm {

/// Patches of one slice.
bool run_in_slices(const DeviceView<const float>& in, const VolumeView<float>& out, int3 offset, const Nlm& nlm,
                   const LaunchContext&);

/// Patches of several slices.
bool run_in_boxes(const DeviceView<const float>& in, const VolumeView<float>& out, int3 offset, const Nlm& nlm,
                  const LaunchContext&);

}  // namespace quietvox::cuda::nlm
