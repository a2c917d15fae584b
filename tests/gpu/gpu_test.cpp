// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/gpu_test.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quietvox::test {

const Reference& reference(const std::string& filter) {
  const auto& all = references();
  return *std::find_if(all.begin(), all.end(), [&](const Reference& entry) { return entry.filter == filter; });
}

Volume with_holes(Volume volume, int every) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float holes[] = {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity};
  const auto step = static_cast<std::size_t>(every);
  for (std::size_t i = step / 2; i < volume.voxels.size(); i += step) {
    for (std::size_t n = 0; n <= i % 4 && i + n < volume.voxels.size(); ++n) volume.voxels[i + n] = holes[(i + n) % 3];
  }
  return volume;
}

}  // namespace quietvox::test
