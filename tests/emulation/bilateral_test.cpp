// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bilateral.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "cuda/resources.hpp"
#include "filters/adaptive_bilateral.hpp"
#include "support/difference.hpp"
#include "support/reference_adaptive_bilateral.hpp"
#include "support/reference_bilateral.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {
namespace {

constexpr Radius3 radii[] = {{1, 1, 1}, {3, 3, 0}, {2, 0, 1}, {0, 0, 1}, {7, 2, 1}, {4, 5, 0}};

Volume with_holes(Volume volume) {
  for (std::size_t i = 37; i < volume.voxels.size(); i += 331) {
    volume.voxels[i] = std::numeric_limits<float>::quiet_NaN();
  }
  return volume;
}

/// With noise that varies along each axis.
template <class P>
P with_map(P params, const Extent& volume) {
  params.map = {{{2, 3, 2}}, {0.4F, 1.5F, 1, 0.2F, 0.7F, 1, 1.2F, 0.9F, 1, 1.7F, 0.5F, 1}};
  params.volume = volume;
  return params;
}

BilateralParams make_params(Radius3 radius) {
  BilateralParams params;
  params.domain_sigma = {1.5, 1.5, 1.5};
  params.range_sigma = 80;
  params.radius = radius;
  return params;
}

AdaptiveBilateralParams make_params(Radius3 radius, RangeRule rule) {
  AdaptiveBilateralParams params;
  params.rule = rule;
  params.lowest_range_sigma = 20;
  params.highest_range_sigma = 160;
  params.range_sigma = 80;
  params.regularisation = 4;
  params.domain_sigma = {1.5, 1.5, 1.5};
  params.radius = radius;
  return params;
}

constexpr float not_written = -7777;

Volume emulated(const Volume& in, const BilateralParams& params) {
  Volume out(in.extent, in.spacing, not_written);
  bilateral_cuda(in.view(), out.view(), params, cuda::LaunchContext());
  return out;
}

Volume emulated(const Volume& in, const AdaptiveBilateralParams& params) {
  Volume out(in.extent, in.spacing, not_written);
  adaptive_bilateral_cuda(in.view(), out.view(), params, cuda::LaunchContext());
  return out;
}

template <class P, class Reference>
void expect_reference(const Volume& in, const P& params, const Reference& reference, double tolerance) {
  Volume expected(in.extent, in.spacing);
  reference(in.view(), expected.view(), params);
  EXPECT_EQ(first_difference(expected, emulated(in, params), tolerance), "")
      << params.radius->x << "x" << params.radius->y << "x" << params.radius->z
      << (params.map.varies() ? ", a map" : "");
}

TEST(EmulatedBilateral, EveryRadius) {
  for (const Radius3 radius : radii) {
    const Volume in = with_holes(busy_volume({41, 37, radius.z == 0 ? 2 : 5}, 1));
    for (const BilateralParams& params : {make_params(radius), with_map(make_params(radius), in.extent)}) {
      expect_reference(in, params, reference_bilateral, bilateral_tolerance(in.view(), params));
    }
  }
}

TEST(EmulatedBilateral, EveryRuleOfTheAdaptiveOne) {
  for (const RangeRule rule : {RangeRule::variance, RangeRule::two_pass}) {
    for (const Radius3 radius : radii) {
      const Volume in = with_holes(busy_volume({41, 37, radius.z == 0 ? 2 : 5}, 2));
      for (const bool varies : {false, true}) {
        AdaptiveBilateralParams params = make_params(radius, rule);
        if (varies && rule == RangeRule::variance) params = with_map(params, in.extent);
        expect_reference(in, params, reference_adaptive_bilateral, adaptive_bilateral_tolerance(in.view(), params));
      }
    }
  }
}

TEST(EmulatedBilateral, ABoxComesOutAsItDoesInTheWhole) {
  const Volume whole = with_holes(busy_volume({75, 61, 9}, 3));
  const Index3 origin{3, 5, 1};
  const Extent extent{60, 40, 5};
  const BilateralParams params = with_map(make_params({2, 1, 1}), whole.extent);
  const Volume box = filtered_box(whole, origin, extent, params.halo(),
                                  [&](auto from, auto to) { bilateral_cuda(from, to, params, cuda::LaunchContext()); });
  EXPECT_TRUE(same_bytes(box, box_of(emulated(whole, params), origin, extent)));
}

}  // namespace
}  // namespace quietvox::test
