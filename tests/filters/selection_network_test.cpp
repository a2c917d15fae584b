// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/median/generator/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace quietvox::selection {
namespace {

struct Case {
  Triple<int> window, tile;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.window.z << 'x' << c.window.y << 'x' << c.window.x << " tile " << c.tile.z << 'x' << c.tile.y << 'x'
       << c.tile.x;
}

/// A network with its inputs numbered, run on values of any type that has a minimum and a maximum.
struct Runner {
  explicit Runner(const Case& c)
      : window(c.window),
        tile(c.tile),
        size{c.window.x + c.tile.x - 1, c.window.y + c.tile.y - 1, c.window.z + c.tile.z - 1},
        network(median_network(c.window, c.tile)) {}

  static std::size_t at(const Triple<int>& box, int x, int y, int z) {
    return static_cast<std::size_t>(x) +
           static_cast<std::size_t>(box.x) *
               (static_cast<std::size_t>(y) + static_cast<std::size_t>(box.y) * static_cast<std::size_t>(z));
  }
  int inputs() const { return size.x * size.y * size.z; }
  std::size_t input(int x, int y, int z) const { return at(size, x, y, z); }
  std::size_t output(const Place& p) const { return at(tile, p.x, p.y, p.z); }

  template <class T, class Min, class Max>
  std::vector<T> run(const std::vector<T>& voxels, Min min, Max max) const {
    std::vector<T> values(network.size()), result(static_cast<std::size_t>(tile.x * tile.y * tile.z));
    for (std::size_t i = 0; i < network.size(); ++i) {
      const Step& step = network[i];
      const auto a = static_cast<std::size_t>(step.a), b = static_cast<std::size_t>(step.b);
      switch (step.kind) {
        case StepKind::load: values[i] = voxels[input(step.place.x, step.place.y, step.place.z)]; break;
        case StepKind::min: values[i] = min(values[a], values[b]); break;
        case StepKind::max: values[i] = max(values[a], values[b]); break;
        case StepKind::store: result[output(step.place)] = values[a]; break;
      }
    }
    return result;
  }

  /// Calls body(output, window as input numbers) for each output.
  template <class Body>
  void for_each_window(Body body) const {
    std::vector<std::size_t> covered;
    for (int k = 0; k < tile.z; ++k) {
      for (int j = 0; j < tile.y; ++j) {
        for (int i = 0; i < tile.x; ++i) {
          covered.clear();
          for (int z = k; z < k + window.z; ++z) {
            for (int y = j; y < j + window.y; ++y) {
              for (int x = i; x < i + window.x; ++x) covered.push_back(input(x, y, z));
            }
          }
          body(output({i, j, k}), covered);
        }
      }
    }
  }

