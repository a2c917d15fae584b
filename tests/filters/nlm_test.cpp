// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/nlm.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <stop_token>
#include <thread>

#include "filters/registry.hpp"
#include "support/difference.hpp"
#include "support/expect_error.hpp"
#include "support/instruction_sets.hpp"
#include "support/programs.hpp"
#include "support/reference_bilateral.hpp"
#include "support/reference_nlm.hpp"
#include "support/volumes.hpp"
#include "support/white_noise.hpp"

namespace quietvox::test {
namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

NlmParams make_params(Radius3 patch, OrAll<Radius3> search, double sigma = 80) {
  NlmParams params;
  params.patch_radius = patch;
  params.search_radius = search;
  params.sigma = sigma;
  params.strength = 1;
  params.noise_bias = 0;
  return params;
}

Volume filtered(const Volume& in, const NlmParams& params, const Execution& execution = {}) {
  Volume out(in.extent, in.spacing, nan_value);
  nlm_cpu(in.view(), out.view(), params, execution);
  return out;
}

/// Stricter than the contract, which is about the largest voxel: errors are small beside h.
void expect_reference(const Volume& in, const NlmParams& params) {
  Volume expected(in.extent, in.spacing);
  reference_nlm(in.view(), expected.view(), params);
  const double tolerance =
      params.noise_model == NlmNoise::rician ? nlm_tolerance(in.view()) : 1e-5 * params.h() + four_ulp(in.view());
  EXPECT_EQ(first_difference(expected, filtered(in, params), tolerance), "");
}

/// With noise that varies along each axis.
NlmParams with_map(NlmParams params, const Extent& extent) {
  params.map = {{{2, 3, 2}}, {0.4F, 1.5F, 1, 0.2F, 0.7F, 1, 1.2F, 0.9F, 1, 1.7F, 0.5F, 1}};
  params.volume = extent;
  return params;
}

Volume with_holes(Volume volume) {
  for (std::size_t i = 3; i < volume.voxels.size(); i += 47) volume.voxels[i] = nan_value;
  for (std::size_t i = 9; i < volume.voxels.size(); i += 171) {
    volume.voxels[i] = std::numeric_limits<float>::infinity();
  }
  return volume;
}

TEST(Nlm, EveryRadiusAgreesWithTheReference) {
  const Volume in = busy_volume({21, 19, 17}, 1);
  for (int radius = 0; radius <= 7; ++radius) {
    SCOPED_TRACE(radius);
    expect_reference(in, make_params({radius, 0, 0}, Radius3{1, 0, 0}));
    expect_reference(in, make_params({0, radius, 0}, Radius3{1, 2, 0}));
    expect_reference(in, make_params({0, 0, radius}, Radius3{0, 1, 1}));
  }
  expect_reference(in, make_params({1, 1, 1}, Radius3{3, 2, 1}));
  expect_reference(in, make_params({2, 1, 3}, Radius3{1, 1, 2}));
  expect_reference(in, make_params({1, 1, 0}, Radius3{6, 6, 0}));
}

TEST(Nlm, EveryOptionAgreesWithTheReference) {
  std::uint32_t seed = 0;
  for (const OrAll<Radius3> search : {OrAll<Radius3>(Radius3{2, 2, 1}), OrAll<Radius3>()}) {
    for (const auto border : {Border::replicate, Border::reflect, Border::copy}) {
      for (const auto model : {NlmNoise::gaussian, NlmNoise::rician}) {
        for (const double factor : {0.0, 1.0}) {
          for (const bool holes : {false, true}) {
            Volume in = busy_volume({13, 11, 7}, ++seed);
            in.spacing = {0.7, 0.9, 2.5};
            NlmParams params = make_params({1, 1, 1}, search, 90);
            params.border = border;
            params.noise_model = model;
            params.noise_bias = factor;
            params.spatial_sigma = factor * 1.5;
            params.intensity_sigma = factor * 60;
            SCOPED_TRACE(seed);
            expect_reference(holes ? with_holes(in) : in, params);
          }
        }
      }
    }
  }
}

/// Sums of many floats go over to doubles now and then, at the same neighbours wherever a box begins.
TEST(Nlm, ABoxOfAWholeSliceIsThatPartOfIt) {
  const Volume slice = busy_volume({600, 40, 1}, 3);
  const NlmParams params = make_params({1, 1, 0}, OrAll<Radius3>());
  const Index3 origin{170, 5, 0};
  const Extent size{{300, 30, 1}};
  Volume box(size, slice.spacing);
  VolumeView<float> out = box.view();
  out.origin = origin;
  nlm_cpu(slice.view(), out, params, {});
  EXPECT_TRUE(same_bytes(box, box_of(filtered(slice, params), origin, size)));
}

/// One tile takes seconds.
void expect_stop_within_a_tile(const Volume& in, const Extent& tile, const NlmParams& params) {
  std::stop_source stop;
  const std::jthread asks([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop.request_stop();
  });
  Volume out(tile, in.spacing);
  expect_error(Errc::cancelled, "stopped on request", [&] {
    nlm_cpu(in.view(), out.view(), params, {.threads = 1, .memory_limit = {}, .stop = stop.get_token()});
  });
}

TEST(Nlm, StopsWithinATile) {
  expect_stop_within_a_tile(busy_volume({1024, 1024, 1}, 4), {{96, 32, 1}}, make_params({7, 7, 0}, OrAll<Radius3>()));
  expect_stop_within_a_tile(busy_volume({96, 64, 48}, 5), {{92, 16, 12}}, make_params({2, 2, 2}, Radius3{31, 31, 31}));
}

/// DIPY's classic algorithm: h^2 = sqrt(2) sigma^2, squares averaged, its block radius is ours and the patch's.
TEST(Nlm, AgreesWithDipy) {
  if (!python_has("dipy.denoise.nlmeans")) GTEST_SKIP() << "Debian's Python has no DIPY (python3-dipy)";
  Volume in = busy_volume({24, 21, 17}, 14);
  for (float& voxel : in.voxels) voxel = std::abs(voxel);
  const Volume expected = ask_python(
      "import numpy\n"
      "from dipy.denoise.nlmeans import nlmeans\n"
      "v = numpy.fromfile('in', numpy.float32).reshape(17, 21, 24).astype(numpy.float64)\n"
      "r = nlmeans(v, 80.0, patch_radius=1, block_radius=4, rician=True, num_threads=1)\n"
      "r.astype(numpy.float32).tofile('out')\n",
      in);
  NlmParams params = make_params({1, 1, 1}, Radius3{3, 3, 3}, 80);
  params.strength = std::pow(2, 0.25);
  params.noise_model = NlmNoise::rician;
  params.border = Border::reflect;
  EXPECT_EQ(first_difference(expected, filtered(in, params), nlm_tolerance(in.view())), "");
}

TEST(Nlm, TheHybridIsTheBilateralFilterWherePatchesDoNotCount) {
  const Volume in = busy_volume({23, 18, 9}, 4);
  NlmParams params = make_params({1, 1, 1}, Radius3{2, 2, 2}, 1e12);
  params.spatial_sigma = 1.4;
  params.intensity_sigma = 70;
  BilateralParams same;
  same.domain_sigma = {1.4, 1.4, 1.4};
  same.range_sigma = 70;
  same.radius = {2, 2, 2};
  Volume expected(in.extent, in.spacing);
  reference_bilateral(in.view(), expected.view(), same);
  // Beside so large an h, no difference of voxels has a weight to speak of: voxels are known to 2^-24 only.
  EXPECT_EQ(first_difference(expected, filtered(in, params), 0.01), "");
}

TEST(Nlm, AWholeSliceIsAWindowThatHoldsIt) {
  Volume in = busy_volume({9, 7, 3}, 5);
  const Volume all = filtered(in, make_params({0, 0, 0}, {}));
  // By hand: with patches of one voxel every voxel of the slice has its weight by difference alone.
  const double h = 80;
  for (std::int64_t z = 0; z < 3; ++z) {
    for (std::int64_t i = 0; i < in.extent.slice(); ++i) {
      const float* slice = in.view().row(0, z);
      double sum = 0, weights = 0;
      for (std::int64_t j = 0; j < in.extent.slice(); ++j) {
        const double w = std::exp(-std::pow(static_cast<double>(slice[i]) - slice[j], 2) / (h * h));
        sum += w * slice[j];
        weights += w;
      }
      EXPECT_NEAR(all.view().row(0, z)[i], sum / weights, 1e-3);
    }
  }
}

TEST(Nlm, AnyScaleOfData) {
  for (const double scale : {1e-20, 1e-3, 1e6, 1e20}) {
    Volume in = busy_volume({9, 7, 5}, 6);
    for (float& voxel : in.voxels) voxel = static_cast<float>(voxel * scale);
    expect_reference(in, make_params({1, 1, 1}, Radius3{2, 2, 1}, 80 * scale));
  }
  Volume far = busy_volume({9, 7, 5}, 7);
  for (float& voxel : far.voxels) voxel += 1e7F;
  expect_reference(far, make_params({1, 1, 1}, Radius3{2, 2, 1}));
}

TEST(Nlm, NoNoiseChangesNothing) {
  Volume in = with_holes(busy_volume({9, 7, 5}, 8));
  in.voxels[0] = -0.0F;
  Volume expected = in;
  expected.voxels[0] = 0.0F;
  const Volume out = filtered(in, make_params({1, 1, 1}, Radius3{2, 2, 1}, 0));
  EXPECT_EQ(std::memcmp(out.voxels.data(), expected.voxels.data(), out.voxels.size() * sizeof(float)), 0);
}

/// More tiles than one, in every direction; any cut into slabs or boxes.
TEST(Nlm, TilesNeverShow) {
  const Volume in = with_holes(busy_volume({250, 67, 26}, 9));
  const NlmParams uniform = make_params({1, 1, 1}, Radius3{1, 1, 1});
  for (const NlmParams& params : {uniform, with_map(uniform, in.extent)}) {
    const Volume whole = filtered(in, params);
    const Index3 origin{7, 3, 5};
    const Extent extent{131, 30, 13};
    const Volume box = filtered_box(in, origin, extent, params.halo().in_voxels(),
                                    [&](auto from, auto to) { nlm_cpu(from, to, params, {}); });
    EXPECT_TRUE(same_bytes(box, box_of(whole, origin, extent)));
  }
}

TEST(Nlm, AWholeSliceDoesNotDependOnThreads) {
  const Volume in = busy_volume({140, 40, 2}, 10);
  Execution one, three;
  one.threads = 1;
  three.threads = 3;
  const NlmParams uniform = make_params({1, 1, 0}, {});
  for (const NlmParams& params : {uniform, with_map(uniform, in.extent)}) {
    EXPECT_TRUE(filtered(in, params, one) == filtered(in, params, three));
  }
}

TEST(Nlm, EveryInstructionSetAgreesWithTheReference) {
  for_each_instruction_set([] {
    expect_reference(busy_volume({37, 21, 7}, 11), make_params({1, 1, 1}, Radius3{2, 1, 1}));
    expect_reference(with_holes(busy_volume({37, 21, 3}, 12)), make_params({2, 1, 0}, {}));
  });
}

TEST(Nlm, NoiseThatVaries) {
  const Volume whole = busy_volume({13, 11, 7}, 11), holed = with_holes(whole);
  for (const OrAll<Radius3> search : {OrAll<Radius3>(Radius3{3, 2, 1}), OrAll<Radius3>()}) {
    for (const auto border : {Border::replicate, Border::reflect, Border::copy}) {
      for (const auto model : {NlmNoise::gaussian, NlmNoise::rician}) {
        NlmParams params = with_map(make_params({1, 1, 1}, search), whole.extent);
        params.border = border;
        params.noise_model = model;
        params.noise_bias = 2;
        expect_reference(whole, params);
        expect_reference(holed, params);
      }
    }
  }
  const Volume wide = busy_volume({37, 21, 7}, 12);
  for_each_instruction_set([&] {
    for (const Radius3 patch : {Radius3{0, 0, 0}, Radius3{2, 1, 0}}) {
      const NlmParams params = with_map(make_params(patch, Radius3{2, 1, 1}), wide.extent);
      expect_reference(wide, params);
      expect_reference(with_holes(wide), params);
    }
  });
}

/// Noise of 10 on the left and of 40 on the right, alike everywhere in units of the local sigma: so is what is left.
TEST(Nlm, NoiseThatVariesIsTakenOutEverywhereAlike) {
  Volume in({80, 48, 16});
  const CoarseField map{{{2, 1, 1}}, {0.4F, 1.6F}};
  const Volume white = with_white_noise(Volume(in.extent), 25, 3);
  for (std::int64_t z = 0; z < in.extent.z; ++z) {
    for (std::int64_t y = 0; y < in.extent.y; ++y) {
      for (std::int64_t x = 0; x < in.extent.x; ++x) {
        in.view().at(x, y, z) = white.view().at(x, y, z) * static_cast<float>(map.at({x, y, z}, in.extent));
      }
    }
  }
  NlmParams params = make_params({1, 1, 1}, Radius3{3, 3, 3}, 25);
  params.noise_bias = 2;
  const auto left_of = [&](const Volume& out, std::int64_t first) {
    double sum = 0;
    for (std::int64_t z = 0; z < in.extent.z; ++z) {
      for (std::int64_t y = 0; y < in.extent.y; ++y) {
        for (std::int64_t x = first; x < first + 20; ++x) {
          sum += std::pow(static_cast<double>(out.view().at(x, y, z)) / (25 * map.at({x, y, z}, in.extent)), 2);
        }
      }
    }
    return std::sqrt(sum / static_cast<double>(20 * in.extent.y * in.extent.z));
  };
  const Volume one_sigma = filtered(in, params);
  EXPECT_GT(left_of(one_sigma, 60), 2 * left_of(one_sigma, 0));
  params.map = map;
  params.volume = in.extent;
  const Volume out = filtered(in, params);
  EXPECT_LT(left_of(out, 0), 0.2);
  EXPECT_NEAR(left_of(out, 60), left_of(out, 0), 0.1 * left_of(out, 0));
}

TEST(Nlm, TakesTheMapThatWasMeasured) {
  NoiseModel noise{.sigma = 7, .map = {{{2, 1, 1}}, {0.5F, 1.5F}}};
  const VolumeFacts facts{{{20, 20, 20}}, {1, 1, 1}, [&] { return noise; }};
  NlmParams params;
  EXPECT_EQ(params.resolved(facts).map.values, noise.map.values);
  EXPECT_EQ(params.resolved(facts).volume, facts.extent);
  params.sigma = 7;
  EXPECT_FALSE(params.resolved(facts).map.varies()) << "a sigma that is given is the same everywhere";
}

TEST(Nlm, StopsOnRequest) {
  const Volume in = busy_volume({70, 41, 9}, 13);
  std::stop_source stop;
  stop.request_stop();
  Execution execution;
  execution.stop = stop.get_token();
  for (const OrAll<Radius3> search : {OrAll<Radius3>(Radius3{1, 1, 1}), OrAll<Radius3>()}) {
    expect_error(Errc::cancelled, "stopped", [&] { filtered(in, make_params({1, 1, 1}, search), execution); });
  }
}

TEST(Nlm, WindowsAndAutomaticValues) {
  const VolumeFacts facts{{{64, 20, 1}}, {1, 1, 1}, [] { return NoiseModel{.sigma = 12.5}; }};
  FilterConfig settings(find_filter("nlm"));
  EXPECT_EQ(settings.resolved(facts).get("sigma"), "12.5");
  EXPECT_EQ(settings.resolved(facts).halo(), (Radius3{7, 7, 0}));
  settings.set("search-radius", "12x12x0");
  const std::string too_wide =
      "search-radius = 12x12x0 makes a window of 25 voxels along y, but the volume has 20; a half width of 12x9x0 "
      "fits";
  expect_error(Errc::invalid_argument, too_wide, [&] { (void)settings.resolved(facts); });
  settings.set("search-radius", "12x8x0");
  EXPECT_NO_THROW((void)settings.resolved(facts));
  settings.set("patch-radius", "1");
  expect_error(Errc::invalid_argument, "window of 19 voxels along y, but the volume has 2; its patches alone are wider",
               [&] {
                 (void)settings.resolved({{{64, 2, 1}}, {1, 1, 1}, [] { return NoiseModel{.sigma = 1.0}; }});
               });
  settings.set("search-radius", "all");
  const FilterConfig all = settings.resolved(facts);
  EXPECT_EQ(all.get("search-radius"), "all");
  EXPECT_GE(all.halo().x, 64);
  EXPECT_EQ(all.halo().z, 0);
  EXPECT_EQ(settings.resolved({{{64, 20, 9}}, {1, 1, 1}, [] { return NoiseModel{.sigma = 1.0}; }}).halo().z, 1);
  settings.set("patch-radius", "2x3x4");
  expect_error(Errc::invalid_argument,
               "patch-radius = 2x3x4 makes a window of 7 voxels along y, but the volume has 6; a half width of 2x2x1 "
               "fits",
               [&] {
                 (void)settings.resolved({{{5, 6, 3}}, {1, 1, 1}, [] { return NoiseModel{.sigma = 1.0}; }});
               });
}

TEST(Nlm, AutomaticValuesFollowTheNoise) {
  const auto resolved = [](const NoiseModel& noise, const char* sigma = "auto", Extent extent = {{64, 64, 64}}) {
    FilterConfig settings(find_filter("nlm"));
    settings.set("sigma", sigma);
    return settings.resolved({extent, {1, 1, 1}, [&] { return noise; }});
  };
  const auto strength = [&](const NoiseModel& noise) { return std::stod(resolved(noise).get("strength")); };
  NoiseModel noise{.sigma = 10, .contrast = 25};
  EXPECT_EQ(resolved(noise).get("patch-radius"), "1x1x1");
  EXPECT_EQ(resolved(noise).get("search-radius"), "3x3x3");
  EXPECT_EQ(resolved(noise, "auto", {{64, 64, 1}}).get("search-radius"), "5x5x0");
  EXPECT_NEAR(strength(noise), 1, 0.02);
  EXPECT_NEAR(strength({.sigma = 10, .contrast = 50}), 1.36, 0.01) << "structure is clear";
  EXPECT_EQ(strength({.sigma = 10, .contrast = 90}), strength({.sigma = 10, .contrast = 50})) << "clear enough";
  NoiseModel strong = noise, correlated = noise, uneven = noise;
  strong.sigma = 30;
  EXPECT_EQ(resolved(strong).get("patch-radius"), "2x2x2");
  EXPECT_LT(strength(strong), 0.7) << "what looks alike is then mostly noise";
  EXPECT_EQ(resolved(noise, "30").get("patch-radius"), "2x2x2") << "also where the sigma is given";
  correlated.spectrum = {{{2, 2, 1}}, {2, 2, 0, 0}, {1}};
  ASSERT_GT(correlated.spectrum.length().x * correlated.spectrum.length().y, 2.5);
  EXPECT_EQ(resolved(correlated).get("patch-radius"), "2x2x2");
  EXPECT_GT(strength(correlated), strength(noise));
  uneven.map = {{{2, 1, 1}}, {0.7F, 1.3F}};
  EXPECT_EQ(strength(uneven), strength(noise));
  EXPECT_NEAR(std::stod(resolved(uneven, "10").get("strength")), 1.3 * strength(noise), 1e-6)
      << "one sigma has to do for the strongest noise";
  // Where the noise cannot be told, what suits most images.
  noise.confidence = Confidence::none;
  EXPECT_EQ(resolved(noise).get("patch-radius"), "1x1x1");
  EXPECT_EQ(resolved(noise, "30").get("patch-radius"), "1x1x1");
  EXPECT_NEAR(std::stod(resolved(noise, "30").get("strength")), 1.23, 0.01);
  EXPECT_EQ(resolved(noise).get("sigma"), "0");
}

/// What the noise is never makes a window wider than what is known before: memory goes by it.
TEST(Nlm, TheNoiseWidensNoWindow) {
  for (std::int64_t slices = 1; slices <= 14; ++slices) {
    for (const double contrast : {0.0, 100.0}) {
      const FilterConfig settings(find_filter("nlm"));
      VolumeFacts facts{{{64, 9, slices}}, {1, 1, 1}};
      const Radius3 before = settings.resolved(facts).halo();
      facts.noise = [&] { return NoiseModel{.sigma = 10, .contrast = contrast}; };
      const Radius3 after = settings.resolved(facts).halo();
      for (int axis = 0; axis < 3; ++axis) EXPECT_LE(after[axis], before[axis]) << slices;
    }
  }
}

}  // namespace
}  // namespace quietvox::test
