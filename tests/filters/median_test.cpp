// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/median.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <limits>
#include <random>
#include <set>

#include "filters/median/simd_rows.hpp"
#include "support/instruction_sets.hpp"
#include "support/programs.hpp"
#include "support/reference_median.hpp"

namespace quietvox {
namespace {

template <class T>
struct Volume {
  explicit Volume(Extent size, std::vector<T> values = {}) : extent(size), voxels(std::move(values)) {
    voxels.resize(static_cast<std::size_t>(size.voxels()));
  }
  VolumeView<T> view() { return {voxels.data(), extent, {1, 1, 1}, {}, missing}; }

  Extent extent;
  std::vector<T> voxels;
  std::optional<T> missing;
};

enum class Content { plain, ties, missing, mostly_missing, whole, whole_at_first };

template <class T>
Volume<T> random_volume(Extent extent, Content content, unsigned seed) {
  Volume<T> volume(extent);
  std::mt19937 random(seed);
  const auto between = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (T& voxel : volume.voxels) {
    if constexpr (std::is_same_v<T, float>) {
      using limits = std::numeric_limits<float>;
      const std::array<float, 8> special{
          0.0F,          -0.0F, limits::denorm_min(), -limits::denorm_min(), limits::max(), limits::lowest(),
          limits::min(), -1.0F};
      const std::array<float, 4> none{limits::infinity(), -limits::infinity(), std::bit_cast<float>(0x7FC01234U),
                                      std::bit_cast<float>(0xFF801234U)};  // NaNs with a payload, quiet and signalling
      if (content == Content::whole || content == Content::whole_at_first) {  // numbers of 16 bits, to the ends
        const std::array<float, 4> ends{-32768.0F, 32767.0F, -0.0F, none[2]};
        voxel = between(0, 9) < 3 ? ends[static_cast<std::size_t>(between(0, 3))]
                                  : static_cast<float>(between(-32768, 32767));
        continue;
      }
      voxel = content == Content::ties ? special[static_cast<std::size_t>(between(0, 7))]
                                       : static_cast<float>(between(-2'000'000, 2'000'000)) / 1024.0F;
      const int percent = content == Content::missing ? 2 : content == Content::mostly_missing ? 85 : 0;
      if (between(0, 99) < percent) std::memcpy(&voxel, &none[static_cast<std::size_t>(between(0, 3))], sizeof voxel);
    } else {
      const int low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
      voxel = static_cast<T>(content == Content::ties ? between(-1, 1) : between(low, high));
      if (content != Content::plain) volume.missing = T{1};
      if (between(0, 99) < (content == Content::missing ? 2 : content == Content::mostly_missing ? 85 : 0)) voxel = 1;
    }
  }
  if constexpr (std::is_same_v<T, float>) {
    if (content == Content::whole_at_first) {  // at last others, mostly of one kind
      const std::array<float, 4> others{40000.0F, -40000.0F, 0.5F, std::numeric_limits<float>::infinity()};
      const std::size_t first = volume.voxels.size() - std::min<std::size_t>(volume.voxels.size(), 500);
      for (std::size_t i = first; i < volume.voxels.size(); ++i) {
        volume.voxels[i] = others[seed % 4] + static_cast<float>(between(-9, 9));
      }
    }
  }
  return volume;
}

Execution on_threads(int count) {
  Execution execution;
  execution.threads = count;
  return execution;
}

template <class T>
Volume<T> filtered(Volume<T>& in, const MedianParams& params, int threads = 1) {
  Volume<T> out(in.extent);
  median_cpu(in.view(), out.view(), params, on_threads(threads));
  return out;
}

template <class T>
testing::AssertionResult same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return testing::AssertionFailure() << "sizes differ";
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0) {
      return testing::AssertionFailure() << "at voxel " << i << ": " << a[i] << " is not " << b[i];
    }
  }
  return testing::AssertionSuccess();
}

std::string text(const MedianParams& p) {
  return FieldType<Radius3>::format(*p.radius) + " " + FieldType<MedianShape>::format(p.shape) + " " +
         FieldType<Border>::format(p.border);
}

template <class T>
class Median : public testing::Test {};
using VoxelTypes = testing::Types<float, std::int16_t, std::uint16_t>;
TYPED_TEST_SUITE(Median, VoxelTypes);

