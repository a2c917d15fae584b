// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/float_precision.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/fields.hpp"

namespace quietvox::io {

std::string why_floats_lose_digits(const Rescale& rescale, double min, double max, const std::string& slope_name,
                                   const std::string& inter_name) {
  const auto value = [](const std::string& name, double number) {
    return name + " = " + FieldType<double>::format(number);
  };
  const double largest =
      std::max(std::abs(rescale.slope * min + rescale.inter), std::abs(rescale.slope * max + rescale.inter));
  const double step = std::abs(rescale.slope);
  if (largest > std::numeric_limits<float>::max() || step < std::numeric_limits<float>::min()) {
    return value(slope_name, rescale.slope) + ", " + value(inter_name, rescale.inter) + ": beyond 32-bit floats";
  }
  // Floats have 24 binary digits: up to here, rounding to one moves a value by a quarter of a step at most.
  if (largest <= step * (1 << 22)) return "";
  return value(inter_name, rescale.inter) + " is too large beside " + value(slope_name, rescale.slope) +
         ": 32-bit floats would lose digits";
}

Error far_from_zero_error(const std::string& name, double middle) {
  return {Errc::unsupported, name + ": the voxels lie around " + FieldType<double>::format(middle) +
                                 ", where 32-bit floats would lose digits; subtract that first"};
}

}  // namespace quietvox::io
