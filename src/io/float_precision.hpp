// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/error.hpp"
#include "io/rescale.hpp"

/// Whether the 32-bit floats in which filters compute can hold the values of an image.
namespace quietvox::io {

/// Why filters, which compute in 32-bit floats, cannot be given the real values of stored integers from `min` to `max`:
/// the floats would not tell neighbouring ones apart by far enough, or reach that far. Empty where they can. The names
/// are those of the slope and the intercept in the file.
std::string why_floats_lose_digits(const Rescale&, double min, double max, const std::string& slope_name,
                                   const std::string& inter_name);

/// For voxels around `middle`, so far from 0 that 32-bit floats would lose digits.
Error far_from_zero_error(const std::string& name, double middle);

}  // namespace quietvox::io
