// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quietvox::cuda {

inline float exp2_fast(float exponent) { return exponent < -126 ? 0 : std::exp2(exponent); }

}  // namespace quietvox::cuda
