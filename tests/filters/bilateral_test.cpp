// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bilateral.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <stop_token>
#include <thread>
#include <vector>

#include "filters/registry.hpp"
#include "support/expect_error.hpp"
#include "support/instruction_sets.hpp"
#include "support/reference_bilateral.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {
namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

/// Steps of four levels with noise, `scale` apart.
Volume random_volume(Extent extent, double scale = 100, double offset = 0, unsigned seed = 1) {
  Volume volume(extent);
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 0.4);
  std::uniform_int_distribution<int> level(0, 3);
  for (float& v : volume.voxels) v = static_cast<float>(offset + scale * (level(random) + noise(random)));
  return volume;
}

BilateralParams make_params(Radius3 radius, double range_sigma = 80, double domain_sigma = 1.3) {
  BilateralParams params;
  params.domain_sigma = {domain_sigma, domain_sigma, domain_sigma};
  params.range_sigma = range_sigma;
  params.radius = radius;
  return params;
}

Volume filtered(const Volume& in, const BilateralParams& params, const Execution& execution = {}) {
  Volume out(in.extent);
  std::fill(out.voxels.begin(), out.voxels.end(), nan_value);
  bilateral_cpu(in.view(), out.view(), params, execution);
  return out;
}

void expect_reference(const Volume& in, const BilateralParams& params) {
  const Volume out = filtered(in, params);
  Volume expected(in.extent);
  reference_bilateral(in.view(), expected.view(), params);
  const double tolerance = bilateral_tolerance(in.view(), params);
  for (std::size_t i = 0; i < in.voxels.size(); ++i) {
    if (std::isfinite(in.voxels[i])) {
      const double error = std::abs(static_cast<double>(out.voxels[i]) - expected.voxels[i]);
      ASSERT_LE(error, tolerance) << "voxel " << i << " of " << in.voxels[i] << ": " << out.voxels[i] << ", not "
                                  << expected.voxels[i];
    } else {
      ASSERT_EQ(std::memcmp(&out.voxels[i], &in.voxels[i], sizeof(float)), 0) << "missing voxel " << i << " changed";
    }
  }
}

TEST(Bilateral, EveryParameterAgreesWithTheReference) {
  unsigned seed = 0;
  for (const Radius3 radius :
       {Radius3{1, 1, 1}, Radius3{3, 0, 2}, Radius3{0, 2, 1}, Radius3{2, 3, 0}, Radius3{0, 0, 0}}) {
    for (const auto support : {Support::box, Support::disc}) {
      for (const auto border : {Border::replicate, Border::reflect, Border::copy}) {
        for (const double cut : {0.0, 1.7, 4.0}) {
          Volume in = random_volume({{13, 9, 8}}, 100, 0, ++seed);
          in.spacing = {0.7, 0.9, 2.5};
          in.voxels[seed % in.voxels.size()] = nan_value;
          in.voxels[300] = std::numeric_limits<float>::infinity();
          BilateralParams params = make_params(radius);
          params.domain_sigma = {1.1, 0.8, 3};
          params.support = support;
          params.border = border;
          params.range_cut = cut;
          SCOPED_TRACE(testing::Message() << radius.x << radius.y << radius.z << " support " << int(support)
                                          << " border " << int(border) << " cut " << cut);
          expect_reference(in, params);
        }
      }
    }
  }
}

TEST(Bilateral, OddSizes) {
  const BilateralParams params = make_params({2, 2, 2});
  for (const Extent extent : {Extent{{1, 1, 1}}, Extent{{5, 7, 11}}, Extent{{33, 1, 2}}, Extent{{64, 64, 1}},
                              Extent{{300, 18, 3}}, Extent{{1, 40, 3}}, Extent{{257, 33, 1}}}) {
    const Volume in = random_volume(extent);
    const auto resolved = params.resolved({extent, in.spacing, [] { return NoiseModel{.sigma = 0.0}; }});
    SCOPED_TRACE(testing::Message() << extent.x << "x" << extent.y << "x" << extent.z);
    expect_reference(in, resolved);
  }
}

