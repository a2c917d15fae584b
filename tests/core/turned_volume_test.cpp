// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/turned_volume.hpp"

#include <gtest/gtest.h>

#include "filters/registry.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {
namespace {

int axis_of(const Extent& extent, const Spacing& spacing, const HeaderFacts& header = {}) {
  return Turning({.extent = extent, .spacing = spacing, .header = header}).axis();
}

TEST(Turning, IsByTheOnlyAxisThatIsThickOrFlat) {
  EXPECT_EQ(axis_of({{20, 30, 10}}, {1, 1, 1}), 2);
  EXPECT_EQ(axis_of({{20, 30, 10}}, {1, 1, 5}), 2);
  EXPECT_EQ(axis_of({{20, 30, 10}}, {5, 1, 1}), 0);
  EXPECT_EQ(axis_of({{20, 30, 10}}, {1, 5, 1}), 1);
  EXPECT_EQ(axis_of({{20, 30, 10}}, {1, 1.9, 1}), 2);
  EXPECT_EQ(axis_of({{1, 30, 20}}, {1, 1, 1}), 0);
  EXPECT_EQ(axis_of({{30, 1, 20}}, {1, 1, 1}), 1);
  EXPECT_EQ(axis_of({{30, 20, 1}}, {1, 1, 1}), 2);
  EXPECT_EQ(axis_of({{30, 1, 1}}, {1, 1, 1}), 2);
  EXPECT_EQ(axis_of({{1, 30, 20}}, {1, 1, 5}), 2) << "slices of one row each";
  EXPECT_EQ(axis_of({{20, 30, 10}}, {5, 1, 1}, {.slices_are_even = false}), 2);
}

TEST(Turning, IsForChainsOfWhichOneWorksInSlices) {
  const FilterConfig gaussian(find_filter("gaussian")), dct(find_filter("dct"));
  FilterConfig rows(find_filter("median"));
  rows.set("shape", "row");
  EXPECT_FALSE(works_in_slices(std::vector{gaussian, FilterConfig(find_filter("nlm"))}));
  EXPECT_TRUE(works_in_slices(std::vector{gaussian, dct}));
  EXPECT_FALSE(works_in_slices(std::vector{rows, dct}));
}

TEST(Turning, TwiceMakesThingsAsTheyWere) {
  const Turning turning({.extent = {{4, 30, 20}}, .spacing = {5, 1, 1}});
  NoiseModel model;
  model.map = {{{3, 2, 1}}, {0, 1, 2, 3, 4, 5}};
  model.spectrum = {{{2, 1, 1}}, {1.5F, 0.5F}, {1}};
  const NoiseModel turned = turning(model);
  EXPECT_EQ(turned.map.size, (Extent{{1, 2, 3}}));
  EXPECT_EQ(turned.map.values, (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(turned.spectrum.correlation({0, 0, 1}), model.spectrum.correlation({1, 0, 0}));
  EXPECT_EQ(turned.spectrum.length(), turning(model.spectrum.length()));
  EXPECT_GT(turned.spectrum.length().z, 1.1);
  EXPECT_EQ(turning(turned).map.values, model.map.values);
  EXPECT_EQ(turning(turned).spectrum.across_axis, 2);
}

TEST(TurnedVolume, IsTheSameVoxelsAlongOtherAxes) {
  for (const auto& [extent, spacing] :
       {std::pair{Extent{{4, 30, 20}}, Spacing{5, 1, 2}}, std::pair{Extent{{30, 4, 20}}, Spacing{2, 9, 1}}}) {
    const Volume volume = busy_volume(extent, 3);
    Volume placed = volume;
    placed.spacing = spacing;
    MemorySource source(placed);
    const Turning turning(header_facts(source));
    TurnedVolume turned(source, turning, {});
    EXPECT_EQ(turned.extent().z, 4);
    EXPECT_EQ(turned.spacing().z, spacing[turning.axis()]);
    int consumed = 0;
    turn_back(
        turning, extent, spacing, {},
        [&](const auto& take) {
          for (const std::int64_t z : {0, 1, 3}) {  // slabs of one, two and one slices
            Volume slab(Extent{{turned.extent().x, turned.extent().y, z == 1 ? 2 : 1}});
            VolumeView<float> slices = slab.view();
            slices.origin.z = z;
            turned.read(slices);
            EXPECT_EQ(slices.at(2, 3, 0), turning.axis() == 0 ? volume.view().at(z, 3, 2) : volume.view().at(2, z, 3));
            take(slices);
          }
        },
        [&](VolumeView<const float> whole) {
          ++consumed;
          EXPECT_EQ(std::vector(whole.data, whole.data + whole.extent.voxels()), volume.voxels);
        });
    EXPECT_EQ(consumed, 1);
  }
}

TEST(TurnedVolume, NeedsMemoryForTheWhole) {
  const Volume volume(Extent{{4, 300, 200}}, Spacing{5, 1, 1});
  MemorySource source(volume);
  Execution execution;
  execution.memory_limit = 100'000;
  TurnedVolume turned(source, Turning(header_facts(source)), execution);
  Volume slice(Extent{{200, 300, 1}});
  EXPECT_THROW(turned.read(slice.view()), Error);
}

}  // namespace
}  // namespace quietvox::test
