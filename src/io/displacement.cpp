// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/displacement.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/fields.hpp"
#include "io/slice_positions.hpp"

namespace quietvox::io {
namespace {

std::string listed(double x, double y, double z) {
  const auto text = [](double number) { return FieldType<double>::format(number); };
  return text(x) + ", " + text(y) + ", " + text(z);
}

/// Where the slices of a volume lie; evenly where only its geometry says it.
std::vector<std::array<double, 3>> places_of(const Image& image, std::size_t volume) {
  auto places = slice_positions(image, volume);
  if (!places.empty()) return places;
  const Geometry& geometry = image.geometry(volume);
  for (std::int64_t z = 0; z < geometry.extent.z; ++z) {
    auto& place = places.emplace_back(geometry.origin);
    for (std::size_t i = 0; i < 3; ++i)
      place[i] += static_cast<double>(z) * geometry.spacing.z * geometry.direction[3 * i + 2];
  }
  return places;
}

}  // namespace

std::string displacement(const Geometry& moved, const Geometry& image) {
  constexpr double tolerance = 1e-3;
  const auto near = [](double a, double b, double unit) { return std::abs(a - b) <= tolerance * unit; };
  bool spacing = true, origin = true, direction = true;
  for (int axis = 0; axis < 3; ++axis) {
    const double unit = image.spacing[axis];
    spacing = spacing && (image.extent[axis] == 1 || near(moved.spacing[axis], unit, unit));
    const auto i = static_cast<std::size_t>(axis);
    origin = origin && near(moved.origin[i], image.origin[i], std::max(unit, 1.0));
  }
  for (std::size_t i = 0; i < 9; ++i) direction = direction && near(moved.direction[i], image.direction[i], 1);
  const Spacing &a = moved.spacing, &b = image.spacing;
  if (!spacing) return "spacing " + listed(a.x, a.y, a.z) + " mm instead of " + listed(b.x, b.y, b.z) + " mm";
  const auto &p = moved.origin, &q = image.origin;
  if (!origin) return "origin " + listed(p[0], p[1], p[2]) + " mm instead of " + listed(q[0], q[1], q[2]) + " mm";
  return direction ? "" : "its axes point elsewhere";
}

std::string displaced_slice(const Image& moved, std::size_t moved_volume, const Image& image, std::size_t volume) {
  if (moved.why_uneven(moved_volume).empty() && image.why_uneven(volume).empty()) return {};
  const double tolerance = 0.01 * std::max(image.geometry(volume).spacing.z, 1.0);
  const auto places = places_of(moved, moved_volume), wanted = places_of(image, volume);
  for (std::size_t z = 0; z < std::min(places.size(), wanted.size()); ++z) {
    const auto &p = places[z], &q = wanted[z];
    if (std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]) <= tolerance) continue;
    return "slice " + std::to_string(z + 1) + " lies at " + listed(p[0], p[1], p[2]) + " mm instead of " +
           listed(q[0], q[1], q[2]) + " mm";
  }
  return {};
}

}  // namespace quietvox::io
