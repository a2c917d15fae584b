// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/label_guess.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "core/memory_volume.hpp"

namespace quietvox::test {
namespace {

constexpr Extent extent{{60, 50, 24}};

std::string why_labels(const std::function<float(double x, double y, double z)>& at) {
  std::vector<float> voxels;
  for (std::int64_t z = 0; z < extent.z; ++z) {
    for (std::int64_t y = 0; y < extent.y; ++y) {
      for (std::int64_t x = 0; x < extent.x; ++x) {
        voxels.push_back(at(static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)));
      }
    }
  }
  MemoryVolume volume({voxels.data(), extent});
  return io::looks_of(volume).why_labels;
}

double from_axis(double x, double y) { return std::hypot(x - 30, y - 25); }

/// A ribbon as thin as the cortex at 2 mm: most neighbours lie on its edge.
TEST(LabelGuess, ThinRegionsOfManyNumbersAreLabels) {
  const auto parcel = [](double x, double y, double z) {
    const double r = from_axis(x, y);
    if (r < 18 || r > 22) return 0.F;
    const int number = static_cast<int>((std::atan2(y - 25, x - 30) + 4) * 3) + 31 * static_cast<int>(z / 8);
    return static_cast<float>(1 + number * 37 % 101);
  };
  EXPECT_NE(why_labels(parcel), "");
  EXPECT_NE(why_labels([&](double x, double y, double z) { return parcel(x, y, z) == 0 ? NAN : parcel(x, y, z); }), "");
  EXPECT_EQ(why_labels([&](double x, double y, double z) { return 0.5F * parcel(x, y, z); }), "") << "fractions";
}

/// 25 nuclei in slices of which none is at a quarter of the volume, as those of a thalamus may lie.
TEST(LabelGuess, RegionsOfManyNumbersAreLabelsWhereverTheyLie) {
  for (const int first : {1, 7, 13, 20}) {
    const auto nuclei = [&](double x, double y, double z) {
      const bool is_inside = z >= first && z < first + 4 && std::abs(x - 30) < 15 && std::abs(y - 25) < 12;
      const int column = static_cast<int>(x + 0.4 * y) / 9, row = static_cast<int>(y + 0.3 * x) / 8;
      return is_inside ? 8100 + column * 7 % 16 + 16 * row : 0;
    };
    EXPECT_NE(why_labels([&](double x, double y, double z) { return static_cast<float>(nuclei(x, y, z)); }), "")
        << first;
  }
}

TEST(LabelGuess, ScatteredMarksAreLabels) {
  std::mt19937 random(4);
  EXPECT_NE(why_labels([&](double, double, double) { return random() % 100 == 0 ? 1.F : 0.F; }), "");
}

TEST(LabelGuess, SmallNumberedThingsAreLabels) {
  for (const double radius : {1.0, 2.5}) {
    std::mt19937 random(2);
    std::vector<std::array<double, 3>> places(120);
    for (auto& [x, y, z] : places) {
      x = 3 + random() % 54, y = 3 + random() % 44, z = 3 + random() % 18;
    }
    const auto number = [&](double x, double y, double z) {
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (std::hypot(x - places[i][0], y - places[i][1], z - places[i][2]) <= radius)
          return static_cast<float>(i + 1);
      }
      return 0.F;
    };
    EXPECT_NE(why_labels(number), "") << radius;
  }
}

/// Numbered in turn, each around a seed that lies near a grid.
TEST(LabelGuess, SupervoxelsAreLabels) {
  constexpr int wide = 6;
  const auto seed = [](int i, int j, int axis) {
    return wide * (0.5 + (axis == 0 ? i : j)) + std::sin(7.0 * i + 13.0 * j + 5.0 * axis) * 2;
  };
  const auto supervoxel = [&](double x, double y, double z) {
    std::pair<double, float> nearest{1e9, 0.F};
    for (int i = 0; i < 10; ++i) {
      for (int j = 0; j < 9; ++j) {
        const double distance = std::hypot(x - seed(i, j, 0), y - seed(i, j, 1));
        nearest = std::min(nearest, {distance, static_cast<float>(1 + i + 10 * j + 90 * static_cast<int>(z / wide))});
      }
    }
    return nearest.second;
  };
  EXPECT_NE(why_labels(supervoxel), "");
}

