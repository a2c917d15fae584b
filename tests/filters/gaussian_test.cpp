// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/gaussian.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "filters/gaussian/axis.hpp"
#include "filters/registry.hpp"
#include "support/difference.hpp"
#include "support/expect_error.hpp"
#include "support/instruction_sets.hpp"
#include "support/reference_gaussian.hpp"

namespace quietvox::test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

GaussianParams resolved(const Volume& in, Triple<double> sigma_in_voxels,
                        GaussianAlgorithm algorithm = GaussianAlgorithm::by_sigma, Border border = Border::replicate) {
  GaussianParams params;
  params.sigma.emplace();
  for (int axis = 0; axis < 3; ++axis) (*params.sigma)[axis] = sigma_in_voxels[axis] * in.spacing[axis];
  params.algorithm = algorithm;
  params.border = border;
  return params.resolved({in.extent, in.spacing, {}});
}

Volume filtered(const Volume& in, const GaussianParams& params, const Execution& execution = {}) {
  Volume out(in.extent, in.spacing, nan);
  gaussian_cpu(in.view(), out.view(), params, execution);
  return out;
}

void expect_reference(const Volume& in, const GaussianParams& params) {
  EXPECT_EQ(first_difference(reference_gaussian(in, params), filtered(in, params), gaussian_tolerance(in, params)), "");
}

/// A busy volume with a block and some single voxels missing.
Volume with_holes(Extent extent) {
  Volume volume = busy_volume(extent, 3);
  for (std::int64_t z = extent.z / 3; z < extent.z / 2; ++z) {
    for (std::int64_t x = 0; x < extent.x / 2; ++x) volume.view().at(x, extent.y / 2, z) = nan;
  }
  for (std::size_t i = 5; i < volume.voxels.size(); i += 37) volume.voxels[i] = -HUGE_VALF;
  return volume;
}

TEST(Gaussian, EveryAlgorithmAgreesWithItsFormulaAtManySigmas) {
  const Volume in = busy_volume({{150, 9, 4}}, 1);
  for (const double sigma : {0.05, 0.3, 1.0, 2.5, 6.0, 9.0, 30.0}) {
    for (const auto algorithm : {GaussianAlgorithm::fir, GaussianAlgorithm::recursive}) {
      for (const Border border : {Border::replicate, Border::reflect, Border::copy}) {
        SCOPED_TRACE(testing::Message() << sigma << " algorithm " << static_cast<int>(algorithm) << " border "
                                        << static_cast<int>(border));
        expect_reference(in, resolved(in, {sigma, 0, 0}, algorithm, border));
        expect_reference(in, resolved(in, {0, 0.6, sigma}, algorithm, border));
      }
    }
  }
}

/// Axes of different kinds; lines longer than two blocks of the recursion, and columns that fill no vector.
TEST(Gaussian, AxesAreFilteredEachByItsSigma) {
  for (const Extent& extent : {Extent{{300, 5, 3}}, Extent{{5, 300, 3}}, Extent{{37, 3, 290}}, Extent{{1, 290, 1}}}) {
    const Volume in = busy_volume(extent, 2);
    expect_reference(in, resolved(in, {7, 8, 9}));
    expect_reference(in, resolved(in, {1, 12, 3}));
    expect_reference(in, resolved(in, {20, 2, 11}, GaussianAlgorithm::by_sigma, Border::reflect));
  }
}

TEST(Gaussian, MissingVoxelsHaveNoWeight) {
  const Volume in = with_holes({{41, 23, 12}});
  for (const Border border : {Border::replicate, Border::reflect, Border::copy}) {
    expect_reference(in, resolved(in, {1, 1.5, 0.5}, GaussianAlgorithm::fir, border));
    expect_reference(in, resolved(in, {7, 8, 2}, GaussianAlgorithm::by_sigma, border));
  }
}