TEST(Bilateral, LargeWindows) {
  expect_reference(random_volume({{70, 65, 1}}), make_params({31, 31, 0}, 80, 9));
  expect_reference(random_volume({{20, 20, 19}}), make_params({9, 9, 9}, 200, 1e6));
}

TEST(Bilateral, AnyScaleOfDataAndSigma) {
  for (const double sigma : {1e-30, 1e-3, 1.0, 80.0, 1e6, 1e30}) {
    for (const double scale : {1e-42, 1e-20, 1.0, 100.0, 1e6, 1e20, 1e37}) {
      for (const double offset : {0.0, 1e6, -1e30}) {
        SCOPED_TRACE(testing::Message() << "sigma " << sigma << " scale " << scale << " offset " << offset);
        expect_reference(random_volume({{9, 7, 5}}, scale, offset), make_params({2, 2, 2}, sigma));
      }
    }
  }
}

TEST(Bilateral, SmallRangeSigmaFarFromZero) {
  Volume in = random_volume({{20, 20, 6}}, 1, 1e6);
  expect_reference(in, make_params({2, 2, 2}, 1));
  expect_reference(in, make_params({2, 2, 2}, 0.05));
}

TEST(Bilateral, WholeNumbers) {
  Volume in = random_volume({{20, 20, 6}}, 30, -1000);
  for (float& v : in.voxels) v = std::round(v);
  for (const double cut : {0.0, 1.0, 2.5}) {
    BilateralParams params = make_params({2, 2, 2}, 10);
    params.range_cut = cut;
    expect_reference(in, params);
    params.range_sigma = 10.4;  // thresholds that are no floats
    expect_reference(in, params);
  }
}

TEST(Bilateral, ExtremeVoxelsSideBySide) {
  const float largest = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
  Volume in = random_volume({{9, 7, 5}});
  const float extremes[] = {largest, -largest, largest, least, -least, 0.0F, -0.0F, 1e19F, nan_value, -1e25F, 1e25F};
  for (std::size_t i = 0; i < 150; ++i) in.voxels[2 * i] = extremes[i % std::size(extremes)];
  for (const double sigma : {1e-44, 1e-3, 80.0, 1e30}) {
    SCOPED_TRACE(sigma);
    const Volume out = filtered(in, make_params({2, 2, 2}, sigma));
    for (std::size_t i = 0; i < in.voxels.size(); ++i)
      EXPECT_EQ(std::isfinite(out.voxels[i]), std::isfinite(in.voxels[i]));
    expect_reference(in, make_params({2, 2, 2}, sigma));
  }
}

TEST(Bilateral, ConstantsAreKeptExactly) {
  for (const float value : {0.0F, 1.0F / 3, -1024.0F, 3e38F, 1e-44F}) {
    Volume in(Extent{{19, 8, 6}});
    std::fill(in.voxels.begin(), in.voxels.end(), value);
    EXPECT_TRUE(same_bytes(in, filtered(in, make_params({2, 2, 2}, 7))));
    in.voxels[100] = nan_value;
    EXPECT_TRUE(same_bytes(in, filtered(in, make_params({2, 2, 2}, 7))));
  }
}

TEST(Bilateral, RangeSigmaZeroChangesNothing) {
  Volume in = random_volume({{19, 8, 6}});
  in.voxels[7] = nan_value;
  for (const double sigma : {0.0, 1e-300, 1e-60})
    EXPECT_TRUE(same_bytes(in, filtered(in, make_params({2, 2, 2}, sigma))));
}

TEST(Bilateral, NegativeZeroBecomesZero) {
  Volume in(Extent{{5, 5, 5}});
  std::fill(in.voxels.begin(), in.voxels.end(), -0.0F);
  for (const double sigma : {0.0, 80.0}) {
    for (const auto border : {Border::replicate, Border::copy}) {
      BilateralParams params = make_params({1, 1, 1}, sigma);
      params.border = border;
      for (const float v : filtered(in, params).voxels) ASSERT_FALSE(std::signbit(v));
    }
  }
}

