// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "phantom/phantom_scenes.hpp"

namespace quietvox {
namespace {

// Signal of a T1-weighted image, arbitrary units.
constexpr double fat = 900, skin = 520, bone = 60, marrow = 420, fluid = 130, grey = 480, white = 720, muscle = 380,
                 nucleus = 560;

/// 0 below `edge`, 1 above it, with a soft step of `width` mm.
double step(double value, double edge, double width) {
  const double t = std::clamp(0.5 + (value - edge) / width, 0.0, 1.0);
  return t * t * (3 - 2 * t);
}

double mix(double a, double b, double share) { return a + share * (b - a); }

const Ellipsoid brain{{0, 2, -12}, {66, 82, 72}}, cerebellum{{0, 52, -64}, {48, 34, 26}};

/// Distance in mm to the nearest of the surfaces on which a smooth noise is zero: folds.
double fold_distance(const Point& p, double size, std::uint32_t seed) {
  const SmoothNoise coarse = smooth_noise(p, size, seed), fine = smooth_noise(p, 0.5 * size, seed + 1);
  const double value = coarse.value + 0.35 * fine.value;
  const Point gradient = coarse.gradient + 0.35 * fine.gradient;
  return std::abs(value) / std::max(length(gradient), 0.4 / size);
}

/// A distance to folds that end at a depth below the surface.
double ending_at(double end, double inside, double distance) {
  const double beyond = std::max(0.0, inside - end);
  return std::sqrt(distance * distance + beyond * beyond);
}

/// The cortex is a sheet of grey matter that follows the outside of the brain into its folds.
Paint cerebrum(double voxel) {
  return [voxel](const Point& p) {
    const double inside = depth(brain, p);
    const double fold =
        std::min(ending_at(24, inside, fold_distance(p, 17, 71)), ending_at(13, inside, fold_distance(p, 12, 75)));
    const double cleft = ending_at(34, inside, std::abs(p.x));  // between the hemispheres
    const double surface = std::min({inside, fold, cleft});
    const double tissue = mix(grey, white, step(surface, 3.4, std::max(voxel, 1.2)));
    return mix(fluid, tissue * (1 + 0.015 * texture(p, 9, 2, 72)), step(surface, 0.7, std::max(voxel, 0.8)));
  };
}

Paint small_brain(double voxel) {
  return [voxel](const Point& p) {
    const double bent = p.z + 0.15 * p.y * p.y / 30 + 1.5 * smooth_noise(p, 10, 81).value;
    const double leaf = std::abs(bent / 5 - std::floor(bent / 5) - 0.5) * 5;
    const double inside = depth(cerebellum, p);
    const double surface = std::min(inside, ending_at(9, inside, leaf));
    const double tissue = mix(grey, white, step(surface, 1.7, std::max(voxel, 0.8)));
    return mix(fluid, tissue, step(surface, 0.4, std::max(voxel, 0.6)));
  };
}

void add_head(Scene& scene) {
  scene.add(Ellipsoid{{0, 0, -14}, {79, 97, 84}}, skin);
  scene.add(Tube{{0, 20, -70}, {0, 26, -140}, 62, 58}, skin);
  scene.add(Ellipsoid{{0, 0, -14}, {77.5, 95.5, 82.5}},
            [](const Point& p) { return fat * (1 + 0.08 * texture(p, 10, 3, 61)); });
  scene.add(Tube{{0, 20, -72}, {0, 26, -140}, 60, 56}, fat * 0.9);
  scene.add(Tube{{0, 22, -76}, {0, 28, -140}, 52, 50}, muscle);
  scene.add(Ellipsoid{{0, 1, -13}, {73, 90, 78.5}}, bone);
  scene.add(Ellipsoid{{0, 1, -13}, {71.4, 88.2, 77}}, marrow);
  scene.add(Ellipsoid{{0, 1, -13}, {70.2, 86.8, 75.8}}, bone);
  scene.add(Ellipsoid{{0, 2, -12.5}, {67.6, 83.6, 73.4}}, fluid);
}

void add_deep_brain(Scene& scene) {
  for (const double side : {-1.0, 1.0}) {
    scene.add(Ellipsoid{{side * 15, 8, -4}, {11, 15, 10}, side * -0.1}, nucleus);          // thalamus
    scene.add(Ellipsoid{{side * 25, -10, -4}, {6.5, 17, 11}, side * 0.12}, nucleus - 30);  // putamen
    scene.add(Ellipsoid{{side * 19, -4, -4}, {4.5, 10, 8}, side * 0.2}, nucleus + 70);     // pallidum
    scene.add(Ellipsoid{{side * 13, -26, 2}, {6.5, 9, 12}, side * 0.1}, nucleus - 40);     // caudate
    // Lateral ventricle: front horn, body, back horn.
    scene.add(Tube{{side * 6, -28, 4}, {side * 11, -38, 0}, 6, 4}, fluid);
    scene.add(Tube{{side * 6, -28, 8}, {side * 11, 16, 14}, 5, 6}, fluid);
    scene.add(Tube{{side * 12, 16, 13}, {side * 22, 42, 0}, 6.5, 4.5}, fluid);
    scene.add(Tube{{side * 21, 36, 0}, {side * 31, 6, -26}, 4.2, 2.4}, fluid);
  }
  scene.add(Ellipsoid{{0, -24, 10}, {1.2, 20, 10}}, white);  // septum
  scene.add(Ellipsoid{{0, 6, -6}, {2.2, 15, 10}}, fluid);    // third ventricle
  scene.add(Tube{{0, 12, -20}, {0, 22, -92}, 15, 11}, white - 40);
  scene.add(Ellipsoid{{0, 13, -44}, {16, 14, 14}}, white - 60);
  scene.add(Ellipsoid{{0, 30, -52}, {7, 5, 12}}, fluid);  // fourth ventricle
}

void add_eyes(Scene& scene) {
  for (const double side : {-1.0, 1.0}) {
    scene.add(Tube{{side * 30, -62, -50}, {side * 16, -36, -50}, 17, 8}, fat * 0.85);
    scene.add(Tube{{side * 29, -58, -50}, {side * 16, -32, -50}, 2.2, 2.2}, white - 100);
    scene.add(Ellipsoid{{side * 31, -66, -50}, {12.5, 12.5, 12.5}}, muscle);
    scene.add(Ellipsoid{{side * 31, -66, -50}, {11.3, 11.3, 11.3}}, fluid + 30);
    scene.add(Ellipsoid{{side * 31, -76, -50}, {4.5, 2.2, 4.5}}, muscle - 40);
  }
}

}  // namespace

Scene mr_scene(const Spacing& spacing) {
  Scene scene;
  add_head(scene);
  scene.add(brain, cerebrum(spacing.x));
  add_deep_brain(scene);
  scene.add(cerebellum, small_brain(spacing.x));
  add_eyes(scene);
  return scene;
}

}  // namespace quietvox