  Triple<int> window, tile, size;
  Network network;
};

/// 64 black and white images at once, one per bit: minimum is `and`, maximum is `or`, the median is the majority.
/// By the 0-1 principle a network that is right for all of them is right for all values.
void expect_majority(const Runner& runner, const std::vector<std::uint64_t>& images) {
  const auto medians = runner.run(
      images, [](auto a, auto b) { return a & b; }, [](auto a, auto b) { return a | b; });
  runner.for_each_window([&](std::size_t output, const std::vector<std::size_t>& covered) {
    std::array<int, 64> ones{};
    for (const std::size_t at : covered) {
      for (std::size_t bit = 0; bit < 64; ++bit) ones[bit] += static_cast<int>(images[at] >> bit & 1U);
    }
    std::uint64_t majority = 0;
    for (std::size_t bit = 0; bit < 64; ++bit) {
      if (2 * ones[bit] > static_cast<int>(covered.size())) majority |= std::uint64_t{1} << bit;
    }
    ASSERT_EQ(medians[output], majority);
  });
}

class EveryNetwork : public testing::TestWithParam<Case> {};

TEST_P(EveryNetwork, GivesTheMajorityOfBlackAndWhiteVoxels) {
  const Runner runner(GetParam());
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> images(static_cast<std::size_t>(runner.inputs()));
  if (runner.inputs() <= 20) {  // all images; the bits of a word count through the first six voxels
    constexpr std::array<std::uint64_t, 6> counting{0xAAAAAAAAAAAAAAAA, 0xCCCCCCCCCCCCCCCC, 0xF0F0F0F0F0F0F0F0,
                                                    0xFF00FF00FF00FF00, 0xFFFF0000FFFF0000, 0xFFFFFFFF00000000};
    const int rest = std::max(0, runner.inputs() - 6);
    for (std::uint64_t number = 0; number < std::uint64_t{1} << rest; ++number) {
      for (std::size_t i = 0; i < images.size(); ++i) {
        images[i] = i < 6 ? counting[i] : (number >> (i - 6) & 1U) ? ~std::uint64_t{0} : 0;
      }
      ASSERT_NO_FATAL_FAILURE(expect_majority(runner, images));
    }
    return;
  }
  for (int repeat = 0; repeat < 150; ++repeat) {  // as many ones as zeros, give or take: the hard images
    for (auto& voxel : images) voxel = random();
    ASSERT_NO_FATAL_FAILURE(expect_majority(runner, images));
  }
}

TEST_P(EveryNetwork, GivesTheMiddleValueAmongTies) {
  const Runner runner(GetParam());
  std::mt19937 random(2);
  for (const int levels : {3, 50, 1'000'000}) {
    for (int repeat = 0; repeat < 10; ++repeat) {
      std::vector<int> voxels(static_cast<std::size_t>(runner.inputs()));
      for (auto& voxel : voxels) voxel = std::uniform_int_distribution<int>(-levels, levels)(random);
      const auto medians = runner.run(
          voxels, [](int a, int b) { return std::min(a, b); }, [](int a, int b) { return std::max(a, b); });
      runner.for_each_window([&](std::size_t output, const std::vector<std::size_t>& covered) {
        std::vector<int> window;
        for (const std::size_t at : covered) window.push_back(voxels[at]);
        std::sort(window.begin(), window.end());
        ASSERT_EQ(medians[output], window[window.size() / 2]);
      });
    }
  }
}

TEST_P(EveryNetwork, LoadsEachVoxelAndStoresEachOutputOnce) {
  const Runner runner(GetParam());
  std::vector<int> loads(static_cast<std::size_t>(runner.inputs()));
  std::vector<int> stores(static_cast<std::size_t>(runner.tile.x * runner.tile.y * runner.tile.z));
  for (std::size_t i = 0; i < runner.network.size(); ++i) {
    const Step& step = runner.network[i];
    ASSERT_LT(step.a, static_cast<int>(i));
    ASSERT_LT(step.b, static_cast<int>(i));
    if (step.kind == StepKind::load) ++loads[runner.input(step.place.x, step.place.y, step.place.z)];
    if (step.kind == StepKind::store) ++stores[runner.output(step.place)];
  }
  EXPECT_EQ(std::count(loads.begin(), loads.end(), 1), runner.inputs());
  EXPECT_EQ(std::count(stores.begin(), stores.end(), 1), static_cast<std::ptrdiff_t>(stores.size()));
}

INSTANTIATE_TEST_SUITE_P(
    Selection, EveryNetwork,
    testing::Values(Case{{1, 1, 1}, {1, 1, 1}}, Case{{3, 1, 1}, {1, 1, 1}}, Case{{7, 1, 1}, {4, 1, 1}},
                    Case{{1, 9, 1}, {1, 9, 1}}, Case{{1, 1, 17}, {1, 1, 3}}, Case{{31, 1, 1}, {16, 1, 1}},
                    Case{{3, 3, 1}, {1, 1, 1}}, Case{{3, 3, 1}, {1, 2, 1}}, Case{{3, 3, 1}, {2, 2, 1}},
                    Case{{3, 3, 1}, {3, 2, 1}}, Case{{3, 5, 1}, {2, 2, 1}}, Case{{5, 5, 1}, {1, 4, 1}},
                    Case{{5, 5, 1}, {2, 2, 1}}, Case{{7, 7, 1}, {1, 4, 1}}, Case{{7, 7, 1}, {4, 4, 1}},
                    Case{{9, 9, 1}, {4, 4, 1}}, Case{{11, 11, 1}, {4, 4, 1}}, Case{{13, 13, 1}, {4, 4, 1}},
                    Case{{15, 15, 1}, {4, 4, 1}}, Case{{3, 3, 3}, {1, 1, 1}}, Case{{3, 3, 3}, {1, 2, 2}},
                    Case{{3, 3, 3}, {2, 2, 2}}, Case{{5, 5, 3}, {2, 2, 2}}, Case{{5, 5, 5}, {2, 2, 2}},
                    Case{{5, 5, 5}, {1, 4, 4}}, Case{{7, 7, 3}, {2, 2, 2}}, Case{{7, 7, 7}, {2, 2, 2}},
                    Case{{3, 1, 1}, {4, 1, 1}}, Case{{1, 3, 1}, {2, 4, 1}}, Case{{1, 1, 5}, {2, 1, 7}},
                    Case{{3, 3, 1}, {4, 2, 3}}));

/// What kernels store as one word.
TEST(Selection, OutputsOfARowFollowEachOtherByTwos) {
  for (const Case& c : {Case{{1, 5, 1}, {2, 4, 1}}, Case{{3, 1, 1}, {4, 1, 1}}, Case{{3, 3, 3}, {2, 3, 2}}}) {
    std::vector<Place> stored;
    for (const Step& step : median_network(c.window, c.tile)) {
      if (step.kind == StepKind::store) stored.push_back(step.place);
    }
    for (std::size_t i = 0; i < stored.size(); i += 2) {
      EXPECT_EQ(stored[i].x % 2, 0);
      EXPECT_EQ(stored[i + 1], (Place{stored[i].x + 1, stored[i].y, stored[i].z}));
    }
  }
}

TEST(Selection, DropsWhatNoOutputNeeds) {
  int operations = 0;
  for (const Step& step : median_network({3, 3, 3}, {1, 2, 2})) {
    operations += step.kind == StepKind::min || step.kind == StepKind::max;
  }
  EXPECT_LE(operations, 470);  // a full sort of one window alone takes 354, four windows 1416
}

}  // namespace
}  // namespace quietvox::selection
