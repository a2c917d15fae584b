// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/backend.hpp"

namespace quietvox {

Radius3 total_halo(std::span<const Settings> chain) {
  Radius3 sum{};
  for (const Settings& step : chain) {
    const Radius3 halo = step.halo();
    for (int axis = 0; axis < 3; ++axis) sum[axis] += halo[axis];
  }
  return sum;
}

}  // namespace quietvox
