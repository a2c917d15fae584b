// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "filters/prinlm.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {

/// The guided non-local means as their contract writes them, voxel by voxel in double; `params` are resolved.
Volume reference_prinlm(const Volume& in, const PrinlmParams& params);

}  // namespace quietvox::test
