// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "phantom/noise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/error.hpp"
#include "phantom/voxel_random.hpp"

namespace quietvox {
namespace {

/// Stirling's series; off by less than 1e-3 at k = 0 and 1e-9 from k = 10 on.
double log_factorial(double k) {
  const double x = k + 1, inverse = 1 / x;
  return (x - 0.5) * std::log(x) - x + 0.5 * std::log(2 * std::numbers::pi) +
         inverse / 12 * (1 - inverse * inverse / 30 * (1 - inverse * inverse * 2 / 7));
}

/// A Poisson number: by inversion for small means, else by transformed rejection (PTRS, Hormann 1993).
double poisson(double mean, VoxelRandom& random) {
  if (mean < 30) {
    const double u = random.uniform().first;
    double probability = std::exp(-mean), below = probability, k = 0;
    while (u > below && probability > 0) {
      ++k;
      probability *= mean / k;
      below += probability;
    }
    return k;
  }
  const double b = 0.931 + 2.53 * std::sqrt(mean), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), accepted = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const auto [first, v] = random.uniform();
    const double u = first - 0.5, distance = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / distance + b) * u + mean + 0.43);
    if (distance >= 0.07 && v <= accepted) return k;
    if (k < 0 || (distance < 0.013 && v > distance)) continue;
    if (std::log(v * inverse_alpha / (a / (distance * distance) + b)) <= k * std::log(mean) - mean - log_factorial(k)) {
      return k;
    }
  }
}

double noisy(double value, const NoiseParams& params, float lowest, float highest, VoxelRandom random) {
  const double amount = params.amount;
  switch (params.kind) {
    case NoiseKind::gaussian: return value + amount * random.normal().first;
    case NoiseKind::speckle: return value * (1 + amount * random.normal().first);
    case NoiseKind::quantisation: return std::nearbyint(value / amount) * amount;
    case NoiseKind::rician: {
      const auto [real, imaginary] = random.normal();
      return std::hypot(value + amount * real, amount * imaginary);
    }
    case NoiseKind::salt_and_pepper: {
      const auto [hit, side] = random.uniform();
      return hit >= amount ? value : side < 0.5 ? lowest : highest;
    }
    case NoiseKind::poisson: {
      const double mean = value / amount;
      const bool spread_below_float_precision = mean > 1e16;
      return value <= 0 || spread_below_float_precision ? value : poisson(mean, random) * amount;
    }
    case NoiseKind::zero_filled:
    case NoiseKind::g_factor:
    case NoiseKind::ct:
    case NoiseKind::interpolated: break;
  }
  return value;
}

}  // namespace

void check_noise(const NoiseParams& params) {
  validate(params);
  if (params.kind == NoiseKind::salt_and_pepper && params.amount > 1) {
    throw Error(Errc::invalid_argument,
                std::string(NoiseParams::name) + ": " + Parameter{"amount"} + " = '" +
                    FieldType<double>::format(params.amount) + "' is not allowed for salt-and-pepper",
                "give a share of 0 to 1");
  }
}

void add_noise(VolumeView<float> volume, const NoiseParams& params, float lowest, float highest,
               const Execution& execution) {
  check_noise(params);
  if (!is_of_single_voxels(params.kind)) {
    throw Error(Errc::invalid_argument,
                std::string(NoiseParams::name) + ": noise of kind '" + FieldType<NoiseKind>::format(params.kind) +
                    "' needs the whole volume",
                "use NoiseAdder");
  }
  if (params.amount == 0 && params.kind != NoiseKind::rician) return;
  const Extent extent = volume.extent;
  parallel_for(execution, extent.y * extent.z, 16, [&](std::int64_t begin, std::int64_t end) {
    constexpr double limit = std::numeric_limits<float>::max();
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t y = row % extent.y, z = row / extent.y;
      float* voxels = volume.row(y, z);
      for (std::int64_t x = 0; x < extent.x; ++x) {
        if (!std::isfinite(voxels[x])) continue;
        const VoxelRandom random(params.seed, {volume.origin.x + x, volume.origin.y + y, volume.origin.z + z});
        const double value = noisy(static_cast<double>(voxels[x]), params, lowest, highest, random);
        voxels[x] = static_cast<float>(std::clamp(value, -limit, limit));
      }
    }
  });
}

}  // namespace quietvox
