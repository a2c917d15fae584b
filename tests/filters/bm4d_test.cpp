// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bm4d.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "analysis/measure_noise.hpp"
#include "filters/registry.hpp"
#include "phantom/scanner_noise.hpp"
#include "support/difference.hpp"
#include "support/expect_error.hpp"
#include "support/instruction_sets.hpp"
#include "support/reference_bm4d.hpp"
#include "support/reference_dct.hpp"
#include "support/test_data.hpp"
#include "support/white_noise.hpp"

namespace quietvox::test {
namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

Bm4dParams make_params(const Volume& volume, DctBlock block, Radius3 search, double sigma = 80,
                       Bm4dQuality quality = Bm4dQuality::standard) {
  Bm4dParams params;
  params.sigma = sigma;
  params.quality = quality;
  params.search_radius = search;
  params.block = block;
  return params.resolved({volume.extent, volume.spacing});
}

Volume filtered(const Volume& in, const Bm4dParams& params, const Execution& execution = {}) {
  Volume out(in.extent, in.spacing, nan_value);
  bm4d_cpu(in.view(), out.view(), params, execution);
  return out;
}

void expect_reference(const Volume& in, const Bm4dParams& params) {
  EXPECT_EQ(first_difference(reference_bm4d(in, params), filtered(in, params), dct_tolerance(in)), "");
}

Volume with_holes(Volume volume) {
  for (std::size_t i = 37; i < volume.voxels.size(); i += 331) volume.voxels[i] = nan_value;
  for (std::size_t i = 171; i < volume.voxels.size(); i += 997) {
    volume.voxels[i] = std::numeric_limits<float>::infinity();
  }
  return volume;
}

TEST(Bm4d, EveryLengthOfBlocksAgreesWithTheReference) {
  for_each_instruction_set([] {
    for (const DctBlock block : {DctBlock::cube, DctBlock::square}) {
      for (const Extent extent :
           {Extent{21, 10, 7}, Extent{3, 11, 9}, Extent{1, 6, 5}, Extent{9, 1, 6}, Extent{60, 2, 3}, Extent{10, 3, 1},
            Extent{5, 4, 2}, Extent{2, 2, 4}, Extent{1, 1, 5}, Extent{1, 1, 1}, Extent{8, 8, 1}}) {
        SCOPED_TRACE(testing::Message() << extent.x << "x" << extent.y << "x" << extent.z);
        const Volume in = busy_volume(extent, 1);
        for (const double sigma : {20.0, 80.0, 700.0}) expect_reference(in, make_params(in, block, {2, 1, 1}, sigma));
        expect_reference(with_holes(in), make_params(in, block, {1, 2, 1}));
        expect_reference(in, make_params(in, block, {2, 2, 2}, 80, Bm4dQuality::best));
      }
    }
  });
}

TEST(Bm4d, EveryRadiusAgreesWithTheReference) {
  const Volume in = busy_volume({19, 17, 9}, 2);
  for (const Radius3 search : {Radius3{0, 0, 0}, Radius3{1, 0, 0}, Radius3{0, 3, 1}, Radius3{3, 0, 2}, Radius3{4, 2, 1},
                               Radius3{5, 1, 3}, Radius3{12, 1, 1}}) {
    SCOPED_TRACE(testing::Message() << search.x << "x" << search.y << "x" << search.z);
    expect_reference(in, make_params(in, DctBlock::cube, search));
    expect_reference(in, make_params(in, DctBlock::square, search));
  }
}

TEST(Bm4d, AnyScaleOfData) {
  for (const double scale : {1e-20, 1e-3, 1e6, 1e20}) {
    Volume in = busy_volume({9, 7, 5}, 3);
    for (float& voxel : in.voxels) voxel = static_cast<float>(voxel * scale);
    expect_reference(in, make_params(in, DctBlock::cube, {2, 2, 2}, 80 * scale));
  }
  const Volume in = busy_volume({9, 7, 5}, 4);
  for (const double sigma : {1e-3, 1e10}) expect_reference(in, make_params(in, DctBlock::cube, {2, 2, 2}, sigma));
}

TEST(Bm4d, NoiseFarAboveTheData) {
  const Volume in = busy_volume({21, 14, 9}, 3);
  double largest = 0;
  for (const float voxel : in.voxels) largest = std::max(largest, std::abs(static_cast<double>(voxel)));
  for (const DctBlock block : {DctBlock::cube, DctBlock::square}) {
    for (const double times : {1.0, 4.0, 16.0})
      expect_reference(in, make_params(in, block, {2, 2, 2}, times * largest));
    for (const double times : {64.0, 1e3}) {
      const Bm4dParams params = make_params(in, block, {2, 2, 2}, times * largest);
      EXPECT_EQ(
          first_difference(reference_bm4d(in, params), filtered(in, params), dct_tolerance(in) + 1e-6 * params.h()),
          "");
    }
  }
}

/// A texture of which each voxel has its like at every second place, and noise: blocks side by side differ, but those
/// that are alike are found, and what is common to them stays.
TEST(Bm4d, FindsBlocksThatAreAlike) {
  Volume truth(Extent{24, 24, 8});
  for (std::int64_t z = 0; z < 8; ++z) {
    for (std::int64_t y = 0; y < 24; ++y) {
      for (std::int64_t x = 0; x < 24; ++x) truth.view().at(x, y, z) = (x + y + z) % 2 == 0 ? 1000.0F : 1200.0F;
    }
  }
  const Volume noisy = with_white_noise(truth, 40, 1);
  const auto error = [&](const Volume& result) {
    double sum = 0;
    for (std::size_t i = 0; i < result.voxels.size(); ++i) {
      sum += std::pow(static_cast<double>(result.voxels[i]) - static_cast<double>(truth.voxels[i]), 2);
    }
    return std::sqrt(sum / static_cast<double>(result.voxels.size()));
  };
  EXPECT_GT(error(noisy), 38);
  EXPECT_LT(error(filtered(noisy, make_params(noisy, DctBlock::cube, {3, 3, 3}, 40))), 8);
}

/// Low frequencies stronger, in plane more so, and not alike in both directions.
NoiseSpectrum correlated_spectrum() {
  NoiseSpectrum spectrum{{{4, 3, 5}}, {}, {}};
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 4; ++x) spectrum.in_plane.push_back(std::exp2(-1.0F * x - 0.7F * y));
  }
  for (int z = 0; z < 5; ++z) spectrum.across.push_back(std::exp2(-0.4F * z));
  return spectrum;
}

