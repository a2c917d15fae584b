// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/geometry_check.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace quietvox::io {

void check_geometry(const std::filesystem::path& output, const Geometry& geometry, bool are_perpendicular) {
  constexpr double tolerance = 1e-3;
  const auto refuse = [&](const char* what) { throw Error(Errc::invalid_argument, output.string() + ": " + what); };
  const auto column = [&](std::size_t axis) {
    return std::array{geometry.direction[axis], geometry.direction[3 + axis], geometry.direction[6 + axis]};
  };
  const auto product = [](const std::array<double, 3>& a, const std::array<double, 3>& b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  };
  const auto x = column(0), y = column(1), z = column(2);
  const std::array across{x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]};
  for (int axis = 0; axis < 3; ++axis) {
    const double spacing = geometry.spacing[axis];
    if (geometry.extent[axis] < 1) refuse("the image has no voxels along an axis");
    if (!(spacing > 0 && std::isfinite(spacing))) refuse("the spacing is not a positive number along each axis");
  }
  const auto is_number = [](double number) { return std::isfinite(number); };
  if (!std::ranges::all_of(geometry.origin, is_number)) refuse("the origin is no place");
  if (!(std::abs(product(across, z)) > tolerance)) refuse("the axes of the image do not span space");
  if (!are_perpendicular) return;
  for (const auto& [a, b] : {std::pair(x, y), {x, z}, {y, z}}) {
    if (!(std::abs(product(a, b)) < tolerance && std::abs(product(a, a) - 1) < tolerance &&
          std::abs(product(b, b) - 1) < tolerance)) {
      refuse("the axes of the image are not perpendicular unit vectors");
    }
  }
}

}  // namespace quietvox::io
