// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/adaptive_bilateral.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "filters/registry.hpp"
#include "support/difference.hpp"
#include "support/expect_error.hpp"
#include "support/instruction_sets.hpp"
#include "support/reference_adaptive_bilateral.hpp"
#include "support/reference_bilateral.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {
namespace {

AdaptiveBilateralParams make_params(RangeRule rule, Radius3 radius = {2, 2, 1}) {
  AdaptiveBilateralParams params;
  params.rule = rule;
  params.lowest_range_sigma = 20;
  params.highest_range_sigma = 160;
  params.range_sigma = 80;
  params.regularisation = 4;
  params.domain_sigma = {1.3, 1.1, 1.7};
  params.radius = radius;
  return params;
}

Volume filtered(const Volume& in, const AdaptiveBilateralParams& params) {
  Volume out(in.extent, in.spacing, std::numeric_limits<float>::quiet_NaN());
  adaptive_bilateral_cpu(in.view(), out.view(), params, {});
  return out;
}

void expect_reference(const Volume& in, const AdaptiveBilateralParams& params) {
  Volume expected(in.extent, in.spacing);
  reference_adaptive_bilateral(in.view(), expected.view(), params);
  EXPECT_EQ(first_difference(expected, filtered(in, params), adaptive_bilateral_tolerance(in.view(), params)), "");
}

constexpr RangeRule rules[] = {RangeRule::variance, RangeRule::two_pass};

TEST(AdaptiveBilateral, EveryParameterAgreesWithTheReference) {
  std::uint32_t seed = 0;
  for (const RangeRule rule : rules) {
    for (const Radius3 radius : {Radius3{1, 1, 1}, Radius3{3, 2, 2}, Radius3{2, 3, 0}, Radius3{0, 2, 1}, Radius3{}}) {
      for (const auto border : {Border::replicate, Border::reflect, Border::copy}) {
        Volume in = busy_volume({13, 9, 8}, ++seed);
        in.spacing = {0.7, 0.9, 2.5};
        in.voxels[seed] = std::numeric_limits<float>::quiet_NaN();
        in.voxels[300] = std::numeric_limits<float>::infinity();
        AdaptiveBilateralParams params = make_params(rule, radius);
        params.border = border;
        params.support = seed % 2 == 0 ? Support::box : Support::disc;
        params.kappa = 0.5 + 0.3 * (seed % 5);
        SCOPED_TRACE(seed);
        expect_reference(in, params);
      }
    }
  }
}

/// A constant range sigma is the bilateral filter.
TEST(AdaptiveBilateral, AConstantSigmaIsTheBilateralFilter) {
  const Volume in = busy_volume({31, 22, 7}, 5);
  for (const double sigma : {0.0, 1.0, 40.0, 1e5}) {
    AdaptiveBilateralParams variance = make_params(RangeRule::variance);
    variance.lowest_range_sigma = variance.highest_range_sigma = sigma;
    AdaptiveBilateralParams two_pass = make_params(RangeRule::two_pass);
    two_pass.range_sigma = 0;  // nothing differs in the first pass
    two_pass.regularisation = 4 * sigma * sigma;
    const BilateralParams same = variance.with_range_sigma(sigma);
    Volume expected(in.extent, in.spacing);
    bilateral_cpu(in.view(), expected.view(), same, {});
    const double tolerance = bilateral_tolerance(in.view(), same);
    EXPECT_EQ(first_difference(expected, filtered(in, variance), tolerance), "") << sigma;
    EXPECT_EQ(first_difference(expected, filtered(in, two_pass), tolerance), "") << sigma;
  }
}

/// The range sigma of each rule, worked out by hand for one voxel of a row.
TEST(AdaptiveBilateral, RangeSigmasByHand) {
  Volume row(Extent{5, 1, 1});
  row.voxels = {0, 10, 40, 10, 0};
  AdaptiveBilateralParams params = make_params(RangeRule::variance, {1, 0, 0});
  params.kappa = 1.5;
  // 10, 40, 10: mean 20, squares 100 + 400 + 100, n - 1 = 2
  EXPECT_NEAR(reference_range_sigma(row.view(), params, {2, 0, 0}), 1.5 * std::sqrt(300.0), 1e-12);
  params.rule = RangeRule::two_pass;
  params.domain_sigma = {1, 1, 1};
  params.range_sigma = 30;
  const double w = std::exp(-0.5) * std::exp(-0.5), variance = 2 * w * 900 / (1 + 2 * w);
  EXPECT_NEAR(reference_range_sigma(row.view(), params, {2, 0, 0}), std::sqrt(variance + 4) / 2, 1e-12);
}

TEST(AdaptiveBilateral, AnyScaleOfData) {
  for (const RangeRule rule : rules) {
    for (const double scale : {1e-20, 1e-3, 1e6, 1e20}) {
      Volume in = busy_volume({9, 7, 5}, 3);
      for (float& voxel : in.voxels) voxel = static_cast<float>(voxel * scale);
      AdaptiveBilateralParams params = make_params(rule);
      for (auto* sigma : {&params.lowest_range_sigma, &params.highest_range_sigma, &params.range_sigma})
        **sigma *= scale;
      *params.regularisation *= scale * scale;
      expect_reference(in, params);
    }
    Volume far = busy_volume({9, 7, 5}, 4);
    for (float& voxel : far.voxels) voxel += 1e7F;
    expect_reference(far, make_params(rule));
  }
}

TEST(AdaptiveBilateral, EveryInstructionSetAgreesWithTheReference) {
  for_each_instruction_set([] {
    for (const RangeRule rule : rules) expect_reference(busy_volume({37, 21, 7}, 6), make_params(rule));
  });
}

TEST(AdaptiveBilateral, NoiseThatVaries) {
  const Extent extent{37, 21, 7};
  Volume in = busy_volume(extent, 6);
  in.voxels[1] = std::numeric_limits<float>::quiet_NaN();
  AdaptiveBilateralParams params = make_params(RangeRule::variance);
  const Volume one_sigma = filtered(in, params);
  params.map = {{{2, 3, 2}}, {0.4F, 1.5F, 1, 0.2F, 0.7F, 1, 1.2F, 0.9F, 1, 1.7F, 0.5F, 1}};
  params.volume = extent;
  for_each_instruction_set([&] {
    for (const Radius3 radius : {Radius3{2, 2, 1}, Radius3{3, 2, 0}}) {
      params.radius = radius;
      expect_reference(in, params);
    }
  });
  params.radius = {2, 2, 1};
  const Volume whole = filtered(in, params);
  EXPECT_FALSE(same_bytes(one_sigma, whole));
  const Index3 origin{7, 3, 2};
  const Extent part{20, 11, 3};
  const Volume box = filtered_box(in, origin, part, params.halo(),
                                  [&](auto from, auto to) { adaptive_bilateral_cpu(from, to, params, {}); });
  EXPECT_TRUE(same_bytes(box, box_of(whole, origin, part)));
}

TEST(AdaptiveBilateral, TakesTheMapThatWasMeasured) {
  NoiseModel noise{.sigma = 10, .map = {{{2, 1, 1}}, {0.5F, 1.5F}}, .contrast = 10};
  const VolumeFacts facts{{{64, 64, 32}}, {1, 1, 1}, [&] { return noise; }, [] { return Range<double>{0, 255}; }};
  const AdaptiveBilateralParams params = AdaptiveBilateralParams{}.resolved(facts);
  EXPECT_EQ(params.map.values, noise.map.values);
  EXPECT_EQ(params.volume, facts.extent);
  EXPECT_EQ(*params.highest_range_sigma, 30);
  AdaptiveBilateralParams half_given;
  half_given.lowest_range_sigma = 1;
  half_given = half_given.resolved(facts);
  EXPECT_FALSE(half_given.map.varies());
  EXPECT_EQ(*half_given.highest_range_sigma, 45) << "where it is strongest";
  AdaptiveBilateralParams two_pass;
  two_pass.rule = RangeRule::two_pass;
  two_pass = two_pass.resolved(facts);
  EXPECT_FALSE(two_pass.map.varies());
  EXPECT_EQ(*two_pass.range_sigma, 48) << "where it is strongest";
}

TEST(AdaptiveBilateral, AutomaticValues) {
  const VolumeFacts facts{{{64, 64, 32}},
                          {0.8, 0.8, 3},
                          [] { return NoiseModel{.sigma = 10.0}; },
                          [] {
                            return Range<double>{-100, 155};
                          }};
  AdaptiveBilateralParams params = AdaptiveBilateralParams{}.resolved(facts);
  EXPECT_EQ(*params.lowest_range_sigma, 5);
  EXPECT_EQ(*params.highest_range_sigma, 30);
  EXPECT_EQ(params.halo(), (Radius3{3, 3, 0})) << "3 mm is more than twice 0.8 mm";
  params = {};
  params.rule = RangeRule::two_pass;
  params = params.resolved(facts);
  EXPECT_EQ(*params.range_sigma, 35);
  EXPECT_DOUBLE_EQ(*params.regularisation, 0.01);
  params = {};
  params.highest_range_sigma = 3;  // below what would be the lowest
  EXPECT_EQ(*params.resolved(facts).lowest_range_sigma, 3);
  params = {};
  params.lowest_range_sigma = 90;
  EXPECT_EQ(*params.resolved(facts).highest_range_sigma, 90);
}

TEST(AdaptiveBilateral, WhatCannotBeIsRefused) {
  const VolumeFacts facts{{{64, 64, 32}}, {1, 1, 1}, [] { return NoiseModel{.sigma = 10.0}; }};
  FilterConfig crossed(find_filter("adaptive-bilateral"));
  crossed.set("lowest-range-sigma", "5");
  crossed.set("highest-range-sigma", "3");
  expect_error(Errc::invalid_argument, "adaptive-bilateral: lowest-range-sigma = 5 is above",
               [&] { (void)crossed.resolved(facts); });
  FilterConfig wide(find_filter("adaptive-bilateral"));
  wide.set("domain-sigma", "100");
  expect_error(Errc::invalid_argument, "adaptive-bilateral: domain-sigma = 100x100x100", [&] {
    (void)wide.resolved({{{2000, 2000, 2000}}, {1, 1, 1}, [] { return NoiseModel{.sigma = 10.0}; }});
  });
}

}  // namespace
}  // namespace quietvox::test
