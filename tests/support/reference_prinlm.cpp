// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/reference_prinlm.hpp"

#include <algorithm>
#include <cmath>

#include "support/reference_bm4d.hpp"
#include "support/reference_dct.hpp"

namespace quietvox::test {
namespace {

/// (2 g + the six neighbours) / 8; along an axis that is not searched, neighbours count as p.
double local_mean(const Volume& guide, const Index3& p, const Radius3& search) {
  const double centre = guide.view().at(p.x, p.y, p.z);
  double sum = 2 * centre;
  for (int axis = 0; axis < 3; ++axis) {
    for (const int step : {-1, 1}) {
      Index3 q = p;
      q[axis] += step;
      const bool inside = search[axis] > 0 && q[axis] >= 0 && q[axis] < guide.extent[axis];
      const double neighbour = inside ? guide.view().at(q.x, q.y, q.z) : NAN;
      sum += std::isfinite(neighbour) ? neighbour : centre;
    }
  }
  return sum / 8;
}

}  // namespace

Volume reference_prinlm(const Volume& in, const PrinlmParams& params) {
  const double h = *params.strength * *params.sigma;
  const Radius3 r = *params.search_radius;
  const Extent e = in.extent;
  const Volume guide =
      params.guide == PrinlmGuide::dct ? reference_dct(in, params.dct) : reference_bm4d(in, params.bm4d);
  std::vector<double> means;
  for (std::int64_t z = 0; z < e.z; ++z) {
    for (std::int64_t y = 0; y < e.y; ++y) {
      for (std::int64_t x = 0; x < e.x; ++x) means.push_back(local_mean(guide, {x, y, z}, r));
    }
  }
  Volume out = in;
  for (float& voxel : out.voxels) voxel += 0.0F;
  if (h == 0) return out;
  const auto filtered = [&](const Index3& p) {
    const auto centre = static_cast<std::size_t>((p.z * e.y + p.y) * e.x + p.x);
    double sum = 0, weights = 0;
    for (std::int64_t z = std::max<std::int64_t>(p.z - r.z, 0); z <= std::min(p.z + r.z, e.z - 1); ++z) {
      for (std::int64_t y = std::max<std::int64_t>(p.y - r.y, 0); y <= std::min(p.y + r.y, e.y - 1); ++y) {
        for (std::int64_t x = std::max<std::int64_t>(p.x - r.x, 0); x <= std::min(p.x + r.x, e.x - 1); ++x) {
          const auto other = static_cast<std::size_t>((z * e.y + y) * e.x + x);
          if (!std::isfinite(in.voxels[other])) continue;
          const double g = static_cast<double>(guide.voxels[other]) - static_cast<double>(guide.voxels[centre]);
          const double m = means[other] - means[centre];
          const double w = std::exp(-(g * g / 4 + m * m) / (h * h));
          sum += w * static_cast<double>(in.voxels[other]);
          weights += w;
        }
      }
    }
    return static_cast<float>(sum / weights);
  };
  for (std::int64_t z = 0; z < e.z; ++z) {
    for (std::int64_t y = 0; y < e.y; ++y) {
      for (std::int64_t x = 0; x < e.x; ++x) {
        if (std::isfinite(in.view().at(x, y, z))) out.view().at(x, y, z) = filtered({x, y, z}) + 0.0F;
      }
    }
  }
  return out;
}

}  // namespace quietvox::test
