// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "phantom/phantom.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "phantom/phantom_scenes.hpp"

namespace quietvox {
namespace {

Spacing fitted(const Point& view, const Extent& extent) {
  const double pixel = view.x / static_cast<double>(std::min(extent.x, extent.y));
  return {pixel, pixel, view.z / static_cast<double>(extent.z)};
}

Phantom painted(const Extent& extent, const Spacing& spacing, float air, const Scene& scene) {
  Phantom phantom{extent, spacing, std::vector<float>(static_cast<std::size_t>(extent.voxels()), air)};
  scene.paint(phantom.view());
  return phantom;
}

}  // namespace

Extent usual_extent(PhantomKind kind) {
  switch (kind) {
    case PhantomKind::ct: return {{256, 256, 40}};
    case PhantomKind::mr: return {{192, 192, 96}};
    case PhantomKind::mammogram: break;
  }
  return {{1024, 1280, 1}};
}

Phantom make_phantom(PhantomKind kind, Extent extent) {
  if (extent.x < 1 || extent.y < 1 || extent.z < 1) {
    throw Error(Errc::invalid_argument,
                "phantom: a size of " + std::to_string(extent.x) + "x" + std::to_string(extent.y) + "x" +
                    std::to_string(extent.z) + " is empty",
                "give at least 1x1x1");
  }
  switch (kind) {
    case PhantomKind::ct: return painted(extent, fitted(ct_view, extent), -1000, ct_scene());
    case PhantomKind::mr: {
      const Spacing spacing = fitted(mr_view, extent);
      return painted(extent, spacing, 0, mr_scene(spacing));
    }
    case PhantomKind::mammogram: break;
  }
  if (extent.z != 1) {
    throw Error(Errc::invalid_argument,
                "phantom: a mammogram of " + std::to_string(extent.z) + " slices was asked for, and it has one",
                "give XxYx1");
  }
  const Spacing spacing = fitted(mammogram_view, extent);
  Phantom phantom = painted(extent, spacing, 60, mammogram_scene(static_cast<double>(extent.x) * spacing.x));
  for (float& voxel : phantom.voxels) voxel = std::clamp(voxel, 0.0F, 4095.0F);
  return phantom;
}

}  // namespace quietvox
