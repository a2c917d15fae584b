// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bilateral.hpp"

#include <cmath>
#include <string>

#include "filters/bilateral_run.hpp"

namespace quietvox {
namespace {

[[noreturn]] void throw_too_wide(std::string_view filter, const BilateralParams& params, const Spacing& spacing,
                                 int axis) {
  throw Error(Errc::invalid_argument,
              std::string(filter) + ": --domain-sigma = " + FieldType<Triple<double>>::format(*params.domain_sigma) +
                  " reaches further than " + std::to_string(BilateralParams::largest_radius) + " voxels along " +
                  "xyz"[axis] + "; give at most " +
                  FieldType<double>::format(BilateralParams::largest_radius * spacing[axis] / params.truncate) +
                  " (mm), or a --radius");
}

}  // namespace

BilateralParams BilateralParams::resolved(const VolumeFacts& facts) const {
  BilateralParams params = *this;
  params.resolve_window(facts, name);
  if (!range_sigma) {
    if (const auto noise = facts.noise_sigma_for("range-sigma")) params.range_sigma = 2 * *noise;
  }
  return params;
}

void BilateralParams::resolve_window(const VolumeFacts& facts, std::string_view filter) {
  const bool by_default = !domain_sigma;
  if (by_default) {
    const double sigma = 1.5 * facts.in_plane_spacing();
    domain_sigma = {sigma, sigma, sigma};
  }
  if (!radius) {
    Radius3 automatic;
    for (int axis = 0; axis < 3; ++axis) {
      // Less a trifle, so that 3.0000000000000004 voxels of decimal fractions are 3.
      const double wanted = std::ceil(truncate * (*domain_sigma)[axis] / facts.spacing[axis] - 1e-9);
      const double reach = std::min(wanted, static_cast<double>(facts.room(axis)));
      if (by_default) {
        automatic[axis] = facts.takes_part(axis) ? static_cast<int>(std::min<double>(reach, largest_radius)) : 0;
        continue;
      }
      if (reach > largest_radius) throw_too_wide(filter, *this, facts.spacing, axis);
      automatic[axis] = static_cast<int>(reach);
    }
    radius = automatic;
  }
  radius = flattened(*radius, facts.extent);
}

void bilateral_cpu(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params,
                   const Execution& execution) {
  run_bilateral(in, out, params, {}, execution);
}

}  // namespace quietvox
