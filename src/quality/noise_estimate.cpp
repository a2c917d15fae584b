// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "quality/noise_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace quietvox {

double estimate_noise(VolumeSource& source) {
  const Extent extent = source.extent();
  std::vector<float> slice(static_cast<std::size_t>(extent.slice()));
  std::vector<float> coefficients;
  for (std::int64_t z = 0; z < extent.z; ++z) {
    const VolumeView<float> view{slice.data(), {extent.x, extent.y, 1}, source.spacing(), {0, 0, z}};
    source.read(view);
    for (std::int64_t y = 0; y + 1 < extent.y; y += 2) {
      for (std::int64_t x = 0; x + 1 < extent.x; x += 2) {
        const float* a = view.row(y, 0) + x;
        const float* b = view.row(y + 1, 0) + x;
        const float diagonal = 0.5F * (a[0] - a[1] - b[0] + b[1]);
        if (std::isfinite(diagonal)) coefficients.push_back(std::abs(diagonal));
      }
    }
  }
  if (coefficients.empty()) return 0;
  const auto middle = coefficients.begin() + static_cast<std::ptrdiff_t>(coefficients.size() / 2);
  std::nth_element(coefficients.begin(), middle, coefficients.end());
  return *middle / 0.6745;
}

}  // namespace quietvox
