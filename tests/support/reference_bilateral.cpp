// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/reference_bilateral.hpp"

#include <algorithm>
#include <cmath>

namespace quietvox::test {
namespace {

double squared(double value) { return value * value; }

/// Value of the filter at `p` of the input.
double filtered(VolumeView<const float> in, const BilateralParams& params, Index3 p) {
  const Radius3 r = *params.radius;
  const float centre = in.at(p.x, p.y, p.z);
  double sum = 0, weights = 0;
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
            params.range_cut > 0 && std::abs(static_cast<float>(difference)) >= params.range_cut * *params.range_sigma;
        if (cut) continue;
        const double weight = std::exp(exponent - 0.5 * squared(difference / *params.range_sigma));
        sum += weight * difference;
        weights += weight;
      }
    }
  }
  return centre + sum / weights;
}

}  // namespace

void reference_bilateral(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params) {
  const Radius3 r = *params.radius;
  for (std::int64_t z = 0; z < out.extent.z; ++z) {
    for (std::int64_t y = 0; y < out.extent.y; ++y) {
      for (std::int64_t x = 0; x < out.extent.x; ++x) {
        const Index3 p{x + out.origin.x - in.origin.x, y + out.origin.y - in.origin.y, z + out.origin.z - in.origin.z};
        bool leaves = false;
        for (int axis = 0; axis < 3; ++axis) leaves |= p[axis] < r[axis] || p[axis] + r[axis] >= in.extent[axis];
        const float centre = in.at(p.x, p.y, p.z);
        const bool keeps =
            !std::isfinite(centre) || *params.range_sigma == 0 || (params.border == Border::copy && leaves);
        out.at(x, y, z) = !std::isfinite(centre) ? centre
                          : keeps                ? centre + 0.0F
                                                 : static_cast<float>(filtered(in, params, p));
      }
    }
  }
}

double bilateral_tolerance(VolumeView<const float> in, const BilateralParams& params) {
  float largest = 0;
  for (std::int64_t i = 0; i < in.extent.voxels(); ++i) {
    if (std::isfinite(in.data[i])) largest = std::max(largest, std::abs(in.data[i]));
  }
  const double ulp = static_cast<double>(largest) - std::nextafter(largest, 0.0F);
  return 1e-5 * *params.range_sigma + 4 * ulp;
}

}  // namespace quietvox::test