/// One or more windows for each network, and windows that none fits.
const std::vector<Radius3> radii{{0, 0, 0}, {1, 1, 0}, {2, 2, 0}, {3, 3, 0}, {4, 4, 0}, {5, 5, 0}, {6, 6, 0},
                                 {7, 7, 0}, {1, 1, 1}, {2, 2, 2}, {2, 2, 1}, {3, 3, 1}, {1, 0, 1}, {0, 2, 2},
                                 {3, 1, 3}, {1, 2, 2}, {2, 1, 2}, {4, 0, 4}, {1, 0, 0}, {0, 1, 0}, {0, 0, 2},
                                 {7, 0, 0}, {0, 6, 0}, {2, 1, 0}, {1, 2, 0}, {3, 2, 1}, {0, 1, 4}, {3, 3, 3}};

TYPED_TEST(Median, EqualsItsDefinitionForEveryWindow) {
  unsigned seed = 0;
  for (const Radius3& radius : radii) {
    for (const Content content : {Content::plain, Content::ties, Content::missing, Content::mostly_missing,
                                  Content::whole, Content::whole_at_first}) {
      MedianParams params;
      params.radius = radius;
      auto in = random_volume<TypeParam>({{37, 17, 9}}, content, ++seed);
      const auto expected = test::reference_median<TypeParam>(in.view(), params);
      ASSERT_TRUE(same_bits(filtered(in, params).voxels, expected)) << text(params) << " content " << int(content);
    }
  }
}

TYPED_TEST(Median, EqualsItsDefinitionForEveryShapeAndBorder) {
  unsigned seed = 100;
  for (const MedianShape shape : {MedianShape::box, MedianShape::cross, MedianShape::row, MedianShape::column}) {
    for (const Border border : {Border::replicate, Border::reflect, Border::copy}) {
      for (const Radius3& radius : {Radius3{1, 1, 1}, {2, 3, 1}, {3, 2, 0}, {5, 5, 3}}) {
        for (const Content content : {Content::ties, Content::missing, Content::whole, Content::whole_at_first}) {
          const MedianParams params{radius, shape, border};
          auto in = random_volume<TypeParam>({{23, 12, 8}}, content, ++seed);
          const auto expected = test::reference_median<TypeParam>(in.view(), params);
          ASSERT_TRUE(same_bits(filtered(in, params).voxels, expected)) << text(params) << " content " << int(content);
        }
      }
    }
  }
}

TYPED_TEST(Median, EqualsItsDefinitionForLinesAndCrossesOfEveryLength) {
  for (int r = 0; r <= 15; ++r) {
    for (const MedianShape shape : {MedianShape::row, MedianShape::column, MedianShape::cross}) {
      const bool deep = shape == MedianShape::cross && r < 8;
      const MedianParams params{Radius3{r, r, deep ? r : 0}, shape, Border::reflect};
      auto in = random_volume<TypeParam>({{2 * r + 3, 2 * r + 1, deep ? 2 * r + 1 : 2}}, Content::ties, 7);
      const auto expected = test::reference_median<TypeParam>(in.view(), params);
      ASSERT_TRUE(same_bits(filtered(in, params, 2).voxels, expected)) << text(params);
    }
  }
}

TYPED_TEST(Median, EqualsItsDefinitionForLargeWindows) {
  for (const Radius3& radius : {Radius3{15, 15, 2}, {9, 9, 0}, {8, 8, 2}, {0, 12, 2}, {15, 0, 2}}) {
    for (const Content content : {Content::plain, Content::ties, Content::mostly_missing}) {
      const MedianParams params{radius, MedianShape::box, Border::reflect};
      auto in = random_volume<TypeParam>({{35, 31, 5}}, content, 9);
      const auto expected = test::reference_median<TypeParam>(in.view(), params);
      ASSERT_TRUE(same_bits(filtered(in, params, 2).voxels, expected)) << text(params) << " content " << int(content);
    }
  }
}

TYPED_TEST(Median, EqualsItsDefinitionForEverySize) {
  for (const Extent& extent : {Extent{{1, 1, 1}},
                               {{2, 1, 1}},
                               {{5, 7, 11}},
                               {{33, 1, 2}},
                               {{1, 9, 4}},
                               {{64, 64, 64}},
                               {{127, 5, 3}},
                               {{128, 5, 3}},
                               {{129, 5, 3}},
                               {{1100, 3, 2}},
                               {{3, 3, 130}}}) {
    for (const Radius3& wanted : {Radius3{1, 1, 1}, {2, 2, 0}, {1, 1, 0}, {2, 2, 2}, {1, 0, 0}}) {
      MedianParams params;
      params.radius = wanted;
      params = params.resolved({extent, {1, 1, 1}, {}});
      auto in = random_volume<TypeParam>(extent, Content::missing, 5);
      const auto expected = test::reference_median<TypeParam>(in.view(), params);
      ASSERT_TRUE(same_bits(filtered(in, params).voxels, expected))
          << text(params) << " of " << extent.x << 'x' << extent.y << 'x' << extent.z;
    }
  }
}