TEST(Bm4d, CorrelatedNoiseAndNoiseThatVaries) {
  for_each_instruction_set([] {
    const Volume in = with_holes(busy_volume({21, 14, 9}, 9));
    for (const DctBlock block : {DctBlock::cube, DctBlock::square}) {
      Bm4dParams params = make_params(in, block, {3, 2, 1});
      const Volume white = filtered(in, params);
      params.map = {{{2, 1, 2}}, {0.4F, 1.5F, 1, 0.2F}};
      expect_reference(in, params);
      const Volume varying = filtered(in, params);
      EXPECT_FALSE(same_bytes(white, varying));
      params.spectrum = correlated_spectrum();
      expect_reference(in, params);
      EXPECT_FALSE(same_bytes(varying, filtered(in, params)));
    }
  });
}

/// Told how noise is correlated, the filter leaves less of it than told that it is white.
TEST(Bm4d, TakesCorrelatedNoiseOutOfFlatVolumes) {
  const Extent extent{{40, 40, 24}};
  const Volume noise = with_white_noise(Volume(extent), 10, 3);
  Volume smooth(extent);  // a mean of 2x2x2 voxels, of sigma 10 again
  for (std::int64_t z = 0; z < extent.z; ++z) {
    for (std::int64_t y = 0; y < extent.y; ++y) {
      for (std::int64_t x = 0; x < extent.x; ++x) {
        double sum = 0;
        for (int i = 0; i < 8; ++i) {
          sum += static_cast<double>(
              noise.view().at((x + i % 2) % extent.x, (y + i / 2 % 2) % extent.y, (z + i / 4) % extent.z));
        }
        smooth.view().at(x, y, z) = static_cast<float>(sum / std::sqrt(8));
      }
    }
  }
  NoiseSpectrum spectrum{{{64, 64, 64}}, {}, {}};
  const auto power = [](int k) { return static_cast<float>(1 + std::cos(std::numbers::pi * k / 64)); };
  for (int i = 0; i < 64 * 64; ++i) spectrum.in_plane.push_back(power(i % 64) * power(i / 64));
  for (int k = 0; k < 64; ++k) spectrum.across.push_back(power(k));
  const auto left = [](const Volume& result) {
    return std::sqrt(std::inner_product(result.voxels.begin(), result.voxels.end(), result.voxels.begin(), 0.0) /
                     static_cast<double>(result.voxels.size()));
  };
  Bm4dParams params = make_params(smooth, DctBlock::cube, {5, 5, 5}, 10);
  const double as_white = left(filtered(smooth, params));
  params.spectrum = spectrum;
  const double as_it_is = left(filtered(smooth, params));
  EXPECT_LT(as_it_is, 0.6 * as_white);
}

