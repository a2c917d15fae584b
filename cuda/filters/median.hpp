// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/resources.hpp"
#include "filters/median.hpp"

namespace quietvox::cuda {

void median_cuda(VolumeView<const float>, VolumeView<float>, const MedianParams&, const Queue&);
void median_cuda(VolumeView<const std::int16_t>, VolumeView<std::int16_t>, const MedianParams&, const Queue&);
void median_cuda(VolumeView<const std::uint16_t>, VolumeView<std::uint16_t>, const MedianParams&, const Queue&);

}  // namespace quietvox::cuda