TEST(LabelGuess, ScansAreNone) {
  std::mt19937 random(3);
  std::normal_distribution<float> noise;
  const auto smooth = [](double x, double y) { return static_cast<float>(400 + 5 * x - 3 * y); };
  const auto body = [&](double x, double y, float value) { return from_axis(x, y) > 20 ? 0.F : std::round(value); };
  EXPECT_EQ(why_labels([&](double x, double y, double) { return body(x, y, smooth(x, y) + 8 * noise(random)); }), "");
  EXPECT_EQ(why_labels([&](double x, double y, double) { return body(x, y, 30 + 3 * noise(random)); }), "")
      << "of numbers next to each other";
  // A window that cuts off most.
  const auto window = [&](double x, double y, double) {
    return std::round(std::clamp(smooth(x, y) + 8 * noise(random) - 380, 0.F, 60.F));
  };
  EXPECT_EQ(why_labels(window), "");
  // Each voxel drawn as a square.
  std::vector<float> coarse(20 * 20 * 24);
  for (float& voxel : coarse) voxel = std::round(500 + 40 * noise(random));
  for (const int side : {4, 8}) {
    const auto blocks = [&](double x, double y, double z) {
      return coarse[static_cast<std::size_t>(x / side) + 20 * static_cast<std::size_t>(y / side) +
                    400 * static_cast<std::size_t>(z)];
    };
    EXPECT_EQ(why_labels(blocks), "") << side;
  }
  // A thin body in air that is cut off at one value, within a circle.
  const auto thin = [&](double x, double y, double) {
    return from_axis(x, y) > 24  ? -2000.F
           : from_axis(x, y) > 6 ? -1024.F
                                 : std::round(smooth(x, y) + 8 * noise(random));
  };
  EXPECT_EQ(why_labels(thin), "");
}

/// A field that turns a few times over the image.
std::string why_phases(double low, double high, bool is_wrapped, io::Rescale to_real = {}) {
  std::vector<float> voxels;
  std::mt19937 random(5);
  std::normal_distribution<double> noise(0, 0.02);
  for (std::int64_t i = 0; i < extent.voxels(); ++i) {
    const std::int64_t x = i % extent.x, y = i / extent.x % extent.y;
    const double turns = 0.04 * static_cast<double>(x) + 0.02 * static_cast<double>(y) + noise(random);
    const double part = is_wrapped ? turns - std::floor(turns) : 0.5 + 0.5 * std::sin(8 * turns);
    voxels.push_back(static_cast<float>((low + (high - low) * part - to_real.inter) / to_real.slope));
  }
  MemoryVolume volume({voxels.data(), extent});
  return io::looks_of(volume, to_real).why_phases;
}

TEST(LabelGuess, WrappedAnglesArePhases) {
  EXPECT_NE(why_phases(-3.1415926, 3.1415926, true), "");
  EXPECT_NE(why_phases(0, 6.2831853, true), "");
  EXPECT_NE(why_phases(-4096, 4095, true, {2, -4096}), "");
  EXPECT_EQ(why_phases(-3.1415926, 3.1415926, false), "") << "nothing jumps";
  EXPECT_EQ(why_phases(-3, 3, true), "") << "no whole turn";
  EXPECT_EQ(why_phases(-4096, 4095, false), "");
}

TEST(LabelGuess, PartsOfUnitVectorsAreTold) {
  const auto are_vectors = [](double length) {
    std::array<std::vector<float>, 3> parts;
    for (std::int64_t i = 0; i < extent.voxels(); ++i) {
      const double angle = 0.1 * static_cast<double>(i % 977), tilt = 0.07 * static_cast<double>(i % 311);
      const double size = i % extent.x < 10 ? 0 : 1 + (length - 1) * static_cast<double>(i % 7);
      parts[0].push_back(static_cast<float>(size * std::cos(angle) * std::cos(tilt)));
      parts[1].push_back(static_cast<float>(size * std::sin(angle) * std::cos(tilt)));
      parts[2].push_back(static_cast<float>(size * std::sin(tilt)));
    }
    MemoryVolume x({parts[0].data(), extent}), y({parts[1].data(), extent}), z({parts[2].data(), extent});
    return io::are_unit_vectors({&x, &y, &z});
  };
  EXPECT_TRUE(are_vectors(1));
  EXPECT_FALSE(are_vectors(0.9));
}

TEST(LabelGuess, EmptyVolumesSayNothing) {
  std::vector<float> voxels(static_cast<std::size_t>(extent.voxels()), 3);
  MemoryVolume volume({voxels.data(), extent});
  const io::NumberLooks looks = io::looks_of(volume);
  EXPECT_EQ(looks.why_labels, "");
  EXPECT_EQ(looks.why_phases, "");
}

}  // namespace
}  // namespace quietvox::test