TEST(Bm4d, TakesWhatWasMeasured) {
  Bm4dParams params;
  NoiseModel noise{.sigma = 7, .spectrum = correlated_spectrum(), .map = {{{2, 1, 1}}, {0.5F, 1.5F}}};
  const Bm4dParams resolved = params.resolved({{{20, 20, 20}}, {1, 1, 1}, [&] { return noise; }});
  EXPECT_EQ(resolved.sigma, 7);
  EXPECT_EQ(resolved.spectrum.in_plane, noise.spectrum.in_plane);
  EXPECT_EQ(resolved.map.values, noise.map.values);
  EXPECT_EQ(resolved.correlated(), 1);
  params.sigma = 7;
  const Bm4dParams given = params.resolved({{{20, 20, 20}}, {1, 1, 1}, [&] { return noise; }});
  EXPECT_EQ(given.spectrum.in_plane.size(), 1U);
  EXPECT_EQ(given.correlated(), 0);
}

TEST(Bm4d, TheFirstStageAlone) {
  const Volume in = with_holes(busy_volume({19, 17, 9}, 5));
  Bm4dParams params = make_params(in, DctBlock::cube, {2, 2, 2});
  const Volume both = filtered(in, params);
  params.stages = 1;
  expect_reference(in, params);
  EXPECT_FALSE(same_bytes(both, filtered(in, params)));
}

TEST(Bm4d, NoNoiseChangesNothing) {
  Volume in = with_holes(busy_volume({9, 7, 5}, 6));
  in.voxels[0] = -0.0F;
  Volume expected = in;
  expected.voxels[0] = 0.0F;
  EXPECT_TRUE(same_bytes(filtered(in, make_params(in, DctBlock::cube, {2, 2, 2}, 0)), expected));
}

/// More tiles than one, in every direction, and more slices than are held at once; any cut into slabs or boxes, any
/// number of threads.
TEST(Bm4d, NeitherTilesNorThreadsShow) {
  for (const DctBlock block : {DctBlock::cube, DctBlock::square}) {
    for (const auto& [volume, sigma] :
         {std::pair(busy_volume({110, 41, 70}, 7), 80.0), {small_lesions({110, 41, 70}, 15, 90).volume, 15.0}}) {
      const Volume in = with_holes(volume);
      const Bm4dParams params = make_params(in, block, {2, 1, 1}, sigma);
      Execution one, three;
      one.threads = 1;
      three.threads = 3;
      const Volume whole = filtered(in, params, one);
      EXPECT_TRUE(same_bytes(whole, filtered(in, params, three)));
      const Index3 origin{7, 3, 5};
      const Extent extent{91, 20, 63};
      const Volume box =
          filtered_box(in, origin, extent, params.halo(), [&](auto from, auto to) { bm4d_cpu(from, to, params, {}); });
      EXPECT_TRUE(same_bytes(box, box_of(whole, origin, extent)));
    }
  }
}

TEST(Bm4d, SlicesThatAreFilteredTogetherNeverShow) {
  const Volume in = small_lesions({400, 400, 40}, 15, 90).volume;
  const Bm4dParams params = make_params(in, DctBlock::cube, {1, 1, 1}, 15);
  const Volume whole = filtered(in, params);
  const Index3 origin{300, 10, 22};
  const Extent extent{60, 70, 17};
  const Volume box =
      filtered_box(in, origin, extent, params.halo(), [&](auto from, auto to) { bm4d_cpu(from, to, params, {}); });
  EXPECT_TRUE(same_bytes(box, box_of(whole, origin, extent)));
}

