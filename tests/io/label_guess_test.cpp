// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/label_guess.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
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

/// 64-bit floats, of which 32-bit ones keep few.
TEST(LabelGuess, NumbersThatFloatsMadeWholeAreNoLabels) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(0, 30);
  EXPECT_EQ(why_labels([&](double x, double, double) { return static_cast<float>(1e9 + 100 * x + noise(random)); }),
            "");
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

std::string why_phases(const std::function<double(std::int64_t x, std::int64_t y)>& at, io::Rescale to_real = {}) {
  std::vector<float> voxels;
  for (std::int64_t i = 0; i < extent.voxels(); ++i) {
    voxels.push_back(static_cast<float>((at(i % extent.x, i / extent.x % extent.y) - to_real.inter) / to_real.slope));
  }
  MemoryVolume volume({voxels.data(), extent});
  return io::looks_of(volume, to_real).why_phases;
}

/// Chance, and an object in air.
class PhaseGuess : public testing::Test {
 protected:
  double noise(double sigma) { return sigma * normal_(random_); }
  double anywhere() { return uniform_(random_); }
  static bool is_air(std::int64_t x, std::int64_t y) { return from_axis(double(x), double(y)) > 20; }
  /// A field that turns a few times over the object, from 0 to 1, with noise that is everything in air.
  double angle(std::int64_t x, std::int64_t y) {
    const double turns = 0.04 * static_cast<double>(x) + 0.02 * static_cast<double>(y) + noise(0.02);
    return is_air(x, y) ? anywhere() : turns - std::floor(turns);
  }

 private:
  std::mt19937 random_{5};
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_{0, 1};
};

TEST_F(PhaseGuess, WrappedAnglesOfAnyRangeArePhases) {
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{
           {-3.1415926, 3.1415926}, {0, 6.2831853}, {-3, 3}, {0, 1}, {-180, 180}, {0, 360}, {-500, 500}}) {
    EXPECT_NE(why_phases([&, low = low, high = high](auto x, auto y) { return low + (high - low) * angle(x, y); }), "")
        << low << " " << high;
  }
  for (const auto& [low, high] : std::vector<std::pair<int, int>>{{0, 4095}, {0, 255}, {-3142, 3142}, {0, 6283}}) {
    const auto whole = [&, low = low, high = high](auto x, auto y) {
      return std::round(low + (high - low) * angle(x, y));
    };
    EXPECT_NE(why_phases(whole), "") << low << " " << high;
    EXPECT_NE(why_phases([&](auto x, auto y) { return is_air(x, y) ? 0 : whole(x, y); }), "") << "without air";
  }
  EXPECT_NE(why_phases([&](auto x, auto y) { return -4096 + 8191 * angle(x, y); }, {2, -4096}), "");
}

/// More angles lie above the end of a turn than below it.
TEST_F(PhaseGuess, WrappedAnglesNearOneEndArePhases) {
  for (const auto& [mean, amplitude] : {std::pair{0.3, 0.4}, {0.3, 0.7}, {0.4, 0.7}, {0.5, 0.7}, {0.6, 0.7}}) {
    EXPECT_NE(why_phases([&, mean = mean, amplitude = amplitude](auto x, auto y) {
                const double field = std::sin(0.15 * static_cast<double>(x)) * std::cos(0.15 * static_cast<double>(y));
                const double turns = (mean + amplitude * field + noise(0.05)) / (2 * std::numbers::pi);
                return 4095 * (is_air(x, y) ? anywhere() : turns - std::floor(turns));
              }),
              "")
        << mean << " " << amplitude;
  }
}

TEST_F(PhaseGuess, AnglesThatHardlyWrapAreToldByTheirRange) {
  const auto angle = [&](auto x, auto y) { return is_air(x, y) ? 2 * anywhere() - 1 : noise(0.1); };
  for (const double end : {3.1415926, 4096.0, 3142.0, 180.0}) {
    EXPECT_NE(why_phases([&](auto x, auto y) { return end * angle(x, y); }), "") << end;
    EXPECT_EQ(why_phases([&](auto x, auto y) { return 1.1 * end * angle(x, y); }), "") << end;
  }
}

TEST_F(PhaseGuess, SlicesMayLieAlongAnyAxis) {
  for (const int axis : {0, 1}) {
    for (const std::int64_t slices : {1, 8}) {
      Extent size{{extent.x, extent.y, slices}};
      Spacing spacing{1, 1, 5};
      std::swap(size[axis], size.z);
      std::swap(spacing[axis], spacing.z);
      std::vector<float> voxels;
      for (std::int64_t i = 0; i < size.voxels(); ++i) {
        Index3 place{i % size.x, i / size.x % size.y, i / size.slice()};
        std::swap(place[axis], place.z);
        voxels.push_back(static_cast<float>(std::round(4095 * angle(place.x, place.y))));
      }
      MemoryVolume volume({voxels.data(), size, spacing});
      EXPECT_NE(io::looks_of(volume, {}).why_phases, "") << axis << " " << slices;
    }
  }
}

