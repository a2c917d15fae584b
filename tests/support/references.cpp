// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/references.hpp"

#include "filters/adaptive_bilateral.hpp"
#include "filters/bilateral.hpp"
#include "filters/bm4d.hpp"
#include "filters/dct.hpp"
#include "filters/gaussian.hpp"
#include "filters/median.hpp"
#include "filters/nlm.hpp"
#include "filters/prinlm.hpp"
#include "filters/quadratic.hpp"
#include "support/reference_adaptive_bilateral.hpp"
#include "support/reference_bilateral.hpp"
#include "support/reference_bm4d.hpp"
#include "support/reference_dct.hpp"
#include "support/reference_gaussian.hpp"
#include "support/reference_median.hpp"
#include "support/reference_nlm.hpp"
#include "support/reference_prinlm.hpp"
#include "support/reference_quadratic.hpp"

namespace quietvox::test {
namespace {

Volume median(const Volume& in, const Settings& resolved) {
  Volume out(in.extent, in.spacing);
  out.voxels = reference_median(in.view(), std::any_cast<const MedianParams&>(resolved.params()));
  return out;
}

Volume bilateral(const Volume& in, const Settings& resolved) {
  Volume out(in.extent, in.spacing);
  reference_bilateral(in.view(), out.view(), std::any_cast<const BilateralParams&>(resolved.params()));
  return out;
}

Volume adaptive_bilateral(const Volume& in, const Settings& resolved) {
  Volume out(in.extent, in.spacing);
  reference_adaptive_bilateral(in.view(), out.view(), std::any_cast<const AdaptiveBilateralParams&>(resolved.params()));
  return out;
}

Volume gaussian(const Volume& in, const Settings& resolved) {
  return reference_gaussian(in, std::any_cast<const GaussianParams&>(resolved.params()));
}

Volume nlm(const Volume& in, const Settings& resolved) {
  Volume out(in.extent, in.spacing);
  reference_nlm(in.view(), out.view(), std::any_cast<const NlmParams&>(resolved.params()));
  return out;
}

Volume quadratic(const Volume& in, const Settings& resolved) {
  const auto& params = std::any_cast<const QuadraticParams&>(resolved.params());
  return reference_quadratic(in, params, quadratic_coefficients(params.coefficients));
}

Volume dct(const Volume& in, const Settings& resolved) {
  return reference_dct(in, std::any_cast<const DctParams&>(resolved.params()));
}

Volume prinlm(const Volume& in, const Settings& resolved) {
  return reference_prinlm(in, std::any_cast<const PrinlmParams&>(resolved.params()));
}

Volume bm4d(const Volume& in, const Settings& resolved) {
  return reference_bm4d(in, std::any_cast<const Bm4dParams&>(resolved.params()));
}

double exact(const Volume&, const Settings&) { return 0; }

double within_bilateral(const Volume& in, const Settings& resolved) {
  return bilateral_tolerance(in.view(), std::any_cast<const BilateralParams&>(resolved.params()));
}

double within_adaptive_bilateral(const Volume& in, const Settings& resolved) {
  return adaptive_bilateral_tolerance(in.view(), std::any_cast<const AdaptiveBilateralParams&>(resolved.params()));
}

double within_gaussian(const Volume& in, const Settings& resolved) {
  return gaussian_tolerance(in, std::any_cast<const GaussianParams&>(resolved.params()));
}

bool is_gaussian_nlm(const Settings& resolved) {
  return std::any_cast<const NlmParams&>(resolved.params()).noise_model == NoiseDistribution::gaussian;
}

double within_nlm(const Volume& in, const Settings&) { return nlm_tolerance(in.view()); }

double within_dct(const Volume& in, const Settings&) { return dct_tolerance(in); }

double within_quadratic(const Volume& in, const Settings& resolved) {
  return quadratic_tolerance(in, std::any_cast<const QuadraticParams&>(resolved.params()));
}

}  // namespace

const std::vector<Reference>& references() {
  static const std::vector<Reference> all{
      {"median", median, exact},
      {"bilateral", bilateral, within_bilateral},
      {"adaptive-bilateral", adaptive_bilateral, within_adaptive_bilateral},
      {"gaussian", gaussian, within_gaussian},
      {"nlm", nlm, within_nlm, is_gaussian_nlm},
      {"quadratic", quadratic, within_quadratic},
      {"dct", dct, within_dct},
      {"prinlm", prinlm, within_dct},
      {"bm4d", bm4d, within_dct},
  };
  return all;
}

}  // namespace quietvox::test
