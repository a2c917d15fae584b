// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/resources.hpp"
#include "filters/bilateral.hpp"

namespace quietvox::cuda {

void bilateral_cuda(VolumeView<const float>, VolumeView<float>, const BilateralParams&, const Queue&);

}  // namespace quietvox::cuda
