// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/measure_noise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>
#include <vector>

#include "core/memory_volume.hpp"
#include "io/image.hpp"
#include "phantom/phantom.hpp"
#include "phantom/scanner_noise.hpp"
#include "support/test_data.hpp"

namespace quietvox {
namespace {

constexpr int test_seed = 4711;  // not one that the measure was tuned on

struct Scan {
  Extent extent;
  std::vector<float> voxels;

  NoiseModel measured(int threads = 0) const {
    MemoryVolume source({voxels.data(), extent});
    Execution execution;
    execution.threads = threads;
    return measure_noise(source, execution);
  }
  Scan with(const NoiseParams& params) const {
    MemoryVolume source({voxels.data(), extent});
    Scan noisy = *this;
    NoiseAdder(source, params, {}).add({noisy.voxels.data(), extent});
    return noisy;
  }
  template <class Change>
  Scan changed(const Change& change) const {
    Scan result = *this;
    for (std::size_t i = 0; i < voxels.size(); ++i) result.voxels[i] = change(i);
    return result;
  }
};

Triple<double> place_of(std::int64_t voxel, const Extent& extent) {
  const Triple<std::int64_t> at{voxel % extent.x, voxel / extent.x % extent.y, voxel / extent.slice()};
  return {static_cast<double>(at.x), static_cast<double>(at.y), static_cast<double>(at.z)};
}

/// Square of the distance from a place, along the first axes of a volume, each of which reaches from -1 to 1.
double squared_distance(std::int64_t voxel, const Extent& extent, int axes = 3, const Triple<double>& from = {}) {
  const auto at = place_of(voxel, extent);
  double sum = 0;
  for (int axis = 0; axis < axes; ++axis) {
    const double along = 2 * at[axis] / static_cast<double>(extent[axis] - 1) - 1 - from[axis];
    sum += along * along;
  }
  return sum;
}

Scan scan_of(const char* name) {
  const auto image = io::open_nifti(test::test_data(name));
  const auto volume = image->volume(0, io::VoxelDomain::real);
  Scan scan{volume->extent(), std::vector<float>(static_cast<std::size_t>(volume->extent().voxels()))};
  volume->read({scan.voxels.data(), scan.extent});
  return scan;
}

/// A head without noise: the mean of many scans.
const Scan& head() {
  static const Scan scan = scan_of("quality/t1_template.nii.gz");
  return scan;
}

/// Root mean square of what was added to the head.
double added(const Scan& noisy, const Scan& clean) {
  double sum = 0, squares = 0, count = 0;
  for (std::size_t i = 0; i < clean.voxels.size(); ++i) {
    if (clean.voxels[i] <= 10) continue;
    const double noise = static_cast<double>(noisy.voxels[i]) - static_cast<double>(clean.voxels[i]);
    sum += noise;
    squares += noise * noise;
    ++count;
  }
  return std::sqrt(squares / count - sum / count * sum / count);
}

struct Kind {
  const char* name;
  NoiseParams params;
  double tolerance;          ///< at levels 8 and 23
  double tolerance_of_weak;  ///< at level 2.55, at which the head's own structure shows

  Scan noisy(double level) const {
    NoiseParams scaled = params;
    scaled.amount = level;
    scaled.seed = test_seed;
    const Scan result = head().with(scaled);
    return name != std::string("quantised") ? result : result.with({NoiseKind::quantisation, level, test_seed});
  }
  Scan clean() const {
    return params.kind != NoiseKind::zero_filled ? head() : head().with({NoiseKind::zero_filled, 0, test_seed});
  }
};
const Kind kinds[] = {
    {"white", {NoiseKind::gaussian}, 0.10, 0.10},
    {"rician", {NoiseKind::rician}, 0.10, 0.10},
    {"quantised", {NoiseKind::gaussian}, 0.10, 0.10},
    {"ct sharp", {NoiseKind::ct, 1, 1, CtKernel::sharp}, 0.10, 0.25},
    {"zero-filled", {NoiseKind::zero_filled}, 0.15, 0.25},
    {"ct soft", {NoiseKind::ct, 1, 1, CtKernel::soft}, 0.15, 0.25},
    {"interpolated", {NoiseKind::interpolated}, 0.15, 0.25},
};

TEST(MeasureNoise, OfEveryKindOnAHead) {
  QV_NEEDS_TEST_DATA();
  for (const Kind& kind : kinds) {
    for (const double level : {2.55, 8.0, 23.0}) {
      const Scan noisy = kind.noisy(level);
      const double truth = added(noisy, kind.clean());
      const NoiseModel model = noisy.measured();
      const double tolerance = level < 3 ? kind.tolerance_of_weak : kind.tolerance;
      EXPECT_NEAR(model.sigma, truth, tolerance * truth) << kind.name << " " << level;
      EXPECT_EQ(model.distribution == NoiseDistribution::rician,
                kind.params.kind == NoiseKind::rician || kind.params.kind == NoiseKind::zero_filled)
          << kind.name << " " << level;
      EXPECT_NE(model.confidence, Confidence::none);
      EXPECT_EQ(model.reason.empty(), model.confidence == Confidence::high);
    }
  }
}

/// A sigma that is 2 % too small leaves a fifth of a sigma in the air of a stabilised scan. Air tells it more exactly.
TEST(MeasureNoise, SigmaOfMagnitudesIsNotBelowThatOfTheirAir) {
  QV_NEEDS_TEST_DATA();
  for (const int seed : {41, 46, 47}) {
    EXPECT_GT(head().with({NoiseKind::rician, 23, seed}).measured().sigma, 0.993 * 23) << seed;
  }
}

TEST(MeasureNoise, WhateverTheBackgroundTheBitsAndImpulses) {
  QV_NEEDS_TEST_DATA();
  for (const Kind& kind : kinds) {
    for (const double level : {8.0, 23.0}) {
      if (level > 8 && kind.params.kind == NoiseKind::ct) continue;  // slow, and as at level 8
      const Scan noisy = kind.noisy(level);
      const double truth = added(noisy, kind.clean());
      const auto near = [&](const char* what, const Scan& scan, double unit = 1) {
        EXPECT_NEAR(scan.measured().sigma * unit, truth, 0.2 * truth) << kind.name << " " << level << " " << what;
      };
      const auto at = [&](std::size_t i) { return noisy.voxels[i]; };
      near("cut background", noisy.changed([&](std::size_t i) { return head().voxels[i] > 10 ? at(i) : 0; }));
      near("clipped", noisy.changed([&](std::size_t i) { return std::max(at(i), 0.0F); }));
      near("8 bits", noisy.changed([&](std::size_t i) { return std::round(std::clamp(at(i), 0.0F, 255.0F)); }));
      const auto fine = [&](std::size_t i) { return std::round(std::clamp(at(i), 0.0F, 255.0F) * 4095 / 255); };
      near("12 bits", noisy.changed(fine), 255.0 / 4095);
      const Scan spoilt = head().with({NoiseKind::salt_and_pepper, 0.2, test_seed});
      const Scan hit =
          noisy.changed([&](std::size_t i) { return spoilt.voxels[i] != head().voxels[i] ? spoilt.voxels[i] : at(i); });
      near("impulses", hit);
      EXPECT_GT(hit.measured().impulses, 0.05) << kind.name << " " << level;
      EXPECT_LT(noisy.measured().impulses, 0.01) << kind.name << " " << level;
    }
  }
}

/// Their values are those of the noise's own ends, no farther away than strong noise lies from its mean.
TEST(MeasureNoise, ImpulsesAmongStrongMagnitudes) {
  QV_NEEDS_TEST_DATA();
  for (const NoiseKind kind : {NoiseKind::rician, NoiseKind::g_factor}) {
    const Scan noisy = head().with({kind, 23, test_seed});
    const auto range = std::ranges::minmax(noisy.voxels);
    std::mt19937 random(test_seed);
    const NoiseModel model = noisy
                                 .changed([&](std::size_t i) {
                                   const auto chance = random() % 10;
                                   return chance == 0 ? range.min : chance == 1 ? range.max : noisy.voxels[i];
                                 })
                                 .measured();
    EXPECT_NEAR(model.sigma, 23, 0.2 * 23);
    EXPECT_NEAR(model.impulses, 0.2, 0.02);
    EXPECT_EQ(model.confidence, Confidence::low);
  }
}

TEST(MeasureNoise, MapOfParallelImaging) {
  QV_NEEDS_TEST_DATA();
  const Extent extent = head().extent;
  const auto g = [&](std::size_t i) {
    return 1 + 2 * std::exp(-2.5 * squared_distance(static_cast<std::int64_t>(i), extent));
  };
  const auto root_mean_square = [&](auto&& is_in, auto&& value) {
    double squares = 0, count = 0;
    for (std::size_t i = 0; i < head().voxels.size(); ++i) {
      if (!is_in(head().voxels[i])) continue;
      squares += value(i) * value(i);
      ++count;
    }
    return std::sqrt(squares / count);
  };
  const auto in_tissue = [](float voxel) { return voxel > 10; };
  const auto in_air = [](float voxel) { return voxel == 0; };
  for (const double level : {2.55, 8.0, 23.0}) {
    const NoiseModel model = head().with({NoiseKind::g_factor, level, test_seed}).measured();
    const double scale = level / root_mean_square(in_tissue, g);
    const auto error = [&](std::size_t i) {
      const auto at = static_cast<std::int64_t>(i);
      return model.sigma_at({at % extent.x, at / extent.x % extent.y, at / extent.slice()}, extent, 0) /
                 (scale * g(i)) -
             1;
    };
    EXPECT_LT(root_mean_square(in_tissue, error), 0.15) << level;
    EXPECT_LT(root_mean_square(in_air, error), 0.08) << level;
  }
}

/// As where many voxels are left out of k-space: four times as loud in the middle, and in a small part. The map was
/// flat there, and sigma a fifth too low.
TEST(MeasureNoise, NoiseThatIsFarLouderInTheMiddle) {
  QV_NEEDS_TEST_DATA();
  const Extent extent = head().extent;
  constexpr double level = 8, width = 0.3;
  for (const bool is_rod : {false, true}) {
    std::vector<double> sigma;
    double squares = 0, count = 0;
    for (std::size_t i = 0; i < head().voxels.size(); ++i) {
      const double away = squared_distance(static_cast<std::int64_t>(i), extent, is_rod ? 2 : 3);
      sigma.push_back(1 + 3 * std::exp(-away / (2 * width * width)));
      if (head().voxels[i] <= 10) continue;
      squares += sigma.back() * sigma.back();
      ++count;
    }
    for (double& one : sigma) one *= level / std::sqrt(squares / count);
    std::mt19937 random(test_seed);
    std::normal_distribution<double> normal;
    const Scan with_air = head().changed([&](std::size_t i) {
      const double real = static_cast<double>(head().voxels[i]) + sigma[i] * normal(random);
      return static_cast<float>(std::hypot(real, sigma[i] * normal(random)));
    });
    const Scan cut_out =
        with_air.changed([&](std::size_t i) { return head().voxels[i] > 10 ? with_air.voxels[i] : 0.0F; });
    for (const Scan* const scan : {&with_air, &cut_out}) {
      const NoiseModel model = scan->measured();
      const std::string which = std::string(is_rod ? "rod" : "ball") + (scan == &cut_out ? ", cut out" : "");
      EXPECT_NEAR(model.sigma, level, 0.12 * level) << which;
      double error = 0;
      for (std::size_t i = 0; i < sigma.size(); ++i) {
        if (head().voxels[i] <= 10) continue;
        const auto at = static_cast<std::int64_t>(i);
        const double found = model.sigma_at({at % extent.x, at / extent.x % extent.y, at / extent.slice()}, extent, 0);
        error += std::pow(found / sigma[i] - 1, 2) / count;
      }
      EXPECT_LT(std::sqrt(error), 0.15) << which;
    }
  }
}

/// A flat volume with noise of that shape, and fine dots in a part of it, if any.
Scan flat_with_hill(const Extent& extent, double times, double width, double dots, const Triple<double>& centre) {
  Scan scan{extent, {}};
  std::mt19937 random(test_seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> chance;
  for (std::int64_t i = 0; i < extent.voxels(); ++i) {
    const double from_middle = squared_distance(i, extent), from_centre = squared_distance(i, extent, 3, centre);
    const double sigma = 5 * (1 + (times - 1) * std::exp(-from_middle / (2 * width * width)));
    const double dot = chance(random) < 0.08 ? 3.4 * dots * std::exp(-from_centre / (2 * 0.36 * 0.36)) : 0;
    scan.voxels.push_back(static_cast<float>(100 + dot + sigma * normal(random)));
  }
  return scan;
}

/// So fine a map of so few parts took away what noise scatters by, which looks like a pattern.
TEST(MeasureNoise, FewPartsOfVaryingNoiseAreNoPattern) {
  for (const Extent& extent : {Extent{{40, 40, 40}}, Extent{{72, 40, 24}}, Extent{{64, 64, 17}}}) {
    const NoiseModel model = flat_with_hill(extent, 3, 0.45, 0, {}).measured();
    EXPECT_GE(model.confidence, Confidence::medium) << extent.x;
    EXPECT_NEAR(model.sigma, 6.8, 0.15 * 6.8) << extent.x;
  }
}

/// Dots are as fine as noise, but far from its distribution. A map followed them, and sigma was twice too high.
TEST(MeasureNoise, DotsAreNotFollowedAsLoudNoise) {
  const NoiseModel model = flat_with_hill({{80, 80, 48}}, 2, 0.45, 40, {0.3, -0.3, 0}).measured();
  EXPECT_NEAR(model.sigma, 5.84, 0.2 * 5.84);
}

/// Texture of tissue that is much stronger than the noise of air is no noise: the air tells it.
TEST(MeasureNoise, QuietAirSpeaksAgainstTheNoiseOfTissue) {
  const Phantom phantom = make_phantom(PhantomKind::mr, {{128, 144, 32}});
  const Scan noisy = Scan{phantom.extent, phantom.voxels}.with({NoiseKind::rician, 1, test_seed});
  MemoryVolume said({noisy.voxels.data(), noisy.extent}, HeaderFacts{.kind = DataKind::magnitude});
  const NoiseModel model = measure_noise(said, {});
  EXPECT_NEAR(model.sigma, 1, 0.25);
  EXPECT_EQ(model.distribution, NoiseDistribution::rician);
}

/// Of few slices no part is flat, and edges were taken for noise of twice the strength and more.
TEST(MeasureNoise, AirTellsTheNoiseOfFewSlices) {
  for (const std::vector<std::int64_t>& slices : {std::vector<std::int64_t>{10, 18, 26, 34, 42}, {20, 28, 36}}) {
    Scan few{{{head().extent.x, head().extent.y, std::ssize(slices)}}, {}};
    for (const std::int64_t z : slices) {
      const auto first = head().voxels.begin() + z * head().extent.slice();
      few.voxels.insert(few.voxels.end(), first, first + head().extent.slice());
    }
    for (const double truth : {2.0, 5.0}) {
      const Scan noisy = few.with({NoiseKind::rician, truth, test_seed});
      MemoryVolume source({noisy.voxels.data(), noisy.extent, {2, 2, 10}});
      const NoiseModel model = measure_noise(source, {});
      EXPECT_NEAR(model.sigma, truth, 0.2 * truth) << slices.size() << " slices";
      EXPECT_EQ(model.distribution, NoiseDistribution::rician) << slices.size() << " slices";
      EXPECT_LT(model.spectrum.length().x, 1.1);
    }
  }
}

/// Noise of frequencies within an ellipsoid, as where k-space is filled so: not those of a slice times those across.
TEST(MeasureNoise, OfAnEllipsoidOfFrequencies) {
  constexpr Extent extent{{48, 48, 32}};
  constexpr double truth = 20, reach = 0.35;  // cycles per voxel
  constexpr int waves = 600;
  std::mt19937 random(test_seed);
  std::uniform_real_distribution<double> number(-1, 1);
  Scan scan{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()), 1000)};
  for (int wave = 0; wave < waves; ++wave) {
    Triple<double> frequency{1, 1, 1};
    while (std::hypot(frequency.x, frequency.y, frequency.z) > 1) {
      frequency = {number(random), number(random), number(random)};
    }
    const double phase = std::numbers::pi * number(random);
    for (std::int64_t i = 0; i < extent.voxels(); ++i) {
      const Triple<double> at = place_of(i, extent);
      const double turns = reach * (frequency.x * at.x + frequency.y * at.y + frequency.z * at.z);
      scan.voxels[static_cast<std::size_t>(i)] +=
          static_cast<float>(truth * std::sqrt(2.0 / waves) * std::cos(2 * std::numbers::pi * turns + phase));
    }
  }
  EXPECT_NEAR(scan.measured().sigma, truth, 0.3 * truth);
}

/// Noise that is twice as loud in tissue as in air, as by parallel imaging, shows between neighbours.
TEST(MeasureNoise, OfFewSlicesMayBeLouderInTissue) {
  Scan noisy{{{head().extent.x, head().extent.y, 5}}, {}};
  std::mt19937 random(test_seed);
  std::normal_distribution<double> noise(0, 4);
  for (std::int64_t i = 0; i < noisy.extent.voxels(); ++i) {
    const std::int64_t slice = noisy.extent.slice(), from = (10 + 8 * (i / slice)) * slice + i % slice;
    const auto signal = static_cast<double>(head().voxels[static_cast<std::size_t>(from)]);
    const double g = signal > 10 ? 2 : 1, real = signal + g * noise(random);
    noisy.voxels.push_back(static_cast<float>(std::hypot(real, g * noise(random))));
  }
  MemoryVolume source({noisy.voxels.data(), noisy.extent, {2, 2, 10}}, HeaderFacts{.kind = DataKind::magnitude});
  const NoiseModel model = measure_noise(source, {});
  EXPECT_GT(model.sigma, 0.8 * 8) << model.describe();
  EXPECT_LT(model.sigma, 1.4 * 8) << model.describe();
}

/// A clean radiograph has smooth slopes, which are no noise.
TEST(MeasureNoise, SlopesOfACleanMammogramAreNoNoise) {
  for (const Extent& extent : {Extent{{512, 512, 1}}, Extent{{800, 600, 1}}, Extent{{1024, 1024, 1}}}) {
    const Phantom phantom = make_phantom(PhantomKind::mammogram, extent);
    const NoiseModel model = Scan{phantom.extent, phantom.voxels}.measured();
    EXPECT_EQ(model.trusted_sigma(), 0) << extent.x << ": " << model.describe();
  }
}

/// A head whose k-space is cut off by a Tukey window within the slice, before the magnitude is taken. What the flattest
/// parts show is partly structure; air, which is even and about as loud, tells the noise.
TEST(MeasureNoise, EvenAirTellsNoiseFromStructure) {
  QV_NEEDS_TEST_DATA();
  const Extent& extent = head().extent;
  const auto low_pass = [&](std::vector<float> voxels) {
    for (int axis = 0; axis < 2; ++axis) {
      const std::int64_t count = extent[axis], step = axis == 0 ? 1 : extent.x;
      std::vector<double> taps(static_cast<std::size_t>(count));
      for (std::int64_t j = 0; j < count; ++j) {
        for (std::int64_t k = 0; k < count; ++k) {
          const auto n = static_cast<double>(count);
          const double kept = std::clamp((1 - 3 * static_cast<double>(std::min(k, count - k)) / n) / 0.3, 0.0, 1.0);
          taps[static_cast<std::size_t>(j)] += (0.5 - 0.5 * std::cos(std::numbers::pi * kept)) / n *
                                               std::cos(2 * std::numbers::pi * static_cast<double>(k * j % count) / n);
        }
      }
      const std::vector<float> sharp = voxels;
      for (std::int64_t i = 0; i < extent.voxels(); ++i) {
        const std::int64_t at = i / step % count;
        double sum = 0;
        for (std::int64_t j = 0; j < count; ++j) {
          const std::int64_t other = i + ((at + j) % count - at) * step;
          sum += taps[static_cast<std::size_t>(j)] * sharp[static_cast<std::size_t>(other)];
        }
        voxels[static_cast<std::size_t>(i)] = static_cast<float>(sum);
      }
    }
    return voxels;
  };
  std::mt19937 random(8);
  std::normal_distribution<double> normal;
  std::vector<float> real, imaginary;
  for (std::int64_t i = 0; i < extent.voxels(); ++i) {
    real.push_back(static_cast<float>(normal(random)));
    imaginary.push_back(static_cast<float>(normal(random)));
  }
  real = low_pass(std::move(real));
  imaginary = low_pass(std::move(imaginary));
  const std::vector<float> clean = low_pass(head().voxels);
  const double squares = std::inner_product(real.begin(), real.end(), real.begin(), 0.0);
  constexpr double sigma = 2.8;
  const auto scale = static_cast<float>(sigma / std::sqrt(squares / static_cast<double>(extent.voxels())));
  const NoiseModel model =
      head()
          .changed([&](std::size_t i) { return std::hypot(clean[i] + scale * real[i], scale * imaginary[i]); })
          .measured();
  EXPECT_NEAR(model.sigma, sigma, 0.1 * sigma);
  EXPECT_FALSE(model.map.varies());
}

/// Noise of so low frequencies that neighbours in a brick share it, as of a small field of view with a soft kernel.
TEST(MeasureNoise, SoftNoiseOfFinePixelsIsMeasuredWhole) {
  for (const double width : {2.5, 3.0}) {
    constexpr Extent extent{{192, 192, 12}};
    std::mt19937 random(test_seed);
    std::normal_distribution<float> normal;
    Scan noise{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
    for (float& voxel : noise.voxels) voxel = normal(random);
    for (const std::int64_t step : {std::int64_t{1}, extent.x}) {
      const std::vector<float> rough = noise.voxels;
      noise = noise.changed([&](std::size_t i) {
        double sum = 0;
        for (std::int64_t o = -9; o <= 9; ++o) {
          const std::int64_t at = (static_cast<std::int64_t>(i) + o * step + extent.voxels()) % extent.voxels();
          sum += std::exp(-0.5 * static_cast<double>(o * o) / (width * width)) * rough[static_cast<std::size_t>(at)];
        }
        return static_cast<float>(sum);
      });
    }
    double squares = 0;
    for (const float voxel : noise.voxels) squares += voxel * voxel;
    const auto scale = static_cast<float>(15 / std::sqrt(squares / static_cast<double>(extent.voxels())));
    const NoiseModel model = noise.changed([&](std::size_t i) { return 50 + scale * noise.voxels[i]; }).measured();
    EXPECT_NEAR(model.sigma, 15, 3) << width;
    EXPECT_NE(model.confidence, Confidence::none) << width;
  }
}

TEST(MeasureNoise, UniformNoiseHasNoMap) {
  QV_NEEDS_TEST_DATA();
  for (const NoiseKind kind : {NoiseKind::gaussian, NoiseKind::rician, NoiseKind::zero_filled}) {
    for (const double level : {2.55, 8.0, 23.0}) {
      EXPECT_EQ(head().with({kind, level, test_seed}).measured().map.values.size(), 1) << level;
    }
  }
}

TEST(MeasureNoise, SpectrumTellsTheCorrelation) {
  QV_NEEDS_TEST_DATA();
  const auto of = [](NoiseKind kind) { return head().with({kind, 23, test_seed}).measured().spectrum; };
  const NoiseSpectrum zero_filled = of(NoiseKind::zero_filled), ct = of(NoiseKind::ct), white = of(NoiseKind::gaussian);
  EXPECT_NEAR(zero_filled.correlation({1, 0, 0}), 0.58, 0.08);
  EXPECT_NEAR(zero_filled.correlation({0, 1, 0}), 0.58, 0.08);
  EXPECT_NEAR(zero_filled.correlation({0, 0, 1}), 0, 0.08);
  EXPECT_NEAR(ct.correlation({0, 0, 1}), 0.5, 0.08);
  EXPECT_NEAR(ct.correlation({1, 0, 0}), 0.53, 0.08);
  EXPECT_NEAR(white.correlation({1, 0, 0}), 0, 0.05);
  EXPECT_LT(white.length().x, 1.05);
  EXPECT_GT(zero_filled.length().x, 1.5);
}

TEST(MeasureNoise, ThreadsChangeNothing) {
  const Phantom phantom = make_phantom(PhantomKind::mr, {{96, 96, 24}});
  const Scan noisy = Scan{phantom.extent, phantom.voxels}.with({NoiseKind::g_factor, 20, test_seed});
  const NoiseModel one = noisy.measured(1), many = noisy.measured(4);
  EXPECT_EQ(one.sigma, many.sigma);
  EXPECT_EQ(one.spectrum.in_plane, many.spectrum.in_plane);
  EXPECT_EQ(one.map.values, many.map.values);
  const Scan counts = Scan{phantom.extent, phantom.voxels}.with({NoiseKind::speckle, 0.1, test_seed});
  EXPECT_EQ(counts.measured(1).distribution, counts.measured(4).distribution);
  EXPECT_EQ(counts.measured(1).speckle.gain, counts.measured(4).speckle.gain);
}

TEST(MeasureNoise, FlatFieldsOfAnySizeAndScale) {
  for (const Extent extent : {Extent{{101, 57, 9}}, Extent{{64, 64, 1}}, Extent{{33, 20, 2}}, Extent{{4000, 1, 1}},
                              Extent{{1, 4000, 1}}, Extent{{80, 1, 50}}, Extent{{1, 80, 50}}, Extent{{300, 300, 40}}}) {
    for (const double sigma : {1e-3, 1.0, 1e6}) {
      const Scan flat{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()), 0)};
      const NoiseModel model = flat.with({NoiseKind::gaussian, sigma, test_seed}).measured();
      EXPECT_NEAR(model.sigma, sigma, 0.1 * sigma) << extent.x << "x" << extent.y << "x" << extent.z;
    }
  }
}