TEST(Bilateral, MissingVoxelsKeepTheirBits) {
  Volume in = random_volume({{19, 8, 6}});
  const std::uint32_t signalling = 0xFFA12345, quiet = 0x7FC00001;
  std::memcpy(&in.voxels[33], &signalling, 4);
  std::memcpy(&in.voxels[400], &quiet, 4);
  for (const double sigma : {0.0, 80.0}) {
    const Volume out = filtered(in, make_params({2, 2, 2}, sigma));
    EXPECT_EQ(std::memcmp(&out.voxels[33], &signalling, 4), 0);
    EXPECT_EQ(std::memcmp(&out.voxels[400], &quiet, 4), 0);
  }
  std::fill(in.voxels.begin(), in.voxels.end(), nan_value);
  EXPECT_TRUE(same_bytes(in, filtered(in, make_params({2, 2, 2}))));
}

TEST(Bilateral, ThreadsChangeNothing) {
  const Volume in = random_volume({{70, 41, 9}});
  Execution one, three;
  one.threads = 1;
  three.threads = 3;
  EXPECT_TRUE(same_bytes(filtered(in, make_params({3, 2, 1}), one), filtered(in, make_params({3, 2, 1}), three)));
}

/// Any box of outputs, given what its windows reach, is the same box of the whole result.
TEST(Bilateral, PiecesEqualTheWhole) {
  const Volume in = random_volume({{45, 37, 12}});
  for (const auto border : {Border::replicate, Border::reflect, Border::copy}) {
    BilateralParams params = make_params({3, 2, 1});
    params.border = border;
    const Volume whole = filtered(in, params);
    for (const auto& [origin, extent] :
         {std::pair(Index3{0, 0, 0}, Extent{{45, 37, 1}}), std::pair(Index3{0, 0, 5}, Extent{{45, 37, 7}}),
          std::pair(Index3{1, 30, 3}, Extent{{9, 7, 2}}), std::pair(Index3{17, 11, 11}, Extent{{28, 3, 1}})}) {
      const Volume box = filtered_box(in, origin, extent, params.halo(),
                                      [&](auto from, auto to) { bilateral_cpu(from, to, params, {}); });
      ASSERT_TRUE(same_bytes(box, box_of(whole, origin, extent)));
    }
  }
}

/// Every instruction set that this machine has.
TEST(Bilateral, EveryInstructionSetAgreesWithTheReference) {
  for_each_instruction_set([] {
    expect_reference(random_volume({{37, 21, 7}}), make_params({3, 2, 3}));
    BilateralParams params = make_params({3, 2, 3}, 1);
    params.range_cut = 2;
    expect_reference(random_volume({{37, 21, 7}}, 1, 1e6), params);
  });
}

/// With noise that varies along each axis.
BilateralParams with_map(BilateralParams params, const Extent& extent) {
  params.map = {{{2, 3, 2}}, {0.4F, 1.5F, 1, 0.2F, 0.7F, 1, 1.2F, 0.9F, 1, 1.7F, 0.5F, 1}};
  params.volume = extent;
  return params;
}

TEST(Bilateral, NoiseThatVaries) {
  for_each_instruction_set([] {
    for (const Extent extent : {Extent{37, 21, 7}, Extent{300, 20, 1}, Extent{1, 9, 5}}) {
      Volume in = random_volume(extent);
      expect_reference(in, with_map(make_params({3, 2, 1}), extent));
      in.voxels[1] = nan_value;
      for (const auto border : {Border::reflect, Border::copy}) {
        BilateralParams params = with_map(make_params({2, 2, 2}), extent);
        params.border = border;
        expect_reference(in, params);
      }
    }
  });
}

