// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <quietvox/workflow/denoise.hpp>
#include <vector>

int main() {
  const quietvox::Extent extent{{64, 64, 32}};     // x, y, z; neighbours along x lie side by side
  const quietvox::Spacing spacing{0.9, 0.9, 1.2};  // mm
  std::vector<float> noisy(64 * 64 * 32), quiet(noisy.size());
  for (float& voxel : noisy) voxel = 300 + std::rand() % 100;  // your voxels
  quietvox::denoise({noisy.data(), extent, spacing}, {quiet.data(), extent, spacing});
  return quiet == noisy;
}
