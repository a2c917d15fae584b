// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/simple_noise_estimators.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "phantom/noise.hpp"
#include "phantom/phantom.hpp"

namespace quietvox {
namespace {

class MemoryVolume final : public VolumeSource {
 public:
  explicit MemoryVolume(Extent extent) : extent_(extent), voxels_(static_cast<std::size_t>(extent.voxels())) {}

  Extent extent() const override { return extent_; }
  Spacing spacing() const override { return {1, 1, 1}; }
  void read(VolumeView<float> slices) override {
    std::memcpy(slices.data, view().slices(slices.origin.z, slices.extent.z).data,
                sizeof(float) * static_cast<std::size_t>(slices.extent.voxels()));
  }
  VolumeView<float> view() { return {voxels_.data(), extent_}; }
  std::vector<float>& voxels() { return voxels_; }

  /// Calls value(x, y, z) with places scaled to [-1, 1] for every voxel.
  template <class Value>
  MemoryVolume& fill(Value value) {
    const auto place = [](std::int64_t i, std::int64_t n) {
      return (2.0 * static_cast<double>(i) + 1) / static_cast<double>(n) - 1;
    };
    for (std::int64_t z = 0; z < extent_.z; ++z) {
      for (std::int64_t y = 0; y < extent_.y; ++y) {
        for (std::int64_t x = 0; x < extent_.x; ++x) {
          view().at(x, y, z) = static_cast<float>(value(place(x, extent_.x), place(y, extent_.y), place(z, extent_.z)));
        }
      }
    }
    return *this;
  }
  MemoryVolume& add(NoiseKind kind, double sigma) {
    add_noise(view(), {kind, sigma, 11}, 0, 0, {});
    return *this;
  }

