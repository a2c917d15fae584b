// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bilateral.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "filters/bilateral/tiled.hpp"
#include "filters/bilateral/try_windows.hpp"

namespace quietvox {
namespace {

using namespace bilateral_kernel;

[[noreturn]] void throw_too_wide(std::string_view filter, const BilateralParams& params, const Spacing& spacing,
                                 int axis) {
  throw Error(Errc::invalid_argument,
              std::string(filter) + ": " + Parameter{"domain-sigma"} + " = " +
                  FieldType<Triple<double>>::format(*params.domain_sigma) + " reaches further than " +
                  std::to_string(BilateralParams::largest_radius) + " voxels along " + std::string(1, "xyz"[axis]),
              "give at most " +
                  FieldType<double>::format(BilateralParams::largest_radius * spacing[axis] / params.truncate) +
                  " (mm), or a " + Parameter{"radius"});
}

double wanted_radius(double truncate, const Spacing& spacing, const Triple<double>& sigma, int axis) {
  // Less a trifle, so that 3.0000000000000004 voxels of decimal fractions are 3.
  return std::ceil(truncate * sigma[axis] / spacing[axis] - 1e-9);
}

RatesOfTile rates_by_noise(const BilateralParams& params) {
  return [&params](const Tile& tile, std::span<const Tap>, const RangeWeight& range, std::int64_t width,
                   std::int64_t rows, float* rates, std::int64_t pitch) {
    const double sigma = range.scaled(*params.range_sigma);
    for (std::int64_t y = 0; y < rows; ++y) {
      const std::span row(rates + y * pitch, static_cast<std::size_t>(width));
      params.map.row({tile.place.x, tile.place.y + y, tile.place.z}, params.volume, row);
      for (float& value : row) value = RangeWeight::rate_of(sigma * static_cast<double>(value));
    }
  };
}

}  // namespace

double range_sigma_for(const NoiseModel& noise) {
  if (noise.trusted_sigma() == 0) return 0;
  return std::clamp(3.2 * std::pow(noise.contrast / noise.sigma, -0.2), 2.0, 3.5) * noise.sigma;
}

BilateralParams BilateralParams::resolved(const VolumeFacts& facts) const {
  BilateralParams params = *this;
  std::optional<NoiseModel> noise = params.resolve_window(facts, name);
  if (!range_sigma && !noise) noise = facts.noise_for("range-sigma");
  if (!range_sigma && noise) {
    params.range_sigma = range_sigma_for(*noise);
    if (range_cut > 0) {
      *params.range_sigma *= noise->map.largest();
    } else {
      params.map = noise->map;
      params.volume = facts.extent;
    }
    params =
        with_best_window(params, *this, *noise, facts, bilateral_cpu, {&BilateralParams::range_sigma}, range_cut == 0);
  }
  return params;
}

std::optional<NoiseModel> BilateralParams::resolve_window(const VolumeFacts& facts, std::string_view filter) {
  constexpr double widest = 1.6;  // in-plane voxels
  std::optional<NoiseModel> noise;
  if (domain_sigma) {
    if (!radius) {
      Radius3 automatic;
      for (int axis = 0; axis < 3; ++axis) {
        const double reach = std::min(wanted_radius(truncate, facts.spacing, *domain_sigma, axis),
                                      static_cast<double>(facts.room(axis)));
        if (reach > largest_radius) throw_too_wide(filter, *this, facts.spacing, axis);
        automatic[axis] = static_cast<int>(reach);
      }
      radius = automatic;
    }
  } else {
    const double voxel = facts.in_plane_spacing();
    noise = facts.noise_for("domain-sigma");
    if (!radius && !noise) noise = facts.noise_for("radius");
    widest_radius_ = automatic_radius(facts, {widest * voxel, widest * voxel, widest * voxel}, truncate);
    if (noise) {
      // A mean of voxels that hold the same noise takes none of it away.
      const Triple<double> length = noise->trusted_sigma() > 0 ? noise->spectrum.length() : Triple<double>{1, 1, 1};
      Triple<double> sigma;
      for (int axis = 0; axis < 3; ++axis) sigma[axis] = voxel * std::min(std::sqrt(length[axis]), widest);
      domain_sigma = sigma;
      if (!radius) radius = automatic_radius(facts, sigma, truncate);
    }
  }
  if (radius) radius = flattened(*radius, facts.extent);
  return noise;
}

Radius3 automatic_radius(const VolumeFacts& facts, const Triple<double>& domain_sigma, double truncate) {
  Radius3 automatic;
  for (int axis = 0; axis < 3; ++axis) {
    if (!facts.takes_part(axis)) continue;
    const double wanted = wanted_radius(truncate, facts.spacing, domain_sigma, axis);
    automatic[axis] = static_cast<int>(
        std::min({wanted, static_cast<double>(facts.room(axis)), double{BilateralParams::largest_radius}}));
  }
  return automatic;
}

void bilateral_cpu(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params,
                   const Execution& execution) {
  run_bilateral(in, out, params, params.map.varies() ? rates_by_noise(params) : RatesOfTile(), execution);
}

}  // namespace quietvox
