// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bilateral.hpp"

#include <cmath>
#include <vector>

namespace quietvox {

BilateralParams BilateralParams::resolved(const VolumeFacts& facts) const {
  BilateralParams params = *this;
  if (!domain_sigma) {
    const double sigma = 1.5 * facts.spacing.x;
    params.domain_sigma = {sigma, sigma, sigma};
  }
  if (!range_sigma) params.range_sigma = 2 * facts.noise_sigma();
  if (!radius) {
    params.radius.emplace();
    for (int axis = 0; axis < 3; ++axis) {
      const double reach = std::ceil(truncate * (*params.domain_sigma)[axis] / facts.spacing[axis]);
      params.radius->operator[](axis) = static_cast<int>(std::min(reach, 1e6));
    }
  }
  params.radius = flattened(*params.radius, facts.extent);
  return params;
}

namespace {

struct Tap {
  std::int64_t x, y, z;
  double exponent;  // of the spatial weight
};

std::vector<Tap> make_taps(const BilateralParams& params, Spacing spacing) {
  std::vector<Tap> taps;
  const Radius3 r = *params.radius;
  const auto squared = [](double v) { return v * v; };
  const auto part = [&](std::int64_t offset, int axis) {
    return r[axis] == 0 ? 0.0 : squared(static_cast<double>(offset) / r[axis]);
  };
  for (std::int64_t z = -r.z; z <= r.z; ++z) {
    for (std::int64_t y = -r.y; y <= r.y; ++y) {
      for (std::int64_t x = -r.x; x <= r.x; ++x) {
        if (params.support == Support::disc && part(x, 0) + part(y, 1) + part(z, 2) > 1) continue;
        const Triple<double>& sigma = *params.domain_sigma;
        taps.push_back({x, y, z,
                        -0.5 * (squared(static_cast<double>(x) * spacing.x / sigma.x) +
                                squared(static_cast<double>(y) * spacing.y / sigma.y) +
                                squared(static_cast<double>(z) * spacing.z / sigma.z))});
      }
    }
  }
  return taps;
}

}  // namespace

void bilateral_cpu(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params,
                   const Execution& execution) {
  const auto taps = make_taps(params, in.spacing);
  const Radius3 r = *params.radius;
  const double scale = -0.5 / (*params.range_sigma * *params.range_sigma);
  const double cut = params.range_cut > 0 ? params.range_cut * *params.range_sigma : INFINITY;
  const Index3 shift{out.origin.x - in.origin.x, out.origin.y - in.origin.y, out.origin.z - in.origin.z};
  parallel_for(execution, out.extent.y * out.extent.z, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t y = row % out.extent.y + shift.y, z = row / out.extent.y + shift.z;
      for (std::int64_t i = 0; i < out.extent.x; ++i) {
        const std::int64_t x = i + shift.x;
        const float centre = in.at(x, y, z);
        float& result = out.at(i, y - shift.y, z - shift.z);
        result = centre + 0.0F;
        const bool leaves = x < r.x || y < r.y || z < r.z || x + r.x >= in.extent.x || y + r.y >= in.extent.y ||
                            z + r.z >= in.extent.z;
        if (is_missing(in, centre) || *params.range_sigma == 0 || (params.border == Border::copy && leaves)) continue;
        double sum = 0, weights = 0;
        for (const Tap& tap : taps) {
          const float value = in.at(border_index(params.border, x + tap.x, in.extent.x),
                                    border_index(params.border, y + tap.y, in.extent.y),
                                    border_index(params.border, z + tap.z, in.extent.z));
          const double difference = static_cast<double>(value) - centre;
          if (is_missing(in, value) || std::abs(difference) >= cut) continue;
          const double weight = std::exp(tap.exponent + scale * difference * difference);
          sum += weight * difference;
          weights += weight;
        }
        result = static_cast<float>(centre + sum / weights);
      }
    }
  });
}

}  // namespace quietvox
