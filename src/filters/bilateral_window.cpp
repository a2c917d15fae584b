// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bilateral_window.hpp"

namespace quietvox {

std::vector<BilateralTap> bilateral_taps(const BilateralParams& params, const Spacing& spacing, std::int64_t pitch,
                                         std::int64_t plane) {
  constexpr double smallest = -126;  // below, a weight is not a normal float
  const Radius3 r = params.halo();
  std::vector<BilateralTap> taps;
  for (int z = -r.z; z <= r.z; ++z) {
    for (int y = -r.y; y <= r.y; ++y) {
      for (int x = -r.x; x <= r.x; ++x) {
        if (x == 0 && y == 0 && z == 0) continue;
        const double log2_weight = log2_domain_weight(params, spacing, {x, y, z});
        if (!in_window(params, {x, y, z}) || log2_weight < smallest) continue;
        taps.push_back({static_cast<std::int32_t>(z * plane + y * pitch + x), static_cast<float>(log2_weight)});
      }
    }
  }
  return taps;
}

}  // namespace quietvox
