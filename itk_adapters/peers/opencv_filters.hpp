// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/volume_view.hpp"

/// OpenCV's filters, slice by slice, for measurements beside them: where quietvox was built with OpenCV.
namespace quietvox::peers {

/// Empty without OpenCV; then no other function may be called.
std::string opencv_version();

/// cv::medianBlur of 3 x 3 or 5 x 5 pixels, the only ones it has for floats. `threads`: 0 as many as OpenCV takes.
void opencv_median(VolumeView<const float>, VolumeView<float>, int radius, int threads = 0);

/// cv::bilateralFilter: the pixels within a circle. Sigmas in pixels and intensities.
void opencv_bilateral(VolumeView<const float>, VolumeView<float>, int radius, double domain_sigma, double range_sigma,
                      int threads = 0);

}  // namespace quietvox::peers