TEST(Bm4d, StopsOnRequest) {
  const Volume in = busy_volume({70, 41, 9}, 8);
  std::stop_source stop;
  stop.request_stop();
  Execution execution;
  execution.stop = stop.get_token();
  expect_error(Errc::cancelled, "stopped", [&] {
    filtered(in, make_params(in, DctBlock::cube, {2, 2, 2}), execution);
  });
}

TEST(Bm4d, WindowsAndAutomaticValues) {
  const auto resolved = [](Extent extent, Spacing spacing, const char* quality = "default") {
    FilterConfig settings(find_filter("bm4d"));
    settings.set("quality", quality);
    return settings.resolved({extent, spacing, [] { return NoiseModel{.sigma = 12.5}; }});
  };
  EXPECT_EQ(resolved({{64, 40, 19}}, {1, 1, 1}).get("sigma"), "12.5");
  EXPECT_EQ(resolved({{64, 40, 19}}, {1, 1, 1}).get("search-radius"), "5x5x5");
  EXPECT_EQ(resolved({{64, 40, 19}}, {1, 1, 1}).get("block"), "4x4x4");
  EXPECT_EQ(resolved({{64, 40, 19}}, {1, 1, 1}).halo(), (Radius3{27, 27, 27}));
  EXPECT_EQ(resolved({{64, 40, 19}}, {1, 1, 1}, "fast").get("search-radius"), "3x3x3");
  EXPECT_EQ(resolved({{64, 40, 19}}, {1, 1, 1}, "best").get("search-radius"), "7x7x7");
  EXPECT_EQ(resolved({{64, 40, 19}}, {1, 1, 6}).get("search-radius"), "9x9x1");
  EXPECT_EQ(resolved({{64, 40, 19}}, {1, 1, 6}).get("block"), "8x8x1");
  EXPECT_EQ(resolved({{64, 40, 1}}, {1, 1, 1}).get("search-radius"), "9x9x0");
  FilterConfig first(find_filter("bm4d"));
  first.set("stages", "1");
  EXPECT_EQ(first.resolved({{{64, 40, 19}}, {1, 1, 1}, [] { return NoiseModel{.sigma = 12.5}; }}).halo(),
            (Radius3{14, 14, 14}));
}

/// PyPI's bm4d 4.2.5, run by hand on this noise with one seed, reached 34.05 and 30.35 dB on the scan (peak 255), and
/// 39.33 and 33.54 dB on the template.
TEST(Bm4d, IsAsGoodAsItsPeersOnRealAnatomy) {
  QV_NEEDS_TEST_DATA();
  const auto psnr = [](const Truth& truth, double sigma, Bm4dQuality quality) {
    const Volume noisy = with_white_noise(truth.volume, sigma, 2);
    Bm4dParams params;
    params.sigma = sigma;
    params.quality = quality;
    return truth.psnr(filtered(noisy, params.resolved({noisy.extent, noisy.spacing})));
  };
  const Truth scan = real_t1();
  EXPECT_GT(psnr(scan, 12.75, Bm4dQuality::standard), 34.05 - 0.25);
  EXPECT_GT(psnr(scan, 28.05, Bm4dQuality::standard), 30.35 - 0.25);
  EXPECT_GT(psnr(scan, 12.75, Bm4dQuality::best), 34.05 - 0.1);
  EXPECT_GT(psnr(scan, 28.05, Bm4dQuality::best), 30.35 - 0.1);
  const Truth average = t1_template();
  EXPECT_GT(psnr(average, 8, Bm4dQuality::standard), 39.33 - 0.25);
  EXPECT_GT(psnr(average, 23, Bm4dQuality::standard), 33.54 - 0.25);
}

