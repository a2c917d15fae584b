// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "analysis/noise_bricks.hpp"
#include "core/noise_model.hpp"

namespace quietvox {

/// The noise of voxels that are counts, times a step. They are if parts have noise whose variance is their mean times
/// the step, dark ones and bright ones alike; parts that are alike tell only of few counts: magnitudes look like more.
/// `object`: which bricks belong to it, and sigma is that of their mean; where there is none, as all parts hold
/// the value 0, those brighter than `middle` do. None where they are no counts, or few parts tell.
std::optional<NoiseModel> noise_of_counts(const NoiseBricks&, double step, const std::vector<bool>& object,
                                          double middle);

}  // namespace quietvox
