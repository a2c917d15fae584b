// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numbers>

#include "core/backend.hpp"
#include "core/border.hpp"
#include "core/noise_model.hpp"
#include "filters/common/launch_context.hpp"

namespace quietvox {

enum class Support {
  box,   ///< every voxel within the radius of each axis
  disc,  ///< the ellipsoid inside that box: sum (o_a / r_a)^2 <= 1
};
constexpr std::array<std::string_view, 2> choices(Support) { return {"box", "disc"}; }

/// Averages each voxel p with the neighbours q that are near it and look like it (Tomasi and Manduchi 1998):
///
///     out = u_p + sum_q w_q (u_q - u_p) / sum_q w_q
///     w_q = exp(-1/2 sum_a (o_a s_a / domain_sigma_a)^2) exp(-(u_q - u_p)^2 / (2 (range_sigma m_p)^2))
///
/// over the offsets o = q - p with o_a = -r_a .. r_a, where s is the spacing, and r_a, unless given, is
/// ceil(truncate domain_sigma_a / s_a) or the largest that fits into the volume. m is the map of the noise where
/// range_sigma was measured, else 1; with a range_cut, too, it is 1, and range_sigma suits the strongest noise. Differs
/// from that formula in exact arithmetic by at most 1e-5 max(range_sigma m) + 4 ulp(max |u|), where range_cut judges
/// the difference of u_q and u_p as a float32. Missing voxels keep their value and have no weight.
struct BilateralParams {
  static constexpr int largest_radius = 31;

  std::optional<Triple<double>> domain_sigma;
  std::optional<double> range_sigma;
  std::optional<Radius3> radius;
  double truncate = 2.5;
  double range_cut = 0;
  Support support = Support::box;
  Border border = Border::replicate;

  CoarseField map{};  ///< of the noise, over that of the whole volume; of resolved parameters
  Extent volume{};    ///< voxels of the whole volume; of resolved parameters

  static constexpr std::string_view name = "bilateral";
  static constexpr std::string_view summary = "Mean of near and similar voxels; removes noise and keeps edges.";
  static constexpr bool commutes_with_rescale = false;
  static consteval auto fields() {
    return std::tuple{
        field("domain-sigma", &BilateralParams::domain_sigma, {1e-6, 1e6}, "mm",
              "Standard deviation of the spatial weight per axis; auto: an in-plane voxel, more where the noise is "
              "correlated, times 0.6 to 1 if that leaves less error."),
        field("range-sigma", &BilateralParams::range_sigma, {0, 1e30}, "intensity",
              "Standard deviation of the intensity weight; auto: 2 to 3.5 times the measured noise of each voxel, "
              "most where noise is stronger than structure, times 0.7 to 1.5 if that leaves less error; 0 changes "
              "nothing."),
        field("radius", &BilateralParams::radius, {0, largest_radius}, "voxel",
              "Half width of the window per axis; auto: truncate x domain-sigma, at most the volume."),
        field("truncate", &BilateralParams::truncate, {0.1, 10}, "domain-sigma",
              "Half width of an automatic window, in domain sigmas."),
        field(
            "range-cut", &BilateralParams::range_cut, {0, 100}, "range-sigma",
            "Neighbours that differ by this many range sigmas or more have no weight, and an automatic range-sigma is "
            "the same everywhere; 0: no cut."),
        field("support", &BilateralParams::support, "Shape of the window."),
        field("border", &BilateralParams::border, "What the window sees beyond the edge of the volume."),
    };
  }

  BilateralParams resolved(const VolumeFacts&) const;
  /// Resolves domain_sigma and radius on behalf of `filter`, by the noise where they are automatic; that is returned
  /// where it was asked for and is known. Throws Error(invalid_argument) where an automatic window is wider than
  /// `radius` may be.
  std::optional<NoiseModel> resolve_window(const VolumeFacts&, std::string_view filter);
  /// Of resolved parameters; as far as any noise makes it reach where that is not known yet.
  constexpr Radius3 halo() const { return radius.value_or(widest_radius_); }
  constexpr std::string_view window_field() const { return "radius"; }
  static FilterHooks<BilateralParams> hooks() { return {}; }

 private:
  Radius3 widest_radius_{};
};

/// The window of an automatic radius.
Radius3 automatic_radius(const VolumeFacts&, const Triple<double>& domain_sigma, double truncate);

/// Range sigma for a noise, where it is as strong as over the whole volume: what is best on real anatomy
/// (bench/NOTES.md).
double range_sigma_for(const NoiseModel& noise);

/// True where the window, of resolved parameters, holds the voxel at this offset from its centre.
constexpr bool in_window(const BilateralParams& params, const Triple<int>& offset) {
  const Radius3 r = params.halo();
  std::int64_t distance = 0, reach = 1;  // sum (o_a / r_a)^2 <= 1 over the axes with a radius, times all r_a^2
  for (int axis = 0; axis < 3; ++axis) {
    if (offset[axis] < -r[axis] || offset[axis] > r[axis]) return false;
    if (r[axis] == 0) continue;
    const std::int64_t r2 = std::int64_t{r[axis]} * r[axis], o2 = std::int64_t{offset[axis]} * offset[axis];
    distance = distance * r2 + o2 * reach;
    reach *= r2;
  }
  return params.support == Support::box || distance <= reach;
}

/// Binary logarithm of the spatial weight at this offset, of resolved parameters.
constexpr double log2_domain_weight(const BilateralParams& params, const Spacing& spacing, const Triple<int>& offset) {
  double sum = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const double distance = offset[axis] * spacing[axis] / (*params.domain_sigma)[axis];
    sum += distance * distance;
  }
  return -0.5 * std::numbers::log2e * sum;
}

/// `params` are resolved: no member is `auto`.
void bilateral_cpu(VolumeView<const float>, VolumeView<float>, const BilateralParams& params, const Execution&);
void bilateral_cuda(VolumeView<const float>, VolumeView<float>, const BilateralParams& params,
                    const cuda::LaunchContext&);

}  // namespace quietvox
