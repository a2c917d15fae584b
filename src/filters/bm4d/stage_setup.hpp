// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "filters/bm4d.hpp"
#include "filters/bm4d/kernel.hpp"

/// What all backends make of the parameters.
namespace quietvox::bm4d_kernel {

using Places = std::vector<std::int64_t>;

/// Where references begin along an axis whose groups may say something about voxels [first, last): one step apart, but
/// the last one.
Places reference_places(const Bm4dParams&, int axis, std::int64_t first, std::int64_t last);

/// A stage that compares `noisy`.
Stage make_stage(const Bm4dParams&, const VolumeView<const float>& noisy, bool second, const Covariances&);

}  // namespace quietvox::bm4d_kernel
