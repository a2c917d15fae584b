// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "core/volume_view.hpp"

/// How the facts of an image are shown to people: numbers with six significant digits.
namespace quietvox::io {

std::string format_number(double);
/// `0.7 x 0.7 x 1.5 mm`
std::string format_spacing(const Spacing&);
/// `-12.5, 0, 30 mm (LPS)`
std::string format_point(std::span<const double, 3>);
/// `512 x 512 x 14`
std::string format_extent(const Extent&);

}  // namespace quietvox::io
