// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/reference_adaptive_bilateral.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "support/reference_bilateral.hpp"

namespace quietvox::test {
namespace {

/// Standard deviation (n - 1) of the voxels present in a box of radius 1 along every axis of the window.
double local_deviation(VolumeView<const float> in, const AdaptiveBilateralParams& params, Index3 p) {
  std::vector<double> present;
  Index3 o;
  const auto reach = [&](int axis) { return (*params.radius)[axis] > 0 ? 1 : 0; };
  for (o.z = -reach(2); o.z <= reach(2); ++o.z) {
    for (o.y = -reach(1); o.y <= reach(1); ++o.y) {
      for (o.x = -reach(0); o.x <= reach(0); ++o.x) {
        Index3 q;
        for (int axis = 0; axis < 3; ++axis) {
          q[axis] = border_index(params.border, p[axis] + o[axis], in.extent[axis]);
        }
        if (std::isfinite(in.at(q.x, q.y, q.z))) present.push_back(in.at(q.x, q.y, q.z));
      }
    }
  }
  if (present.size() < 2) return 0;
  const double count = static_cast<double>(present.size());
  const double mean = std::reduce(present.begin(), present.end()) / count;
  double squares = 0;
  for (const double value : present) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (count - 1));
}

template <class Body>
void for_each_voxel(const Extent& extent, Body&& body) {
  for (Index3 p; p.z < extent.z; ++p.z) {
    for (p.y = 0; p.y < extent.y; ++p.y) {
      for (p.x = 0; p.x < extent.x; ++p.x) body(p);
    }
  }
}

}  // namespace

double reference_range_sigma(VolumeView<const float> in, const AdaptiveBilateralParams& params, Index3 p) {
  if (params.rule == RangeRule::variance) {
    const double noise = params.map.at(in_volume(in, p), params.volume);
    return std::clamp(params.kappa * local_deviation(in, params, p), *params.lowest_range_sigma * noise,
                      *params.highest_range_sigma * noise);
  }
  const double first_sigma = *params.range_sigma;
  const double variance = first_sigma == 0 ? 0 : bilateral_means(in, params.with_range_sigma(first_sigma), p).square;
  return std::sqrt(std::max(variance + *params.regularisation, *params.regularisation)) / 2;
}

void reference_adaptive_bilateral(VolumeView<const float> in, VolumeView<float> out,
                                  const AdaptiveBilateralParams& params) {
  for_each_voxel(in.extent, [&](Index3 p) {
    const float centre = in.at(p.x, p.y, p.z);
    float& result = out.at(p.x, p.y, p.z);
    result = centre + 0.0F;
    if (keeps_value(in, *params.radius, params.border, p)) return;
    const double sigma = reference_range_sigma(in, params, p);
    if (sigma == 0) return;
    result = static_cast<float>(centre + bilateral_means(in, params.with_range_sigma(sigma), p).difference);
  });
}

double adaptive_bilateral_tolerance(VolumeView<const float> in, const AdaptiveBilateralParams& params) {
  double largest = 0;
  for_each_voxel(in.extent, [&](Index3 p) {
    if (std::isfinite(in.at(p.x, p.y, p.z))) largest = std::max(largest, reference_range_sigma(in, params, p));
  });
  return 1e-5 * largest + four_ulp(in);
}

}  // namespace quietvox::test
