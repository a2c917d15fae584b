// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/gpu_test.hpp"

namespace quietvox::test {
namespace {

using GpuBilateral = GpuTest;

void expect_as_reference(const Backend& backend, const FilterConfig& step, const Volume& volume) {
  const Reference& exact = reference("bilateral");
  EXPECT_EQ(first_difference(exact.run(volume, step), run(backend, {step}, volume), exact.tolerance(volume, step)), "")
      << step.get("radius") << " range-sigma " << step.get("range-sigma") << " " << step.get("support") << ", "
      << volume.extent.x << "x" << volume.extent.y << "x" << volume.extent.z;
}

void expect_near(const Backend& backend, const FilterConfig& chosen, const Volume& volume) {
  expect_as_reference(backend, resolved(chosen, volume), volume);
}

TEST_F(GpuBilateral, NoiseThatVaries) {
  const Volume flat = with_holes(busy_volume({71, 67, 2}, 7), 151),
               deep = with_holes(busy_volume({150, 33, 13}, 8), 151);
  const Index3 origin{65, 11, 0};
  for (const char* radius : {"0", "1x1x0", "3x3x0", "6x6x0", "12x1x0", "1", "3", "2x0x4"}) {
    for (const char* border : {"replicate", "reflect", "copy"}) {
      const FilterConfig chosen = settings("bilateral", {{"radius", radius}, {"border", border}});
      if (std::string(radius).ends_with("0")) expect_as_reference(*backend, resolved_by_map(chosen, flat), flat);
      const FilterConfig step = resolved_by_map(chosen, deep);
      expect_as_reference(*backend, step, deep);
      const Extent part{80, 20, 9};
      const Volume box = filtered_box(deep, origin, part, step.halo(),
                                      [&](auto from, auto to) { backend->run(std::vector{step}, from, to, {}); });
      EXPECT_TRUE(same_bytes(box, box_of(run(*backend, {step}, deep), origin, part))) << radius;
    }
  }
}

TEST_F(GpuBilateral, EqualsTheReferenceForEveryRadius) {
  const Volume flat = with_holes(busy_volume({71, 67, 1}, 1), 151);
  for (int radius = 0; radius <= 31; radius += radius < 11 ? 1 : 10) {
    const std::string text = std::to_string(radius);
    expect_near(*backend, settings("bilateral", {{"radius", text + "x" + text + "x0"}, {"domain-sigma", "3"}}), flat);
  }
  const Volume deep = with_holes(busy_volume({45, 33, 13}, 2), 151);
  for (const char* radius : {"1", "2", "3", "5x5x2", "2x0x4", "0x0x3", "12x1x1"}) {
    expect_near(*backend, settings("bilateral", {{"radius", radius}}), deep);
  }
}

TEST_F(GpuBilateral, EqualsTheReferenceForEveryOption) {
  Volume volume = with_holes(busy_volume({41, 37, 9}, 3, true), 89);
  volume.spacing = {0.7, 0.9, 2.5};
  const std::vector<std::pair<std::string, std::string>> options[] = {
      {{"support", "disc"}}, {{"support", "disc"}, {"radius", "4x3x2"}},
      {{"range-cut", "2"}},  {{"border", "reflect"}},
      {{"border", "copy"}},  {{"domain-sigma", "1x2x3"}},
      {{"truncate", "1"}},   {{"range-sigma", "0"}},
  };
  for (const auto& option : options) expect_near(*backend, settings("bilateral", option), volume);
}

TEST_F(GpuBilateral, StandsExtremeNumbers) {
  Volume volume = busy_volume({35, 33, 3}, 4);
  for (const char* sigma : {"1e-30", "1e-3", "1e6", "1e30"}) {
    expect_near(*backend, settings("bilateral", {{"radius", "2x2x1"}, {"range-sigma", sigma}}), volume);
  }
  for (std::size_t i = 0; i < volume.voxels.size(); i += 3) volume.voxels[i] *= i % 2 == 0 ? 1e35F : 1e-43F;
  expect_near(*backend, settings("bilateral", {{"radius", "2x2x1"}, {"range-sigma", "10"}}), volume);
  expect_near(*backend, settings("bilateral", {{"radius", "2x2x1"}, {"range-sigma", "10"}, {"range-cut", "3"}}),
              volume);
}

TEST_F(GpuBilateral, EqualsTheReferenceWhereNothingDividesTheSize) {
  for (const Extent extent :
       {Extent{1, 1, 1}, Extent{5, 7, 11}, Extent{33, 1, 2}, Extent{97, 3, 3}, Extent{31, 65, 4}}) {
    expect_near(*backend, settings("bilateral", {{"radius", fitting_radius(extent, 1)}}), busy_volume(extent, 5));
  }
}

/// Windows whose weights serve both voxels of a pair, in slices of several blocks: few of them, which are made with
/// short strips, and many, which are made with wide rows of lanes where the window is wide, else with narrow ones.
TEST_F(GpuBilateral, WeightsThatServePairsEqualTheReferenceAndDependOnNoBlock) {
  const Volume volume = with_holes(busy_volume({242, 99, 2}, 6), 151);
  Volume stack({volume.extent.x, volume.extent.y, 160}, volume.spacing);
  for (std::size_t i = 0; i < stack.voxels.size(); ++i) stack.voxels[i] = volume.voxels[i % volume.voxels.size()];
  const Index3 origin{21, 11, 1};
  const Extent size{90, 50, 1};
  for (const char* support : {"box", "disc"}) {
    for (const char* radius :
         {"2x2x0", "3x3x0", "4x4x0", "5x5x0", "6x6x0", "7x7x0", "7x2x0", "6x3x0", "2x4x0", "3x5x0", "0x6x0", "1x7x0"}) {
      const FilterConfig chosen =
          settings("bilateral", {{"radius", radius}, {"support", support}, {"border", "copy"}, {"domain-sigma", "2"}});
      expect_near(*backend, chosen, volume);
      const FilterConfig step = resolved(chosen, volume);
      const Volume whole = run(*backend, {step}, volume);
      const Volume box = filtered_box(volume, origin, size, step.halo(),
                                      [&](auto from, auto to) { backend->run(std::vector{step}, from, to, {}); });
      EXPECT_TRUE(same_bytes(box, box_of(whole, origin, size))) << radius << " " << support;
      const Extent two{volume.extent.x, volume.extent.y, 2};
      EXPECT_TRUE(same_bytes(whole, box_of(run(*backend, {step}, stack), {0, 0, 158}, two)))
          << radius << " " << support;
    }
  }
}

}  // namespace
}  // namespace quietvox::test
