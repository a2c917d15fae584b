// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/reference_gaussian.hpp"

#include <algorithm>
#include <cmath>

namespace quietvox::test {
namespace {

/// Sigma of an axis in voxels; 0 where it is not filtered.
double sigma_of(const Volume& in, const GaussianParams& params, int axis) {
  return in.extent[axis] == 1 ? 0 : (*params.sigma)[axis] / in.spacing[axis];
}

bool is_recursive(const GaussianParams& params, double sigma) {
  return sigma > 0 && (params.algorithm == GaussianAlgorithm::recursive ||
                       (params.algorithm == GaussianAlgorithm::by_sigma && sigma > 6));
}

bool any_recursive(const Volume& in, const GaussianParams& params) {
  bool any = false;
  for (int axis = 0; axis < 3; ++axis) any |= is_recursive(params, sigma_of(in, params, axis));
  return any;
}

/// Weights of the offsets 0, 1, ...; those of both sides add up to 1.
std::vector<double> weights_of(const GaussianParams& params, double sigma) {
  const bool recursive = is_recursive(params, sigma);
  const int radius = static_cast<int>(recursive ? 25 * sigma + 1 : std::floor(5 * sigma + 0.5));
  std::vector<double> weights;
  double sum = 0;
  for (int n = 0; n <= radius; ++n) {
    const double t = sigma > 0 ? n / sigma : 0;
    const double approximation =
        (1.3530 * std::cos(0.6681 * t) + 1.8151 * std::sin(0.6681 * t)) * std::exp(-1.3932 * t) +
        (-0.3531 * std::cos(2.0787 * t) + 0.0902 * std::sin(2.0787 * t)) * std::exp(-1.3732 * t);
    weights.push_back(recursive ? approximation : std::exp(-t * t / 2));
    sum += (n == 0 ? 1 : 2) * weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// Convolves along one axis.
std::vector<double> convolved(const std::vector<double>& in, const Extent& extent, int axis,
                              const std::vector<double>& weights, Border border) {
  std::vector<double> out(in.size());
  const auto radius = static_cast<std::int64_t>(weights.size()) - 1;
  const auto index = [&](const Index3& p) { return static_cast<std::size_t>((p.z * extent.y + p.y) * extent.x + p.x); };
  for (Index3 p; p.z < extent.z; ++p.z) {
    for (p.y = 0; p.y < extent.y; ++p.y) {
      for (p.x = 0; p.x < extent.x; ++p.x) {
        double sum = 0;
        for (std::int64_t n = -radius; n <= radius; ++n) {
          Index3 q = p;
          q[axis] = border_index(border, p[axis] + n, extent[axis]);
          sum += weights[static_cast<std::size_t>(std::abs(n))] * in[index(q)];
        }
        out[index(p)] = sum;
      }
    }
  }
  return out;
}

}  // namespace

Volume reference_gaussian(const Volume& in, const GaussianParams& params) {
  std::vector<double> sum, present;
  for (const float voxel : in.voxels) {
    sum.push_back(std::isfinite(voxel) ? voxel : 0.0);
    present.push_back(std::isfinite(voxel) ? 1.0 : 0.0);
  }
  bool filters = false;
  for (int axis = 0; axis < 3; ++axis) {
    const double sigma = sigma_of(in, params, axis);
    if (sigma == 0) continue;
    filters = true;
    const std::vector<double> weights = weights_of(params, sigma);
    sum = convolved(sum, in.extent, axis, weights, params.border);
    present = convolved(present, in.extent, axis, weights, params.border);
  }
  Volume out = in;
  std::size_t i = 0;
  for (std::int64_t z = 0; z < in.extent.z; ++z) {
    for (std::int64_t y = 0; y < in.extent.y; ++y) {
      for (std::int64_t x = 0; x < in.extent.x; ++x, ++i) {
        const Index3 p{x, y, z};
        bool keeps = !filters || (any_recursive(in, params) && present[i] < 0.01);
        for (int axis = 0; axis < 3; ++axis) {
          const auto rim = static_cast<std::int64_t>(std::floor(5 * sigma_of(in, params, axis) + 0.5));
          const bool leaves = p[axis] < rim || p[axis] + rim >= in.extent[axis];
          keeps |= params.border == Border::copy && leaves;
        }
        if (!std::isfinite(in.voxels[i])) continue;
        out.voxels[i] = keeps ? in.voxels[i] + 0.0F : static_cast<float>(sum[i] / present[i]);
      }
    }
  }
  return out;
}

double gaussian_tolerance(const Volume& in, const GaussianParams& params) {
  float lowest = HUGE_VALF, highest = -HUGE_VALF;
  for (const float voxel : in.voxels) {
    if (!std::isfinite(voxel)) continue;
    lowest = std::min(lowest, voxel);
    highest = std::max(highest, voxel);
  }
  if (lowest > highest) return 0;
  const float largest = std::max(std::abs(lowest), std::abs(highest));
  const double ulp = static_cast<double>(largest) - std::nextafter(largest, 0.0F);
  return (any_recursive(in, params) ? 1e-5 : 2e-6) * (static_cast<double>(highest) - lowest) + 4 * ulp;
}

}  // namespace quietvox::test
