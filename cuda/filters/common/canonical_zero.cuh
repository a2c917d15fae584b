// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/filters/common/device_view.cuh"

namespace quietvox::cuda {

/// A voxel that stays as it is, except that -0 becomes +0. Missing voxels keep every bit, which arithmetic on a device
/// would not ensure.
__device__ inline float canonical_zero(float value) { return is_present(value) ? value + 0.0F : value; }

}  // namespace quietvox::cuda
