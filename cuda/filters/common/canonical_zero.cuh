// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/filters/common/box.cuh"

namespace quietvox::cuda {

/// A voxel that is left as it is: a missing one to the bit, which arithmetic on a device would not keep; -0 becomes +0.
__device__ inline float canonical_zero(float value) { return is_present(value) ? value + 0.0F : value; }

}  // namespace quietvox::cuda
