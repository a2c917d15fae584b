// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/on_gpu.hpp"

namespace quietvox::test {
namespace {

using GpuQuadratic = OnGpu;

/// What a voxel lies above `lowest` must keep its digits.
TEST_F(GpuQuadratic, IntensitiesMayLieFarFromZero) {
  Volume volume = busy_volume({67, 45, 2}, 1);
  for (const double lowest : {0.0, 1e4, 1e6}) {
    Volume far = volume;
    for (float& voxel : far.voxels) voxel = static_cast<float>(lowest + 50 + voxel / 100);
    for (const char* coefficients : {"denoise", "mammogram-enhance"}) {
      const Settings step = resolved(settings("quadratic", {{"coefficients", coefficients},
                                                            {"gain", "5"},
                                                            {"lowest", std::to_string(lowest)},
                                                            {"highest", std::to_string(lowest + 100)}}),
                                     far);
      const Reference& exact = reference("quadratic");
      EXPECT_EQ(first_difference(exact.run(far, step), run(*backend, {step}, far), exact.tolerance(far, step)), "")
          << coefficients << " from " << lowest;
    }
  }
}

}  // namespace
}  // namespace quietvox::test
