// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/gpu_test.hpp"

namespace quietvox::test {
namespace {

using GpuQuadratic = GpuTest;

/// Threads make several outputs, warps whole strips, and memory is read in vectors where it is aligned.
TEST_F(GpuQuadratic, EqualsTheReferenceForEverySize) {
  for (const Extent extent :
       {Extent{4, 4, 1}, Extent{6, 3, 2}, Extent{1, 5, 1}, Extent{3, 3, 1}, Extent{300, 1, 1}, Extent{130, 37, 2},
        Extent{132, 9, 1}, Extent{257, 34, 1}, Extent{124, 67, 1}, Extent{514, 66, 1}, Extent{384, 301, 2}}) {
    for (const char* border : {"replicate", "reflect", "copy"}) {
      for (const bool has_holes : {false, true}) {
        Volume volume = busy_volume(extent, 2);
        if (has_holes) volume = with_holes(volume, 211);
        const FilterConfig step = resolved(settings("quadratic", {{"border", border}}), volume);
        const Reference& exact = reference("quadratic");
        EXPECT_EQ(
            first_difference(exact.run(volume, step), run(*backend, {step}, volume), exact.tolerance(volume, step)), "")
            << extent.x << "x" << extent.y << "x" << extent.z << " " << border << (has_holes ? ", with holes" : "");
      }
    }
  }
}

/// What a voxel lies above `lowest` must keep its digits.
TEST_F(GpuQuadratic, IntensitiesMayLieFarFromZero) {
  Volume volume = busy_volume({67, 45, 2}, 1);
  for (const double lowest : {0.0, 1e4, 1e6}) {
    Volume far = volume;
    for (float& voxel : far.voxels) voxel = static_cast<float>(lowest + 50 + voxel / 100);
    for (const char* coefficients : {"denoise", "mammogram-enhance"}) {
      const FilterConfig step = resolved(settings("quadratic", {{"coefficients", coefficients},
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
