// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/nlm.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "cuda/resources.hpp"
#include "support/difference.hpp"
#include "support/reference_nlm.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {
namespace {

NlmParams make_params(Radius3 patch, OrAll<Radius3> search) {
  NlmParams params;
  params.patch_radius = patch;
  params.search_radius = search;
  params.sigma = 80;
  params.strength = 1;
  return params;
}

/// With noise that varies along each axis.
NlmParams with_map(NlmParams params, const Extent& volume) {
  params.map = {{{2, 3, 2}}, {0.4F, 1.5F, 1, 0.2F, 0.7F, 1, 1.2F, 0.9F, 1, 1.7F, 0.5F, 1}};
  params.volume = volume;
  return params;
}

Volume with_holes(Volume volume) {
  for (std::size_t i = 37; i < volume.voxels.size(); i += 331) {
    volume.voxels[i] = std::numeric_limits<float>::quiet_NaN();
  }
  return volume;
}

Volume emulated(const Volume& in, const NlmParams& params) {
  constexpr float not_written = -7777;
  Volume out(in.extent, in.spacing, not_written);
  nlm_cuda(in.view(), out.view(), params, cuda::LaunchContext());
  return out;
}

void expect_reference(const Volume& in, const NlmParams& params) {
  Volume expected(in.extent, in.spacing);
  reference_nlm(in.view(), expected.view(), params);
  EXPECT_EQ(first_difference(expected, emulated(in, params), nlm_tolerance(in.view())), "")
      << in.extent.x << "x" << in.extent.y << "x" << in.extent.z << ", patch-radius " << params.patch_radius->x << "x"
      << params.patch_radius->y << "x" << params.patch_radius->z << (params.map.varies() ? ", a map" : "");
}

/// Patches with a kernel of their own, and others.
TEST(EmulatedNlm, EveryPatch) {
  const Volume flat = busy_volume({41, 35, 2}, 1), deep = busy_volume({33, 17, 5}, 2);
  for (const auto& [in, patch] :
       {std::pair(flat, Radius3{1, 1, 0}), std::pair(flat, Radius3{2, 2, 0}), std::pair(flat, Radius3{3, 3, 0}),
        std::pair(flat, Radius3{1, 2, 0}), std::pair(deep, Radius3{1, 1, 1}), std::pair(deep, Radius3{2, 2, 1}),
        std::pair(deep, Radius3{2, 2, 2})}) {
    const NlmParams uniform = make_params(patch, Radius3{2, patch.z == 0 ? 1 : 5, patch.z == 0 ? 0 : 1});
    NlmParams without_bias = uniform;
    without_bias.noise_bias = 0;
    for (const NlmParams& params : {uniform, without_bias, with_map(uniform, in.extent)}) {
      expect_reference(in, params);
      expect_reference(with_holes(in), params);
    }
  }
}

TEST(EmulatedNlm, NoiseThatVariesWithEveryOption) {
  const Volume in = with_holes(busy_volume({19, 13, 5}, 3));
  for (const Radius3 patch : {Radius3{1, 1, 0}, Radius3{1, 1, 1}, Radius3{0, 1, 0}}) {
    for (const auto border : {Border::replicate, Border::reflect, Border::copy}) {
      NlmParams params = with_map(make_params(patch, Radius3{2, 2, 1}), in.extent);
      params.border = border;
      expect_reference(in, params);
      params.noise_model = NlmNoise::rician;
      params.intensity_sigma = 60;
      params.spatial_sigma = 1.5;
      expect_reference(in, params);
    }
  }
}

TEST(EmulatedNlm, NoiseThatVariesInWholeSlices) {
  const Volume flat = busy_volume({19, 13, 1}, 4), deep = busy_volume({7, 5, 3}, 5);
  expect_reference(flat, with_map(make_params({1, 1, 0}, {}), flat.extent));
  expect_reference(flat, with_map(make_params({0, 1, 0}, {}), flat.extent));
  expect_reference(deep, with_map(make_params({1, 1, 1}, {}), deep.extent));
}

TEST(EmulatedNlm, ABoxComesOutAsItDoesInTheWhole) {
  const Volume whole = with_holes(busy_volume({75, 61, 9}, 4));
  for (const Radius3 patch : {Radius3{1, 1, 0}, Radius3{2, 2, 0}, Radius3{1, 1, 1}}) {
    const NlmParams params = with_map(make_params(patch, Radius3{2, 1, 1}), whole.extent);
    const Volume expected = emulated(whole, params);
    for (const Index3& origin : {Index3{3, 5, 1}, {2, 2, 2}, {65, 11, 3}}) {
      const Extent extent{whole.extent.x - origin.x - 1, whole.extent.y - origin.y - 2, whole.extent.z - origin.z - 3};
      const Volume box = filtered_box(whole, origin, extent, params.halo().in_voxels(),
                                      [&](auto from, auto to) { nlm_cuda(from, to, params, cuda::LaunchContext()); });
      EXPECT_TRUE(same_bytes(box, box_of(expected, origin, extent)));
    }
  }
}

}  // namespace
}  // namespace quietvox::test
