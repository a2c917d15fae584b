// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/references.hpp"

#include "support/all_references.hpp"

namespace quietvox::test {
namespace {

bool is_gaussian(const NlmParams& params) { return params.noise_model == NlmNoise::gaussian; }

Volume quadratic(const Volume& in, const QuadraticParams& params) {
  return reference_quadratic(in, params, quadratic_coefficients(params.coefficients));
}

/// Equal in every voxel.
double exact(const Volume&) { return 0; }

/// `run` makes a volume of a volume and parameters, or writes one view from another. `tolerance` takes the volume, or a
/// view of it, and the parameters where they matter.
template <class P, class Run, class Tolerance>
Reference reference(
    const Run& run, const Tolerance& tolerance, bool (*keeps_constants)(const P&) = [](const P&) { return true; }) {
  const auto params_of = [](const FilterConfig& resolved) -> const P& {
    return std::any_cast<const P&>(resolved.params());
  };
  return {.filter = std::string(P::name),
          .run =
              [=](const Volume& in, const FilterConfig& resolved) {
                if constexpr (std::is_invocable_r_v<Volume, Run, const Volume&, const P&>) {
                  return run(in, params_of(resolved));
                } else {
                  Volume out(in.extent, in.spacing);
                  run(in.view(), out.view(), params_of(resolved));
                  return out;
                }
              },
          .tolerance = [=](const Volume& in, const FilterConfig& resolved) -> double {
            if constexpr (std::is_invocable_v<Tolerance, const Volume&>) {
              return tolerance(in);
            } else if constexpr (std::is_invocable_v<Tolerance, VolumeView<const float>>) {
              return tolerance(in.view());
            } else if constexpr (std::is_invocable_v<Tolerance, const Volume&, const P&>) {
              return tolerance(in, params_of(resolved));
            } else {
              return tolerance(in.view(), params_of(resolved));
            }
          },
          .keeps_constants = [=](const FilterConfig& resolved) { return keeps_constants(params_of(resolved)); }};
}

}  // namespace

const std::vector<Reference>& references() {
  static const std::vector<Reference> all{
      reference<MedianParams>(reference_median_of_volume, exact),
      reference<BilateralParams>(reference_bilateral, bilateral_tolerance),
      reference<AdaptiveBilateralParams>(reference_adaptive_bilateral, adaptive_bilateral_tolerance),
      reference<GaussianParams>(reference_gaussian, gaussian_tolerance),
      reference<NlmParams>(reference_nlm, nlm_tolerance, is_gaussian),
      reference<QuadraticParams>(quadratic, quadratic_tolerance),
      reference<DctParams>(reference_dct, dct_tolerance),
      reference<PrinlmParams>(reference_prinlm, dct_tolerance),
      reference<Bm4dParams>(reference_bm4d, dct_tolerance),
  };
  return all;
}

}  // namespace quietvox::test
