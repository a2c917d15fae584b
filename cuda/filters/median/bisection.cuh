// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/filters/median/network_job.cuh"

namespace quietvox::cuda {

constexpr int counting_outputs = 4;  ///< of a thread, side by side along x: a voxel is loaded once for all of them

/// Serves, where there is no network, every box whose window is wider than `counting_outputs` along x.
MedianNetwork median_bisection(Triple<int> window);

}  // namespace quietvox::cuda
