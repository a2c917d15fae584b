// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "phantom/shapes.hpp"

#include <algorithm>
#include <cmath>

#include "core/execution.hpp"

namespace quietvox {
namespace {

/// A function that is 0 on the surface of a shape and positive inside, and its slope.
struct Surface {
  double value;
  Point gradient;
};

Point turned(const Point& p, double half_tangent) {
  const double scale = 1 / (1 + half_tangent * half_tangent);
  const double c = (1 - half_tangent * half_tangent) * scale, s = 2 * half_tangent * scale;
  return {c * p.x + s * p.y, c * p.y - s * p.x, p.z};
}

Surface surface(const Ellipsoid& e, const Point& p) {
  const Point local = turned(p - e.centre, e.turn);
  const Point unit{local.x / e.radii.x, local.y / e.radii.y, local.z / e.radii.z};
  const double reach = length(unit);
  if (reach < 1e-9) return {1, {1 / e.radii.x, 0, 0}};
  const Point slope{unit.x / e.radii.x / reach, unit.y / e.radii.y / reach, unit.z / e.radii.z / reach};
  return {1 - reach, turned(slope, -e.turn)};
}

Surface surface(const Tube& t, const Point& p) {
  const Point axis = t.to - t.from;
  const double squared = dot(axis, axis);
  const double along = squared > 0 ? std::clamp(dot(p - t.from, axis) / squared, 0.0, 1.0) : 0.0;
  const Point out = p - (t.from + along * axis);
  const double distance = length(out);
  const double radius = t.from_radius + along * (t.to_radius - t.from_radius);
  if (distance < 1e-9) return {radius, {1, 0, 0}};
  return {radius - distance, (1 / distance) * out};
}

/// A box in mm that holds the shape.
struct Box {
  Point low, high;
};

Box box_around(const Ellipsoid& e) {
  const double flat = e.turn == 0 ? 0 : std::max(e.radii.x, e.radii.y);
  const Point reach{std::max(e.radii.x, flat), std::max(e.radii.y, flat), e.radii.z};
  return {e.centre - reach, e.centre + reach};
}

Box box_around(const Tube& t) {
  const double radius = std::max(t.from_radius, t.to_radius);
  Box box;
  for (int axis = 0; axis < 3; ++axis) {
    box.low[axis] = std::min(t.from[axis], t.to[axis]) - radius;
    box.high[axis] = std::max(t.from[axis], t.to[axis]) + radius;
  }
  return box;
}

std::uint32_t mixed(std::uint32_t v) {  // the finalizer of MurmurHash3
  v ^= v >> 16;
  v *= 0x85ebca6bU;
  v ^= v >> 13;
  v *= 0xc2b2ae35U;
  return v ^ (v >> 16);
}

double lattice(std::int64_t x, std::int64_t y, std::int64_t z, std::uint32_t seed) {
  std::uint32_t hash = seed;
  for (const std::int64_t index : {x, y, z}) hash = mixed(hash + 0x9e3779b9U + static_cast<std::uint32_t>(index));
  return 2 * (hash / 4294967295.0) - 1;
}

double blend(double t) { return t * t * t * (t * (t * 6 - 15) + 10); }
double blend_slope(double t) { return 30 * t * t * (t - 1) * (t - 1); }

}  // namespace

double length(const Point& p) { return std::sqrt(dot(p, p)); }

double depth(const Shape& shape, const Point& point) {
  const Surface at = std::visit([&](const auto& s) { return surface(s, point); }, shape);
  return at.value / length(at.gradient);
}

double coverage(const Shape& shape, const Point& point, const Spacing& spacing) {
  const Surface at = std::visit([&](const auto& s) { return surface(s, point); }, shape);
  const Point per_voxel{at.gradient.x * spacing.x, at.gradient.y * spacing.y, at.gradient.z * spacing.z};
  const double voxels_inside = at.value / length(per_voxel);
  const double t = std::clamp(0.5 + voxels_inside / 1.5, 0.0, 1.0);
  return t * t * (3 - 2 * t);
}

SmoothNoise smooth_noise(const Point& point, double size, std::uint32_t seed) {
  std::int64_t cell[3];
  double weight[3][2], slope[3][2];
  for (int axis = 0; axis < 3; ++axis) {
    const double scaled = point[axis] / size;
    const double floor = std::floor(scaled);
    cell[axis] = static_cast<std::int64_t>(floor);
    weight[axis][1] = blend(scaled - floor);
    weight[axis][0] = 1 - weight[axis][1];
    slope[axis][1] = blend_slope(scaled - floor) / size;
    slope[axis][0] = -slope[axis][1];
  }
  SmoothNoise noise{};
  for (int z = 0; z < 2; ++z) {
    for (int y = 0; y < 2; ++y) {
      for (int x = 0; x < 2; ++x) {
        const double corner = lattice(cell[0] + x, cell[1] + y, cell[2] + z, seed);
        noise.value += corner * weight[0][x] * weight[1][y] * weight[2][z];
        noise.gradient = noise.gradient + corner * Point{slope[0][x] * weight[1][y] * weight[2][z],
                                                         weight[0][x] * slope[1][y] * weight[2][z],
                                                         weight[0][x] * weight[1][y] * slope[2][z]};
      }
    }
  }
  return noise;
}

double texture(const Point& point, double size, int octaves, std::uint32_t seed) {
  double sum = 0, strength = 1;
  for (int octave = 0; octave < octaves; ++octave) {
    sum += strength * smooth_noise(point, size, seed + static_cast<std::uint32_t>(octave)).value;
    size /= 2;
    strength /= 2;
  }
  return sum;
}

double Dice::next() {
  state_ += 0x9e3779b9U;
  return mixed(state_) / 4294967295.0;
}

void Scene::paint(VolumeView<float> volume) const {
  const Extent& extent = volume.extent;
  const Spacing& spacing = volume.spacing;
  const auto place = [&](std::int64_t index, int axis) {
    return (static_cast<double>(index) - 0.5 * static_cast<double>(extent[axis] - 1)) * spacing[axis];
  };
  std::vector<Box> boxes;
  for (const Layer& layer : layers_) {
    boxes.push_back(std::visit([](const auto& shape) { return box_around(shape); }, layer.shape));
    boxes.back().low = boxes.back().low - spacing;
    boxes.back().high = boxes.back().high + spacing;
  }
  parallel_for({}, extent.y * extent.z, 4, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> row(static_cast<std::size_t>(extent.x));
    for (std::int64_t index = begin; index < end; ++index) {
      const std::int64_t iy = index % extent.y, iz = index / extent.y;
      float* voxels = volume.row(iy, iz);
      std::copy_n(voxels, extent.x, row.begin());
      for (std::size_t n = 0; n < layers_.size(); ++n) {
        const Box& box = boxes[n];
        Point point{0, place(iy, 1), place(iz, 2)};
        if (point.y < box.low.y || point.y > box.high.y || point.z < box.low.z || point.z > box.high.z) continue;
        const double middle = 0.5 * static_cast<double>(extent.x - 1);
        const double last_index = static_cast<double>(extent.x - 1);
        const auto first = static_cast<std::int64_t>(std::clamp(box.low.x / spacing.x + middle, 0.0, last_index));
        const auto last = static_cast<std::int64_t>(std::clamp(box.high.x / spacing.x + middle, -1.0, last_index));
        for (std::int64_t ix = first; ix <= last; ++ix) {
          point.x = place(ix, 0);
          const double share = coverage(layers_[n].shape, point, spacing);
          if (share == 0) continue;
          double& value = row[static_cast<std::size_t>(ix)];
          value += share * (layers_[n].paint(point) - value);
        }
      }
      std::copy_n(row.begin(), extent.x, voxels);
    }
  });
}

}  // namespace quietvox
