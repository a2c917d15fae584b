// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/references.hpp"

#include <algorithm>
#include <cmath>

#include "filters/bilateral.hpp"
#include "filters/median.hpp"
#include "support/reference_bilateral.hpp"

namespace quietvox::test {
namespace {

/// A reference that works on views and parameters.
template <class P, void (*run)(VolumeView<const float>, VolumeView<float>, const P&)>
Volume reference(const Volume& in, const Settings& resolved) {
  Volume out(in.extent, in.spacing);
  run(in.view(), out.view(), std::any_cast<const P&>(resolved.params()));
  return out;
}

/// The median as its contract writes it.
void reference_median(VolumeView<const float> in, VolumeView<float> out, const MedianParams& params) {
  const Radius3 r = params.halo();
  const auto seen = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    return in.at(border_index(params.border, x, in.extent.x), border_index(params.border, y, in.extent.y),
                 border_index(params.border, z, in.extent.z));
  };
  std::vector<float> window;
  for (std::int64_t i = 0; i < in.extent.voxels(); ++i) {
    const std::int64_t x = i % in.extent.x, y = i / in.extent.x % in.extent.y, z = i / in.extent.slice();
    const bool leaves =
        x < r.x || x + r.x >= in.extent.x || y < r.y || y + r.y >= in.extent.y || z < r.z || z + r.z >= in.extent.z;
    out.data[i] = in.data[i] + 0.0F;
    if (!std::isfinite(in.data[i]) || (params.border == Border::copy && leaves)) continue;
    window.clear();
    for (int dz = -r.z; dz <= r.z; ++dz) {
      for (int dy = -r.y; dy <= r.y; ++dy) {
        for (int dx = -r.x; dx <= r.x; ++dx) {
          const bool counts = params.shape != MedianShape::cross || (dx != 0) + (dy != 0) + (dz != 0) < 2;
          const float value = seen(x + dx, y + dy, z + dz);
          if (counts && std::isfinite(value)) window.push_back(value);
        }
      }
    }
    std::sort(window.begin(), window.end());
    out.data[i] = window[(window.size() - 1) / 2] + 0.0F;
  }
}

double exact(const Volume&, const Settings&) { return 0; }

double within_bilateral(const Volume& in, const Settings& resolved) {
  return bilateral_tolerance(in.view(), std::any_cast<const BilateralParams&>(resolved.params()));
}

}  // namespace

const std::vector<Reference>& references() {
  static const std::vector<Reference> all{
      {"median", reference<MedianParams, reference_median>, exact},
      {"bilateral", reference<BilateralParams, reference_bilateral>, within_bilateral},
  };
  return all;
}

}  // namespace quietvox::test