TEST(Bilateral, NoiseThatVariesDependsOnNoBoxAndNoThread) {
  const Volume in = random_volume({{45, 37, 12}});
  const BilateralParams params = with_map(make_params({3, 2, 1}), in.extent);
  Execution one, three;
  one.threads = 1;
  three.threads = 3;
  const Volume whole = filtered(in, params, one);
  EXPECT_TRUE(same_bytes(whole, filtered(in, params, three)));
  const Index3 origin{17, 11, 4};
  const Extent extent{{28, 23, 5}};
  const Volume box =
      filtered_box(in, origin, extent, params.halo(), [&](auto from, auto to) { bilateral_cpu(from, to, params, {}); });
  EXPECT_TRUE(same_bytes(box, box_of(whole, origin, extent)));
}

TEST(Bilateral, Window) {
  const BilateralParams box = make_params({5, 5, 0});
  BilateralParams disc = box;
  disc.support = Support::disc;
  EXPECT_TRUE(in_window(box, {5, -5, 0}));
  EXPECT_FALSE(in_window(box, {6, 0, 0}));
  EXPECT_FALSE(in_window(box, {0, 0, 1}));
  EXPECT_TRUE(in_window(disc, {3, -4, 0}));  // exactly on the rim
  EXPECT_FALSE(in_window(disc, {4, 4, 0}));
  EXPECT_DOUBLE_EQ(log2_domain_weight(make_params({1, 1, 1}, 1, 2), {1, 3, 4}, {2, 1, 1}),
                   -0.5 * (4 + 9 + 16) / 4 / std::log(2.0));
}

TEST(Bilateral, AutomaticValues) {
  NoiseModel noise{.sigma = 12.5, .contrast = 12.5};
  const auto resolved = [&](const Extent& extent, const Spacing& spacing) {
    return BilateralParams{}.resolved({extent, spacing, [&] { return noise; }});
  };
  const BilateralParams params = resolved({{64, 64, 32}}, {0.8, 0.8, 3});
  EXPECT_EQ(*params.range_sigma, 40);
  EXPECT_DOUBLE_EQ(params.domain_sigma->x, 0.8);
  EXPECT_DOUBLE_EQ(params.domain_sigma->z, 0.8);
  EXPECT_EQ(params.halo(), (Radius3{3, 3, 0})) << "3 mm is more than twice 0.8 mm";
  EXPECT_EQ(resolved({{64, 64, 32}}, {0.8, 0.8, 1.6}).halo(), (Radius3{3, 3, 2}));
  EXPECT_EQ(resolved({{64, 64, 1}}, {0.8, 0.8, 3}).halo(), (Radius3{3, 3, 0}));
  noise.contrast = 1000;
  EXPECT_EQ(*resolved({{64, 64, 32}}, {1, 1, 1}).range_sigma, 25) << "structure is far stronger than noise";
  noise.contrast = 1;
  EXPECT_EQ(*resolved({{64, 64, 32}}, {1, 1, 1}).range_sigma, 43.75) << "noise is stronger than structure";

  noise.map = {{{2, 1, 1}}, {0.7F, 1.5F}};
  const BilateralParams uneven = resolved({{64, 64, 32}}, {1, 1, 1});
  EXPECT_EQ(*uneven.range_sigma, 43.75);
  EXPECT_EQ(uneven.map.values, noise.map.values);
  EXPECT_EQ(uneven.volume, (Extent{64, 64, 32}));
  BilateralParams given;
  given.range_sigma = 20;
  EXPECT_FALSE(given.resolved({{{64, 64, 32}}, {1, 1, 1}, [&] { return noise; }}).map.varies())
      << "a range sigma that is given is the same everywhere";
  BilateralParams cut;
  cut.range_cut = 2;
  cut = cut.resolved({{{64, 64, 32}}, {1, 1, 1}, [&] { return noise; }});
  EXPECT_EQ(*cut.range_sigma, 65.625) << "where it is strongest";
  EXPECT_FALSE(cut.map.varies());

  noise.spectrum = {{{2, 2, 1}}, {2, 2, 0, 0}, {1}};  // of noise that is correlated down the columns
  ASSERT_GT(noise.spectrum.length().y, 1.5);
  const BilateralParams along = resolved({{64, 64, 32}}, {1, 1, 1});
  EXPECT_DOUBLE_EQ(along.domain_sigma->x, 1);
  EXPECT_GT(along.domain_sigma->y, 1.2);
  EXPECT_EQ(along.halo(), (Radius3{3, 4, 3}));
  noise.spectrum = {{{2, 2, 1}}, {4, 0, 0, 0}, {1}};
  EXPECT_DOUBLE_EQ(resolved({{64, 64, 32}}, {1, 1, 1}).domain_sigma->x, 1.6) << "no further, or structure is lost";
  noise.confidence = Confidence::none;
  EXPECT_EQ(*resolved({{64, 64, 32}}, {1, 1, 1}).range_sigma, 0);
  EXPECT_EQ(resolved({{64, 64, 32}}, {1, 1, 1}).halo(), (Radius3{3, 3, 3}));
}