TYPED_TEST(Median, DoesNotDependOnThreadsOrVectors) {
  for (const Radius3& radius : radii) {
    MedianParams params;
    params.radius = radius;
    for (const Content content : {Content::missing, Content::whole, Content::whole_at_first}) {
      auto in = random_volume<TypeParam>({{150, 17, 9}}, content, 11);
      const auto expected = filtered(in, params);
      ASSERT_TRUE(same_bits(filtered(in, params, 7).voxels, expected.voxels)) << text(params);
      if (radius.x * radius.y * radius.z > 8) continue;  // without networks these take their time
      test::for_each_instruction_set(
          [&] { ASSERT_TRUE(same_bits(filtered(in, params).voxels, expected.voxels)) << text(params); });
    }
  }
}

TEST(MedianVectors, AreThoseThatAreForced) {
  std::set<void (*)(const selection::TileRow<std::int32_t>&)> functions;
  std::size_t targets = 0;
  test::for_each_instruction_set([&] {
    if (instruction_set() == "SCALAR") return;  // no network, but the general path
    functions.insert(selection::simd_functions().find({3, 3, 3}, false)->run32);
    ++targets;
  });
  EXPECT_EQ(functions.size(), targets);
}

/// Large results are written past the caches: to any address, and nothing beside it.
TYPED_TEST(Median, LargeVolumesComeOutAsTheirParts) {
  const Extent extent{{1053, 1031, 2}}, size{{1053, 60, 2}};
  for (const auto& [radius, content] : {std::pair<Radius3, Content>{{1, 1, 0}, Content::plain},
                                        {{1, 1, 1}, Content::plain},
                                        {{1, 1, 1}, Content::whole}}) {
    auto in = random_volume<TypeParam>(extent, content, 13);
    MedianParams params;
    params.radius = radius;
    test::for_each_instruction_set([&] {
      if (instruction_set() == "SCALAR") return;  // no network, and slow
      for (const std::size_t ahead : {1U, 31U, 40U}) {
        const auto voxels = static_cast<std::size_t>(extent.voxels());
        std::vector<TypeParam> whole(ahead + voxels + 70, TypeParam{77});
        median_cpu(in.view(), VolumeView<TypeParam>{whole.data() + ahead, extent}, params, on_threads(2));
        const auto is_untouched = [](TypeParam value) { return value == TypeParam{77}; };
        EXPECT_TRUE(std::all_of(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(ahead), is_untouched));
        EXPECT_TRUE(std::all_of(whole.end() - 70, whole.end(), is_untouched));
        Volume<TypeParam> part(size);
        VolumeView<TypeParam> out = part.view();
        out.origin = {0, 300, 0};
        median_cpu(in.view(), out, params, {});
        for (std::int64_t z = 0; z < size.z; ++z) {
          const TypeParam* const expected = part.view().row(0, z);
          const TypeParam* const found = whole.data() + ahead + (z * extent.y + 300) * extent.x;
          ASSERT_EQ(std::memcmp(expected, found, sizeof(TypeParam) * static_cast<std::size_t>(size.slice())), 0)
              << text(params) << " " << ahead;
        }
      }
    });
  }
}

TYPED_TEST(Median, GivesPartsOfAVolumeAsTheWhole) {
  const Extent extent{{70, 21, 19}};
  for (const Border border : {Border::replicate, Border::reflect, Border::copy}) {
    for (const Radius3& radius : {Radius3{1, 1, 1}, {2, 2, 0}, {3, 2, 1}, {2, 2, 2}}) {
      MedianParams params;
      params.radius = radius;
      params.border = border;
      auto in = random_volume<TypeParam>(extent, Content::missing, 3);
      const auto whole = filtered(in, params);
      for (const auto& [first, size] : {std::pair<Index3, Extent>{{0, 0, 0}, {{70, 21, 5}}},
                                        {{0, 0, 5}, {{70, 21, 9}}},
                                        {{0, 0, 14}, {{70, 21, 5}}},
                                        {{13, 6, 4}, {{31, 7, 3}}}}) {
        // The part's windows reach into a copy of just what they need.
        Volume<TypeParam> part(size);
        VolumeView<TypeParam> out = part.view();
        out.origin = first;
        Index3 from, to;
        for (int axis = 0; axis < 3; ++axis) {
          from[axis] = std::max<std::int64_t>(0, first[axis] - radius[axis]);
          to[axis] = std::min(extent[axis], first[axis] + size[axis] + radius[axis]);
        }
        Volume<TypeParam> needed(Extent{{to.x - from.x, to.y - from.y, to.z - from.z}});
        needed.missing = in.missing;
        VolumeView<TypeParam> seen = needed.view();
        seen.origin = from;
        for (std::int64_t z = 0; z < seen.extent.z; ++z) {
          for (std::int64_t y = 0; y < seen.extent.y; ++y) {
            std::copy_n(in.view().row(from.y + y, from.z + z) + from.x, seen.extent.x, seen.row(y, z));
          }
        }
        median_cpu(seen, out, params, on_threads(2));
        for (std::int64_t z = 0; z < size.z; ++z) {
          for (std::int64_t y = 0; y < size.y; ++y) {
            const TypeParam* row = whole.voxels.data() + ((first.z + z) * extent.y + first.y + y) * extent.x + first.x;
            ASSERT_EQ(std::memcmp(out.row(y, z), row, sizeof(TypeParam) * static_cast<std::size_t>(size.x)), 0)
                << text(params) << " row " << y << " of slice " << z;
          }
        }
      }
    }
  }
}

