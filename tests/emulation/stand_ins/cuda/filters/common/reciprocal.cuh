// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quietvox::cuda {

inline float reciprocal(float number) { return number > 0x1p126F ? 0 : 1 / number; }

}  // namespace quietvox::cuda