TEST(Gaussian, AVoxelThatStandsAloneKeepsItsValue) {
  Volume in({{80, 60, 40}}, {1, 1, 1}, nan);
  in.view().at(40, 30, 20) = 1234.5F;
  for (const auto algorithm : {GaussianAlgorithm::fir, GaussianAlgorithm::recursive}) {
    Volume out = filtered(in, resolved(in, {6, 6, 6}, algorithm));
    EXPECT_NEAR(out.view().at(40, 30, 20), 1234.5F, 4 * 0x1p-13) << static_cast<int>(algorithm);
  }
}

TEST(Gaussian, ConstantsComeOutToTheBit) {
  for (const float value : {0.0F, -1024.0F, 0.1F, 3e30F}) {
    const Volume in({{200, 19, 7}}, {1, 1, 1}, value);
    for (const double sigma : {0.7, 5.0, 9.0, 100.0, 499.0}) EXPECT_EQ(filtered(in, resolved(in, {sigma, 1, 8})), in);
  }
}

/// What an impulse becomes is the Gaussian itself: to float for the sampled one, to 0.3 % of its peak for the other.
TEST(Gaussian, AnImpulseBecomesAGaussian) {
  const double sigma = 6;
  Volume in(Extent{{201, 1, 1}});
  in.voxels[100] = 1;
  const double peak = 1 / (sigma * std::sqrt(2 * M_PI));
  for (const auto& [algorithm, share] :
       {std::pair(GaussianAlgorithm::fir, 1e-5), std::pair(GaussianAlgorithm::recursive, 3e-3)}) {
    const Volume out = filtered(in, resolved(in, {sigma, 0, 0}, algorithm));
    for (int n = -100; n <= 100; ++n) {
      const double expected = peak * std::exp(-0.5 * n * n / (sigma * sigma));
      ASSERT_NEAR(out.voxels[static_cast<std::size_t>(100 + n)], expected, share * peak) << n;
    }
  }
}

TEST(Gaussian, BoxesComeOutAsTheyDoInTheWhole) {
  const Volume in = with_holes({{301, 7, 9}});
  for (const Border border : {Border::replicate, Border::reflect, Border::copy}) {
    const GaussianParams params = resolved(in, {7, 1, 1.2}, GaussianAlgorithm::by_sigma, border);
    const Volume whole = filtered(in, params);
    for (const auto& [origin, extent] :
         {std::pair(Index3{0, 0, 0}, Extent{{301, 7, 1}}), std::pair(Index3{299, 3, 4}, Extent{{2, 4, 5}}),
          std::pair(Index3{127, 0, 8}, Extent{{3, 1, 1}}), std::pair(Index3{130, 6, 0}, Extent{{40, 1, 9}})}) {
      const Volume box = filtered_box(in, origin, extent, params.halo(),
                                      [&](auto from, auto to) { gaussian_cpu(from, to, params, {}); });
      ASSERT_TRUE(same_bytes(box, box_of(whole, origin, extent)));
    }
  }
}

/// With gaps and without, sums are added up in different ways; where a window holds no gap the result is the same.
TEST(Gaussian, GapsOutOfReachChangeNothing) {
  Volume in = busy_volume({{40, 33, 110}}, 6);
  in.view().at(5, 7, 3) = nan;
  for (const Triple<double>& sigma : {Triple<double>{1, 1.5, 2}, Triple<double>{6, 4, 5}, Triple<double>{0, 3, 0}}) {
    const GaussianParams params = resolved(in, sigma);
    const Volume whole = filtered(in, params);
    const Index3 origin{0, 0, 40};
    const Extent extent{{40, 33, 20}};
    const Volume box = filtered_box(in, origin, extent, params.halo(),
                                    [&](auto from, auto to) { gaussian_cpu(from, to, params, {}); });
    EXPECT_TRUE(same_bytes(box, box_of(whole, origin, extent)));
  }
}

