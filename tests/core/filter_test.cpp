// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/filter.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "core/backend.hpp"
#include "filters/bilateral.hpp"
#include "filters/median.hpp"
#include "filters/registry.hpp"
#include "support/expect_error.hpp"

namespace quietvox {
namespace {

using test::expect_error;

VolumeFacts facts(Extent extent, Spacing spacing = {1, 1, 1}, double noise = 10) {
  return {extent, spacing, [noise] { return NoiseModel{.sigma = noise}; }};
}

TEST(Registry, FindsFiltersByName) {
  EXPECT_EQ(find_filter("median").name, "median");
  EXPECT_EQ(&find_filter("bilateral"), &find_filter("bilateral"));
  expect_error(Errc::invalid_argument,
               "no filter is called 'medium'; did you mean 'median'? There are median, bilateral",
               [] { find_filter("medium"); });
  expect_error(Errc::invalid_argument, "no filter is called 'sharpen'; there are median, bilateral",
               [] { find_filter("sharpen"); });
}

TEST(Registry, NamesAreUniqueAndEverythingIsExplained) {
  std::set<std::string> names;
  for (const Filter& filter : filters()) {
    EXPECT_TRUE(names.insert(filter.name).second) << filter.name;
    EXPECT_FALSE(filter.summary.empty()) << filter.name;
    std::set<std::string> fields;
    for (const FieldInfo& field : filter.fields) {
      EXPECT_TRUE(fields.insert(field.name).second) << filter.name << " " << field.name;
      EXPECT_EQ(field.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string::npos) << field.name;
      EXPECT_EQ(field.help.back(), '.') << filter.name << " " << field.name;
      if (field.min.empty()) continue;
      // Code goes by `intensity`.
      static const std::set<std::string> units{"",        "voxel",        "mm",          "intensity", "intensity^2",
                                               "sigma^2", "domain-sigma", "range-sigma", "sigma"};
      EXPECT_TRUE(units.contains(field.unit)) << filter.name << " " << field.name << " in '" << field.unit << "'";
    }
  }
}

TEST(Registry, WindowsOfManyStepsReachNoFurtherThanAnyAxis) {
  FilterConfig whole(find_filter("nlm"));
  whole.set("search-radius", "all");
  whole.set("sigma", "1");
  const std::vector<FilterConfig> chain(200, whole.resolved(facts({{8, 8, 1}})));
  EXPECT_EQ(total_halo(chain).x, Reach::all);
}

struct Forgetful : MedianParams {
  Forgetful resolved(const VolumeFacts&) const { return *this; }
  static FilterHooks<Forgetful> hooks() { return {}; }
};

TEST(Registry, AHookThatIsNotListedIsAnError) {
  expect_error(Errc::internal, "median: hooks() does not list cpu_ns_per_voxel", [] { describe_filter<Forgetful>(); });
}

TEST(FilterConfig, StartWithTheDefaultsAndTakeValues) {
  FilterConfig settings(find_filter("median"));
  EXPECT_EQ(settings.get("radius"), "auto");
  settings.set("radius", "2x0x1");
  EXPECT_EQ(settings.get("radius"), "2x0x1");
  EXPECT_EQ(std::any_cast<const MedianParams&>(settings.params()).radius, (Radius3{2, 0, 1}));
}

TEST(FilterConfig, AreCheckedWhenMadeFromAStruct) {
  MedianParams params;
  params.radius = Radius3{16, 1, 1};
  expect_error(Errc::invalid_argument, "median: radius = '16x1x1'",
               [&] { FilterConfig(find_filter("median"), params); });
  expect_error(Errc::invalid_argument, "bilateral: the parameters given are those of median",
               [] { FilterConfig(find_filter("bilateral"), MedianParams{}); });
}

TEST(FilterConfig, AxesOfOneVoxelAreFlat) {
  FilterConfig settings(find_filter("median"));
  settings.set("radius", "3x2x1");
  EXPECT_EQ(settings.resolved(facts({7, 5, 1})).halo(), (Radius3{3, 2, 0}));
  EXPECT_EQ(settings.resolved(facts({1, 5, 3})).halo(), (Radius3{0, 2, 1}));
  EXPECT_EQ(settings.resolved(facts({1, 1, 1})).halo(), (Radius3{0, 0, 0}));
}

TEST(FilterConfig, AWindowLargerThanTheVolumeIsRefused) {
  FilterConfig settings(find_filter("median"));
  settings.set("radius", "1x3x1");
  EXPECT_NO_THROW(settings.resolved(facts({3, 7, 3})));
  expect_error(
      Errc::invalid_argument,
      "median: radius = 1x3x1 makes a window of 7 voxels along y, but the volume has 6; a half width of 1x2x1 fits",
      [&] {
        settings.resolved(facts({3, 6, 3}));
      });
  expect_error(Errc::invalid_argument, "window of 3 voxels along z, but the volume has 2", [&] {
    settings.resolved(facts({30, 30, 2}));
  });
}

TEST(FilterConfig, AnEmptyVolumeIsRefused) {
  expect_error(Errc::invalid_argument, "median: the volume is empty", [] {
    FilterConfig(find_filter("median")).resolved(facts({5, 0, 5}));
  });
}

TEST(FilterConfig, AutoIsResolvedFromTheVolume) {
  const FilterConfig resolved = FilterConfig(find_filter("bilateral")).resolved(facts({50, 50, 50}, {0.5, 0.5, 1}, 12));
  EXPECT_EQ(resolved.get("domain-sigma"), "0.5x0.5x0.5");
  EXPECT_EQ(resolved.get("range-sigma"), "42");
  EXPECT_EQ(resolved.get("radius"), "3x3x2");
  EXPECT_EQ(resolved.halo(), (Radius3{3, 3, 2}));
}

TEST(FilterConfig, GivenValuesAreNotEstimated) {
  FilterConfig settings(find_filter("bilateral"));
  settings.set("range-sigma", "30");
  settings.set("domain-sigma", "2");
  settings.set("radius", "2x2x0");
  const VolumeFacts no_estimate{{20, 20, 20}, {1, 1, 1}, []() -> NoiseModel { throw std::logic_error("estimated"); }};
  const FilterConfig resolved = settings.resolved(no_estimate);
  EXPECT_EQ(resolved.get("range-sigma"), "30");
  EXPECT_EQ(resolved.get("radius"), "2x2x0");
}

}  // namespace
}  // namespace quietvox