TEST(Bilateral, WindowsLargerThanTheVolumeAreRefused) {
  const Filter& filter = find_filter("bilateral");
  const VolumeFacts facts{{{8, 64, 64}}, {1, 1, 1}, [] { return NoiseModel{.sigma = 1.0}; }};
  FilterConfig given(filter, make_params({4, 1, 1}));
  expect_error(Errc::invalid_argument, "radius = 4x1x1", [&] { (void)given.resolved(facts); });
}

TEST(Bilateral, AnAutomaticWindowFitsIntoTheVolume) {
  FilterConfig made(find_filter("bilateral"));
  EXPECT_EQ(made.resolved({{{64, 64, 2}}, {1, 1, 1}, [] { return NoiseModel{.sigma = 1.0}; }}).halo(),
            (Radius3{3, 3, 0}));
  EXPECT_EQ(made.resolved({{{64, 64, 3}}, {1, 1, 0.01}, [] { return NoiseModel{.sigma = 1.0}; }}).halo(),
            (Radius3{3, 3, 1}));
  made.set("domain-sigma", "3");
  EXPECT_EQ(made.resolved({{{8, 64, 64}}, {1, 1, 1}, [] { return NoiseModel{.sigma = 1.0}; }}).halo(),
            (Radius3{3, 8, 8}));
}

TEST(Bilateral, RadiiBeyondTheRangeAreRefused) {
  FilterConfig made(find_filter("bilateral"));
  made.set("domain-sigma", "100");
  expect_error(Errc::invalid_argument, "domain-sigma = 100x100x100", [&] {
    (void)made.resolved({{{2000, 2000, 2000}}, {1, 1, 1}, [] { return NoiseModel{.sigma = 1.0}; }});
  });
}

/// One band of rows takes seconds.
TEST(Bilateral, StopsWithinABand) {
  const Volume in = busy_volume({2048, 80, 63}, 9);
  std::stop_source stop;
  const std::jthread asks([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop.request_stop();
  });
  Volume band({{2048, 18, 1}}, in.spacing);
  VolumeView<float> out = band.view();
  out.origin = {0, 31, 31};
  expect_error(Errc::cancelled, "stopped", [&] {
    bilateral_cpu(in.view(), out, make_params({31, 31, 31}),
                  {.threads = 1, .memory_limit = {}, .stop = stop.get_token()});
  });
}

TEST(Bilateral, StopsOnRequest) {
  const Volume in = random_volume({{70, 41, 9}});
  std::stop_source stop;
  stop.request_stop();
  Execution execution;
  execution.stop = stop.get_token();
  expect_error(Errc::cancelled, "stopped", [&] { filtered(in, make_params({1, 1, 1}), execution); });
}

}  // namespace
}  // namespace quietvox::test
