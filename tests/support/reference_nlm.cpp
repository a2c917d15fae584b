// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/reference_nlm.hpp"

#include <algorithm>
#include <cmath>

namespace quietvox::test {
namespace {

double squared(double value) { return value * value; }

Index3 plus(const Index3& a, const Index3& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }

/// The volume with what lies beyond its border.
struct Padded {
  VolumeView<const float> in;
  Border border;

  double operator()(const Index3& p) const {
    const Index3 voxel = at(p);
    return in.at(voxel.x, voxel.y, voxel.z);
  }
  Index3 at(const Index3& p) const {
    return {border_index(border, p.x, in.extent.x), border_index(border, p.y, in.extent.y),
            border_index(border, p.z, in.extent.z)};
  }
};

template <class Body>
void for_each_in(const Index3& first, const Index3& last, Body&& body) {
  for (std::int64_t z = first.z; z <= last.z; ++z) {
    for (std::int64_t y = first.y; y <= last.y; ++y) {
      for (std::int64_t x = first.x; x <= last.x; ++x) body(Index3{x, y, z});
    }
  }
}

Index3 minus(Radius3 r) { return {-r.x, -r.y, -r.z}; }
Index3 plus(Radius3 r) { return {r.x, r.y, r.z}; }

/// Mean squared difference of the patches about p and q, where both have a voxel.
double distance(const Padded& u, Radius3 patch, const Index3& p, const Index3& q) {
  double sum = 0, count = 0;
  for_each_in(minus(patch), plus(patch), [&](const Index3& n) {
    const double difference = u(plus(p, n)) - u(plus(q, n));
    if (!std::isfinite(difference)) return;
    sum += squared(difference);
    ++count;
  });
  return sum / count;
}

double filtered(const Padded& u, const NlmParams& params, const Index3& p) {
  const double centre = u(p);
  const auto variance = [&](const Index3& q) {
    return squared(*params.sigma * params.map.at(plus(u.in.origin, u.at(q)), params.volume));
  };
  const bool rician = params.noise_model == NlmNoise::rician;
  double sum = 0, weights = 0;
  const auto add = [&](const Index3& q) {
    const double voxel = u(q);
    if (!std::isfinite(voxel)) return;
    const double d = distance(u, *params.patch_radius, p, q);
    const double s2 = (variance(p) + variance(q)) / 2;
    double w = std::exp(-std::max(d - params.noise_bias * s2, 0.0) / (squared(*params.strength) * s2));
    if (params.spatial_sigma > 0) {
      for (int axis = 0; axis < 3; ++axis) {
        w *= std::exp(-0.5 *
                      squared(static_cast<double>(q[axis] - p[axis]) * u.in.spacing[axis] / params.spatial_sigma));
      }
    }
    if (params.intensity_sigma > 0) w *= std::exp(-0.5 * squared((voxel - centre) / params.intensity_sigma));
    sum += w * (rician ? squared(voxel) : voxel);
    weights += w;
  };
  if (const OrAll<Radius3>& search = params.search_window()) {
    for_each_in(plus(p, minus(*search)), plus(p, plus(*search)), add);
  } else {
    for_each_in({0, 0, p.z}, {u.in.extent.x - 1, u.in.extent.y - 1, p.z}, add);
  }
  return rician ? std::sqrt(std::max(sum / weights - 2 * variance(p), 0.0)) : sum / weights;
}

}  // namespace

void reference_nlm(VolumeView<const float> in, VolumeView<float> out, const NlmParams& params) {
  const Padded u{in, params.border};
  Radius3 reach = *params.patch_radius;
  for (int axis = 0; axis < 3; ++axis) reach[axis] += params.search_window() ? (*params.search_window())[axis] : 0;
  for_each_in({0, 0, 0}, {in.extent.x - 1, in.extent.y - 1, in.extent.z - 1}, [&](const Index3& p) {
    const float voxel = in.at(p.x, p.y, p.z);
    bool leaves = false;
    for (int axis = 0; axis < 3; ++axis) leaves |= p[axis] < reach[axis] || p[axis] + reach[axis] >= in.extent[axis];
    const bool keeps =
        !std::isfinite(voxel) || *params.strength * *params.sigma == 0 || (params.border == Border::copy && leaves);
    out.at(p.x, p.y, p.z) = keeps ? voxel + 0.0F : static_cast<float>(filtered(u, params, p));
  });
}

double nlm_tolerance(VolumeView<const float> in) {
  float largest = 0;
  for (std::int64_t i = 0; i < in.extent.voxels(); ++i) {
    if (std::isfinite(in.data[i])) largest = std::max(largest, std::abs(in.data[i]));
  }
  return 1e-5 * static_cast<double>(largest);
}

}  // namespace quietvox::test
