// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/pipeline.hpp"

namespace quietvox {

/// Standard deviation of the noise of a volume, from the median absolute diagonal Haar coefficient of its foreground
/// (Donoho and Johnstone 1994): sigma = median |HH| / 0.6745, over the 2x2 blocks within slices that are brighter than
/// the mean block and hold no edge. Blocks with a missing voxel do not count. 0 for a volume without noise.
double estimate_noise(VolumeSource&);

}  // namespace quietvox
