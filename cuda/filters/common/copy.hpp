// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/volume_view.hpp"
#include "cuda/resources.hpp"

namespace quietvox::cuda {

/// What a filter makes of voxels that it does not change: -0 becomes 0.
void copy_voxels(VolumeView<const float> in, VolumeView<float> out, const LaunchContext&);

}  // namespace quietvox::cuda
