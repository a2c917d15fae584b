// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "phantom/phantom_scenes.hpp"

namespace quietvox {
namespace {

// Stored values of a 12-bit image in which dense tissue is bright.
constexpr double fat = 950, gland = 2250, muscle = 2100, skin = 1300, mass = 2950, chalk = 3900;

/// The compressed breast thins out towards its edge, and with it the signal.
double thickness(double inside) { return std::sqrt(std::clamp(inside / 22, 0.0, 1.0)); }

/// Rough at every size, like the projection of many overlapping strands.
double tissue(const Point& p, const Ellipsoid& breast, const Point& nipple) {
  const double inside = depth(breast, p);
  const Point from_nipple = p - nipple;
  const double far = length(from_nipple);
  // Strands run towards the nipple: texture drawn out along that direction.
  const Point polar{far / 2.4, 62 * from_nipple.y / std::max(far, 4.0), 0};
  const double clouds = texture(p, 34, 7, 91), strands = texture(polar, 12, 5, 92);
  const double core = std::clamp(1.15 - length({(p.x - nipple.x + 52) / 62, (p.y - nipple.y) / 66, 0}), 0.0, 1.0);
  const double raw = std::max(core * (1.1 + 1.5 * clouds + 1.1 * strands) + 0.08 * strands, 0.0);
  const double dense = raw / std::sqrt(1 + raw * raw);
  const double value = fat + (gland - fat) * dense + 170 * clouds + 130 * strands;
  return skin * 0.2 + (value - skin * 0.2) * (0.25 + 0.75 * thickness(inside));
}

void add_mass(Scene& scene, const Point& centre, const Paint& around) {
  const Paint lump = [=](const Point& p) {
    const double outline = 6 + 3.5 * texture(p, 6, 4, 93);
    const double share = std::clamp((outline - length(p - centre)) / 2.5, 0.0, 1.0);
    return around(p) + share * (mass + 120 * texture(p, 3, 3, 95) - around(p));
  };
  scene.add(Ellipsoid{centre, {13, 13, endless}}, lump);
  Dice dice(7);
  for (int n = 0; n < 42; ++n) {
    const double x = dice.between(-1, 1), y = dice.between(-1, 1);
    const double norm = std::max(std::sqrt(x * x + y * y), 0.2);
    const Point way{x / norm, y / norm, 0}, across{-way.y, way.x, 0};
    const double reach = dice.between(7, 22);
    const Point knee = centre + 0.5 * reach * (way + dice.between(-0.1, 0.1) * across);
    const Point tip = centre + reach * (way + dice.between(-0.3, 0.3) * across);
    const double light = dice.between(250, 600);
    const auto strand = [=](const Point& p) {
      return lump(p) + light * std::clamp(1.15 - length(p - centre) / reach, 0.0, 1.0);
    };
    scene.add(Tube{centre, knee, 1.2, 0.5}, strand);
    scene.add(Tube{knee, tip, 0.5, 0.1}, strand);
  }
}

void add_microcalcifications(Scene& scene, const Point& centre) {
  Dice dice(11);
  for (int n = 0; n < 26; ++n) {
    const Point at = centre + Point{dice.between(-6, 6), dice.between(-6, 6), 0};
    const double angle_x = dice.between(-0.4, 0.4), angle_y = dice.between(-0.4, 0.4);
    const double radius = dice.between(0.12, 0.32);
    scene.add(Tube{at, at + Point{angle_x, angle_y, 0}, radius, 0.7 * radius}, chalk - 1100 * dice.next());
  }
}

}  // namespace

Scene mammogram_scene(double width) {
  const Point wall{-0.5 * width, 0, 0};
  const Ellipsoid breast{wall + Point{-8, 4, 0}, {132, 84, endless}};
  const Point nipple = wall + Point{125, 6, 0};
  const Paint inside = [=](const Point& p) { return tissue(p, breast, nipple); };
  Scene scene;
  scene.add(Tube{nipple + Point{-6, 0, 0}, nipple + Point{2, 0, 0}, 6, 4}, skin);
  scene.add(Ellipsoid{breast.centre, breast.radii + Point{1.4, 1.4, 0}}, 620);
  scene.add(breast, inside);
  scene.add(Ellipsoid{wall + Point{-10, 12, 0}, {20, 58, endless}}, [=](const Point& p) {
    return muscle - 30 * (p.x - wall.x) + 140 * texture({p.x, 0.4 * p.y, 0}, 16, 5, 94);
  });
  add_mass(scene, wall + Point{64, 26, 0}, inside);
  add_microcalcifications(scene, wall + Point{88, -22, 0});
  for (const Point& at : {Point{52, -18, 0}, Point{70, 58, 0}, Point{100, 20, 0}}) {  // benign, round, with dark middle
    scene.add(Ellipsoid{wall + at, {1.0, 1.0, endless}}, chalk - 300);
    scene.add(Ellipsoid{wall + at, {0.45, 0.45, endless}}, chalk - 1300);
  }
  return scene;
}

}  // namespace quietvox
