// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cuda/filters/median/direct.cuh"

namespace quietvox::cuda {

/// A selection network compiled for small volumes of floats.
struct SmallMedian {
  Triple<int> window, group;  ///< no axis of the output is shorter than that of a group
  /// The whole output, edges and missing voxels included, in one launch.
  void (*run)(const DeviceView<const float>& in, const DeviceView<float>& out, int3 offset, const Window<float>& window,
              cudaStream_t stream);
};

/// Every one of this build.
const std::vector<SmallMedian>& small_medians();

}  // namespace quietvox::cuda
