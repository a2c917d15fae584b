// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/reference_bilateral.hpp"

#include <algorithm>
#include <cmath>

namespace quietvox::test {
namespace {

double squared(double value) { return value * value; }

}  // namespace

Index3 in_volume(VolumeView<const float> in, Index3 p) {
  return {in.origin.x + p.x, in.origin.y + p.y, in.origin.z + p.z};
}

BilateralMeans bilateral_means(VolumeView<const float> in, const BilateralParams& params, Index3 p) {
  const Radius3 r = *params.radius;
  const float centre = in.at(p.x, p.y, p.z);
  const double range_sigma = *params.range_sigma * params.map.at(in_volume(in, p), params.volume);
  double sum = 0, squares = 0, weights = 0;
  for (int z = -r.z; z <= r.z; ++z) {
    for (int y = -r.y; y <= r.y; ++y) {
      for (int x = -r.x; x <= r.x; ++x) {
        const Triple<int> offset{x, y, z};
        double radial = 0, exponent = 0;
        for (int axis = 0; axis < 3; ++axis) {
          if (r[axis] > 0) radial += squared(static_cast<double>(offset[axis]) / r[axis]);
          exponent -= 0.5 * squared(offset[axis] * in.spacing[axis] / (*params.domain_sigma)[axis]);
        }
        if (params.support == Support::disc && radial > 1 + 1e-9) continue;
        const float value =
            in.at(border_index(params.border, p.x + x, in.extent.x), border_index(params.border, p.y + y, in.extent.y),
                  border_index(params.border, p.z + z, in.extent.z));
        if (!std::isfinite(value)) continue;
        const double difference = static_cast<double>(value) - centre;
        const bool cut =
            params.range_cut > 0 && std::abs(static_cast<float>(difference)) >= params.range_cut * range_sigma;
        if (cut) continue;
        const double weight = std::exp(exponent - 0.5 * squared(difference / range_sigma));
        sum += weight * difference;
        squares += weight * squared(difference);
        weights += weight;
      }
    }
  }
  return {sum / weights, squares / weights};
}

bool keeps_value(VolumeView<const float> in, Radius3 reach, Border border, Index3 p) {
  bool leaves = false;
  for (int axis = 0; axis < 3; ++axis) leaves |= p[axis] < reach[axis] || p[axis] + reach[axis] >= in.extent[axis];
  return !std::isfinite(in.at(p.x, p.y, p.z)) || (border == Border::copy && leaves);
}

double four_ulp(VolumeView<const float> in) {
  float largest = 0;
  for (std::int64_t i = 0; i < in.extent.voxels(); ++i) {
    if (std::isfinite(in.data[i])) largest = std::max(largest, std::abs(in.data[i]));
  }
  return 4 * (static_cast<double>(largest) - std::nextafter(largest, 0.0F));
}

void reference_bilateral(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params) {
  for (std::int64_t z = 0; z < out.extent.z; ++z) {
    for (std::int64_t y = 0; y < out.extent.y; ++y) {
      for (std::int64_t x = 0; x < out.extent.x; ++x) {
        const Index3 p{x + out.origin.x - in.origin.x, y + out.origin.y - in.origin.y, z + out.origin.z - in.origin.z};
        const float centre = in.at(p.x, p.y, p.z);
        const bool keeps = *params.range_sigma == 0 || keeps_value(in, *params.radius, params.border, p);
        out.at(x, y, z) =
            keeps ? centre + 0.0F : static_cast<float>(centre + bilateral_means(in, params, p).difference);
      }
    }
  }
}

double bilateral_tolerance(VolumeView<const float> in, const BilateralParams& params) {
  return 1e-5 * *params.range_sigma * params.map.largest() + four_ulp(in);
}

}  // namespace quietvox::test