TEST(Gaussian, IsExactFarFromZero) {
  Volume in = busy_volume({{60, 41, 30}}, 7);
  for (float& voxel : in.voxels) voxel = 60000 + std::fmod(voxel, 8.0F);
  for (const double sigma : {0.7, 3.0, 6.0}) expect_reference(in, resolved(in, {sigma, sigma, sigma}));
}

/// Such as those that stand for no value, in a block and alone.
TEST(Gaussian, TheLargestNumbersLeadToNoOthersThanNumbers) {
  constexpr float largest = std::numeric_limits<float>::max();
  Volume in = busy_volume({{37, 21, 30}}, 7);
  for (std::size_t i = 0; i < in.voxels.size() / 4; ++i) in.voxels[i] = -largest;
  in.voxels[in.voxels.size() / 2] = largest;
  in.voxels.back() = largest;
  Volume with_gaps = in;
  for (std::size_t i = 5; i < in.voxels.size(); i += 19) with_gaps.voxels[i] = nan;
  for (const double sigma : {0.7, 3.0, 8.0}) {
    for (const Volume* volume : {&in, &with_gaps}) {
      const Volume out = filtered(*volume, resolved(in, {sigma, sigma, sigma}));
      for (std::size_t i = 0; i < out.voxels.size(); ++i) {
        ASSERT_EQ(std::isfinite(out.voxels[i]), std::isfinite(volume->voxels[i])) << i << ", sigma " << sigma;
      }
    }
  }
}

/// Every instruction set that this machine has.
TEST(Gaussian, EveryInstructionSetAgreesWithTheReference) {
  const Volume in = with_holes({{37, 21, 140}});
  const GaussianParams params = resolved(in, {1, 9, 8});
  const Volume reference = reference_gaussian(in, params);
  for_each_instruction_set(
      [&] { EXPECT_EQ(first_difference(reference, filtered(in, params), gaussian_tolerance(in, params)), ""); });
}

TEST(Gaussian, TheDefaultSigmaIsOneInPlaneVoxel) {
  const GaussianParams params = GaussianParams{}.resolved({{{64, 64, 32}}, {0.8, 0.8, 3}, {}});
  EXPECT_EQ(*params.sigma, (Triple<double>{0.8, 0.8, 0})) << "3 mm is more than twice 0.8 mm";
  EXPECT_EQ(params.halo(), (Radius3{5, 5, 0}));
  const GaussianParams thin = GaussianParams{}.resolved({{{64, 64, 32}}, {0.8, 0.8, 1.6}, {}});
  EXPECT_EQ(*thin.sigma, (Triple<double>{0.8, 0.8, 0.8}));
  EXPECT_EQ(GaussianParams{}.resolved({{{64, 64, 1}}, {0.8, 0.8, 3}, {}}).halo(), (Radius3{5, 5, 0}));
}

TEST(Gaussian, ASigmaMayBeLargerThanTheVolumeButNotThan500Voxels) {
  FilterConfig settings(find_filter("gaussian"));
  settings.set("sigma", "250");
  EXPECT_EQ(settings.resolved({{{64, 64, 32}}, {0.5, 0.5, 0.5}, {}}).halo(), (Radius3{63, 63, 31}));
  expect_error(Errc::invalid_argument,
               "gaussian: sigma = 250x250x250 is more than 500 voxels along y; give at most 200", [&] {
                 (void)settings.resolved({{{64, 64, 32}}, {0.5, 0.4, 0.5}, {}});
               });
  EXPECT_NO_THROW((void)settings.resolved({{{64, 64, 1}}, {0.5, 0.5, 0.1}, {}})) << "a flat axis is not filtered";
}

TEST(Gaussian, StopsOnRequest) {
  const Volume in = busy_volume({{70, 41, 9}}, 1);
  std::stop_source stop;
  stop.request_stop();
  Execution execution;
  execution.stop = stop.get_token();
  expect_error(Errc::cancelled, "stopped", [&] { filtered(in, resolved(in, {1, 1, 1}), execution); });
}

}  // namespace
}  // namespace quietvox::test
