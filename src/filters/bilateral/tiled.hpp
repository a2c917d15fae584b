// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include "filters/bilateral.hpp"
#include "filters/bilateral/kernel.hpp"

namespace quietvox {

/// Fills the rates of the range weights of `rows` rows of `width` outputs; rows of rates lie `pitch` apart and have
/// room for bilateral_kernel::slack more.
using RatesOfTile = std::function<void(const bilateral_kernel::Tile&, std::span<const bilateral_kernel::Tap>,
                                       const bilateral_kernel::RangeWeight&, std::int64_t width, std::int64_t rows,
                                       float* rates, std::int64_t pitch)>;

/// The bilateral filter on the CPU. Where `rates` is given, each output has a range weight of its own, and
/// params.range_sigma is only the scale of them all: about the largest.
void run_bilateral(VolumeView<const float>, VolumeView<float>, const BilateralParams& params, const RatesOfTile& rates,
                   const Execution&);

}  // namespace quietvox
