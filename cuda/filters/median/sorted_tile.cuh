// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/filters/median/direct.cuh"
#include "cuda/resources.hpp"

namespace quietvox::cuda {

/// Queues the medians of large boxes: each block sorts the voxels that the windows of a tile of outputs see, and finds
/// in that order, for 32 outputs of a row at a time, where half of a window is reached. Borders and missing voxels cost
/// nothing extra. False, with nothing queued, where a window is too large for that.
bool median_by_rank(const DeviceView<const float>& in, const DeviceView<float>& out, int3 offset,
                    const Window<float>& window, cudaStream_t stream);
bool median_by_rank(const DeviceView<const std::int16_t>& in, const DeviceView<std::int16_t>& out, int3 offset,
                    const Window<std::int16_t>& window, cudaStream_t stream);
bool median_by_rank(const DeviceView<const std::uint16_t>& in, const DeviceView<std::uint16_t>& out, int3 offset,
                    const Window<std::uint16_t>& window, cudaStream_t stream);

}  // namespace quietvox::cuda
