// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/volume_view.hpp"

/// ITK's own filters, for measurements beside them. Nothing is copied on the way in or out. `threads`: 0 as many as ITK
/// takes.
namespace quietvox::peers {

std::string itk_version();

/// itk::MedianImageFilter; float and std::int16_t.
template <class T>
std::shared_ptr<const T> itk_median(VolumeView<const T>, Radius3 radius, int threads = 0);

/// itk::BilateralImageFilter. `domain_sigma` in voxels; `samples`: length of its table of the range weight.
std::shared_ptr<const float> itk_bilateral(VolumeView<const float>, Radius3 radius, double domain_sigma,
                                           double range_sigma, int samples = 100, int threads = 0);

/// itk::SmoothingRecursiveGaussianImageFilter, which wants four voxels an axis. `sigma` in voxels.
std::shared_ptr<const float> itk_gaussian(VolumeView<const float>, double sigma, int threads = 0);

}  // namespace quietvox::peers
