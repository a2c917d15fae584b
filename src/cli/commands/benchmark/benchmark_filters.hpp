// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "core/backend.hpp"

namespace quietvox::cli {

/// How fast one filter is, voxels a second, from memory to memory.
struct FilterRates {
  FilterConfig settings;
  double cpu = 0, itk = 0;
  std::optional<double> cuda, opencv;
  double largest_difference = 0;  ///< between the CPU's result and ITK's
};

/// Times filters that ITK has too, each in turn on the CPU, on `cuda` where it is not null, and by ITK, for `seconds`
/// each; the best run counts. OpenCV too, where there is OpenCV and it has the filter. Others get a part of the volume,
/// ITK being slow. Results are compared first: Error(internal)
/// where one differs more than it may. `execution` tells threads, progress and stop requests.
std::vector<FilterRates> measure_filters(VolumeView<const float> volume, const Backend& cpu, const Backend* cuda,
                                         double seconds, const Execution& execution);

}  // namespace quietvox::cli
