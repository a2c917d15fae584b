// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "phantom/phantom_scenes.hpp"

namespace quietvox {
namespace {

// Hounsfield units; the blood carries contrast medium.
constexpr double air = -1000, lung = -860, fat = -100, muscle = 50, liver = 105, spleen = 120, heart_muscle = 90,
                 blood = 210, cortical_bone = 750, spongy_bone = 230, disc = 85, cord = 30, skin = 10, couch = -250;

Paint grained(double value, double strength, double size, std::uint32_t seed) {
  return [=](const Point& p) { return value + strength * texture(p, size, 3, seed); };
}

Ellipsoid column(double x, double y, double rx, double ry, double turn = 0) {
  return {{x, y, 0}, {rx, ry, endless}, turn};
}

const Ellipsoid right_lung{{-73, -2, 10}, {56, 84, 150}, 0.05}, left_lung{{76, 2, 10}, {52, 82, 150}, -0.05};

void add_couch(Scene& scene) {
  scene.add(column(0, 28, 178, 106), couch);
  scene.add(column(0, 24, 178, 106), air);
}

void add_body(Scene& scene) {
  scene.add(column(0, 0, 172, 122), skin);
  scene.add(column(0, 0, 170, 120), grained(fat, 12, 14, 11));
  scene.add(column(0, 2, 156, 108), grained(muscle, 5, 9, 12));
  for (const double side : {-1.0, 1.0}) {
    scene.add(column(side * 100, 78, 26, 5, side * -0.28), grained(fat, 12, 14, 13));  // between the back muscles
    scene.add(column(side * 62, -92, 34, 3, side * 0.22), grained(fat, 12, 14, 14));   // behind the chest muscles
  }
}

/// One branch of a vessel tree and what grows out of its end, as long as that stays inside the lung.
void grow_vessel(Scene& scene, const Ellipsoid& inside, const Point& from, const Point& way, double radius,
                 Dice& dice) {
  const Point to = from + (14 + 5 * radius) * way;
  if (radius < 0.5 || depth(inside, to) < 3) return;
  scene.add(Tube{from, to, radius, 0.8 * radius}, 40);
  for (int branch = 0; branch < 2; ++branch) {
    Point turned = way + Point{dice.between(-0.85, 0.85), dice.between(-0.85, 0.85), dice.between(-0.85, 0.85)};
    turned = (1 / std::max(length(turned), 0.1)) * turned;
    grow_vessel(scene, inside, to, turned, dice.between(0.66, 0.84) * radius, dice);
  }
}

void add_lungs(Scene& scene) {
  Dice dice(2026);
  for (const Ellipsoid& side : {right_lung, left_lung}) {
    scene.add(side, grained(lung, 22, 16, 21));
    const double outward = side.centre.x < 0 ? -1 : 1;
    for (const double height : {-62.0, -36.0, -10.0, 16.0, 42.0, 66.0}) {
      for (const double front : {-0.9, 0.0, 0.9}) {
        const Point way{outward, front, dice.between(-0.4, 0.4)};
        grow_vessel(scene, side, {side.centre.x - 34 * outward, 4 + 12 * front, height}, (1 / length(way)) * way,
                    dice.between(2.6, 4.2), dice);
      }
    }
    for (const double height : {-30.0, 10.0, 50.0}) {
      const Point from{side.centre.x - 44 * outward, 12, height}, to = from + Point{26 * outward, 12, -12};
      scene.add(Tube{from, to, 6, 4.2}, 20);
      scene.add(Tube{from, to, 4.4, 2.8}, air);
    }
  }
  scene.add(Ellipsoid{{-98, -34, 6}, {6, 5.5, 7}}, 35);
  scene.add(Ellipsoid{{92, 46, -4}, {4, 4, 5}}, 60);
  scene.add(Ellipsoid{{104, -18, 10}, {10, 9, 12}}, grained(-520, 60, 5, 22));  // ground glass
}

void add_upper_abdomen(Scene& scene) {
  scene.add(Ellipsoid{{-66, 8, -50}, {70, 78, 76}, 0.06}, grained(liver, 4, 7, 31));
  for (const double way : {-0.9, -0.25, 0.5}) {
    scene.add(Tube{{-34, 30, -14}, {-66 - 26 * way, 4 - 34 * way, -6}, 3.6, 1.2}, 150);
  }
  // Low contrast: 12 to 30 HU against the liver, 3 to 9 mm in radius.
  scene.add(Ellipsoid{{-92, 8, -4}, {9, 9, 11}}, 80);
  scene.add(Ellipsoid{{-72, 40, -2}, {6, 6, 8}}, 85);
  scene.add(Ellipsoid{{-48, -8, 0}, {4.5, 4.5, 6}}, 135);
  scene.add(Ellipsoid{{-78, -30, -2}, {3.5, 3.5, 5}}, 75);
  scene.add(Ellipsoid{{-100, -18, -6}, {3, 3, 6}}, 93);
  scene.add(Ellipsoid{{98, 40, -84}, {38, 44, 62}}, grained(spleen, 4, 7, 32));
}

void add_mediastinum(Scene& scene) {
  scene.add(column(4, 6, 34, 60), grained(fat + 20, 10, 12, 41));
  scene.add(Ellipsoid{{20, -36, -8}, {62, 47, 88}, 0.2}, grained(fat, 10, 12, 42));
  scene.add(Ellipsoid{{21, -35, -10}, {57, 43, 84}, 0.2}, heart_muscle);
  scene.add(Ellipsoid{{40, -28, -14}, {25, 22, 60}, 0.25}, blood);
  scene.add(Ellipsoid{{4, -52, -12}, {30, 17, 58}, 0.3}, blood - 30);
  scene.add(Ellipsoid{{-14, -22, 6}, {20, 20, 50}}, blood - 20);
  scene.add(Ellipsoid{{16, 4, 10}, {24, 12, 46}, 0.1}, blood - 5);
  scene.add(Tube{{50, -40, -12}, {38, -36, -14}, 4, 3}, heart_muscle);  // papillary muscle
  scene.add(column(20, 44, 13, 13), muscle);
  scene.add(column(20, 44, 11.6, 11.6), blood + 15);
  scene.add(Tube{{9, 38, -20}, {9, 39, 14}, 1.6, 1.2}, cortical_bone);  // calcified wall
  scene.add(column(-6, 36, 8, 6), muscle);
  scene.add(column(-5, 36, 2.6, 1.6), -700);
}

void add_spine(Scene& scene) {
  scene.add(column(0, 70, 20, 17), disc);
  for (const double height : {-78.0, -52.0, -26.0, 0.0, 26.0, 52.0, 78.0}) {
    const double up = height + 4;
    scene.add(Ellipsoid{{0, 70, up}, {21.5, 18.5, 17}}, cortical_bone);
    scene.add(Ellipsoid{{0, 70, up}, {19.5, 16.5, 15.5}}, grained(spongy_bone, 60, 3.5, 51));
    for (const double side : {-1.0, 1.0}) {
      scene.add(Tube{{side * 12, 82, up}, {side * 14, 92, up - 3}, 5, 4.5}, cortical_bone - 150);
      scene.add(Tube{{side * 15, 92, up - 3}, {side * 38, 98, up + 2}, 4.5, 3.5}, cortical_bone - 250);
      scene.add(Tube{{side * 14, 93, up - 4}, {0, 104, up - 9}, 3.6, 3.6}, cortical_bone - 150);
    }
    scene.add(Tube{{0, 104, up - 9}, {0, 114, up - 22}, 3.6, 2.4}, cortical_bone - 250);
  }
  scene.add(column(0, 94, 9.5, 8.5), fat + 60);
  scene.add(column(0, 94, 6.5, 5), cord);
}

/// Ribs run from the spine round the chest to the breastbone, sinking on their way.
void add_ribs(Scene& scene) {
  constexpr int pairs = 10, pieces = 18;
  for (int pair = 0; pair < pairs; ++pair) {
    const double top = -96 + 26 * pair;
    for (const double side : {-1.0, 1.0}) {
      const auto point = [&](int piece) -> Point {
        const double t = -1.12 + 2.02 * piece / pieces;  // tangent of half the angle from the side towards the front
        const double scale = 1 / (1 + t * t);
        return {side * 137 * (1 - t * t) * scale, -2 * t * scale * 98 * 1.0 + 2, top - 62.0 * piece / pieces};
      };
      for (int piece = 0; piece < pieces; ++piece) {
        scene.add(Tube{point(piece), point(piece + 1), 5.2, 5.2}, cortical_bone - 100);
      }
      for (int piece = 0; piece < pieces; ++piece) {
        scene.add(Tube{point(piece), point(piece + 1), 3.3, 3.3}, spongy_bone);
      }
    }
  }
  scene.add(column(0, -99, 19, 6.5), cortical_bone - 250);
  scene.add(column(0, -99, 17, 4.8), grained(spongy_bone - 60, 40, 3.5, 61));
}

}  // namespace

Scene ct_scene() {
  Scene scene;
  add_couch(scene);
  add_body(scene);
  add_lungs(scene);
  add_upper_abdomen(scene);
  add_mediastinum(scene);
  add_ribs(scene);
  add_spine(scene);
  return scene;
}

}  // namespace quietvox
