// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "gpu/gpu_test.hpp"

namespace quietvox::test {
namespace {

using GpuDct = GpuTest;
using Options = std::vector<std::pair<std::string, std::string>>;

void expect_near(const Backend& backend, const Options& options, const Volume& volume) {
  const FilterConfig step = resolved(settings("dct", options), volume);
  const Reference& exact = reference("dct");
  EXPECT_EQ(first_difference(exact.run(volume, step), run(backend, {step}, volume), exact.tolerance(volume, step)), "")
      << step.get("block") << ", " << volume.extent.x << "x" << volume.extent.y << "x" << volume.extent.z;
}

/// Several tiles along every axis and less than one, blocks that have a kernel of their own and others.
TEST_F(GpuDct, EqualsTheReferenceForEveryExtent) {
  for (const Extent& extent : {Extent{41, 29, 70}, Extent{140, 70, 2}, Extent{5, 4, 4}, Extent{8, 9, 1},
                               Extent{3, 9, 6}, Extent{4, 2, 5}, Extent{70, 7, 3}, Extent{1, 1, 9}}) {
    const Volume volume = busy_volume(extent, 1);
    for (const char* block : {"4x4x4", "8x8x1"}) {
      expect_near(*backend, {{"block", block}}, volume);
      expect_near(*backend, {{"block", block}}, with_holes(volume, 331));
    }
  }
}

TEST_F(GpuDct, EqualsTheReferenceForEveryStrength) {
  const Volume volume = with_holes(busy_volume({33, 19, 9}, 2), 331);
  for (const char* sigma : {"0", "1e-30", "1e-6", "0.5", "60", "1e6", "1e30"}) {
    for (const char* block : {"4x4x4", "8x8x1"}) expect_near(*backend, {{"block", block}, {"sigma", sigma}}, volume);
  }
}

/// Sums are made in the same order wherever a tile or a march begins.
TEST_F(GpuDct, ABoxComesOutAsItDoesInTheWhole) {
  const Volume whole = with_holes(busy_volume({150, 90, 80}, 3), 1031);
  for (const char* block : {"4x4x4", "8x8x1"}) {
    const FilterConfig step = resolved(settings("dct", {{"block", block}}), whole);
    const Volume expected = run(*backend, {step}, whole);
    for (const Index3& origin : {Index3{3, 5, 1}, {2, 2, 2}, {65, 11, 3}}) {
      const Extent extent{whole.extent.x - origin.x - 1, whole.extent.y - origin.y - 2, whole.extent.z - origin.z - 3};
      const Volume box = filtered_box(whole, origin, extent, step.halo(),
                                      [&](auto from, auto to) { backend->run(std::vector{step}, from, to, {}); });
      EXPECT_TRUE(same_bytes(box, box_of(expected, origin, extent)))
          << block << " from " << origin.x << "x" << origin.y << "x" << origin.z;
    }
  }
}

}  // namespace
}  // namespace quietvox::test
