// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/swapped_volume.hpp"

#include <gtest/gtest.h>

#include "filters/registry.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {
namespace {

int axis_of(const Extent& extent, const Spacing& spacing, const HeaderFacts& header = {}) {
  return AxisSwap({.extent = extent, .spacing = spacing, .header = header}).axis();
}

TEST(AxisSwap, IsByTheOnlyAxisThatIsThickOrFlat) {
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

TEST(AxisSwap, IsForChainsOfWhichOneWorksInSlices) {
  const FilterConfig gaussian(find_filter("gaussian")), dct(find_filter("dct"));
  FilterConfig rows(find_filter("median"));
  rows.set("shape", "row");
  EXPECT_FALSE(works_in_slices(std::vector{gaussian, FilterConfig(find_filter("nlm"))}));
  EXPECT_TRUE(works_in_slices(std::vector{gaussian, dct}));
  EXPECT_FALSE(works_in_slices(std::vector{rows, dct}));
}

TEST(AxisSwap, TwiceMakesThingsAsTheyWere) {
  const AxisSwap swap({.extent = {{4, 30, 20}}, .spacing = {5, 1, 1}});
  NoiseModel model;
  model.map = {{{3, 2, 1}}, {0, 1, 2, 3, 4, 5}};
  model.spectrum = {{{2, 1, 1}}, {1.5F, 0.5F}, {1}};
  const NoiseModel swapped = swap(model);
  EXPECT_EQ(swapped.map.size, (Extent{{1, 2, 3}}));
  EXPECT_EQ(swapped.map.values, (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(swapped.spectrum.correlation({0, 0, 1}), model.spectrum.correlation({1, 0, 0}));
  EXPECT_EQ(swapped.spectrum.length(), swap(model.spectrum.length()));
  EXPECT_GT(swapped.spectrum.length().z, 1.1);
  EXPECT_EQ(swap(swapped).map.values, model.map.values);
  EXPECT_EQ(swap(swapped).spectrum.across_axis, 2);
}

TEST(SwappedVolume, IsTheSameVoxelsAlongOtherAxes) {
  const FilterConfig dct(find_filter("dct"));
  for (const auto& [extent, spacing] :
       {std::pair{Extent{{4, 30, 20}}, Spacing{5, 1, 2}}, std::pair{Extent{{30, 4, 20}}, Spacing{2, 9, 1}},
        std::pair{Extent{{37, 30, 20}}, Spacing{5, 1, 1}}}) {
    Volume volume = busy_volume(extent, 3);
    volume.spacing = spacing;
    MemorySource source(volume);
    const FilterFrame frame({&dct, 1}, source, {});
    const AxisSwap swap(header_facts(source));
    VolumeSource& swapped = frame.source();
    ASSERT_EQ(swapped.extent(), swap(extent));
    EXPECT_EQ(swapped.spacing().z, spacing[swap.axis()]);
    int consumed = 0;
    frame.run(
        [&](const auto& take) {
          for (std::int64_t z = 0, together = 1; z < swapped.extent().z; z += together, ++together) {
            together = std::min(together, swapped.extent().z - z);
            Volume slab(Extent{{swapped.extent().x, swapped.extent().y, together}});
            VolumeView<float> slices = slab.view();
            slices.origin.z = z;
            swapped.read(slices);
            const Index3 place = swap(Index3{2, 3, z});
            EXPECT_EQ(slices.at(2, 3, 0), volume.view().at(place.x, place.y, place.z));
            take(slices);
          }
        },
        [&](VolumeView<const float> whole) {
          ++consumed;
          EXPECT_EQ(std::vector(whole.data, whole.data + whole.extent.voxels()), volume.voxels);
        });
    EXPECT_EQ(consumed, 1);
    EXPECT_EQ(source.reads(), std::vector<int>(static_cast<std::size_t>(extent.z), 1));
  }
}

TEST(SwappedVolume, KeepsAsMuchAsThereIsRoomFor) {
  const Volume volume(Extent{{12, 30, 20}}, Spacing{5, 1, 1});
  MemorySource source(volume);
  const AxisSwap swap(header_facts(source));
  SwappedVolume swapped(source, swap, 5 * 30 * 20 * sizeof(float), {});
  Volume slab(Extent{{20, 30, 3}});
  for (const std::int64_t z : {0, 3, 6, 9}) {
    VolumeView<float> slices = slab.view();
    slices.origin.z = z;
    swapped.read(slices);
  }
  EXPECT_EQ(source.reads(), std::vector<int>(20, 3)) << "for slices 0 to 4, 5 to 9 and 10 and 11";
  SwappedVolume one(source, swap, 0, {});
  one.read(slab.view());
  EXPECT_EQ(source.reads(), std::vector<int>(20, 6));
}

}  // namespace
}  // namespace quietvox::test