/// PyPI's bm4d, told the true spectrum of the noise, reached these figures; this one is told nothing.
TEST(Bm4d, IsAsGoodAsItsPeersOnNoiseOfScanners) {
  QV_NEEDS_TEST_DATA();
  struct Row {
    NoiseParams noise;
    double peer;
  };
  const Truth truth = t1_template();
  MemorySource clean(truth.volume);
  for (const Row& row : {Row{{NoiseKind::interpolated, 8}, 36.04}, Row{{NoiseKind::interpolated, 23}, 29.35},
                         Row{{NoiseKind::g_factor, 23}, 29.96}, Row{{NoiseKind::ct, 8}, 34.95},
                         Row{{NoiseKind::ct, 23}, 27.70}, Row{{NoiseKind::ct, 23, 1, CtKernel::sharp}, 31.35}}) {
    Volume noisy = truth.volume;
    NoiseAdder(clean, row.noise, {}).add(noisy.view());
    MemorySource source(noisy);
    const VolumeFacts facts{noisy.extent, noisy.spacing, [&] { return measure_noise(source, {}); }};
    EXPECT_GT(truth.psnr(filtered(noisy, Bm4dParams().resolved(facts))), row.peer - 0.2)
        << choices(NoiseKind())[static_cast<std::size_t>(row.noise.kind)] << " " << row.noise.amount;
  }
}

/// An average of many scans, whose noise is that of rounding to whole numbers.
TEST(Bm4d, CleanImagesStayClean) {
  QV_NEEDS_TEST_DATA();
  const Truth average = t1_template();
  Bm4dParams params;
  params.sigma = 0.29;
  EXPECT_GT(average.psnr(filtered(average.volume, params.resolved({average.volume.extent, {1, 1, 1}}))), 70);
}

/// A calcification of one voxel is like no block, and was taken out, or lost 5 sigma.
TEST(Bm4d, NoVoxelChangesByMoreThanFiveSigma) {
  Volume in({30, 28, 12}, {1, 1, 1}, 1000);
  in = with_white_noise(in, 15, 7);
  std::vector<std::size_t> small;
  for (std::size_t i = 1111; i < in.voxels.size(); i += 1999) small.push_back(i);
  for (std::size_t i = 0; i < small.size(); ++i) in.voxels[small[i]] += i % 2 == 0 ? 200 : -200;
  for (const int stages : {1, 2}) {
    for (const double strength : {0.5, 1.0, 1.5}) {
      Bm4dParams params = make_params(in, DctBlock::cube, {5, 5, 5}, 15);
      params.stages = stages;
      params.strength = strength;
      const Volume out = filtered(in, params);
      float most = 0;
      for (std::size_t i = 0; i < out.voxels.size(); ++i) most = std::max(most, std::abs(out.voxels[i] - in.voxels[i]));
      EXPECT_LE(most, 75.001 * std::max(strength, 1.0));
      const float least = strength == 1 ? 1.0F : 0.6F;  // of what a voxel stands out by
      for (const std::size_t i : small) {
        EXPECT_GE((out.voxels[i] - 1000) / (in.voxels[i] - 1000), least) << stages << ", " << strength;
      }
      if (strength == 1) {
        EXPECT_EQ(first_difference(reference_bm4d(in, params), out, dct_tolerance(in)), "") << stages;
      }
    }
  }
}

/// Calcifications of one slice, as wide as a scanner makes a point, lost some 4 sigma, and the voxels beside them
/// gained.
TEST(Bm4d, PointsThatStandOutKeepTheirHeight) {
  constexpr double sigma = 15;
  const Volume clean({48, 48, 8}, {1, 1, 1}, 1000);
  Volume in = with_white_noise(clean, sigma, 7);
  double squares = 0, count = 0;
  std::vector<std::size_t> centres;
  for (std::int64_t y = 6; y < 48; y += 12) {
    for (std::int64_t x = 6; x < 48; x += 12) {
      const auto centre = static_cast<std::size_t>((4 * 48 + y) * 48 + x);
      centres.push_back(centre);
      for (std::int64_t dy = -2; dy <= 2; ++dy) {
        for (std::int64_t dx = -2; dx <= 2; ++dx) {
          in.voxels[centre + static_cast<std::size_t>(dy * 48 + dx)] +=
              static_cast<float>(30 * sigma * std::exp(-static_cast<double>(dx * dx + dy * dy) / (2 * 0.67 * 0.67)));
        }
      }
    }
  }
  const Volume out = filtered(in, make_params(in, DctBlock::cube, {5, 5, 5}, sigma));
  for (const std::size_t centre : centres) {
    EXPECT_NEAR(out.voxels[centre], in.voxels[centre], 2.001 * sigma);
    for (const std::size_t i : {centre, centre - 1, centre + 1, centre - 48, centre + 48}) {
      squares += std::pow(static_cast<double>(out.voxels[i]) - static_cast<double>(in.voxels[i]), 2);
      ++count;
    }
  }
  EXPECT_LT(std::sqrt(squares / count), 1.5 * sigma);
}

