// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "filters/bilateral.hpp"
#include "filters/common/launch_context.hpp"

namespace quietvox {

enum class RangeRule {
  variance,  ///< follows the standard deviation about the voxel
  two_pass,  ///< follows the differences that a first bilateral pass averages
};
constexpr std::array<std::string_view, 2> choices(RangeRule) { return {"variance", "two-pass"}; }

/// The bilateral filter with a range sigma for each voxel p:
///
///     variance:  range_sigma(p) = clamp(kappa s(p), lowest_range_sigma m(p), highest_range_sigma m(p)),
///     two-pass:  range_sigma(p) = sqrt(max(v(p) + regularisation, regularisation)) / 2,
///                v(p) = sum_q w_q (u_q - u_p)^2 / sum_q w_q
///
/// where s is the standard deviation (n - 1) of the voxels present in the box of radius 1 along the axes that the
/// window extends along, m is the map of the noise where both bounds were measured, else 1, and w are the weights of
/// the bilateral filter with range_sigma. The second rule is that of Indurkhya and Vallabhu 2023 as the text of their
/// section 4.2.2 writes it; their Algorithm 2 accumulates the running sum of the weights and adds the regularisation to
/// the square root instead, which makes the variance depend on the order of the neighbours. Differs from exact
/// arithmetic by at most 1e-5 of the volume's largest range_sigma(p) + 4 ulp(max |u|), for range sigmas within a factor
/// of 2^60 of each other. Missing voxels keep their value and have no weight.
struct AdaptiveBilateralParams {
  RangeRule rule = RangeRule::variance;
  double kappa = 3;
  std::optional<double> lowest_range_sigma;
  std::optional<double> highest_range_sigma;
  std::optional<double> range_sigma;
  std::optional<double> regularisation;
  std::optional<Triple<double>> domain_sigma;
  std::optional<Radius3> radius;
  double truncate = 2.5;
  Support support = Support::box;
  Border border = Border::replicate;

  CoarseField map{};  ///< of the noise, over that of the whole volume; of resolved parameters
  Extent volume{};    ///< voxels of the whole volume; of resolved parameters

  static constexpr std::string_view name = "adaptive-bilateral";
  static constexpr std::string_view summary = "Bilateral filter whose intensity weight follows the local contrast.";
  static constexpr bool commutes_with_rescale = false;
  static consteval auto fields() {
    using P = AdaptiveBilateralParams;
    return std::tuple{
        field("rule", &P::rule, "What the range sigma of a voxel follows."),
        field("kappa", &P::kappa, {1e-3, 100}, "", "Rule variance: range sigma / local standard deviation."),
        field("lowest-range-sigma", &P::lowest_range_sigma, {0, 1e30}, "intensity",
              "Rule variance: the least range sigma; auto: half the measured noise of each voxel, "
              "times 0.7 to 1.5 if that leaves less error."),
        field("highest-range-sigma", &P::highest_range_sigma, {0, 1e30}, "intensity",
              "Rule variance: the largest range sigma; auto: three times the measured noise of each voxel, "
              "times 0.7 to 1.5 if that leaves less error."),
        field("range-sigma", &P::range_sigma, {0, 1e30}, "intensity",
              "Rule two-pass: range sigma of the first pass; auto: as in bilateral where the noise is strongest."),
        field("regularisation", &P::regularisation, {0, 1e30}, "intensity^2",
              "Rule two-pass: added to the variance of the first pass; auto: 0.01 (intensity range / 255)^2."),
        field("domain-sigma", &P::domain_sigma, {1e-6, 1e6}, "mm",
              "Standard deviation of the spatial weight per axis; auto: an in-plane voxel, and more where the noise is "
              "correlated; where both bounds are automatic, times 0.6 to 1 if that leaves less error."),
        field("radius", &P::radius, {0, BilateralParams::largest_radius}, "voxel",
              "Half width of the window per axis; auto: truncate x domain-sigma, at most the volume."),
        field("truncate", &P::truncate, {0.1, 10}, "domain-sigma",
              "Half width of an automatic window, in domain sigmas."),
        field("support", &P::support, "Shape of the window."),
        field("border", &P::border, "What the window sees beyond the edge of the volume."),
    };
  }

  /// Numbers that the rule does not use stay as they are.
  AdaptiveBilateralParams resolved(const VolumeFacts&) const;
  /// Both passes look at the window of the voxel itself.
  constexpr Radius3 halo() const { return radius.value_or(widest_radius_); }
  constexpr std::string_view window_field() const { return "radius"; }
  static FilterHooks<AdaptiveBilateralParams> hooks() { return {}; }

  /// The box of the local standard deviation.
  constexpr Radius3 statistics_radius() const {
    return {std::min(radius->x, 1), std::min(radius->y, 1), std::min(radius->z, 1)};
  }
  /// The bilateral filter with the same window and this range sigma.
  BilateralParams with_range_sigma(double sigma) const;
  /// About the largest range sigma that a voxel may get.
  double scale() const;

 private:
  Radius3 widest_radius_{};
};

/// `params` are resolved.
void adaptive_bilateral_cpu(VolumeView<const float>, VolumeView<float>, const AdaptiveBilateralParams& params,
                            const Execution&);
void adaptive_bilateral_cuda(VolumeView<const float>, VolumeView<float>, const AdaptiveBilateralParams& params,
                             const cuda::LaunchContext&);

}  // namespace quietvox
