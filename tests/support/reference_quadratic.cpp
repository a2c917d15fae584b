// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/reference_quadratic.hpp"

#include <algorithm>
#include <cmath>

namespace quietvox::test {

Volume reference_quadratic(const Volume& in, const QuadraticParams& params, const QuadraticCoefficients& h) {
  const int radius = h.size / 2;
  const double lowest = *params.lowest, highest = *params.highest;
  Volume out = in;
  for (std::int64_t z = 0; z < in.extent.z; ++z) {
    for (std::int64_t y = 0; y < in.extent.y; ++y) {
      for (std::int64_t x = 0; x < in.extent.x; ++x) {
        const float centre = in.view().at(x, y, z);
        if (!std::isfinite(centre)) continue;
        bool keeps = lowest == highest;
        std::vector<double> window;
        for (int j = -radius; j <= radius; ++j) {
          for (int i = -radius; i <= radius; ++i) {
            const auto at = [&](std::int64_t n, std::int64_t count) {
              if (params.border == Border::copy && count > 1 && (n < 0 || n >= count)) keeps = true;
              return border_index(params.border, n, count);
            };
            const float voxel = in.view().at(at(x + i, in.extent.x), at(y + j, in.extent.y), z);
            const double share = ((std::isfinite(voxel) ? voxel : centre) - lowest) / (highest - lowest);
            window.push_back(params.white == White::high ? share : 1 - share);
          }
        }
        double result = h.h0;
        for (int i = 0; i < h.voxels(); ++i) {
          const auto n = static_cast<std::size_t>(i);
          result += h.h1[n] * window[n];
          for (int j = i; j < h.voxels(); ++j) {
            result += params.gain * h.h2_at(i, j) * window[n] * window[static_cast<std::size_t>(j)];
          }
        }
        if (params.white == White::low) result = 1 - result;
        out.view().at(x, y, z) = keeps ? centre + 0.0F : static_cast<float>(lowest + result * (highest - lowest));
      }
    }
  }
  return out;
}

double quadratic_tolerance(const Volume& in, const QuadraticParams& params) {
  float largest = 0;
  double beyond = 1;
  const double range = *params.highest - *params.lowest;
  for (const float voxel : in.voxels) {
    if (!std::isfinite(voxel)) continue;
    largest = std::max(largest, std::abs(voxel));
    if (range > 0) beyond = std::max(beyond, std::abs(voxel - params.origin()) / range);
  }
  const double ulp = static_cast<double>(largest) - std::nextafter(largest, 0.0F);
  return 1e-5 * range * beyond * beyond + 4 * ulp;
}

}  // namespace quietvox::test
