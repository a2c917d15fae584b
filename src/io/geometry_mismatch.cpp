// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/geometry_mismatch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/fields.hpp"

namespace quietvox::io {
namespace {

std::string listed(double x, double y, double z) {
  const auto text = [](double number) { return FieldType<double>::format(number); };
  return text(x) + ", " + text(y) + ", " + text(z);
}

double along(const std::array<double, 3>& way, const Geometry& geometry, int axis) {
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) sum += way[i] * geometry.direction[3 * i + static_cast<std::size_t>(axis)];
  return sum;
}

}  // namespace

std::string geometry_mismatch(const Geometry& moved, const Geometry& image) {
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

SlicePositions even_positions(const Geometry& geometry) {
  SlicePositions places;
  for (std::int64_t z = 0; z < geometry.extent.z; ++z) {
    auto& place = places.emplace_back(geometry.origin);
    for (std::size_t i = 0; i < 3; ++i)
      place[i] += static_cast<double>(z) * geometry.spacing.z * geometry.direction[3 * i + 2];
  }
  return places;
}

SlicePositions slice_positions(const Image& image, std::size_t volume, const Geometry& own, const AxisMap& map) {
  SlicePositions places = image.slice_positions(volume);
  if (places.empty() || map.from.z != 2) return even_positions(reordered(own, map));
  if (map.is_reversed.z) std::ranges::reverse(places);
  AxisMap within = map;
  within.is_reversed.z = false;
  const Geometry first = reordered(own, within);
  for (auto& place : places) {
    for (std::size_t i = 0; i < 3; ++i) place[i] += first.origin[i] - own.origin[i];
  }
  return places;
}

double farthest(const Geometry& moved, const SlicePositions& moved_slices, const Geometry& image,
                const SlicePositions& slices, std::size_t first, std::size_t count) {
  double most = 0;
  for (std::size_t z = first; z < first + count; ++z) {
    for (const double x : {0.0, static_cast<double>(image.extent.x - 1)}) {
      for (const double y : {0.0, static_cast<double>(image.extent.y - 1)}) {
        std::array<double, 3> way{};
        for (std::size_t i = 0; i < 3; ++i) {
          way[i] = moved_slices[z][i] - slices[z][i] +
                   x * (moved.spacing.x * moved.direction[3 * i] - image.spacing.x * image.direction[3 * i]) +
                   y * (moved.spacing.y * moved.direction[3 * i + 1] - image.spacing.y * image.direction[3 * i + 1]);
        }
        for (int axis = 0; axis < 3; ++axis)
          most = std::max(most, std::abs(along(way, image, axis)) / image.spacing[axis]);
      }
    }
  }
  return most;
}

double farthest(const Geometry& moved, const SlicePositions& moved_slices, const Geometry& image,
                const SlicePositions& slices) {
  return farthest(moved, moved_slices, image, slices, 0, std::min(moved_slices.size(), slices.size()));
}

std::string mismatched_slice(const Geometry& image, const SlicePositions& moved, const SlicePositions& slices) {
  for (std::size_t z = 0; z < std::min(moved.size(), slices.size()); ++z) {
    const auto &p = moved[z], &q = slices[z];
    if (farthest(image, moved, image, slices, z, 1) <= same_voxel) continue;
    return "slice " + std::to_string(z + 1) + " lies at " + listed(p[0], p[1], p[2]) + " mm instead of " +
           listed(q[0], q[1], q[2]) + " mm";
  }
  return "its axes point elsewhere";
}

}  // namespace quietvox::io
