// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "gpu/gpu_test.hpp"

namespace quietvox::test {
namespace {

using GpuPrinlm = GpuTest;
using Options = std::vector<std::pair<std::string, std::string>>;

void expect_near(const Backend& backend, const Options& options, const Volume& volume) {
  const FilterConfig step = resolved(settings("prinlm", options), volume);
  const Reference& exact = reference("prinlm");
  EXPECT_EQ(first_difference(exact.run(volume, step), run(backend, {step}, volume), exact.tolerance(volume, step)), "")
      << step.get("search-radius") << ", " << volume.extent.x << "x" << volume.extent.y << "x" << volume.extent.z;
}

TEST_F(GpuPrinlm, EqualsTheReferenceForEveryRadius) {
  for (const Extent& extent : {Extent{41, 29, 19}, Extent{70, 11, 1}, Extent{5, 4, 4}, Extent{3, 9, 6}}) {
    const Volume volume = busy_volume(extent, 1);
    for (const char* radius : {"0", "1", "2x0x3", "4x5x1", "15x1x9"}) {
      expect_near(*backend, {{"search-radius", radius}}, volume);
      expect_near(*backend, {{"search-radius", radius}}, with_holes(volume, 131));
    }
  }
}

TEST_F(GpuPrinlm, EqualsTheReferenceForEveryStrength) {
  const Volume volume = with_holes(busy_volume({33, 19, 9}, 2), 331);
  for (const char* sigma : {"0", "1e-30", "1e-6", "0.5", "60", "1e6", "1e30"}) {
    expect_near(*backend, {{"search-radius", "2"}, {"sigma", sigma}}, volume);
  }
  expect_near(*backend, {{"search-radius", "2"}, {"strength", "0"}}, volume);
  expect_near(*backend, {{"search-radius", "2"}, {"guide-strength", "0"}}, volume);
}

TEST_F(GpuPrinlm, EqualsTheReferenceForEveryGuide) {
  const Volume volume = busy_volume({33, 19, 9}, 4);
  for (const char* guide : {"dct", "bm4d"}) {
    for (const char* block : {"4x4x4", "8x8x1"}) {
      for (const char* sigma : {"80", "200", "700"}) {
        const Options options{{"search-radius", "2"}, {"guide", guide}, {"guide-block", block}, {"sigma", sigma}};
        expect_near(*backend, options, volume);
        expect_near(*backend, options, with_holes(volume, 331));
      }
    }
  }
}

TEST_F(GpuPrinlm, ABoxComesOutAsItDoesInTheWhole) {
  const Volume whole = with_holes(busy_volume({150, 60, 40}, 3), 1031);
  for (const char* guide : {"dct", "bm4d"}) {
    const FilterConfig step = resolved(settings("prinlm", {{"search-radius", "3x2x3"}, {"guide", guide}}), whole);
    const Volume expected = run(*backend, {step}, whole);
    for (const Index3& origin : {Index3{3, 5, 1}, {2, 2, 2}, {65, 11, 3}}) {
      const Extent extent{whole.extent.x - origin.x - 1, whole.extent.y - origin.y - 2, whole.extent.z - origin.z - 3};
      const Volume box = filtered_box(whole, origin, extent, step.halo(),
                                      [&](auto from, auto to) { backend->run(std::vector{step}, from, to, {}); });
      EXPECT_TRUE(same_bytes(box, box_of(expected, origin, extent)))
          << guide << " from " << origin.x << "x" << origin.y << "x" << origin.z;
    }
  }
}

}  // namespace
}  // namespace quietvox::test