TEST_F(PhaseGuess, ScansAndMapsAreNone) {
  const auto object = [&](auto x, auto y) { return (x / 6 + y / 5) % 2 == 0 ? 200 : 100 + double(x); };
  EXPECT_EQ(why_phases([&](auto x, auto y) { return std::sin(0.3 * double(x)) + std::sin(0.2 * double(y)); }), "");
  EXPECT_EQ(why_phases([&](auto, auto) { return anywhere(); }), "") << "nothing but noise";
  for (const double end : {80.0, 180.0}) {
    EXPECT_EQ(why_phases([&](auto x, auto y) {
                return std::clamp(is_air(x, y) ? -1000.0 : (x / 6 + y / 5) % 2 == 0 ? 400.0 : 20 * noise(1), -end, end);
              }),
              "")
        << "a CT in a window";
  }
  EXPECT_EQ(why_phases([&](auto x, auto y) { return 1000 + 512 * angle(x, y); }), "") << "angles have no such range";
  EXPECT_EQ(why_phases([&](auto x, auto y) { return (is_air(x, y) ? 0 : object(x, y)) + noise(10); }), "");
  EXPECT_EQ(why_phases([&](auto x, auto y) { return std::clamp(object(x, y) - 110 + noise(10), 0.0, 60.0); }), "")
      << "cut off at both ends";
  // A bright rim in air that fills most of the slice.
  EXPECT_EQ(why_phases([&](auto x, auto y) {
              const double from_middle = from_axis(double(x), double(y));
              return from_middle < 22 ? 2000 * from_middle / 22 + noise(4) : std::abs(noise(10));
            }),
            "")
      << "magnitudes";
  EXPECT_EQ(why_phases([&](auto x, auto y) { return 255 * ((x / 6 + y / 5) % 2) + noise(4); }), "") << "two levels";
  EXPECT_EQ(
      why_phases([&](auto x, auto y) { return std::clamp(1000.0 * ((x / 6 + y / 5) % 2) + noise(20), 0.0, 1000.0); }),
      "")
      << "two levels, cut off";
  EXPECT_EQ(
      why_phases([&](auto x, auto y) { return is_air(x, y) ? 4000 * anywhere() : 10 * object(x, y) + noise(50); }), "")
      << "a map that could not be fitted in air";
  EXPECT_EQ(why_phases([&](auto x, auto y) {
              return is_air(x, y) ? std::round(anywhere()) * 4000 : 10 * object(x, y) + noise(50);
            }),
            "")
      << "or was cut off there";
}

/// Three volumes; vectors have a length of 0 in air.
class VectorGuess : public PhaseGuess {
 protected:
  bool are_vectors(const std::function<std::array<double, 3>(std::int64_t x, std::int64_t y)>& at) {
    std::array<std::vector<float>, 3> parts;
    for (std::int64_t i = 0; i < extent.voxels(); ++i) {
      const std::int64_t x = i % extent.x, y = i / extent.x % extent.y;
      const auto vector = is_air(x, y) ? std::array<double, 3>{} : at(x, y);
      for (std::size_t axis = 0; axis < 3; ++axis) parts[axis].push_back(static_cast<float>(vector[axis]));
    }
    MemoryVolume x({parts[0].data(), extent}), y({parts[1].data(), extent}), z({parts[2].data(), extent});
    return io::are_vectors({&x, &y, &z});
  }
  static std::array<double, 3> fibre(std::int64_t x, std::int64_t y, double length) {
    const double angle = 0.1 * static_cast<double>(x), tilt = 0.07 * static_cast<double>(y);
    return {length * std::cos(angle) * std::cos(tilt), length * std::sin(angle) * std::cos(tilt),
            length * std::sin(tilt)};
  }
};

TEST_F(VectorGuess, DirectionsAreVectors) {
  EXPECT_TRUE(are_vectors([](auto x, auto y) { return fibre(x, y, 1); }));
  EXPECT_FALSE(are_vectors([](auto x, auto y) { return fibre(x, y, 1.1); }));
}

TEST_F(VectorGuess, DirectionsTimesAnisotropyAreVectors) {
  const auto anisotropic = [&](auto x, auto y) {
    const double length = 0.5 + 0.3 * std::sin(0.2 * static_cast<double>(x)) + noise(0.03);
    return fibre(x, y, anywhere() < 0.3 ? -length : length);
  };
  EXPECT_TRUE(are_vectors(anisotropic));
}

/// The sign of a direction means nothing: programs make one part positive.
TEST_F(VectorGuess, DirectionsOfOneHemisphereAreVectors) {
  EXPECT_TRUE(are_vectors([](auto x, auto y) {
    auto parts = fibre(x, y, 1);
    if (parts[0] < 0) {
      for (auto& part : parts) part = -part;
    }
    return parts;
  }));
}

TEST_F(VectorGuess, ThreeMapsAreNone) {
  EXPECT_FALSE(are_vectors([&](auto, auto) { return std::array{noise(0.2), noise(0.2), noise(0.2)}; }));
  EXPECT_FALSE(are_vectors([&](auto x, auto y) {
    const double correlation = 0.4 * std::sin(0.2 * static_cast<double>(x + 2 * y));
    return std::array{correlation + noise(0.05), 0.3 - correlation + noise(0.05), noise(0.05)};
  }));
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
