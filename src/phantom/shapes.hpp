// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "core/volume_view.hpp"

/// What phantoms are painted with: shapes in mm with soft edges, one over the other. Only +, -, *, / and sqrt are used,
/// whose results IEEE 754 fixes to the bit, so that a scene is the same on every machine.
namespace quietvox {

using Point = Triple<double>;  ///< mm; the middle of the volume is (0, 0, 0)

constexpr Point operator+(const Point& a, const Point& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
constexpr Point operator-(const Point& a, const Point& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
constexpr Point operator*(double scale, const Point& a) { return {scale * a.x, scale * a.y, scale * a.z}; }
constexpr double dot(const Point& a, const Point& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
double length(const Point&);

struct Ellipsoid {
  Point centre, radii;
  double turn = 0;  ///< rotation in the slice, from x towards y: the tangent of half the angle
};

/// A cone with round ends: a ball whose radius goes from `from_radius` to `to_radius` along a line.
struct Tube {
  Point from, to;
  double from_radius, to_radius;
};

using Shape = std::variant<Ellipsoid, Tube>;
using Paint = std::function<double(const Point&)>;

/// The radius that makes a shape endless along an axis.
inline constexpr double endless = 1e6;

/// How far inside a shape a point lies, in mm; negative outside. Exact near the surface.
double depth(const Shape&, const Point&);

/// Share of a voxel of this spacing around `point` that the shape covers, 0 to 1.
double coverage(const Shape&, const Point&, const Spacing&);

/// A value that varies smoothly over about `size` mm, with its gradient; value -1 to 1, mean 0.
struct SmoothNoise {
  double value;
  Point gradient;  ///< per mm
};
SmoothNoise smooth_noise(const Point&, double size, std::uint32_t seed);

/// Sum of smooth noises of halved sizes and strengths; about -1 to 1.
double texture(const Point&, double size, int octaves, std::uint32_t seed);

/// Numbers that look random, from 0 to 1: the same for the same seed.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : state_(seed) {}
  double next();
  double between(double low, double high) { return low + (high - low) * next(); }

 private:
  std::uint32_t state_;
};

class Scene {
 public:
  void add(const Shape& shape, double value) {
    add(shape, [value](const Point&) { return value; });
  }
  void add(const Shape& shape, Paint paint) { layers_.push_back({shape, std::move(paint)}); }

  /// Paints the layers over what the volume holds, the first one first.
  void paint(VolumeView<float>) const;

 private:
  struct Layer {
    Shape shape;
    Paint paint;
  };
  std::vector<Layer> layers_;
};

}  // namespace quietvox
