// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "filters/nlm.hpp"

namespace quietvox::test {

/// Non-local means as its contract writes it, voxel by voxel in double; `params` are resolved.
void reference_nlm(VolumeView<const float> in, VolumeView<float> out, const NlmParams& params);

/// How far a result may be from the reference: 1e-5 max |u|.
double nlm_tolerance(VolumeView<const float> in);

}  // namespace quietvox::test