TYPED_TEST(Median, WritesNothingBesideItsOutput) {
  constexpr std::size_t guard = 64;
  const Extent extent{{19, 5, 3}};
  auto in = random_volume<TypeParam>(extent, Content::plain, 1);
  std::vector<TypeParam> memory(static_cast<std::size_t>(extent.voxels()) + 2 * guard, TypeParam{77});
  for (const Radius3& radius : {Radius3{1, 1, 1}, {2, 2, 0}, {1, 0, 0}, {1, 2, 0}}) {
    MedianParams params;
    params.radius = radius;
    median_cpu(in.view(), VolumeView<TypeParam>{memory.data() + guard, extent, {1, 1, 1}, {}, {}}, params, {});
    EXPECT_EQ(std::count(memory.begin(), memory.begin() + guard, TypeParam{77}), std::ptrdiff_t{guard});
    EXPECT_EQ(std::count(memory.end() - guard, memory.end(), TypeParam{77}), std::ptrdiff_t{guard});
  }
}

TEST(MedianSpecial, TakesTheLowerMiddleOfWhatIsLeft) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Volume<float> in({{5, 1, 1}}, {nan, 4, 2, nan, nan});
  const auto out = filtered(in, {Radius3{1, 0, 0}, MedianShape::box, Border::replicate});
  EXPECT_EQ(out.voxels[1], 2);
  EXPECT_EQ(out.voxels[2], 2);
}

TEST(MedianSpecial, TakesTimeInProportionToALongRow) {
  const auto seconds = [](std::int64_t columns) {
    Volume<float> in(Extent{{columns, 1, 1}}), out(in.extent);
    in.voxels[0] = std::numeric_limits<float>::quiet_NaN();
    const auto start = std::chrono::steady_clock::now();
    median_cpu(in.view(), out.view(), {.radius = Radius3{1, 0, 0}}, {.threads = 1, .memory_limit = {}});
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const double one = seconds(1 << 18);
  EXPECT_LT(seconds(1 << 21), 8 * 4 * one);
}

TEST(MedianSpecial, StopsWhenAsked) {
  Volume<float> in(Extent{{64, 64, 64}}), out(in.extent);
  std::stop_source stop;
  stop.request_stop();
  Execution execution;
  execution.stop = stop.get_token();
  EXPECT_THROW(median_cpu(in.view(), out.view(), {.radius = Radius3{1, 1, 1}}, execution), Error);
}

/// SciPy is asked through files; it is no dependency.
TEST(MedianPeers, EqualsSciPy) {
  if (!test::python_has("scipy.ndimage")) GTEST_SKIP() << "Debian's Python has no SciPy (python3-scipy)";
  for (const Radius3& radius : {Radius3{1, 1, 1}, {2, 2, 0}, {3, 2, 1}, {0, 0, 4}, {7, 7, 0}}) {
    auto in = random_volume<float>({{41, 23, 11}}, Content::plain, 21);
    MedianParams params;
    params.radius = radius;
    test::Volume asked(in.extent);
    asked.voxels = in.voxels;
    const auto size = [&](int axis) { return std::to_string(2 * radius[axis] + 1); };
    const test::Volume theirs = test::ask_python(
        "import numpy, scipy.ndimage\n"
        "v = numpy.fromfile('in', 'float32').reshape(11, 23, 41)\n"
        "w = (" +
            size(2) + ", " + size(1) + ", " + size(0) +
            ")\n"
            "scipy.ndimage.median_filter(v, size=w, mode='nearest').tofile('out')\n",
        asked);
    EXPECT_TRUE(same_bits(filtered(in, params).voxels, theirs.voxels)) << text(params);
  }
}

}  // namespace
}  // namespace quietvox