 private:
  Extent extent_;
  std::vector<float> voxels_;
};

constexpr Extent odd_extent{{97, 83, 21}};

double ct(double x, double y, double) {
  if (x * x + y * y > 0.9) return -1000;
  if (std::hypot(x - 0.4, y) < 0.25 || std::hypot(x + 0.4, y) < 0.25) return -850;
  if (std::hypot(x, y - 0.5) < 0.1) return 700;
  return 40;
}
double mr(double x, double y, double z) {
  const double r = std::hypot(x, y, z);
  return r > 0.7 ? 0 : r > 0.6 ? 900 : r > 0.4 ? 400 + 60 * std::sin(6 * x) : 550;
}

TEST(EstimateNoise, CtWithNoisyAir) {
  MemoryVolume volume(odd_extent);
  EXPECT_NEAR(estimate_noise(volume.fill(ct).add(NoiseKind::gaussian, 15)), 15, 0.4);
}

TEST(EstimateNoise, CtWithClippedAirAndPadding) {
  MemoryVolume volume(odd_extent);
  volume.fill(ct).add(NoiseKind::gaussian, 15).fill([&, i = std::size_t{0}](double x, double y, double) mutable {
    const float value = volume.voxels()[i++];
    return std::hypot(x, y) > 1.05 ? -3024 : std::max(std::round(value), -1000.0F);
  });
  EXPECT_NEAR(estimate_noise(volume), 15, 0.5);
}

TEST(EstimateNoise, MrWithRicianAir) {
  MemoryVolume volume(odd_extent);
  EXPECT_NEAR(estimate_noise(volume.fill(mr).add(NoiseKind::rician, 15)), 15, 0.6);
}

TEST(EstimateNoise, MrWithAirCutToZero) {
  MemoryVolume volume(odd_extent);
  volume.fill(mr).add(NoiseKind::rician, 15);
  for (float& value : volume.voxels()) value = value < 120 ? 0 : std::round(value);
  EXPECT_NEAR(estimate_noise(volume), 15, 0.6);
}

// Much of these is edge and texture.
TEST(EstimateNoise, Phantoms) {
  for (const auto& [kind, noise] :
       {std::pair(PhantomKind::ct, NoiseKind::gaussian), std::pair(PhantomKind::mr, NoiseKind::rician)}) {
    const Phantom phantom = make_phantom(kind, {{192, 192, 12}});
    for (const double sigma : {0.0, 8.0, 20.0, 40.0}) {
      MemoryVolume volume(phantom.extent);
      volume.voxels() = phantom.voxels;
      EXPECT_NEAR(estimate_noise(volume.add(noise, sigma)), sigma, 0.09 * sigma);
    }
  }
}

TEST(EstimateNoise, FlatFieldOfAnySizeAndScale) {
  for (const double sigma : {1e-3, 1.0, 1e6}) {
    MemoryVolume volume(Extent{{101, 57, 9}});
    EXPECT_NEAR(estimate_noise(volume.fill([](auto...) { return 0; }).add(NoiseKind::gaussian, sigma)), sigma,
                0.03 * sigma);
  }
}

TEST(EstimateNoise, IntegersFinerThanTheirStep) {
  for (const double sigma : {0.8, 1.0, 1.3, 2.0}) {
    MemoryVolume volume(Extent{{128, 128, 8}});
    volume.fill([](auto...) { return 100; }).add(NoiseKind::gaussian, sigma);
    for (float& value : volume.voxels()) value = std::round(value);
    const double with_rounding = std::sqrt(sigma * sigma + 1.0 / 12);
    EXPECT_NEAR(estimate_noise(volume), with_rounding, 0.06 * with_rounding);
  }
}

TEST(EstimateNoise, ClippedBrightBackground) {
  MemoryVolume volume(Extent{{200, 200, 1}});
  volume.fill([](double x, double y, double) { return x * x + y * y > 0.5 ? 4500 : 1500 + 100 * x; })
      .add(NoiseKind::gaussian, 12);
  for (float& value : volume.voxels()) value = std::min(value, 4095.0F);
  EXPECT_NEAR(estimate_noise(volume), 12, 0.5);
}

/// As by the window of an export, so that most of the bright half is of one value.
TEST(EstimateNoise, CutOffAtBothEnds) {
  for (const double sigma : {0.0, 15.0}) {
    MemoryVolume volume(odd_extent);
    volume.fill([](double x, double y, double z) { return mr(x, y, z) + (std::hypot(x, y, z) < 0.4 ? 300 : 0); });
    if (sigma > 0) volume.add(NoiseKind::gaussian, sigma);
    for (float& value : volume.voxels()) value = std::clamp(std::round(value), 250.0F, 700.0F);
    EXPECT_NEAR(estimate_noise(volume), sigma, 0.06 * sigma);
  }
}

const NoiseEstimate& of(const std::vector<NoiseEstimate>& all, NoiseMethod method) {
  return *std::find_if(all.begin(), all.end(), [&](const NoiseEstimate& one) { return one.method == method; });
}

TEST(EstimateNoise, EveryMethodFindsRicianNoise) {
  MemoryVolume volume(odd_extent);
  const auto all = estimate_noise_by_every_method(volume.fill(mr).add(NoiseKind::rician, 15), {});
  for (const NoiseMethod method : {NoiseMethod::haar, NoiseMethod::koay, NoiseMethod::air}) {
    EXPECT_NEAR(of(all, method).sigma, 15, 0.6) << choices(method)[static_cast<std::size_t>(method)];
    EXPECT_GT(of(all, method).blocks, 100);
    EXPECT_LT(of(all, method).standard_error, 0.1);
  }
  EXPECT_EQ(of(all, NoiseMethod::haar).sigma, estimate_noise(volume));
}

/// With a signal near the noise, Rician magnitudes vary less than the noise does.
TEST(EstimateNoise, KoayCorrectsWeakSignals) {
  for (const double signal : {30.0, 45.0, 300.0}) {
    MemoryVolume volume(Extent{{128, 128, 8}});
    const auto half = [&](double, double y, double) { return y < 0 ? 0.0 : signal; };
    const auto all = estimate_noise_by_every_method(volume.fill(half).add(NoiseKind::rician, 15), {});
    EXPECT_NEAR(of(all, NoiseMethod::koay).sigma, 15, 0.75) << signal;
    EXPECT_LT(std::abs(of(all, NoiseMethod::koay).sigma - 15), std::abs(of(all, NoiseMethod::haar).sigma - 15) + 0.1);
    EXPECT_NEAR(of(all, NoiseMethod::air).sigma, 15, 0.3) << signal;
  }
}

TEST(EstimateNoise, ThereIsNoAirWithoutAir) {
  MemoryVolume flat(Extent{{64, 64, 8}});
  flat.fill([](auto...) { return 500; }).add(NoiseKind::gaussian, 15);
  EXPECT_EQ(of(estimate_noise_by_every_method(flat, {}), NoiseMethod::air).blocks, 0);
  MemoryVolume cut(odd_extent);
  cut.fill(mr).add(NoiseKind::rician, 15);
  for (float& value : cut.voxels()) value = value < 120 ? 0 : value;
  EXPECT_EQ(of(estimate_noise_by_every_method(cut, {}), NoiseMethod::air).blocks, 0);
}

TEST(EstimateNoise, NothingWithoutNoise) {
  MemoryVolume flat(Extent{{9, 9, 3}});
  EXPECT_EQ(estimate_noise(flat), 0);
  MemoryVolume phantom(odd_extent);
  EXPECT_EQ(estimate_noise(phantom.fill(ct)), 0);
  MemoryVolume two_values(odd_extent);
  EXPECT_EQ(
      estimate_noise(two_values.fill([](double x, double y, double z) { return std::hypot(x, y, z) < 0.6 ? 100 : 0; })),
      0);
}

TEST(EstimateNoise, MissingVoxelsDoNotCount) {
  MemoryVolume volume(odd_extent);
  volume.fill(ct).add(NoiseKind::gaussian, 15);
  for (std::size_t i = 0; i < volume.voxels().size(); i += 7) volume.voxels()[i] = NAN;
  EXPECT_NEAR(estimate_noise(volume), 15, 0.6);
  std::fill(volume.voxels().begin(), volume.voxels().end(), NAN);
  EXPECT_EQ(estimate_noise(volume), 0);
}

TEST(EstimateNoise, AxesOfOneVoxel) {
  for (const Extent extent : {Extent{{4000, 1, 1}}, Extent{{1, 4000, 1}}, Extent{{80, 1, 50}}, Extent{{1, 80, 50}}}) {
    MemoryVolume volume(extent);
    EXPECT_NEAR(estimate_noise(volume.fill([](auto...) { return 500; }).add(NoiseKind::gaussian, 15)), 15, 1.5);
  }
  MemoryVolume voxel(Extent{{1, 1, 1}});
  EXPECT_EQ(estimate_noise(voxel), 0);
}

// More blocks than are kept at once.
TEST(EstimateNoise, LargeVolumesAreSampled) {
  MemoryVolume volume(Extent{{1024, 1024, 9}});
  EXPECT_NEAR(estimate_noise(volume.fill([](auto...) { return 7; }).add(NoiseKind::gaussian, 3)), 3, 0.01);
}

}  // namespace
}  // namespace quietvox
