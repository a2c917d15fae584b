// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/backend.hpp"

#include <algorithm>

namespace quietvox {

void Backend::run(const FilterConfig& settings, std::span<const VolumeView<const float>>,
                  std::span<const VolumeView<float>>, const Execution&) const {
  throw Error(Errc::device,
              settings.filter().name + ": " + name() + " has no filters that make maps or need all volumes",
              "use " + Parameter{"backend", "cpu"});
}

Radius3 total_halo(std::span<const FilterConfig> chain) {
  Radius3 sum{};
  for (const FilterConfig& step : chain) {
    const Radius3 halo = step.halo();
    for (int axis = 0; axis < 3; ++axis) sum[axis] = std::min(sum[axis] + halo[axis], Reach::all);
  }
  return sum;
}

}  // namespace quietvox
