// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quietvox::cuda {

/// 1 over a number of at least the smallest normal one; 0 for those beyond 2^126.
__device__ __forceinline__ float reciprocal(float number) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(number));
  return result;
}

}  // namespace quietvox::cuda