TEST(MeasureNoise, NumbersWhoseSquaresAreNoFloats) {
  const Extent extent{{64, 64, 16}};
  Scan blocks{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  for (std::size_t i = 0; i < blocks.voxels.size(); ++i) blocks.voxels[i] = i / 1024 % 2 == 0 ? 100 : 200;
  const Scan noisy = blocks.with({NoiseKind::gaussian, 10, test_seed});
  const NoiseModel usual = noisy.measured();
  for (const int power : {-110, 70, 110}) {
    const NoiseModel model =
        noisy.changed([&](std::size_t i) { return std::ldexp(noisy.voxels[i], power); }).measured();
    EXPECT_NEAR(std::ldexp(model.sigma, -power), usual.sigma, 1e-6 * usual.sigma) << power;
    EXPECT_NEAR(std::ldexp(model.contrast, -power), usual.contrast, 1e-6 * usual.contrast) << power;
    EXPECT_EQ(model.distribution, usual.distribution);
  }
}

/// A ball with soft contrasts in air, as of a wrist in a head coil.
Scan ball_in_air(double radius, double signal) {
  constexpr Extent extent{{96, 96, 64}};
  Scan scan{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  for (std::int64_t i = 0; i < extent.voxels(); ++i) {
    const auto [x, y, z] = place_of(i, extent);
    const double from_edge = radius - std::hypot(x - 48, y - 48, z - 32);
    const double contrast = 1 + 0.1 * std::sin(x / 9) * std::sin(y / 11) * std::cos(z / 10);
    scan.voxels[static_cast<std::size_t>(i)] = static_cast<float>(signal * contrast * std::clamp(from_edge, 0.0, 1.0));
  }
  return scan;
}

TEST(MeasureNoise, OfMagnitudesThatAreMostlyAir) {
  for (const double radius : {17.0, 23.0, 27.0}) {  // 3, 9 and 14 % of the voxels
    for (const double signal : {200.0, 1000.0, 5000.0}) {
      const NoiseModel model = ball_in_air(radius, signal).with({NoiseKind::rician, 10, test_seed}).measured();
      EXPECT_NEAR(model.sigma, 10, 1) << radius << " " << signal;
      EXPECT_EQ(model.distribution, NoiseDistribution::rician) << radius << " " << signal;
    }
  }
}

TEST(MeasureNoise, AFilledCornerIsNoObject) {
  const Scan noisy = ball_in_air(40, 800).with({NoiseKind::rician, 20, test_seed});
  for (const float fill : {1e6F, 1e7F, 1e10F}) {
    const NoiseModel model =
        noisy.changed([&](std::size_t i) { return i % 96 + i / 96 % 96 < 30 ? fill : noisy.voxels[i]; }).measured();
    EXPECT_NEAR(model.sigma, 20, 2) << fill;
    EXPECT_EQ(model.distribution, NoiseDistribution::rician) << fill;
  }
}

TEST(MeasureNoise, FillValuesDoNotCountWhereverTheyLie) {
  QV_NEEDS_TEST_DATA();
  const Scan noisy = head().with({NoiseKind::rician, 6, test_seed});
  const auto width = static_cast<double>(head().extent.x), height = static_cast<double>(head().extent.y);
  const auto is_outside = [&](std::size_t i) {
    const auto [x, y, z] = place_of(static_cast<std::int64_t>(i), head().extent);
    return std::hypot(x - width / 2, y - height / 2) > 0.5 * width;
  };
  const auto is_corner = [&](std::size_t i) {
    const auto [x, y, z] = place_of(static_cast<std::int64_t>(i), head().extent);
    return x < 20 && y < 20;
  };
  for (const float fill : {-9999.0F, -1000.0F, 1000.0F, 4095.0F, 9999.0F, 65535.0F}) {
    for (const bool in_corner : {true, false}) {
      const NoiseModel model = noisy
                                   .changed([&](std::size_t i) {
                                     return (in_corner ? is_corner(i) : is_outside(i)) ? fill : noisy.voxels[i];
                                   })
                                   .measured();
      EXPECT_NEAR(model.sigma, 6, 0.6) << fill << " " << in_corner;
      EXPECT_EQ(model.distribution, NoiseDistribution::rician) << fill << " " << in_corner;
      EXPECT_EQ(model.map.values.size(), 1U) << fill << " " << in_corner;
    }
  }
}

/// As in two volumes of a CT series that lie in a circle.
TEST(MeasureNoise, OfTwoVolumesWhoseBackgroundIsFarBelow) {
  QV_NEEDS_TEST_DATA();
  const auto shifted = [&](int seed) {
    const Scan noisy = head().with({NoiseKind::gaussian, 10, seed});
    return noisy.changed([&](std::size_t i) { return head().voxels[i] > 10 ? noisy.voxels[i] - 100 : -3000; });
  };
  Scan one = shifted(test_seed), other = shifted(test_seed + 1);
  MemoryVolume source({one.voxels.data(), one.extent}), neighbour({other.voxels.data(), other.extent});
  const NoiseModel model = measure_noise_with_neighbour(source, neighbour, {});
  EXPECT_NEAR(model.sigma, 10, 1);
  EXPECT_GT(model.trusted_sigma(), 0);
}

NoiseModel measured_magnitudes(const Scan& scan, const Spacing& spacing) {
  MemoryVolume source({scan.voxels.data(), scan.extent, spacing}, HeaderFacts{.kind = DataKind::magnitude});
  return measure_noise(source, {});
}

/// By the signal alone, some texture makes sigma far too large, and the signal black.
TEST(MeasureNoise, AirTellsTheNoiseOfWeakMagnitudes) {
  QV_NEEDS_TEST_DATA();
  for (const double level : {80.0, 120.0, 200.0}) {
    for (const double wide : {1.0, 2.5}) {
      const NoiseModel model =
          measured_magnitudes(head().with({NoiseKind::rician, level, test_seed}), {wide, wide, wide});
      EXPECT_EQ(model.distribution, NoiseDistribution::rician) << level << " " << wide;
      EXPECT_NEAR(model.sigma, level, 0.03 * level) << level << " " << wide;
      EXPECT_FALSE(model.map.varies()) << level << " " << wide;
    }
  }
}

/// Strong tissue and a weak organ, in air or in a background that was cut out.
Scan with_weak_organ(double snr, bool is_cut) {
  constexpr Extent extent{{128, 128, 32}};
  constexpr double sigma = 5;
  Scan clean{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  const auto inside = [&](std::size_t i, const Triple<double>& middle, double radius) {
    const auto at = place_of(static_cast<std::int64_t>(i), extent);
    return std::hypot(at.x - middle.x, at.y - middle.y) < radius && std::abs(at.z - middle.z) < 12;
  };
  for (std::size_t i = 0; i < clean.voxels.size(); ++i) {
    if (inside(i, {76, 64, 16}, 36)) clean.voxels[i] = 20 * sigma;
    if (inside(i, {20, 64, 16}, 15)) clean.voxels[i] = static_cast<float>(snr * sigma);
  }
  Scan noisy = clean.with({NoiseKind::rician, sigma, test_seed});
  if (!is_cut) return noisy;
  return noisy.changed([&](std::size_t i) { return clean.voxels[i] > 0 ? noisy.voxels[i] : 0; });
}

TEST(MeasureNoise, AWeakOrganIsNoAir) {
  for (const double snr : {1.0, 1.5, 2.0}) {
    const NoiseModel cut = with_weak_organ(snr, true).measured();
    EXPECT_NEAR(cut.sigma, 5, 0.5) << snr;
    EXPECT_EQ(cut.distribution, NoiseDistribution::gaussian) << snr;
    const NoiseModel in_air = with_weak_organ(snr, false).measured();
    EXPECT_EQ(in_air.distribution, NoiseDistribution::rician) << snr;
    EXPECT_NEAR(in_air.sigma_at({20, 64, 16}, {{128, 128, 32}}, 0), 5, 0.5) << snr;
  }
}

/// Three tissues without any air, the darkest of them hardly brighter than the noise; or the same in a background that
/// was cut out. The darkest, taken for air, would say more noise than there is, and become black.
TEST(MeasureNoise, DarkTissueIsNoAirWhateverTheHeaderSays) {
  constexpr Extent extent{{112, 112, 32}};
  constexpr double sigma = 70;
  const auto tissue = [&](std::size_t i) {
    const auto at = place_of(static_cast<std::int64_t>(i), extent);
    const double wave = std::sin(0.11 * at.x) + std::sin(0.13 * at.y) + std::sin(0.2 * at.z);
    return wave < 0.3 ? 100 : wave < 1.2 ? 300 : 500;
  };
  Scan clean{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  for (std::size_t i = 0; i < clean.voxels.size(); ++i) clean.voxels[i] = static_cast<float>(tissue(i));
  const Scan whole = clean.with({NoiseKind::rician, sigma, test_seed});
  const Scan cut = whole.changed([&](std::size_t i) {
    const auto at = place_of(static_cast<std::int64_t>(i), extent);
    return std::hypot(at.x - 56, at.y - 56) < 45 ? whole.voxels[i] : 0;
  });
  for (const Scan& scan : {whole, cut}) {
    const NoiseModel model = measured_magnitudes(scan, {1, 1, 1});
    EXPECT_NEAR(model.sigma, sigma, 0.1 * sigma);
    EXPECT_EQ(model.distribution, NoiseDistribution::gaussian);
    EXPECT_FALSE(model.map.varies());
  }
  // With strong diffusion weighting nearly all is dark.
  const Scan dark = cut.changed([&](std::size_t i) { return tissue(i) < 500 ? cut.voxels[i] : 0; });
  const NoiseModel of_dark = measured_magnitudes(dark, {1, 1, 1});
  EXPECT_EQ(of_dark.distribution, NoiseDistribution::rician);
  EXPECT_NEAR(of_dark.sigma, sigma, 0.1 * sigma);
}

/// As preprocessed diffusion images are. Real numbers that were folded, cut off or interpolated after that come nearer
/// to 0, and so do counts and the like.
TEST(MeasureNoise, WeakMagnitudesWithoutAirAreTold) {
  constexpr Extent extent{{96, 96, 32}};
  Scan clean{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  for (std::size_t i = 0; i < clean.voxels.size(); ++i) {
    const auto at = place_of(static_cast<std::int64_t>(i), extent);
    clean.voxels[i] = static_cast<float>(100 + 20 * std::sin(at.x / 9) * std::sin(at.y / 11));
  }
  const auto found = [&](const HeaderFacts& header, const Scan& whole) {
    const Scan cut = whole.changed([&](std::size_t i) {
      const auto at = place_of(static_cast<std::int64_t>(i), extent);
      return std::hypot(at.x - 48, at.y - 48, 1.5 * (at.z - 16)) < 40 ? whole.voxels[i] : 0;
    });
    MemoryVolume source({cut.voxels.data(), extent}, header);
    return measure_noise(source, {});
  };
  const HeaderFacts mr{.are_of_mr = true};
  for (const double sigma : {40.0, 60.0, 80.0}) {
    const Scan rician = clean.with({NoiseKind::rician, sigma, test_seed});
    for (const HeaderFacts& header : {mr, HeaderFacts{.kind = DataKind::magnitude}}) {
      const NoiseModel model = found(header, rician);
      EXPECT_EQ(model.distribution, NoiseDistribution::rician) << sigma;
      EXPECT_EQ(model.confidence, Confidence::medium) << sigma;
      EXPECT_NEAR(model.sigma, sigma, 0.1 * sigma);
    }
    const auto step = static_cast<float>(sigma / 4);
    const Scan whole_numbers = rician.changed([&](std::size_t i) { return std::round(rician.voxels[i] / step); });
    EXPECT_EQ(found(mr, whole_numbers).distribution, NoiseDistribution::rician) << sigma;
    EXPECT_NE(found({}, rician).distribution, NoiseDistribution::rician) << sigma;
    const Scan real = clean.with({NoiseKind::gaussian, sigma, test_seed});
    const Scan cut_off = real.changed([&](std::size_t i) { return std::max(real.voxels[i], 0.0F); });
    for (const Scan& other :
         {cut_off, real.changed([&](std::size_t i) { return std::max(real.voxels[i], 1.0F); }),
          real.changed([&](std::size_t i) { return std::abs(real.voxels[i]); }), cut_off.changed([&](std::size_t i) {
            return 0.9F * cut_off.voxels[i] + 0.1F * cut_off.voxels[i > 0 ? i - 1 : 0];
          }),
          rician.changed([&](std::size_t i) { return rician.voxels[i] * rician.voxels[i] / 100; })}) {
      EXPECT_NE(found(mr, other).distribution, NoiseDistribution::rician) << sigma;
    }
  }
  EXPECT_EQ(found(mr, clean.with({NoiseKind::rician, 20, test_seed})).distribution, NoiseDistribution::gaussian);
}

/// A tight field of view, whose dark tissue is more than its air; and counts, which vary as much as their mean.
TEST(MeasureNoise, LittleAirCountsWhereItIsAsLoudAsTissue) {
  constexpr Extent extent{{128, 96, 24}};
  const auto scan_of = [&](float air, float dark, float bright) {
    Scan scan{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
    for (std::size_t i = 0; i < scan.voxels.size(); ++i) {
      const auto x = i % static_cast<std::size_t>(extent.x);
      scan.voxels[i] = x < 14 ? air : x < 80 ? dark : bright;
    }
    return scan;
  };
  const NoiseModel model = scan_of(0, 300, 900).with({NoiseKind::rician, 20, test_seed}).measured();
  EXPECT_EQ(model.distribution, NoiseDistribution::rician);
  EXPECT_NEAR(model.sigma, 20, 1);
  const Scan counts = scan_of(3.65F, 8.2F, 10).with({NoiseKind::poisson, 1, test_seed});
  const Scan level = scan_of(0, 0, 0).with({NoiseKind::gaussian, 0.3, test_seed});
  EXPECT_NE(counts.changed([&](std::size_t i) { return std::abs(counts.voxels[i] + level.voxels[i]); })
                .measured()
                .distribution,
            NoiseDistribution::rician);
}

/// As noise of parallel imaging or of a surface coil may be, also in a field of view that was cut round.
TEST(MeasureNoise, AirMayBeLouderThanTissueIfItIsSaidThatTheseAreMagnitudes) {
  const Extent extent{{128, 128, 32}};
  const auto from_middle = [&](std::size_t i) {
    const auto at = place_of(static_cast<std::int64_t>(i), extent);
    return std::hypot(at.x - 64, at.y - 64);
  };
  Scan clean{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  for (std::size_t i = 0; i < clean.voxels.size(); ++i) clean.voxels[i] = from_middle(i) < 40 ? 200 : 0;
  const Scan loud = clean.with({NoiseKind::rician, 30, test_seed}), quiet = clean.with({NoiseKind::rician, 20, 5});
  const Scan stepped =
      loud.changed([&](std::size_t i) { return clean.voxels[i] > 0 ? quiet.voxels[i] : loud.voxels[i]; });
  EXPECT_EQ(measured_magnitudes(stepped, {1, 1, 1}).distribution, NoiseDistribution::rician);
  const Scan round = loud.changed([&](std::size_t i) { return from_middle(i) < 62 ? loud.voxels[i] : 0; });
  const NoiseModel of_round = measured_magnitudes(round, {1, 1, 1});
  EXPECT_EQ(of_round.distribution, NoiseDistribution::rician);
  EXPECT_NEAR(of_round.sigma, 30, 3);
}

TEST(MeasureNoise, AirIsKnownWhereItsNoiseVaries) {
  const Scan organ = with_weak_organ(1.5, false);
  const Extent& extent = organ.extent;
  const auto level = [&](std::size_t i) {
    return std::pow(1.4, 2 * place_of(static_cast<std::int64_t>(i), extent).x / static_cast<double>(extent.x - 1) - 1);
  };
  const Scan noisy = organ.changed([&](std::size_t i) { return static_cast<float>(level(i) * organ.voxels[i]); });
  const NoiseModel model = noisy.measured();
  EXPECT_EQ(model.distribution, NoiseDistribution::rician);
  EXPECT_NEAR(model.sigma_at({2, 100, 16}, extent, 0), 5 * level(2), 0.5);
  EXPECT_NEAR(model.sigma_at({125, 100, 16}, extent, 0), 5 * level(125), 0.7);
}

/// Where the signal is weak, what two magnitudes differ by varies less than sigma.
TEST(MeasureNoise, DifferencesOfWeakMagnitudesTellSigma) {
  QV_NEEDS_TEST_DATA();
  for (const double level : {25.0, 80.0, 120.0}) {
    const Scan one = head().with({NoiseKind::rician, level, test_seed}),
               other = head().with({NoiseKind::rician, level, test_seed + 1});
    const HeaderFacts header{.kind = DataKind::magnitude};
    MemoryVolume source({one.voxels.data(), one.extent}, header),
        neighbour({other.voxels.data(), other.extent}, header);
    const NoiseModel model = measure_noise_with_neighbour(source, neighbour, {});
    EXPECT_EQ(model.distribution, NoiseDistribution::rician) << level;
    EXPECT_NEAR(model.sigma, level, 0.05 * level) << level;
  }
}

TEST(MeasureNoise, ClippedAtTheTopAsAtTheBottom) {
  QV_NEEDS_TEST_DATA();
  for (const double level : {8.0, 20.0}) {
    const Scan noisy = head().with({NoiseKind::gaussian, level, test_seed});
    for (const float top : {225.0F, 160.0F}) {
      const NoiseModel model = noisy.changed([&](std::size_t i) { return std::min(noisy.voxels[i], top); }).measured();
      EXPECT_TRUE(model.trusted_sigma() == 0 || std::abs(model.sigma - level) < 0.2 * level)
          << level << " " << top << ": " << model.sigma;
    }
  }
}

/// Exports show a window of the values: of neighbours, most are saturated. Without noise, nothing is made of what is
/// left.
TEST(MeasureNoise, OfAWindowThatIsCutOffAtBothEnds) {
  QV_NEEDS_TEST_DATA();
  constexpr float low = 60, scale = 255.0F / 140;  // 60 to 200
  for (const double level : {0.0, 8.0, 16.0}) {
    const Scan noisy = level > 0 ? head().with({NoiseKind::gaussian, level, test_seed}) : head();
    const NoiseModel model = noisy
                                 .changed([&](std::size_t i) {
                                   return std::clamp(std::round((noisy.voxels[i] - low) * scale), 0.0F, 255.0F);
                                 })
                                 .measured();
    EXPECT_NEAR(model.trusted_sigma(), level * scale, 0.15 * level * scale) << level;
  }
}

/// As displays show it. Air, whose values are pressed together, may pass for the noise of all: nobody was told.
TEST(MeasureNoise, BehindAGammaTheNoiseOfDarkPartsIsNotTrusted) {
  QV_NEEDS_TEST_DATA();
  const auto shown = [](const Scan& scan) {
    return scan.changed([&](std::size_t i) {
      return static_cast<float>(255 * std::pow(std::max(static_cast<double>(scan.voxels[i]), 0.0) / 250, 2.2));
    });
  };
  for (const int seed : {1, 2, 3, 4}) {
    const Scan noisy = shown(head().with({NoiseKind::zero_filled, 8, seed}));
    const double truth = added(noisy, shown(head().with({NoiseKind::zero_filled, 0, 1})));
    const NoiseModel model = noisy.measured();
    EXPECT_TRUE(model.confidence <= Confidence::low || std::abs(model.sigma - truth) < 0.4 * truth)
        << seed << ": " << model.sigma << " " << truth;
  }
}

/// Nine slices of 5 mm: their structure is everywhere, and ends within a slice as noise does. Sigma was 1.7 times too
/// high, with high confidence.
TEST(MeasureNoise, OfFewThickSlices) {
  constexpr std::int64_t thick = 5;
  const Phantom phantom = make_phantom(PhantomKind::mr, {{128, 128, 48}});
  Scan scan{{{128, 128, 9}}, {}};
  for (std::int64_t i = 0; i < scan.extent.voxels(); ++i) {
    const std::int64_t slice = scan.extent.slice();
    double sum = 0;
    for (std::int64_t z = 0; z < thick; ++z) {
      sum += static_cast<double>(phantom.voxels[static_cast<std::size_t>((i / slice * thick + z) * slice + i % slice)]);
    }
    scan.voxels.push_back(static_cast<float>(sum / thick));
  }
  for (const double level : {15.0, 30.0}) {
    const NoiseModel model = scan.with({NoiseKind::gaussian, level, test_seed}).measured();
    EXPECT_TRUE(model.confidence == Confidence::low || model.sigma < 1.4 * level) << level << ": " << model.sigma;
    EXPECT_NEAR(model.sigma, 1.2 * level, 0.2 * level);
  }
}

/// Whose ends are as frequent as all other values.
TEST(MeasureNoise, OfEvenlySpreadWholeNumbers) {
  constexpr Extent extent{{64, 64, 32}};
  Scan scan{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  std::mt19937 random(test_seed);
  for (float& voxel : scan.voxels) voxel = static_cast<float>(300 + random() % 100);
  const NoiseModel model = scan.measured();
  EXPECT_NEAR(model.sigma, 100 / std::sqrt(12), 3);
  EXPECT_GT(model.trusted_sigma(), 0);
}

TEST(MeasureNoise, EdgesAreNoImpulses) {
  for (const double signal : {200.0, 1000.0, 5000.0}) {
    EXPECT_EQ(ball_in_air(23, signal).with({NoiseKind::rician, 10, test_seed}).measured().impulses, 0) << signal;
  }
}

/// In some bricks there are none, and in others few.
TEST(MeasureNoise, FewImpulsesAmongStrongNoise) {
  QV_NEEDS_TEST_DATA();
  const Scan noisy =
      head().changed([](std::size_t i) { return head().voxels[i] + 200; }).with({NoiseKind::gaussian, 40, test_seed});
  for (const double share : {0.018, 0.01, 0.005}) {
    std::mt19937 random(test_seed);
    const NoiseModel model = noisy
                                 .changed([&](std::size_t i) {
                                   return static_cast<double>(random()) < share * 4294967296.0 ? 0 : noisy.voxels[i];
                                 })
                                 .measured();
    EXPECT_NEAR(model.sigma, 40, 3) << share;
    EXPECT_NEAR(model.impulses, share, 0.2 * share);
  }
}

/// As in displays of ultrasound: much of the tail of its distribution has one value.
TEST(MeasureNoise, SkewedNoiseThatIsCutOffIsNoImpulse) {
  QV_NEEDS_TEST_DATA();
  std::mt19937 random(test_seed);
  std::exponential_distribution<float> speckle;
  Scan noisy = head().changed([&](std::size_t i) { return std::round(head().voxels[i] * speckle(random) / 3); });
  for (const float top : {255.F, 180.F}) {
    EXPECT_EQ(noisy.changed([&](std::size_t i) { return std::min(noisy.voxels[i], top); }).measured().impulses, 0)
        << top;
  }
}

/// Without a header nobody knows whether the numbers are magnitudes, whose noise varies less than sigma there.
TEST(MeasureNoise, OfANoiseScanIsNotSure) {
  constexpr Extent extent{{64, 64, 32}};
  const Scan zero{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  const Scan noise = zero.with({NoiseKind::rician, 10, test_seed});
  EXPECT_EQ(noise.measured().confidence, Confidence::medium);
  EXPECT_EQ(zero.with({NoiseKind::gaussian, 10, test_seed}).measured().confidence, Confidence::high);
}

/// A field map: zero outside the head, and in much of each part of it.
TEST(MeasureNoise, ABackgroundOfOneValueIsNoImpulses) {
  QV_NEEDS_TEST_DATA();
  const auto image = io::open_nifti(test::test_data("nifti/fieldmap.nii.gz"));
  EXPECT_EQ(measure_noise(*image->volume(0, io::VoxelDomain::real), {}).impulses, 0);
}

/// CT numbers plus 1024: the mean of air is twice its spread, as in the magnitudes of MR.
TEST(MeasureNoise, AirThatIsNotSkewedIsNotRician) {
  const Extent extent{{96, 96, 24}};
  Scan clean{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  for (std::size_t i = 0; i < clean.voxels.size(); ++i) clean.voxels[i] = i % 96 < 48 ? 24 : 1064;
  const Scan noisy = clean.with({NoiseKind::gaussian, 12, test_seed});
  const NoiseModel model =
      noisy.changed([&](std::size_t i) { return std::max(std::round(noisy.voxels[i]), 0.0F); }).measured();
  EXPECT_EQ(model.distribution, NoiseDistribution::gaussian);
  EXPECT_NEAR(model.sigma, 12, 1.2);
}

/// The root of the sum of squares of many coils varies little where there is no signal. Close around a head, most dark
/// parts lie at its edge.
TEST(MeasureNoise, TheAirOfManyCoilsIsNotRician) {
  QV_NEEDS_TEST_DATA();
  constexpr int coils = 12;
  const auto& whole = head();
  const Index3 from{17, 7, 5};
  Scan crop{{{64, 104, 45}}, {}};
  std::mt19937 random(5);
  std::normal_distribution<double> noise(0, 10);
  const auto square = [](double value) { return value * value; };
  for (std::int64_t i = 0; i < crop.extent.voxels(); ++i) {
    const std::int64_t x = i % 64 + from.x, y = i / 64 % 104 + from.y, z = i / (64 * 104) + from.z;
    const auto at = static_cast<std::size_t>((z * whole.extent.y + y) * whole.extent.x + x);
    double sum = 0;
    for (int coil = 0; coil < coils; ++coil) {
      sum += square(whole.voxels[at] / std::sqrt(coils) + noise(random)) + square(noise(random));
    }
    crop.voxels.push_back(static_cast<float>(std::sqrt(sum)));
  }
  const NoiseModel model = measured_magnitudes(crop, {1, 1, 1});
  EXPECT_EQ(model.distribution, NoiseDistribution::gaussian);
  EXPECT_NEAR(model.sigma, 10, 1);
}

/// Of a Poisson distribution with a mean of 4 the spread and the skewness are nearly those of Rayleigh's.
TEST(MeasureNoise, CountsAreNotRicianWhereNoHeaderSaysMagnitudes) {
  const Extent extent{{64, 64, 40}};
  for (const bool is_uniform : {true, false}) {
    Scan counts{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
    std::mt19937 random(5);
    for (std::int64_t i = 0; i < extent.voxels(); ++i) {
      const auto [x, y, z] = place_of(i, extent);
      const bool is_hot = !is_uniform && std::hypot(x - 32, y - 32, z - 20) < 10;
      counts.voxels[static_cast<std::size_t>(i)] =
          static_cast<float>(std::poisson_distribution<int>(is_hot ? 64 : 4)(random));
    }
    EXPECT_EQ(counts.measured().distribution, NoiseDistribution::gaussian) << is_uniform;
    HeaderFacts magnitudes;
    magnitudes.kind = DataKind::magnitude;
    MemoryVolume said({counts.voxels.data(), extent, {2, 2, 2}}, magnitudes);
    EXPECT_EQ(measure_noise(said, {}).distribution, NoiseDistribution::rician) << is_uniform;
  }
}

/// Where counts are of all sizes, some are always as few as look like air.
TEST(MeasureNoise, CountsOfAllSizesAreCounts) {
  for (const Extent& extent : {Extent{{384, 384, 1}}, Extent{{96, 96, 48}}}) {
    Scan counts{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
    std::mt19937 random(5);
    for (std::int64_t i = 0; i < extent.voxels(); ++i) {
      const auto [x, y, z] = place_of(i, extent);
      const double scale = extent.z == 1 ? 0.03 : 0.1;
      const double mean = 8 * std::exp(0.8 * (std::sin(scale * x) + std::sin(scale * y) + std::sin(scale * z)));
      counts.voxels[static_cast<std::size_t>(i)] = static_cast<float>(std::poisson_distribution<int>(mean)(random));
    }
    const NoiseModel model = counts.measured();
    EXPECT_EQ(model.distribution, NoiseDistribution::poisson) << extent.z;
    EXPECT_GE(model.confidence, Confidence::medium) << extent.z;
    EXPECT_NEAR(model.poisson.gain, 1, 0.1) << extent.z;
    EXPECT_EQ(model.poisson.offset, 0) << extent.z;
  }
}

/// A radiograph is mostly background; filters go by the noise of the object.
TEST(MeasureNoise, SigmaOfCountsIsThatOfTheObject) {
  Scan counts{{{512, 512, 1}}, std::vector<float>(512 * 512)};
  std::mt19937 random(5);
  double sum = 0;
  int pixels = 0;
  for (std::int64_t i = 0; i < 512 * 512; ++i) {
    const auto [x, y, z] = place_of(i, counts.extent);
    const double from_middle = std::hypot(x - 256, y - 256), angle = std::atan2(y - 256, x - 256);
    const bool is_object = from_middle < 150;
    const double mean = is_object ? 900 + 500 * std::sin(3 * angle) + from_middle : 2;
    counts.voxels[static_cast<std::size_t>(i)] = static_cast<float>(4 * std::poisson_distribution<int>(mean)(random));
    sum += is_object ? mean : 0;
    pixels += is_object;
  }
  const NoiseModel model = counts.measured();
  EXPECT_EQ(model.distribution, NoiseDistribution::poisson);
  EXPECT_EQ(model.poisson.gain, 4);
  const double sigma = 4 * std::sqrt(sum / pixels);
  EXPECT_NEAR(model.sigma, sigma, 0.1 * sigma);
  EXPECT_GT(model.contrast, 0);
}

/// As in CT where shoulders begin, or where series were joined.
TEST(MeasureNoise, OfSlicesThatAreLouderThanOthers) {
  QV_NEEDS_TEST_DATA();
  const Scan& clean = head();
  const Scan quiet = clean.with({NoiseKind::gaussian, 5, test_seed}), loud = clean.with({NoiseKind::gaussian, 15, 77});
  const std::int64_t first = clean.extent.z / 3, last = first + 12;
  const auto is_loud = [&](std::int64_t z) { return z >= first && z < last; };
  const NoiseModel model = quiet
                               .changed([&](std::size_t i) {
                                 const auto z = static_cast<std::int64_t>(i) / clean.extent.slice();
                                 return is_loud(z) ? loud.voxels[i] : quiet.voxels[i];
                               })
                               .measured();
  EXPECT_GE(model.confidence, Confidence::medium);
  for (std::int64_t z = 8; z + 8 < clean.extent.z; ++z) {
    if (std::abs(z - first) < 5 || std::abs(z - last) < 5) continue;  // bricks have four slices
    const double sigma = model.sigma * model.map.at({clean.extent.x / 2, clean.extent.y / 2, z}, clean.extent);
    EXPECT_NEAR(sigma, is_loud(z) ? 15 : 5, is_loud(z) ? 1.5 : 0.75) << z;
  }
}

/// Texture in some slices makes no noise there: a smooth one, and one of struts.
TEST(MeasureNoise, SlicesOfMoreTextureAreNotLouder) {
  const Extent extent{{96, 96, 48}};
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> white(static_cast<std::size_t>(extent.voxels()));
  std::ranges::generate(white, [&] { return normal(random); });
  const auto sum_around = [&](std::int64_t at) {  // of 3x3x3 voxels
    float sum = 0;
    for (const std::int64_t slices : {-1, 0, 1}) {
      for (const std::int64_t rows : {-1, 0, 1}) {
        for (const std::int64_t columns : {-1, 0, 1}) {
          const std::int64_t near = at + slices * extent.slice() + rows * extent.x + columns;
          sum += white[static_cast<std::size_t>((near + extent.voxels()) % extent.voxels())];
        }
      }
    }
    return sum;
  };
  for (const bool are_struts : {false, true}) {
    Scan texture{extent, std::vector<float>(white.size(), 1000)};
    for (std::int64_t i = 0; i < extent.voxels() / 2; ++i) {
      const float sum = sum_around(i);
      texture.voxels[static_cast<std::size_t>(i)] += !are_struts ? 10 * sum : sum > 0 ? 50.0F : -50.0F;
    }
    const NoiseModel model = texture.with({NoiseKind::gaussian, 5, test_seed}).measured();
    EXPECT_FALSE(model.map.varies()) << are_struts;
    EXPECT_NEAR(model.sigma, 5, 0.5) << are_struts;
  }
}

/// Few counts leave hardly a part without a zero, and vary less where they are fewer, as weak magnitudes do.
TEST(MeasureNoise, CountsAreToldByTheirVarianceOverTheirMean) {
  const Extent planar{{192, 192, 1}}, volume{{64, 64, 48}};
  const auto counts_of = [](const Extent& extent, double gain, auto mean) {
    Scan scan{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
    std::mt19937 random(5);
    for (std::int64_t i = 0; i < extent.voxels(); ++i) {
      const int counts = std::poisson_distribution<int>(mean(place_of(i, extent)))(random);
      scan.voxels[static_cast<std::size_t>(i)] = static_cast<float>(gain * counts);
    }
    return scan;
  };
  const auto body = [](const Triple<double>& at) {
    return std::hypot(at.x - 96, 0.6 * (at.y - 96)) > 60 ? 1.0 : 6 + 3 * std::sin(0.08 * at.x) * std::sin(0.06 * at.y);
  };
  const auto organ = [](const Triple<double>& at) {
    return 6 * std::exp(-(std::pow(at.x - 32, 2) + std::pow(at.y - 32, 2) + std::pow(at.z - 24, 2)) / 400) + 0.2;
  };
  for (const double gain : {1.0, 3.75}) {
    for (const Scan& scan : {counts_of(planar, gain, body), counts_of(volume, gain, organ)}) {
      const NoiseModel model = scan.measured();
      EXPECT_EQ(model.distribution, NoiseDistribution::poisson) << scan.extent.z;
      EXPECT_EQ(model.poisson.gain, gain) << scan.extent.z;
      EXPECT_EQ(model.poisson.offset, 0) << scan.extent.z;
      EXPECT_GE(model.confidence, Confidence::medium) << scan.extent.z;
      const double mean = model.sigma * model.sigma / gain;  // who asks for speckle gets what comes nearest
      EXPECT_NEAR(model.speckle.at(mean), model.poisson.at(mean), 1e-9) << scan.extent.z;
    }
  }
  // Alike in all parts, and each holds the value 0.
  for (const double mean : {1.5, 2.5}) {
    const NoiseModel model = counts_of(volume, 1, [&](const Triple<double>& at) {
                               return std::hypot(at.x - 32, at.y - 32) < 27 ? mean : 0.05 * mean;
                             }).measured();
    EXPECT_EQ(model.distribution, NoiseDistribution::poisson) << mean;
    EXPECT_NEAR(model.sigma, std::sqrt(mean), 0.2 * std::sqrt(mean));
  }
  // Whole numbers of weak magnitudes, whose variance is their mean in air.
  const auto magnitudes = with_weak_organ(2, false);
  const Scan whole = magnitudes.changed([&](std::size_t i) { return std::round(0.58F * magnitudes.voxels[i]); });
  EXPECT_EQ(whole.measured().distribution, NoiseDistribution::rician);
}

/// A brick of 8 voxels of 3 mm holds folds of the brain wherever it lies.
TEST(MeasureNoise, LargeVoxelsAreMeasuredByTheirFinestDifferences) {
  QV_NEEDS_TEST_DATA();
  const Scan smooth = head().with({NoiseKind::zero_filled, 8, test_seed}),
             both = smooth.with({NoiseKind::gaussian, 5, test_seed});
  const auto measured = [](const Scan& scan, double mm) {
    MemoryVolume source({scan.voxels.data(), scan.extent, {mm, mm, 2 * mm}});
    return measure_noise(source, {});
  };
  const NoiseModel fine = measured(both, 2), coarse = measured(both, 3);
  EXPECT_GT(fine.sigma, 8.5);
  EXPECT_LT(coarse.sigma, 0.8 * fine.sigma);
  EXPECT_EQ(coarse.confidence, Confidence::low);
  EXPECT_EQ(coarse.spectrum.in_plane.size(), 1U);
  EXPECT_EQ(measured(smooth, 3).sigma, measured(smooth, 2).sigma) << "noise that is smooth throughout";
}

/// None of the few parts of a small slice that is full of structure is flat.
TEST(MeasureNoise, FewPartsAreMeasuredByTheirFinestDifferences) {
  const Extent extent{{64, 64, 1}};
  Scan busy{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  for (std::size_t i = 0; i < busy.voxels.size(); ++i) {
    const auto [x, y, z] = place_of(static_cast<std::int64_t>(i), extent);
    busy.voxels[i] = static_cast<float>(500 + 200 * std::sin(x / 3 + std::sin(y / 7)) * std::cos(y / 4));
  }
  const NoiseModel model = busy.with({NoiseKind::gaussian, 5, test_seed}).measured();
  EXPECT_GT(model.sigma, 4);
  EXPECT_LT(model.sigma, 12);
  EXPECT_EQ(model.confidence, Confidence::low);
}

/// A head of voxels that are so many times larger.
Scan coarse_head(std::int64_t times) {
  const Extent fine = head().extent, extent{{fine.x / times, fine.y / times, fine.z / times}};
  Scan coarse{extent, {}};
  for (std::int64_t i = 0; i < extent.voxels(); ++i) {
    const std::int64_t x = times * (i % extent.x), y = times * (i / extent.x % extent.y),
                       z = times * (i / extent.slice());
    float sum = 0;
    for (std::int64_t j = 0; j < times * times * times; ++j) {
      const std::int64_t at = ((z + j / (times * times)) * fine.y + y + j / times % times) * fine.x + x + j % times;
      sum += head().voxels[static_cast<std::size_t>(at)];
    }
    coarse.voxels.push_back(sum / static_cast<float>(times * times * times));
  }
  return coarse;
}

NoiseModel measured_with_voxels_of(const Scan& scan, double mm) {
  MemoryVolume source({scan.voxels.data(), scan.extent, {mm, mm, mm}});
  return measure_noise(source, {});
}

/// Where structure is as strong as the noise in every part, the highest frequencies still tell white noise.
TEST(MeasureNoise, WhiteNoiseAmongStructureIsToldByTheHighestFrequencies) {
  QV_NEEDS_TEST_DATA();
  const auto expect_near = [](const Scan& clean, double mm, double level, double tolerance) {
    const NoiseModel model = measured_with_voxels_of(clean.with({NoiseKind::gaussian, level, test_seed}), mm);
    EXPECT_NEAR(model.sigma, level, tolerance * level) << model.reason;
    EXPECT_GT(model.confidence, Confidence::none) << level;
  };
  for (const double level : {2.55, 5.0, 8.0}) expect_near(coarse_head(2), 2, level, 0.2);
  expect_near(head(), 1, 1, 0.2);
  EXPECT_EQ(head().measured().confidence, Confidence::none);
}

/// Smooth noise leaves the highest frequencies empty; what is found there is not its sigma.
TEST(MeasureNoise, SmoothNoiseAmongStructureIsNotTakenForWeakWhiteNoise) {
  QV_NEEDS_TEST_DATA();
  for (const NoiseKind kind : {NoiseKind::zero_filled, NoiseKind::interpolated}) {
    const Scan noisy = coarse_head(2).with({kind, 8, test_seed});
    EXPECT_GT(measured_with_voxels_of(noisy, 2).sigma, 6) << static_cast<int>(kind);
  }
}

/// Differences of volumes tell the truth. Echo-planar images of large voxels hold structure of all frequencies.
TEST(MeasureNoise, OneVolumeOfATimeSeries) {
  QV_NEEDS_TEST_DATA();
  const auto expect_all_between = [](const char* file, double least, double most) {
    const auto image = io::open_nifti(test::test_data(file));
    for (std::size_t i = 0; i < image->volume_count(); ++i) {
      const NoiseModel model = measure_noise(*image->volume(i, io::VoxelDomain::real), {});
      EXPECT_GT(model.sigma, 0.75 * least) << file << ' ' << i;
      EXPECT_LT(model.sigma, 1.25 * most) << file << ' ' << i;
      EXPECT_EQ(model.confidence, Confidence::low) << file << ' ' << i;
    }
  };
  // Of neighbouring volumes: median absolute value and root mean square, both as standard deviations (of pcasl, the
  // largest of its volumes: places move, and some volumes are labelled).
  expect_all_between("nifti/example4d.nii.gz", 8.4, 9.0);
  expect_all_between("nifti/pcasl.nii.gz", 10.5, 15.7);
}

/// Folds of a brain without noise, in whole numbers: they were taken for correlated noise of up to 8.
TEST(MeasureNoise, FoldsOfASliceAreNoNoise) {
  QV_NEEDS_TEST_DATA();
  const Scan& whole = head();
  const auto expect_none = [&](const Extent& extent, const std::function<Triple<std::int64_t>(std::int64_t)>& place) {
    Scan slice{extent, {}};
    for (std::int64_t i = 0; i < extent.voxels(); ++i) {
      const auto [x, y, z] = place(i);
      const auto at = static_cast<std::size_t>((z * whole.extent.y + y) * whole.extent.x + x);
      slice.voxels.push_back(whole.voxels[at]);
    }
    const NoiseModel model = slice.measured();
    EXPECT_EQ(model.confidence, Confidence::none) << place(0).y << ' ' << place(0).z << ' ' << model.sigma;
    EXPECT_GT(slice.with({NoiseKind::gaussian, 3, test_seed}).measured().confidence, Confidence::none);
  };
  for (const std::int64_t y : {94, 101, 105, 106, 111}) {
    const Extent extent{{whole.extent.x, whole.extent.z, 1}};
    expect_none(extent, [&](std::int64_t i) { return Triple<std::int64_t>{i % extent.x, y, i / extent.x}; });
  }
  for (const std::int64_t z : {5, 13, 24, 32}) {
    const Extent extent{{whole.extent.x, whole.extent.y, 1}};
    expect_none(extent, [&](std::int64_t i) { return Triple<std::int64_t>{i % extent.x, i / extent.x, z}; });
  }
}

/// Neighbours do not differ in an image that was enlarged by repeating its voxels; that says nothing of its noise.
TEST(MeasureNoise, RepeatedVoxelsAreNotSilentlyWithoutNoise) {
  const Extent extent{{48, 48, 16}};
  Scan small{{{24, 24, 16}}, std::vector<float>(24 * 24 * 16, 100)}, large{extent, {}};
  small = small.with({NoiseKind::gaussian, 5, test_seed});
  for (std::int64_t i = 0; i < extent.voxels(); ++i) {
    const std::int64_t x = i % extent.x / 2, y = i / extent.x % extent.y / 2, z = i / extent.slice();
    large.voxels.push_back(small.voxels[static_cast<std::size_t>((z * 24 + y) * 24 + x)]);
  }
  const NoiseModel model = large.measured();
  EXPECT_TRUE(model.sigma > 0 || model.confidence == Confidence::none) << model.reason;
}

TEST(MeasureNoise, SmallVolumesAndSlicesHoldMoreStructureThanNoise) {
  struct Case {
    Extent extent;
    NoiseKind kind;
    CtKernel kernel;
  };
  // Where all flat parts together hold three to nine times as much.
  for (const Case& scan : {Case{{{64, 64, 24}}, NoiseKind::ct, CtKernel::sharp},
                           Case{{{64, 64, 24}}, NoiseKind::zero_filled, CtKernel::soft},
                           Case{{{128, 128, 1}}, NoiseKind::ct, CtKernel::sharp},
                           Case{{{128, 128, 1}}, NoiseKind::interpolated, CtKernel::soft}}) {
    const Phantom phantom = make_phantom(PhantomKind::mr, scan.extent);
    const Scan clean{phantom.extent, phantom.voxels};
    NoiseParams params{scan.kind, 0, test_seed, scan.kernel};
    const Scan recorded = clean.with(params);
    params.amount = 10;
    const Scan noisy = clean.with(params);
    const double truth = added(noisy, recorded);
    EXPECT_LT(noisy.measured().sigma, 2 * truth) << scan.extent.x;
  }
}

Scan phantom(PhantomKind kind, const Extent& extent) {
  const Phantom made = make_phantom(kind, extent);
  return {made.extent, made.voxels};
}

/// What noise follows: the range of the image, and the means of its object.
struct Object {
  double range, mean, root_mean_square;

  explicit Object(const Scan& clean) {
    const auto [low, high] = std::minmax_element(clean.voxels.begin(), clean.voxels.end());
    range = static_cast<double>(*high) - static_cast<double>(*low);
    double sum = 0, squares = 0, count = 0;
    for (const float voxel : clean.voxels) {
      const auto value = static_cast<double>(voxel);
      if (value <= static_cast<double>(*low) + 0.04 * range) continue;
      sum += value;
      squares += value * value;
      ++count;
    }
    mean = sum / count;
    root_mean_square = std::sqrt(squares / count);
  }
  /// Of noise of `percent` of the range, in the mean.
  double gain(double percent) const { return std::pow(percent / 100 * range, 2) / mean; }
  double share(double percent) const { return percent / 100 * range / root_mean_square; }
};

/// One noise after another.
Scan counted(const Scan& clean, double gain, double sigma = 0, double level = 0) {
  const Scan counts =
      clean.with({NoiseKind::poisson, gain, test_seed}).with({NoiseKind::gaussian, sigma, test_seed + 1});
  return counts.changed([&](std::size_t i) { return counts.voxels[i] + static_cast<float>(level); });
}

TEST(MeasureNoise, OfCountsGrowsWithTheValue) {
  const Scan breast = phantom(PhantomKind::mammogram, {{512, 512, 1}});
  const Object object(breast);
  for (const double percent : {1.0, 3.0, 9.0}) {
    const double gain = object.gain(percent), tolerance = percent < 3 ? 0.25 : 0.12;
    const NoiseModel model = counted(breast, gain).measured();
    EXPECT_EQ(model.distribution, NoiseDistribution::poisson) << percent;
    EXPECT_GE(model.confidence, Confidence::medium) << percent;
    EXPECT_NEAR(model.poisson.gain, gain, tolerance * gain) << percent;
    EXPECT_NEAR(model.poisson.offset, 0, 0.05 * gain * object.mean) << percent;
    EXPECT_EQ(model.signal_map.values.size(), 1U) << percent;
    EXPECT_NE(model.describe().find(", poisson (variance "), std::string::npos) << model.describe();
  }
  const double gain = object.gain(3), sigma = 0.7 * std::sqrt(gain * object.mean);
  const NoiseModel both = counted(breast, gain, sigma).measured();
  EXPECT_EQ(both.distribution, NoiseDistribution::poisson);
  EXPECT_NEAR(both.poisson.gain, gain, 0.2 * gain);
  EXPECT_NEAR(both.poisson.offset, sigma * sigma, 0.3 * sigma * sigma);
  for (const double level : {-700.0, 300.0}) {
    const NoiseModel moved = counted(breast, gain, 0, level).measured();
    EXPECT_EQ(moved.distribution, NoiseDistribution::poisson) << level;
    EXPECT_NEAR(moved.poisson.gain, gain, 0.15 * gain) << level;
    EXPECT_NEAR(moved.poisson.at(1500 + level), gain * 1500, 0.12 * gain * 1500) << level;
  }
}

/// Of a head and the phantom of a CT, the parts that look like noise are of nearly the same signal. The variance that
/// they have is found, and what it may be elsewhere; whether that is clear depends on their number.
TEST(MeasureNoise, OfCountsWhereSignalsAreAlike) {
  const auto expect_near = [](const Scan& clean, double percent, double signal, bool is_clear) {
    const float low = *std::min_element(clean.voxels.begin(), clean.voxels.end());
    const Scan positive = clean.changed([&](std::size_t i) { return clean.voxels[i] - low; });
    const double truth = Object(positive).gain(percent) * signal;
    const NoiseModel model = counted(positive, truth / signal).measured();
    EXPECT_NEAR(model.poisson.at(signal), truth, 0.15 * truth) << percent;
    if (is_clear) {
      EXPECT_EQ(model.distribution, NoiseDistribution::poisson) << percent;
    }
  };
  for (const double percent : {1.0, 3.0, 9.0}) {
    expect_near(phantom(PhantomKind::ct, {{160, 160, 16}}), percent, 1050, false);
    expect_near(phantom(PhantomKind::ct, {{256, 256, 8}}), percent, 1050, true);
  }
  QV_NEEDS_TEST_DATA();
  expect_near(head(), 9, 200, false);
}

TEST(MeasureNoise, OfSpeckleGrowsWithTheSquareOfTheValue) {
  const Scan breast = phantom(PhantomKind::mammogram, {{512, 512, 1}});
  const Object object(breast);
  for (const double percent : {1.0, 3.0, 9.0}) {
    const double share = object.share(percent);
    const NoiseModel model = breast.with({NoiseKind::speckle, share, test_seed}).measured();
    EXPECT_EQ(model.distribution, NoiseDistribution::speckle) << percent;
    EXPECT_NEAR(std::sqrt(model.speckle.gain), share, 0.1 * share) << percent;
    EXPECT_NEAR(model.speckle.at(1500), share * share * 1500 * 1500, 0.2 * share * share * 1500 * 1500) << percent;
  }
}

/// As in emission tomography, where it also grows towards the middle of the body.
TEST(MeasureNoise, OfSpeckleThatTheSignalDoesNotWhollyExplain) {
  const Extent extent{{96, 96, 40}};
  const auto activity = [](const Triple<double>& at, double x, double y, double radius) {
    const auto is_in = [](double u, double v, double a, double b) { return u * u / (a * a) + v * v / (b * b) < 1; };
    if (is_in(x - 0.18, y + 0.25, 0.22, 0.32) && std::abs(at.z - 15) < 7) return 4.0;
    if (is_in(x + 0.3, y, 0.5, 0.6) && at.z >= 23) return 2.2;
    if (is_in(std::abs(x) - 0.48, y, 0.33, 0.65) && at.z < 22) return 0.35;
    return radius < 1 ? 0.8 : 0.0;
  };
  for (const unsigned seed : {1U, 2U, 3U}) {
    Scan body{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
    std::mt19937 random(seed);
    std::normal_distribution<double> noise;
    double squares = 0, count = 0;
    for (std::int64_t i = 0; i < extent.voxels(); ++i) {
      const Triple<double> at = place_of(i, extent);
      const double x = (at.x - 47.5) / 38, y = (at.y - 47.5) / 26, radius = x * x + y * y;
      const double value = 5000 * activity(at, x, y, radius);
      const double added = 0.18 * (1 + 0.35 * (0.5 - radius)) * value * noise(random);
      body.voxels[static_cast<std::size_t>(i)] = static_cast<float>(value + added);
      if (value == 0) continue;
      squares += added * added;
      ++count;
    }
    MemoryVolume source({body.voxels.data(), extent, {4, 4, 4}});
    const NoiseModel model = measure_noise(source, {});
    EXPECT_EQ(model.distribution, NoiseDistribution::speckle) << seed;
    EXPECT_NEAR(model.sigma, std::sqrt(squares / count), 0.2 * model.sigma) << seed;
  }
}

/// As smooth as the noise, and in every part, as in emission tomography of a brain in large voxels.
TEST(MeasureNoise, SmoothStructureInFewPartsIsNoNoise) {
  QV_NEEDS_TEST_DATA();
  const Extent whole = head().extent, extent{{whole.x / 2 + 40, whole.y / 2 + 40, whole.z / 2}};
  const auto uptake = [](double value) {
    return value < 20    ? 0
           : value < 150 ? 0.5 + 7.5 * std::clamp((value - 60) / 90, 0.0, 1.0)
                         : 8 - 0.072 * (value - 150);
  };
  const auto blurred = [&](std::vector<float> voxels) {
    for (const std::int64_t step : {std::int64_t{1}, extent.x, extent.slice()}) {
      for (int pass = 0; pass < 4; ++pass) {
        const std::vector<float> before = voxels;
        for (std::int64_t i = step; i + step < extent.voxels(); ++i) {
          const auto at = [&](std::int64_t place) { return before[static_cast<std::size_t>(place)]; };
          voxels[static_cast<std::size_t>(i)] = 0.32F * (at(i - step) + at(i + step)) + 0.36F * at(i);
        }
      }
    }
    return voxels;
  };
  Scan truth{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  for (std::int64_t i = 0; i < head().extent.voxels(); ++i) {
    const std::int64_t x = i % whole.x, y = i / whole.x % whole.y, z = i / whole.slice();
    const std::int64_t to = (z / 2 * extent.y + y / 2 + 20) * extent.x + x / 2 + 20;
    truth.voxels[static_cast<std::size_t>(to)] +=
        static_cast<float>(3000.0 / 8 * uptake(static_cast<double>(head().voxels[static_cast<std::size_t>(i)])));
  }
  truth.voxels = blurred(truth.voxels);
  for (const unsigned seed : {1U, 2U, 3U}) {
    Scan noisy = truth;
    std::mt19937 random(seed);
    std::normal_distribution<float> white;
    for (float& voxel : noisy.voxels) voxel = white(random);
    noisy.voxels = blurred(noisy.voxels);
    double squares = 0;
    for (const float voxel : noisy.voxels) squares += static_cast<double>(voxel) * static_cast<double>(voxel);
    constexpr double sigma = 300;
    const auto scale = static_cast<float>(sigma / std::sqrt(squares / static_cast<double>(extent.voxels())));
    for (std::size_t i = 0; i < noisy.voxels.size(); ++i) noisy.voxels[i] = truth.voxels[i] + scale * noisy.voxels[i];
    const NoiseModel model = noisy.measured();
    EXPECT_LT(model.trusted_sigma(), 1.2 * sigma) << seed;
    EXPECT_LE(model.confidence, Confidence::low) << seed;
  }
}

TEST(MeasureNoise, NoOtherNoiseFollowsTheSignal) {
  const Scan truths[] = {phantom(PhantomKind::mammogram, {{256, 256, 1}}), phantom(PhantomKind::ct, {{128, 128, 8}}),
                         phantom(PhantomKind::mr, {{96, 96, 24}})};
  for (const Scan& truth : truths) {
    const double low = *std::min_element(truth.voxels.begin(), truth.voxels.end());
    const Scan positive = truth.changed([&](std::size_t i) { return truth.voxels[i] - static_cast<float>(low); });
    const double range = Object(positive).range;
    for (const Kind& kind : kinds) {
      for (const double percent : {0.0, 1.0, 3.0, 9.0}) {
        NoiseParams params = kind.params;
        params.amount = percent / 100 * range;
        params.seed = test_seed;
        const Scan noisy = positive.with(params);
        const auto expect_none = [&](const char* what, const Scan& scan) {
          EXPECT_EQ(scan.measured().signal_variance(), nullptr)
              << kind.name << " " << percent << " " << what << ": " << scan.measured().describe();
        };
        expect_none("as it is", noisy);
        expect_none("less a level", noisy.changed([&](std::size_t i) { return noisy.voxels[i] - 500; }));
        expect_none("in steps", noisy.changed([&](std::size_t i) { return std::round(noisy.voxels[i]); }));
        expect_none("cut out",
                    noisy.changed([&](std::size_t i) { return positive.voxels[i] > 50 ? noisy.voxels[i] : 0; }));
      }
    }
  }
  const Scan one_value{{{64, 64, 8}}, std::vector<float>(64 * 64 * 8, 100)};
  EXPECT_EQ(one_value.measured().signal_variance(), nullptr);
  EXPECT_EQ(one_value.with({NoiseKind::poisson, 1, test_seed}).measured().signal_variance(), nullptr)
      << "of one signal";
}

/// As in dynamic PET with large voxels.
TEST(MeasureNoise, OfCountsInASeries) {
  Scan body = phantom(PhantomKind::ct, {{128, 128, 24}});
  const float low = *std::min_element(body.voxels.begin(), body.voxels.end());
  for (float& voxel : body.voxels) voxel -= low;
  for (const double percent : {1.0, 3.0, 9.0}) {
    const double gain = Object(body).gain(percent);
    const Scan first = body.with({NoiseKind::poisson, gain, test_seed}),
               second = body.with({NoiseKind::poisson, gain, 5});
    const HeaderFacts header{.kind = DataKind::scalar};
    MemoryVolume a({first.voxels.data(), first.extent, {4, 4, 4}}, header),
        b({second.voxels.data(), second.extent, {4, 4, 4}}, header);
    const NoiseModel model = measure_noise_with_neighbour(a, b, {});
    EXPECT_EQ(model.distribution, NoiseDistribution::poisson) << percent;
    EXPECT_GE(model.confidence, Confidence::medium) << percent;
    EXPECT_NEAR(model.poisson.gain, gain, 0.1 * gain) << percent;
    EXPECT_NEAR(model.poisson.offset, 0, 0.05 * gain * 1000) << percent;
  }
}

/// Their air varies less than tissue, and so does what two of them differ by.
TEST(MeasureNoise, MagnitudesOfASeriesDoNotFollowTheSignal) {
  const Scan body = phantom(PhantomKind::ct, {{128, 128, 24}});
  const float low = *std::min_element(body.voxels.begin(), body.voxels.end());
  const auto noisy = [&](int seed) {
    const Scan scan =
        body.changed([&](std::size_t i) { return body.voxels[i] - low; }).with({NoiseKind::rician, 40, seed});
    return scan.changed([&](std::size_t i) { return scan.voxels[i] - 300; });
  };
  const Scan first = noisy(test_seed), second = noisy(5);
  MemoryVolume a({first.voxels.data(), first.extent}), b({second.voxels.data(), second.extent});
  EXPECT_EQ(measure_noise_with_neighbour(a, b, {}).distribution, NoiseDistribution::gaussian);
}

TEST(MeasureNoise, HeadersMaySayThatNoiseDoesNotFollowTheSignal) {
  const Scan breast = phantom(PhantomKind::mammogram, {{512, 512, 1}});
  const Scan counts = counted(breast, Object(breast).gain(3));
  const auto found = [&](const HeaderFacts& header) {
    MemoryVolume source({counts.voxels.data(), counts.extent}, header);
    return measure_noise(source, {}).distribution;
  };
  EXPECT_EQ(found({.kind = DataKind::scalar}), NoiseDistribution::poisson);
  EXPECT_EQ(found({.kind = DataKind::scalar, .are_ct_numbers = true}), NoiseDistribution::gaussian);
  EXPECT_NE(found({.kind = DataKind::magnitude}), NoiseDistribution::poisson);
}

/// A scale that floats cannot hold exactly, such as scl_slope 0.1, hid the step from a thousand steps on, and the
/// counts.
TEST(MeasureNoise, ScaledCountsAreOfSteps) {
  const Scan breast = phantom(PhantomKind::mammogram, {{512, 512, 1}});
  const Scan counts = counted(breast.changed([&](std::size_t i) { return breast.voxels[i] / 2; }), 1);
  for (const float scale : {1.0F, 0.1F, 0.3F}) {
    const NoiseModel model = counts.changed([&](std::size_t i) { return scale * counts.voxels[i]; }).measured();
    EXPECT_NEAR(model.step, static_cast<double>(scale), 1e-6);
    EXPECT_EQ(model.distribution, NoiseDistribution::poisson);
    EXPECT_NEAR(model.poisson.gain, static_cast<double>(scale), 0.05 * static_cast<double>(scale));
  }
}

/// Behind a logarithm, air is bright and has the least noise; where rays are counted, it has the most.
TEST(MeasureNoise, OfARadiographIsThatOfTheObject) {
  constexpr Extent extent{{320, 320, 1}};
  std::mt19937 random(test_seed);
  std::normal_distribution<float> normal;
  const auto radiograph = [&](const std::function<float(float value)>& sigma, std::size_t border = 0) {
    Scan scan{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
    for (std::size_t i = 0; i < scan.voxels.size(); ++i) {
      const std::size_t x = i % 320, y = i / 320;
      const bool is_border = std::min({x, y, 319 - x, 319 - y}) < border;
      const bool is_object = x < 180 && y > 60;
      const float value = is_border ? 300.0F : is_object ? 800 + 0.5F * static_cast<float>(y) : 9000.0F;
      scan.voxels[i] = value + sigma(value) * normal(random);
    }
    return scan;
  };
  const auto measured = [](const Scan& scan, HeaderFacts header) {
    header.kind = DataKind::scalar;
    MemoryVolume source({scan.voxels.data(), scan.extent}, header);
    return measure_noise(source, {});
  };
  const Scan logarithm = radiograph([](float value) { return value < 5000 ? 30.0F : 6.0F; });
  EXPECT_NEAR(measured(logarithm, {}).sigma, 6, 0.6);
  for (const bool are_counts : {false, true}) {  // headers may be wrong
    EXPECT_NEAR(measured(logarithm, {.object_is_dark = true, .are_counts = are_counts}).sigma, 30, 3);
  }
  // Where a collimator kept the rays away, noise is loudest.
  const auto of_logarithm = [](float value) { return value < 500 ? 120.0F : value < 5000 ? 30.0F : 6.0F; };
  for (const std::size_t border : {20, 40, 80}) {
    const Scan dark = radiograph(of_logarithm, border);
    EXPECT_NEAR(measured(dark, {.is_radiograph = true, .object_is_dark = true}).sigma, 30, 3) << border;
    const Scan bright = dark.changed([&](std::size_t i) { return 12000 - dark.voxels[i]; });
    EXPECT_NEAR(measured(bright, {.is_radiograph = true}).sigma, 30, 3) << border;
  }
  const Scan counts = radiograph([](float value) { return std::sqrt(0.6F * value); });
  const NoiseModel of_counts = measured(counts, {.object_is_dark = true, .are_counts = true});
  EXPECT_EQ(of_counts.distribution, NoiseDistribution::poisson);
  EXPECT_NEAR(of_counts.poisson.gain, 0.6, 0.06);
  EXPECT_NEAR(of_counts.sigma, std::sqrt(0.6 * 900), 3);
  // Frames of a series, by their difference.
  const Scan first = radiograph(of_logarithm), second = radiograph(of_logarithm);
  const HeaderFacts header{.kind = DataKind::scalar, .object_is_dark = true};
  MemoryVolume a({first.voxels.data(), extent}, header), b({second.voxels.data(), extent}, header);
  EXPECT_NEAR(measure_noise_with_neighbour(a, b, {}).sigma, 30, 3);
}

/// Two areas of one value each: what lies outside a scanner's field, and what a rotation filled in, or a panel.
TEST(MeasureNoise, AreasOfOneValueAreNoObject) {
  for (const Extent& extent : {Extent{{192, 192, 1}}, Extent{{96, 96, 16}}}) {
    const Scan clean = phantom(PhantomKind::ct, extent);
    const auto columns = static_cast<std::size_t>(extent.x);
    const auto cut = [&](double share, float panel, int seed = test_seed) {
      const Scan noisy = clean.with({NoiseKind::gaussian, 30, seed});
      return noisy.changed([&](std::size_t i) {
        const double x = static_cast<double>(i % columns) + 0.5, y = static_cast<double>(i / columns % columns) + 0.5,
                     radius = static_cast<double>(columns) / 2;
        if (std::hypot(x - radius, y - radius) > radius) return -2000.0F;
        return x < 2 * share * radius ? panel : std::round(noisy.voxels[i]);
      });
    };
    const NoiseModel whole = cut(0, 0).measured();
    EXPECT_TRUE(whole.uniform_values.empty());
    for (const float panel : {0.0F, 47.0F}) {
      for (const double share : {0.2, 0.35}) {
        const NoiseModel model = cut(share, panel).measured();
        EXPECT_NEAR(model.sigma, whole.sigma, 0.1 * whole.sigma) << extent.z << " " << panel << " " << share;
        EXPECT_GT(model.confidence, Confidence::none) << model.describe();
        ASSERT_EQ(model.uniform_values.size(), 1U) << extent.z << " " << panel << " " << share;
        EXPECT_EQ(model.uniform_values.front(), panel);
        Scan first = cut(share, panel), second = cut(share, panel, test_seed + 1);
        MemoryVolume a({first.voxels.data(), extent}), b({second.voxels.data(), extent});
        EXPECT_NEAR(measure_noise_with_neighbour(a, b, {}).sigma, 30, 4.5) << extent.z << " " << panel << " " << share;
      }
    }
  }
}

/// Repaired, a brick that lies within a panel holds one value, or nothing: sigma was 1e-14, or no number.
TEST(MeasureNoise, ImpulsesBesideAnAreaOfOneValue) {
  const Scan noisy = ball_in_air(38, 500).with({NoiseKind::gaussian, 10, test_seed});
  for (const std::size_t columns : {std::size_t{8}, std::size_t{16}}) {
    const Scan panel = noisy.changed([&](std::size_t i) { return i % 96 < columns ? 350 : noisy.voxels[i]; });
    for (const double percent : {6.0, 10.0}) {
      const NoiseModel model = panel.with({NoiseKind::salt_and_pepper, percent / 100, test_seed}).measured();
      EXPECT_NEAR(model.sigma, 10, 2) << model.describe();
      EXPECT_GT(model.trusted_sigma(), 0) << model.describe();
    }
  }
}

TEST(MeasureNoise, WithoutNoiseSaysSo) {
  for (const PhantomKind kind : {PhantomKind::ct, PhantomKind::mr}) {
    const Phantom phantom = make_phantom(kind, {{128, 128, 16}});
    const NoiseModel model = Scan{phantom.extent, phantom.voxels}.measured();
    const auto [low, high] = std::minmax_element(phantom.voxels.begin(), phantom.voxels.end());
    EXPECT_LT(model.sigma, 0.001 * static_cast<double>(*high - *low));
    EXPECT_EQ(model.confidence, Confidence::none);
    EXPECT_FALSE(model.reason.empty());
  }
  QV_NEEDS_TEST_DATA();
  EXPECT_EQ(head().measured().confidence, Confidence::none);
  for (const Extent extent : {Extent{{1, 1, 1}}, Extent{{2, 1, 1}}, Extent{{9, 9, 3}}}) {
    const NoiseModel model = Scan{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()), 7)}.measured();
    EXPECT_EQ(model.sigma, 0);
    EXPECT_FALSE(model.reason.empty());
  }
}

TEST(MeasureNoise, AFewVoxelsAreTooFew) {
  for (const Extent& extent : {Extent{{1, 1, 1}}, Extent{{2, 2, 2}}, Extent{{5, 1, 1}}, Extent{{7, 7, 1}}}) {
    const Scan flat{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()), 100)};
    const NoiseModel model = flat.with({NoiseKind::gaussian, 10, test_seed}).measured();
    EXPECT_EQ(model.confidence, Confidence::none) << extent.x;
    EXPECT_EQ(model.reason, "there are too few voxels to measure noise") << extent.x;
  }
}

/// Of such images nobody may say that they have no noise.
TEST(MeasureNoise, FewCountsAreNotTakenForNoNoise) {
  for (const double counts : {0.02, 0.1, 0.5}) {
    std::mt19937 random(7);
    std::poisson_distribution<int> inside(counts), outside(0.002);
    Scan scan{{{64, 64, 24}}, {}};
    for (std::int64_t i = 0; i < scan.extent.voxels(); ++i) {
      const double x = static_cast<double>(i % 64) - 32, y = static_cast<double>(i / 64 % 64) - 32;
      scan.voxels.push_back(0.37F * static_cast<float>(std::hypot(x, y) < 22 ? inside(random) : outside(random)));
    }
    const NoiseModel found = scan.measured();
    EXPECT_EQ(found.confidence, Confidence::none) << counts;
    EXPECT_GT(found.sigma, 0) << counts;
    EXPECT_EQ(found.trusted_sigma(), 0) << counts;
    EXPECT_NE(found.reason.find("as where counts are few"), std::string::npos) << found.reason;
    const Scan disc = scan.changed([](std::size_t i) {
      return std::hypot(static_cast<double>(i % 64) - 32, static_cast<double>(i / 64 % 64) - 32) < 22 ? 37.0F : 0.0F;
    });
    EXPECT_EQ(disc.measured().sigma, 0);
  }
}

/// Vessels cut out of an angiogram: what varies there is the vessels.
TEST(MeasureNoise, ThinObjectsHoldNoNoiseToMeasure) {
  const Extent extent{{96, 96, 48}};
  Scan vessels{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()), 0)};
  const auto draw = [&](double x, double y, double radius) {
    for (std::int64_t i = 0; i < extent.voxels(); ++i) {
      const auto at = place_of(i, extent);
      const double distance = std::hypot(at.x - x - 6 * std::sin(at.z / 7 + y), at.y - y - 6 * std::cos(at.z / 9 + x));
      if (distance < radius) vessels.voxels[static_cast<std::size_t>(i)] = static_cast<float>(200 - 20 * distance);
    }
  };
  for (int column = 0; column < 4; ++column) {
    for (int row = 0; row < 4; ++row) draw(12 + 24 * column, 12 + 24 * row, column == 1 && row == 1 ? 9 : 3);
  }
  const NoiseModel model = vessels.measured();
  EXPECT_EQ(model.trusted_sigma(), 0) << model.describe();
  EXPECT_FALSE(model.reason.empty());
}

TEST(MeasureNoise, StepsThatHideTheNoiseAreNamed) {
  QV_NEEDS_TEST_DATA();
  const NoiseModel model =
      head().with({NoiseKind::gaussian, 2, test_seed}).with({NoiseKind::quantisation, 30, test_seed}).measured();
  EXPECT_EQ(model.confidence, Confidence::none);
  EXPECT_FALSE(model.reason.empty());
}

TEST(MeasureNoise, MissingVoxelsDoNotCount) {
  const Extent extent{{96, 80, 20}};
  Scan scan = Scan{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()), 500)}.with(
      {NoiseKind::gaussian, 15, test_seed});
  for (std::size_t i = 0; i < scan.voxels.size(); i += 7) scan.voxels[i] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NEAR(scan.measured().sigma, 15, 1.5);
  std::fill(scan.voxels.begin(), scan.voxels.end(), std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(scan.measured().sigma, 0);
  EXPECT_FALSE(scan.measured().reason.empty());
}

/// Whole bricks of infinite voxels passed for a cut-out background.
TEST(MeasureNoise, InfiniteVoxelsAreMissing) {
  const Scan noisy = ball_in_air(28, 500).with({NoiseKind::gaussian, 15, test_seed});
  const auto with = [&](float missing) {
    return noisy.changed([&](std::size_t i) { return i % 96 < 32 ? missing : noisy.voxels[i]; }).measured();
  };
  const NoiseModel expected = with(std::numeric_limits<float>::quiet_NaN());
  for (const float sign : {1.0F, -1.0F}) {
    const NoiseModel model = with(sign * std::numeric_limits<float>::infinity());
    EXPECT_EQ(model.sigma, expected.sigma);
    EXPECT_EQ(model.masked, expected.masked);
  }
}

/// As in a map whose fit failed in single voxels.
TEST(MeasureNoise, SingleVoxelsFarFromAllOthersDoNotCount) {
  QV_NEEDS_TEST_DATA();
  std::mt19937 random(test_seed);
  std::normal_distribution<float> noise(0, 4);
  const Scan map = head().changed(
      [&](std::size_t i) { return head().voxels[i] > 0 ? 200 - 0.6F * head().voxels[i] + noise(random) : 0; });
  const double sigma = map.measured().sigma;
  EXPECT_NEAR(sigma, 4, 0.6);
  for (const auto& [share, tolerance] : {std::pair(1e-4, 0.1), {1e-3, 0.1}, {3e-3, 0.1}, {1e-2, 0.25}}) {
    for (const float value : {1e6F, -1e5F, 32767.F}) {
      std::bernoulli_distribution fails(share);
      const NoiseModel spoilt =
          map.changed([&](std::size_t i) { return map.voxels[i] != 0 && fails(random) ? value : map.voxels[i]; })
              .measured();
      EXPECT_NEAR(spoilt.sigma, sigma, tolerance * sigma) << share << " of " << value;
      EXPECT_EQ(spoilt.impulses > 0, share > 5e-4) << share << " of " << value;
    }
  }
}

TEST(MeasureNoise, FillValuesNearTheLargestFloatHideNoNumber) {
  QV_NEEDS_TEST_DATA();
  std::mt19937 random(test_seed);
  std::normal_distribution<float> noise(0, 8);
  const std::size_t filled = 5 * static_cast<std::size_t>(head().extent.slice());
  for (const float fill : {1e20F, 1.7e38F, std::numeric_limits<float>::max()}) {
    const NoiseModel model =
        head().changed([&](std::size_t i) { return i < filled ? fill : head().voxels[i] + noise(random); }).measured();
    EXPECT_TRUE(std::isfinite(model.sigma)) << fill;
    EXPECT_TRUE(model.trusted_sigma() == 0 || std::abs(model.sigma - 8) < 2) << fill << ": " << model.sigma;
  }
}

TEST(MeasureNoise, SignedMapsThatAreCutToZero) {
  constexpr Extent extent{{72, 72, 36}};
  std::mt19937 random(test_seed);
  std::normal_distribution<double> noise(0, 4);
  Scan field{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  for (std::int64_t i = 0; i < extent.voxels(); ++i) {
    const auto at = place_of(i, extent);
    const double x = at.x / 36 - 1, y = at.y / 36 - 1, z = at.z / 18 - 1;
    const double hertz = 120 * x * y - 80 * z + noise(random);
    field.voxels[static_cast<std::size_t>(i)] = x * x + y * y + z * z < 0.8 ? static_cast<float>(hertz) : 0;
  }
  const NoiseModel model = field.measured();
  EXPECT_NEAR(model.sigma, 4, 0.4);
  EXPECT_GE(model.confidence, Confidence::medium);
  EXPECT_TRUE(model.masked);
  EXPECT_EQ(model.background, 0);
}

TEST(MeasureNoise, ClippedBrightBackground) {
  const Extent extent{{200, 200, 1}};
  Scan scan{extent, {}};
  for (std::int64_t i = 0; i < extent.voxels(); ++i) {
    const auto at = place_of(i, extent);
    const double x = at.x / 100 - 1, y = at.y / 100 - 1;
    scan.voxels.push_back(x * x + y * y > 0.5 ? 4500.0F : static_cast<float>(1500 + 100 * x));
  }
  scan = scan.with({NoiseKind::gaussian, 12, test_seed});
  for (float& value : scan.voxels) value = std::min(value, 4095.0F);
  EXPECT_NEAR(scan.measured().sigma, 12, 1.2);
}

/// The noise among lines is that of an image without them. It was 2.4 to 3.6 times as strong, with high confidence.
TEST(MeasureNoise, LinesThatRepeatAreLeftOut) {
  QV_NEEDS_TEST_DATA();
  const Scan& clean = head();
  const auto expect = [&](const char* what, double line, const auto& is_line) {
    const auto drawn = [&](std::size_t i) {
      const auto [x, y, z] = place_of(static_cast<std::int64_t>(i), clean.extent);
      return clean.voxels[i] + (is_line(static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)) ? line : 0);
    };
    const NoiseModel model = clean.changed(drawn).with({NoiseKind::gaussian, 4, test_seed}).measured();
    EXPECT_NEAR(model.sigma, 4, 0.5) << what << " of " << line;
    EXPECT_GE(model.confidence, Confidence::medium) << what << " of " << line << ": " << model.reason;
  };
  for (const double line : {3.0, 8.0, 12.0, 30.0}) {
    expect("every other column", line, [](int x, int, int) { return x % 2 == 0; });
    expect("two of four rows", line, [](int, int y, int) { return y % 4 < 2; });
    expect("every other slice", line, [](int, int, int z) { return z % 2 == 0; });
    expect("wires across slices", line, [](int x, int y, int) { return x % 6 == 0 && y % 6 == 0; });
  }
}

/// Smooth and bright in the middle of each slice.
Scan dome(const Extent& extent) {
  Scan scan{extent, {}};
  const double middle = static_cast<double>(extent.x) / 2;
  for (std::int64_t i = 0; i < extent.voxels(); ++i) {
    const auto at = place_of(i, extent);
    const double distance = std::hypot(at.x - middle, at.y - middle) / middle;
    scan.voxels.push_back(static_cast<float>(300 + 200 * std::exp(-2 * distance * distance)));
  }
  return scan;
}

/// Slices that overlap or repeat have the same noise, which is no pattern.
TEST(MeasureNoise, NoiseThatIsTheSameInManySlicesIsNoPattern) {
  const Extent extent{{128, 128, 48}};
  const Scan clean = dome(extent);
  const auto slice = static_cast<std::size_t>(extent.slice());
  const Scan noisy = clean.with({NoiseKind::gaussian, 5, test_seed});
  for (const std::size_t repeats : {3U, 4U, 5U, 8U}) {
    const Scan repeated =
        clean.changed([&](std::size_t i) { return noisy.voxels[i / slice / repeats * repeats * slice + i % slice]; });
    const double sigma = repeated.with({NoiseKind::gaussian, 0.5, test_seed}).measured().sigma;
    EXPECT_GT(sigma, 4) << repeats;
  }
}

TEST(MeasureNoise, LinesOfASingleSliceAreLeftOut) {
  const Scan clean = dome({{256, 256, 1}});
  for (const double period : {2.0, 2.5, 3.0, 3.7, 5.0}) {
    for (const double amplitude : {5.0, 10.0, 20.0}) {
      const Scan grid = clean.changed([&](std::size_t i) {
        const double x = place_of(static_cast<std::int64_t>(i), clean.extent).x;
        return clean.voxels[i] + static_cast<float>(amplitude * std::cos(2 * std::numbers::pi * x / period));
      });
      const NoiseModel model = grid.with({NoiseKind::gaussian, 10, test_seed}).measured();
      EXPECT_NEAR(model.sigma, 10, 1) << period << " " << amplitude;
      EXPECT_GE(model.confidence, Confidence::medium) << period << " " << amplitude;
    }
  }
}

/// Slices of shoulders as CT makes them: rays along them lose most and are noisiest, so that noise is loud and runs in
/// streaks between the shoulders, and quiet above and below. Of all flat parts, most are quiet.
class Shoulders {
 public:
  static constexpr std::int64_t side = 200, slice = side * side, slices = 16;

  /// Filtered back projection (Ramachandran and Lakshminarayanan 1971) of noise whose variance is what rays lose.
  static std::vector<float> noise(std::mt19937& random) {
    constexpr int angles = 120;
    std::normal_distribution<float> normal;
    std::vector<float> kernel(2 * side - 1), ray(side), filtered(side), result(side * side * slices);
    for (std::int64_t k = 1 - side; k < side; ++k) {
      const auto distance = static_cast<float>(std::numbers::pi * static_cast<double>(k));
      kernel[static_cast<std::size_t>(k + side - 1)] = k == 0 ? 0.25F : k % 2 == 0 ? 0 : -1 / (distance * distance);
    }
    for (int angle = 0; angle < angles; ++angle) {
      const double turn = std::numbers::pi * angle / angles, across = std::cos(turn), along = std::sin(turn);
      for (std::int64_t z = 0; z < slices; ++z) {
        for (std::int64_t u = 0; u < side; ++u) {
          ray[static_cast<std::size_t>(u)] =
              normal(random) * static_cast<float>(std::exp(0.5 * loss(u, across, along)));
        }
        for (std::int64_t u = 0; u < side; ++u) {
          filtered[static_cast<std::size_t>(u)] =
              std::inner_product(ray.begin(), ray.end(), kernel.begin() + (side - 1 - u), 0.0F);
        }
        for (std::int64_t i = 0; i < side * side; ++i) {
          const double u = from_centre(i % side) * across + from_centre(i / side) * along + from_centre(side);
          const auto first = static_cast<std::size_t>(std::clamp<double>(u, 0, side - 2));
          const auto share = static_cast<float>(std::clamp(u - static_cast<double>(first), 0.0, 1.0));
          result[static_cast<std::size_t>(z * side * side + i)] +=
              (1 - share) * filtered[first] + share * filtered[first + 1];
        }
      }
    }
    return result;
  }

  /// Whether a voxel of a slice lies in the body.
  static bool is_body(std::int64_t voxel) { return in_ellipse(voxel, width, height); }
  /// Hounsfield units: air, fat, soft tissue and the bones of the arms.
  static float clean(std::int64_t voxel) {
    const double x = std::abs(from_centre(voxel % side)) - arm, y = from_centre(voxel / side);
    if (std::hypot(x, y) < bone) return 500;
    return in_ellipse(voxel, width - 5, height - 5) ? 50 : is_body(voxel) ? -90 : -1000;
  }
  /// With this noise, whose standard deviation in the body becomes `sigma`.
  static Scan scan(double sigma, const std::vector<float>& noise) {
    double squares = 0, count = 0;
    for (std::int64_t i = 0; i < std::ssize(noise); ++i) {
      if (!is_body(i % slice)) continue;
      squares += std::pow(static_cast<double>(noise[static_cast<std::size_t>(i)]), 2);
      ++count;
    }
    const auto gain = static_cast<float>(sigma / std::sqrt(squares / count));
    Scan result{{{side, side, slices}}, {}};
    for (std::int64_t i = 0; i < std::ssize(noise); ++i) {
      const float value = clean(i % slice) + gain * noise[static_cast<std::size_t>(i)];
      result.voxels.push_back(std::round(std::max(value, -1024.0F)));
    }
    return result;
  }

 private:
  static constexpr double width = 84, height = 44, arm = 63, bone = 11;

  static double from_centre(std::int64_t at) { return static_cast<double>(at) - 0.5 * (side - 1); }
  static bool in_ellipse(std::int64_t voxel, double a, double b) {
    return std::hypot(from_centre(voxel % side) / a, from_centre(voxel / side) / b) < 1;
  }
  /// Logarithm of what water takes of a ray, and bones besides.
  static double loss(std::int64_t ray, double across, double along) {
    constexpr double per_voxel = 0.046, of_bone = 0.45;
    const double u = from_centre(ray), reach = std::hypot(width * across, height * along);
    const auto chord = [](double radius, double distance) {
      return 2 * std::sqrt(std::max(radius * radius - distance * distance, 0.0));
    };
    double sum = width * height / (reach * reach) * chord(reach, u);
    for (const double centre : {-arm, arm}) sum += of_bone * chord(bone, u - centre * across);
    return per_voxel * sum;
  }
};

/// The cautious fit followed the quietest parts alone, and the noise between the shoulders stayed.
TEST(MeasureNoise, NoiseThatIsLoudInTheMiddleIsMapped) {
  for (const int seed : {test_seed, test_seed + 1}) {
    std::mt19937 random(static_cast<unsigned>(seed));
    constexpr double sigma = 40;
    const Scan scan = Shoulders::scan(sigma, Shoulders::noise(random));
    const NoiseModel model = scan.measured();
    SCOPED_TRACE(model.describe());
    EXPECT_NEAR(model.sigma, sigma, 0.15 * sigma);
    constexpr std::int64_t middle = Shoulders::side / 2, above = 35;
    const auto level = [&](std::int64_t y) { return model.map.at({middle, y, 8}, scan.extent); };
    EXPECT_GT(level(middle), 1.3 * level(middle - above));
    EXPECT_GT(level(middle), 1.3 * level(middle + above));
  }
}

/// No map of the place alone holds both: sigma was below that of the quietest slice, with high confidence.
TEST(MeasureNoise, NoiseMayVaryWithinSlicesAndBetweenThem) {
  for (const int seed : {test_seed, test_seed + 1}) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const std::vector<float> even = Shoulders::noise(random);
    for (const float quiet : {0.6F, 0.5F, 0.45F, 0.35F}) {
      std::vector<float> noise = even;
      for (std::int64_t i = 0; i < std::ssize(noise); ++i) {
        const std::int64_t z = i / Shoulders::slice;
        if (z < 5 || z >= 11) noise[static_cast<std::size_t>(i)] *= quiet;
      }
      constexpr double sigma = 40;
      const NoiseModel model = Shoulders::scan(sigma, noise).measured();
      EXPECT_NEAR(model.sigma, sigma, 0.2 * sigma) << quiet << ": " << model.describe();
    }
  }
}

/// A map of it was taken for that of the noise.
TEST(MeasureNoise, TextureThatGrowsToTheEdgesIsNoMap) {
  const Extent extent{{256, 256, 1}};
  const Scan flat{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  const Scan texture = flat.with({.kind = NoiseKind::interpolated, .amount = 50, .seed = 3});
  const Scan scan = texture.changed([&](std::size_t i) {
    const Triple<double> place = place_of(static_cast<std::int64_t>(i), extent);
    const double from_middle = std::hypot(place.x - 128, place.y - 128) / 128;
    return 500 + static_cast<float>(std::min(from_middle * from_middle, 1.2)) * texture.voxels[i];
  });
  const NoiseModel model = scan.with({NoiseKind::gaussian, 10, test_seed}).measured();
  EXPECT_NEAR(model.sigma, 10, 2) << model.describe();
  EXPECT_FALSE(model.map.varies());
}

/// Air in maps of relaxation times, where fits failed.
TEST(MeasureNoise, RandomNumbersBesideTissueAreNoNoise) {
  const Extent extent{{96, 96, 24}};
  const auto is_tissue = [&](std::size_t i) { return squared_distance(static_cast<std::int64_t>(i), extent, 2) < 0.6; };
  Scan map{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  map = map.changed([&](std::size_t i) {
    const Triple<double> place = place_of(static_cast<std::int64_t>(i), extent);
    return static_cast<float>(900 + 200 * std::sin(place.x / 9) * std::cos(place.y / 7));
  });
  for (const double sigma : {8.0, 20.0, 40.0}) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> failed(0, 4095);
    const Scan noisy = map.with({NoiseKind::gaussian, sigma, test_seed});
    const auto voxel = [&](std::size_t i) {
      return i % 500 == 0 ? std::numeric_limits<float>::quiet_NaN() : is_tissue(i) ? noisy.voxels[i] : failed(random);
    };
    const NoiseModel model = noisy.changed(voxel).measured();
    EXPECT_NEAR(model.sigma, sigma, 0.15 * sigma) << model.describe();
  }
}

/// Dynamic scans that measure only the middle of k-space anew (keyhole): what volumes share is noise in air, too.
TEST(MeasureNoise, SharedNoiseThatShowsInAirIsSaid) {
  QV_NEEDS_TEST_DATA();
  constexpr float anew = 8, whole = 20;
  for (const float shared : {std::sqrt(whole * whole - anew * anew), 0.0F}) {
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    Scan one = head(), other = head();
    for (std::size_t i = 0; i < one.voxels.size(); ++i) {
      const float truth = head().voxels[i], real = shared * normal(random), imaginary = shared * normal(random);
      for (Scan* const scan : {&one, &other}) {
        const float of_real = anew * normal(random), of_imaginary = anew * normal(random);
        scan->voxels[i] = std::hypot(truth + real + of_real, imaginary + of_imaginary);
      }
    }
    MemoryVolume source({one.voxels.data(), one.extent}), neighbour({other.voxels.data(), other.extent});
    const NoiseModel model = measure_noise_with_neighbour(source, neighbour, {});
    EXPECT_NEAR(model.sigma, anew, 0.8) << model.describe();
    EXPECT_EQ(model.confidence == Confidence::low, shared > 0) << model.describe();
    EXPECT_EQ(model.reason.find("they may share it") != std::string::npos, shared > 0) << model.describe();
  }
}

/// Uniform, exponential, with impulses: whatever it is, it is not that of the dark surroundings.
TEST(MeasureNoise, NoiseOfADiscIsNotThatAroundIt) {
  const Extent extent{{128, 128, 16}};
  const auto is_disc = [&](std::size_t i) { return squared_distance(static_cast<std::int64_t>(i), extent, 2) < 0.5; };
  Scan dark{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()), 10)};
  dark = dark.with({NoiseKind::gaussian, 2, test_seed});
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1), chance(0, 1);
  std::exponential_distribution<float> exponential(1);
  std::normal_distribution<float> normal;
  const auto of_disc = [&](const auto& voxel) {
    return dark.changed([&](std::size_t i) { return is_disc(i) ? voxel() : dark.voxels[i]; }).measured();
  };
  EXPECT_NEAR(of_disc([&] { return 100 + 14 * uniform(random); }).sigma, 8, 1);
  EXPECT_GT(of_disc([&] { return 100 * exponential(random); }).sigma, 60);
  EXPECT_NEAR(of_disc([&] { return chance(random) < 0.02F ? 0 : 100 + 8 * normal(random); }).sigma, 8, 1.5);
}

/// Sparse vessels, 6 % of the voxels, with nothing but noise around: their edges were noise of four times its sigma.
TEST(MeasureNoise, ThinVesselsAreNoNoise) {
  QV_NEEDS_TEST_DATA();
  const Scan whole = scan_of("volumes/CT_AVM.nii.gz");
  Scan vessels{{{128, 128, 40}}, {}};
  for (std::int64_t i = 0; i < vessels.extent.voxels(); ++i) {
    const std::int64_t x = i % 128 + 64, y = i / 128 % 128 + 57, z = i / vessels.extent.slice() + 57;
    vessels.voxels.push_back(whole.voxels.at(static_cast<std::size_t>((z * whole.extent.y + y) * whole.extent.x + x)));
  }
  for (const double sigma : {2.6, 4.2}) {
    for (const int seed : {test_seed, test_seed + 1}) {
      const NoiseModel model = vessels.with({NoiseKind::gaussian, sigma, seed}).measured();
      EXPECT_NEAR(model.sigma, sigma, 0.1 * sigma) << model.describe();
    }
  }
}

/// Binomial filters within the slices.
Scan smoothed(Scan scan, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (const auto step : {std::size_t{1}, static_cast<std::size_t>(scan.extent.x)}) {
      const std::size_t last = scan.voxels.size() - step;
      scan = scan.changed([&](std::size_t i) {
        const float before = scan.voxels[i < step ? i : i - step], after = scan.voxels[i < last ? i + step : i];
        return 0.25F * (before + 2 * scan.voxels[i] + after);
      });
    }
  }
  return scan;
}

/// Noise around 0, scaled to this standard deviation.
Scan of_deviation(double sigma, const Scan& noise) {
  double squares = 0;
  for (const float voxel : noise.voxels) squares += std::pow(static_cast<double>(voxel), 2);
  const auto gain = static_cast<float>(sigma / std::sqrt(squares / static_cast<double>(noise.voxels.size())));
  return noise.changed([&](std::size_t i) { return gain * noise.voxels[i]; });
}

/// As CT of fine pixels and a soft kernel makes it: little of the lowest and of high frequencies. Around 0.
Scan soft_noise(const Scan& flat, double sigma, int rounds, int seed) {
  const Scan near = smoothed(flat.with({NoiseKind::gaussian, 1, seed}), rounds), far = smoothed(near, 3 * rounds);
  return of_deviation(sigma, near.changed([&](std::size_t i) { return near.voxels[i] - 0.8F * far.voxels[i]; }));
}

/// A third of it was found, and hardly anything taken out.
TEST(MeasureNoise, SmoothNoiseOfAFlatSliceIsNoTexture) {
  const Extent extent{{256, 256, 1}};
  const Scan flat{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  for (const int seed : {test_seed, test_seed + 1, test_seed + 2}) {
    const Scan noise = soft_noise(flat, 25, 8, seed);
    const NoiseModel model = noise.changed([&](std::size_t i) { return 60 + noise.voxels[i]; }).measured();
    EXPECT_NEAR(model.sigma, 25, 0.25 * 25) << model.describe();
    EXPECT_EQ(model.confidence, Confidence::medium);
  }
}

/// Of a flat volume some parts are dark and calm by chance, which looked like counts.
TEST(MeasureNoise, SmoothNoiseOfAFlatVolumeDoesNotFollowTheSignal) {
  const Extent extent{{256, 256, 4}};
  const Scan flat{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  for (int seed = test_seed; seed < test_seed + 8; ++seed) {
    const Scan noise = soft_noise(flat, 25, 5, seed);
    const NoiseModel model = noise.changed([&](std::size_t i) { return std::round(60 + noise.voxels[i]); }).measured();
    EXPECT_EQ(model.signal_variance(), nullptr) << model.describe();
  }
}

/// As in PET: a coefficient of variation of 0.5, and three voxels or so that share their noise.
TEST(MeasureNoise, SkewedSmoothNoiseIsNoTexture) {
  const Extent extent{{96, 96, 32}};
  Scan noise{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  noise = of_deviation(0.5, smoothed(noise.with({NoiseKind::gaussian, 1, test_seed}), 3));
  noise = noise.changed([&](std::size_t i) { return 1000 * std::exp(noise.voxels[i]); });
  EXPECT_NEAR(noise.measured().sigma, 600, 120);
}

/// Lines of a grid, bars, tags: the power of few frequencies varies by chance in noise, and hardly at all in a pattern.
/// What chance would have made of it was taken for noise ten times as strong as the image.
TEST(MeasureNoise, PatternsThatRepeatAreNoNoise) {
  const auto wave = [](const Extent& extent, double period, double amplitude) {
    Scan scan{extent, {}};
    for (std::int64_t i = 0; i < extent.voxels(); ++i) {
      const auto place = static_cast<double>(i / extent.x % extent.y + (extent.z > 1 ? i % extent.x : 0));
      scan.voxels.push_back(static_cast<float>(500 + amplitude * std::sin(2 * std::numbers::pi * place / period)));
    }
    return scan;
  };
  for (const double period : {2.3, 3.1, 5.4, 7.3}) {
    for (const Extent& extent : {Extent{{256, 256, 1}}, Extent{{96, 96, 48}}}) {
      for (const double amplitude : {8.0, 40.0}) {
        const Scan scan = wave(extent, period, amplitude).with({NoiseKind::gaussian, 2, test_seed});
        const NoiseModel model = scan.measured();
        SCOPED_TRACE(std::to_string(period) + " voxels, " + std::to_string(extent.z) + " slices, amplitude " +
                     std::to_string(amplitude) + ": " + model.describe());
        EXPECT_LT(model.trusted_sigma(), 3);
      }
    }
  }
}

/// Such as spongy bone: where the sum of waves in all directions is large, it is solid.
class Foam {
 public:
  /// `shortest`, `longest`: of the waves, in voxels.
  Foam(double shortest, double longest, std::mt19937& random) : waves_(40) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> phase(0, 2 * std::numbers::pi), wavelength(shortest, longest);
    for (auto& wave : waves_) {
      const std::array<double, 3> way{normal(random), normal(random), normal(random)};
      const double length = std::hypot(way[0], way[1], way[2]), steps = 2 * std::numbers::pi / wavelength(random);
      wave = {way[0] / length * steps, way[1] / length * steps, way[2] / length * steps, phase(random)};
    }
  }

  /// How much of a voxel is solid.
  double share_at(const Triple<double>& place) const {
    double sum = 0;
    for (const auto& wave : waves_)
      sum += std::cos(wave[0] * place.x + wave[1] * place.y + wave[2] * place.z + wave[3]);
    return std::clamp(0.5 + 2 * (sum / std::sqrt(static_cast<double>(waves_.size()) / 2) - 0.6), 0.0, 1.0);
  }

 private:
  std::vector<std::array<double, 4>> waves_;
};

TEST(MeasureNoise, ATextureBesideAFlatMediumIsNoNoise) {
  std::mt19937 random(test_seed);
  std::normal_distribution<double> normal;
  const Foam foam(8, 14, random);
  for (const double radius : {30.0, 45.0}) {
    for (const double sigma : {100.0, 200.0}) {
      Scan scan{{{120, 120, 48}}, {}};
      for (std::int64_t i = 0; i < scan.extent.voxels(); ++i) {
        const Triple<double> place = place_of(i, scan.extent);
        const bool is_foam = std::hypot(place.x - 60, place.y - 60) < radius;
        const double clean = 12000 + (is_foam ? 20000 * foam.share_at(place) : 0);
        scan.voxels.push_back(static_cast<float>(clean + sigma * normal(random)));
      }
      const NoiseModel model = scan.measured();
      EXPECT_NEAR(model.sigma, sigma, 0.05 * sigma) << radius;
      EXPECT_EQ(model.distribution, NoiseDistribution::gaussian);
      EXPECT_GE(model.confidence, Confidence::medium) << model.reason;
    }
  }
}

/// Where no part is flat, its values are of two kinds, or neighbours show that it is no noise.
TEST(MeasureNoise, ATextureThroughoutIsNoNoise) {
  std::mt19937 random(test_seed);
  std::normal_distribution<double> normal;
  for (const double longest : {7.0, 9.0, 11.0}) {
    const Foam foam(5, longest, random);
    for (const double sigma : {0.0, 200.0}) {
      Scan scan{{{96, 96, 48}}, {}};
      for (std::int64_t i = 0; i < scan.extent.voxels(); ++i) {
        const double clean = 12000 + 20000 * foam.share_at(place_of(i, scan.extent));
        scan.voxels.push_back(static_cast<float>(clean + sigma * normal(random)));
      }
      const NoiseModel model = scan.measured();
      SCOPED_TRACE(std::to_string(longest) + " " + std::to_string(sigma) + ": " + model.describe());
      EXPECT_LT(model.trusted_sigma(), 500);  // it was 3000 to 5000, with high confidence
      EXPECT_LE(model.confidence, Confidence::low);
    }
  }
}

TEST(MeasureNoise, TextureOfASmallSliceIsDoubtful) {
  const Extent extent{{160, 160, 1}};
  Scan foam{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  foam = foam.with({.kind = NoiseKind::interpolated, .amount = 10, .seed = 3});
  foam = foam.changed([&](std::size_t i) { return foam.voxels[i] > 3 ? 100.0F : 0.0F; });
  EXPECT_LE(foam.with({NoiseKind::gaussian, 6, test_seed}).measured().confidence, Confidence::low);
}

/// Coarse voxels make structure look like noise; two volumes of a series differ by noise alone.
TEST(MeasureNoise, NeighboursOfASeriesTellStructureFromNoise) {
  const Extent extent{{64, 64, 20}};
  Scan texture{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()), 1000)};
  texture = texture.with({NoiseKind::gaussian, 60, 1});
  const Scan first = texture.with({NoiseKind::gaussian, 10, test_seed}),
             second = texture.with({NoiseKind::gaussian, 10, 5});
  EXPECT_GT(first.measured().sigma, 40);
  MemoryVolume a({first.voxels.data(), extent}), b({second.voxels.data(), extent});
  EXPECT_NEAR(measure_noise_with_neighbour(a, b, {}).sigma, 10, 0.5);
}

/// What they differ by is often 0.
TEST(MeasureNoise, NeighboursOfWholeNumbersTellTheNoise) {
  QV_NEEDS_TEST_DATA();
  for (const double level : {1.0, 2.0, 5.0, 7.0, 12.0}) {
    const auto noisy = [&](int seed) {
      const Scan scan = head().with({NoiseKind::rician, level, seed});
      return scan.changed([&](std::size_t i) { return std::round(scan.voxels[i]); });
    };
    const Scan first = noisy(test_seed), second = noisy(5);
    MemoryVolume a({first.voxels.data(), first.extent}), b({second.voxels.data(), second.extent});
    const NoiseModel model = measure_noise_with_neighbour(a, b, {});
    EXPECT_NEAR(model.sigma, level, 0.1 * level) << level;
    EXPECT_GE(model.confidence, Confidence::medium) << level << ": " << model.reason;
  }
}

TEST(MeasureNoise, VolumesThatShareTheirNoiseDoNotTellIt) {
  QV_NEEDS_TEST_DATA();
  const Scan one = head().with({NoiseKind::gaussian, 8, test_seed});
  MemoryVolume a({one.voxels.data(), one.extent});
  for (const double gain : {1.0, 1.05, 1.2}) {
    const Scan other = one.changed([&](std::size_t i) { return static_cast<float>(gain * one.voxels[i] + 1); });
    MemoryVolume b({other.voxels.data(), other.extent});
    EXPECT_NEAR(measure_noise_with_neighbour(a, b, {}).sigma, 8, 0.8) << gain;
  }
}

/// A blank volume, or the result of a filter, has no noise to share the difference with.
TEST(MeasureNoise, AVolumeBesideOneWithoutNoiseHasItsOwnNoise) {
  QV_NEEDS_TEST_DATA();
  const Scan& clean = head();
  const Scan noisy = clean.with({NoiseKind::gaussian, 8, test_seed});
  const Scan blank = clean.changed([](std::size_t) { return 0.0F; });
  MemoryVolume a({noisy.voxels.data(), noisy.extent});
  for (const Scan* const other : {&clean, &blank}) {
    MemoryVolume b({other->voxels.data(), other->extent});
    EXPECT_NEAR(measure_noise_with_neighbour(a, b, {}).sigma, 8, 0.8);
  }
}

/// Half of the variance of what they differ by is the neighbour's.
TEST(MeasureNoise, AVolumeThatIsNoisierThanItsNeighbourHasItsOwnNoise) {
  QV_NEEDS_TEST_DATA();
  const Scan quiet = head().with({NoiseKind::rician, 5, test_seed});
  for (const double level : {8.0, 20.0, 60.0}) {
    const Scan noisy = head().with({NoiseKind::rician, level, 5});
    MemoryVolume a({noisy.voxels.data(), noisy.extent}), b({quiet.voxels.data(), quiet.extent});
    EXPECT_NEAR(measure_noise_with_neighbour(a, b, {}).sigma, level, 0.1 * level);
    EXPECT_NEAR(measure_noise_with_neighbour(b, a, {}).sigma, 5, 0.5) << level;
  }
}

/// Slices may lie along any axis.
TEST(MeasureNoise, KeepsPiecesOfTheObjectAsTheyAre) {
  for (const Spacing& spacing : {Spacing{1, 1, 1}, Spacing{5, 1, 1}, Spacing{1, 1, 5}}) {
    Scan scan{{{80, 72, 60}}, std::vector<float>(std::size_t{80} * 72 * 60)};
    std::mt19937 random(7);
    for (std::size_t i = 0; i < scan.voxels.size(); ++i) {
      const bool is_dark = place_of(static_cast<std::int64_t>(i), scan.extent).x < 40;
      scan.voxels[i] = (is_dark ? 0.0F : 1000.0F) + static_cast<float>(random() % 100);
    }
    const VolumeView<float> view{scan.voxels.data(), scan.extent, spacing};
    view.at(75, 70, 58) = std::numeric_limits<float>::quiet_NaN();
    MemoryVolume source(view);
    const NoiseModel model = measure_noise(source, {});
    ASSERT_TRUE(model.pieces);
    EXPECT_GE(model.pieces->size(), 2U);
    for (const VolumePiece& piece : *model.pieces) {
      EXPECT_GE(piece.origin.x, 20) << "half of it is air";
      std::size_t i = 0;
      for (std::int64_t z = 0; z < piece.extent.z; ++z) {
        for (std::int64_t y = 0; y < piece.extent.y; ++y) {
          for (std::int64_t x = 0; x < piece.extent.x; ++x) {
            ASSERT_EQ(piece.voxels[i++], view.at(piece.origin.x + x, piece.origin.y + y, piece.origin.z + z));
          }
        }
      }
    }
  }
}

/// A head of larger voxels, moved along x and y by a part of one.
Scan coarse_head(std::int64_t factor, double moved) {
  const Scan& fine = head();
  const Extent extent{{fine.extent.x / factor - 1, fine.extent.y / factor - 1, fine.extent.z / factor}};
  Scan coarse{extent, {}};
  const auto shift = static_cast<std::int64_t>(std::llround(moved * static_cast<double>(factor)));
  for (std::int64_t i = 0; i < extent.voxels(); ++i) {
    const std::int64_t x = i % extent.x * factor + shift, y = i / extent.x % extent.y * factor + shift,
                       z = i / extent.slice() * factor;
    double sum = 0;
    for (std::int64_t j = 0; j < factor * factor * factor; ++j) {
      const std::int64_t at =
          ((z + j / (factor * factor)) * fine.extent.y + y + j / factor % factor) * fine.extent.x + x + j % factor;
      sum += static_cast<double>(fine.voxels[static_cast<std::size_t>(at)]);
    }
    coarse.voxels.push_back(static_cast<float>(sum / static_cast<double>(factor * factor * factor)));
  }
  return coarse;
}

/// What moved shows in the difference of two volumes: they came out more blurred than noisy.
TEST(MeasureNoise, MotionBetweenVolumesIsNoNoise) {
  QV_NEEDS_TEST_DATA();
  constexpr double truth = 2;
  const Spacing spacing{3, 3, 3};
  const Scan still = coarse_head(3, 0);
  for (const NoiseKind kind : {NoiseKind::gaussian, NoiseKind::zero_filled}) {
    for (const double moved : {1.0 / 3, 2.0 / 3}) {
      const Scan first = still.with({.kind = kind, .amount = truth, .seed = test_seed}),
                 second = coarse_head(3, moved).with({.kind = kind, .amount = truth, .seed = 5});
      MemoryVolume a({first.voxels.data(), first.extent, spacing}), b({second.voxels.data(), second.extent, spacing});
      const NoiseModel model = measure_noise_with_neighbour(a, b, {});
      SCOPED_TRACE(std::to_string(moved) + ": " + model.describe());
      EXPECT_LT(model.sigma, 1.5 * truth);
      EXPECT_GT(model.sigma, 0.6 * truth);
    }
  }
}

/// Where a volume and its difference to another say the same, chance decides which says more.
TEST(MeasureNoise, VolumesThatAgreeWithTheirDifferenceKeepIt) {
  QV_NEEDS_TEST_DATA();
  const Scan still = coarse_head(2, 0);
  const Scan flat = still.changed([](std::size_t) { return 1000.0F; });
  const Spacing spacing{2.5, 2.5, 2.5};
  for (const double truth : {4.0, 6.0, 8.0}) {
    const auto noisy = [&](int seed) {
      const Scan noise = flat.with({.kind = NoiseKind::interpolated, .amount = truth, .seed = seed});
      return still.changed([&](std::size_t i) { return still.voxels[i] + noise.voxels[i] - 1000; });
    };
    for (int seed = test_seed + 7; seed < test_seed + 11; ++seed) {
      const Scan first = noisy(seed), second = noisy(seed + 100);
      MemoryVolume a({first.voxels.data(), first.extent, spacing}), b({second.voxels.data(), second.extent, spacing});
      const NoiseModel model = measure_noise_with_neighbour(a, b, {});
      EXPECT_NEAR(model.sigma, truth, 0.2 * truth) << seed << ": " << model.describe();
    }
  }
}

/// A single volume shows too little of correlated noise among structure, which is no reason to doubt the difference.
TEST(MeasureNoise, ASureDifferenceCountsWhereAVolumeIsNotSure) {
  QV_NEEDS_TEST_DATA();
  const Scan flat = head().changed([](std::size_t) { return 0.0F; });
  for (const double truth : {2.0, 4.0, 8.0}) {
    const auto noisy = [&](int seed) {
      const Scan white = flat.with({NoiseKind::gaussian, 1, seed}), soft = smoothed(white, 1);
      const Scan noise = of_deviation(
          truth, white.changed([&](std::size_t i) { return 0.3F * white.voxels[i] + 0.7F * soft.voxels[i]; }));
      return head().changed([&](std::size_t i) { return head().voxels[i] + noise.voxels[i]; });
    };
    const Scan first = noisy(test_seed), second = noisy(5);
    MemoryVolume a({first.voxels.data(), first.extent}), b({second.voxels.data(), second.extent});
    const NoiseModel model = measure_noise_with_neighbour(a, b, {});
    EXPECT_NEAR(model.sigma, truth, 0.15 * truth) << model.describe();
  }
}

/// Directions of a diffusion series have contrasts of their own, so that their difference holds structure.
TEST(MeasureNoise, ContrastBetweenVolumesIsNoReasonToMissCorrelatedNoise) {
  QV_NEEDS_TEST_DATA();
  const Spacing spacing{2, 2, 2};
  const Scan still = coarse_head(2, 0);
  for (const auto& [truth, contrast] : {std::pair{4.0, 0.02}, {4.0, 0.04}, {4.0, 0.07}, {6.0, 0.07}, {8.0, 0.04}}) {
    const auto other = still.changed([&, by = contrast](std::size_t i) {
      const auto voxel = static_cast<double>(still.voxels[i]);
      return static_cast<float>(voxel * (0.7 + 0.3 * std::cos(by * voxel)));
    });
    const Scan first = still.with({.kind = NoiseKind::zero_filled, .amount = truth, .seed = test_seed}),
               second = other.with({.kind = NoiseKind::zero_filled, .amount = truth, .seed = 5});
    MemoryVolume a({first.voxels.data(), first.extent, spacing}), b({second.voxels.data(), second.extent, spacing});
    const NoiseModel model = measure_noise_with_neighbour(a, b, {});
    SCOPED_TRACE(std::to_string(truth) + ", " + std::to_string(contrast) + ": " + model.describe());
    EXPECT_NEAR(model.sigma, truth, 0.25 * truth);
  }
}

/// Weak noise in large voxels that are full of structure: sigma was six times too high, with medium confidence.
TEST(MeasureNoise, StructureOfLargeVoxelsIsNoSmoothNoise) {
  QV_NEEDS_TEST_DATA();
  const auto image = io::open_nifti(test::test_data("nifti/pcasl.nii.gz"));
  const Extent extent = image->geometry(0).extent;
  Scan mean{extent, std::vector<float>(static_cast<std::size_t>(extent.voxels()))};
  std::vector<float> voxels(mean.voxels.size());
  const std::size_t volumes = image->volume_count();
  for (std::size_t volume = 0; volume < volumes; ++volume) {
    image->volume(volume, io::VoxelDomain::real)->read({voxels.data(), extent});
    for (std::size_t i = 0; i < voxels.size(); ++i) mean.voxels[i] += voxels[i] / static_cast<float>(volumes);
  }
  const Scan flat = mean.changed([](std::size_t) { return 1000.0F; });
  const auto row = static_cast<std::size_t>(extent.x), slice = static_cast<std::size_t>(extent.slice());
  const auto at = [&](std::size_t i) { return mean.voxels[std::min(i, voxels.size() - 1)]; };
  // As if the head lay in other places of the grid.
  for (const auto& [x, y, z] :
       {Triple<float>{0.2F, 0.0F, 0.1F}, {0.1F, 0.1F, 0.1F}, {0.2F, 0.1F, 0.1F}, {0.2F, 0.1F, 0.2F}}) {
    const auto along_x = [&, x = x](std::size_t i) { return (1 - x) * at(i) + x * at(i + 1); };
    const auto along_y = [&, y = y](std::size_t i) { return (1 - y) * along_x(i) + y * along_x(i + row); };
    for (int seed = test_seed; seed < test_seed + 3; ++seed) {
      constexpr double truth = 8;
      const Scan noise = flat.with({.kind = NoiseKind::zero_filled, .amount = truth, .seed = seed});
      const Scan noisy = mean.changed(
          [&, z = z](std::size_t i) { return (1 - z) * along_y(i) + z * along_y(i + slice) + noise.voxels[i] - 1000; });
      MemoryVolume source({noisy.voxels.data(), extent, image->geometry(0).spacing});
      const NoiseModel model = measure_noise(source, {});
      EXPECT_LT(model.sigma, 2 * truth) << x << ' ' << seed << ": " << model.describe();
    }
  }
}

}  // namespace
}  // namespace quietvox
