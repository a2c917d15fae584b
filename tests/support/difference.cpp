// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/difference.hpp"

#include <cmath>
#include <cstdint>
#include <sstream>

namespace quietvox::test {

std::string first_difference(const Volume& expected, const Volume& actual, double tolerance) {
  for (std::size_t i = 0; i < expected.voxels.size(); ++i) {
    const float e = expected.voxels[i], a = actual.voxels[i];
    const bool same = std::isnan(e)   ? std::isnan(a)
                      : std::isinf(e) ? a == e
                                      : std::abs(static_cast<double>(a) - static_cast<double>(e)) <= tolerance;
    if (same) continue;
    const auto at = static_cast<std::int64_t>(i);
    std::ostringstream text;
    text.precision(9);
    text << "voxel (" << at % expected.extent.x << ", " << at / expected.extent.x % expected.extent.y << ", "
         << at / expected.extent.slice() << ") is " << a << ", not " << e << " within " << tolerance;
    return text.str();
  }
  return {};
}

}  // namespace quietvox::test
