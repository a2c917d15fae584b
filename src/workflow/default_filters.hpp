// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "core/filter.hpp"
#include "core/noise_model.hpp"
#include "io/image.hpp"

namespace quietvox {

/// All filters that are for an image, with what their defaults become for its first volume in a run, by this noise; by
/// headers alone where there is none. What takes another look at the voxels stays `auto`.
std::vector<FilterConfig> default_filters(const io::Image&, const std::optional<NoiseModel>& noise, const Execution&);

}  // namespace quietvox