/// Lesions of 2x2x2 voxels are like no block, and lost half of their contrast, though their mean lies 14 of its
/// standard errors above the noise.
TEST(Bm4d, SmallLesionsStay) {
  constexpr double sigma = 15, contrast = 5 * sigma;
  const Lesions lesions = small_lesions({46, 44, 20}, sigma, contrast);
  const Volume out = filtered(lesions.volume, make_params(lesions.volume, DctBlock::cube, {5, 5, 5}, sigma));
  const auto mean = [&](const std::vector<std::size_t>& voxels) {
    double sum = 0;
    for (const std::size_t i : voxels) sum += out.voxels[i];
    return sum / static_cast<double>(voxels.size());
  };
  EXPECT_GT(mean(lesions.bright), 1000 + 0.9 * contrast);
  EXPECT_LT(mean(lesions.dark), 1000 - 0.9 * contrast);
  EXPECT_LT(mean(lesions.beside_bright), 1000 + 0.3 * sigma);
  EXPECT_GT(mean(lesions.beside_dark), 1000 - 0.3 * sigma);
}

/// Where noise is weak, the limit, which is that of the strongest noise, lets a voxel that stands out be taken out. Its
/// neighbours must not get a share of it back.
TEST(Bm4d, WhereNoiseVariesASingleVoxelStaysSingle) {
  Volume in = with_white_noise(Volume({36, 30, 12}, {1, 1, 1}, 1000), 5, 7);
  const std::size_t single = (6 * 30 + 14) * 36 + 5;
  in.voxels[single] += 100;
  Bm4dParams params = make_params(in, DctBlock::cube, {5, 5, 5}, 15);
  params.map = {{{2, 1, 1}}, {1.0F / 3, 5.0F / 3}};
  const Volume out = filtered(in, params);
  for (const std::ptrdiff_t step : {1, -1, 36, -36, 37, 36 * 30, -36 * 30}) {
    EXPECT_NEAR(out.voxels[static_cast<std::size_t>(static_cast<std::ptrdiff_t>(single) + step)], 1000, 8) << step;
  }
}

TEST(Bm4d, SingleVoxelsThatStandOutAgreeWithTheReference) {
  constexpr double sigma = 15;
  Volume in = with_white_noise(Volume({24, 16, 12}, {1, 1, 1}, 1000), sigma, 7);
  std::vector<std::size_t> single;
  for (std::size_t i = 301; i < in.voxels.size(); i += 211) single.push_back(i);
  for (std::size_t i = 0; i < single.size(); ++i) {  // by 5 to 14 sigma
    in.voxels[single[i]] += static_cast<float>(sigma * (5 + static_cast<double>(i % 10)) * (i % 2 == 0 ? 1 : -1));
  }
  for (const double strength : {1.0, 1.5}) {
    Bm4dParams params = make_params(in, DctBlock::cube, {2, 2, 1}, sigma);
    params.strength = strength;
    expect_reference(in, params);
  }
}

TEST(Bm4d, WhatIsPutBackAgreesWithTheReference) {
  constexpr double sigma = 15;
  for (const double contrast : {5.0, 12.0}) {
    const Volume lesions = small_lesions({21, 14, 12}, sigma, contrast * sigma).volume;
    for (const Volume& in : {lesions, with_holes(lesions)}) {
      for (const DctBlock block : {DctBlock::cube, DctBlock::square}) {
        SCOPED_TRACE(testing::Message() << contrast << " sigma, " << (block == DctBlock::cube ? "cubes" : "squares"));
        Bm4dParams params = make_params(in, block, {2, 1, 1}, sigma);
        expect_reference(in, params);
        for (const double strength : {0.5, 2.0}) {
          params.strength = strength;
          expect_reference(in, params);
        }
        params.strength = 1;
        params.map = {{{2, 1, 2}}, {0.4F, 1.5F, 1, 0.2F}};
        expect_reference(in, params);
        params.spectrum = correlated_spectrum();
        params.stages = 1;
        expect_reference(in, params);
      }
    }
  }
}

}  // namespace
}  // namespace quietvox::test
