// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/mask.hpp"

#include <algorithm>
#include <cmath>

#include "cli/images.hpp"
#include "core/sha256.hpp"

namespace quietvox::cli {
namespace {

std::string listed(double x, double y, double z) {
  const auto text = [](double number) { return FieldType<double>::format(number); };
  return text(x) + ", " + text(y) + ", " + text(z);
}

/// `spacing 1, 1, 2 mm instead of 1, 1, 1 mm`; empty where both lie in the same place. An axis of one voxel has no
/// spacing to compare.
std::string difference(const io::Geometry& mask, const io::Geometry& image) {
  constexpr double tolerance = 1e-3;
  const auto near = [](double a, double b, double unit) { return std::abs(a - b) <= tolerance * unit; };
  bool spacing = true, origin = true, direction = true;
  for (int axis = 0; axis < 3; ++axis) {
    const double unit = image.spacing[axis];
    spacing = spacing && (image.extent[axis] == 1 || near(mask.spacing[axis], unit, unit));
    const auto i = static_cast<std::size_t>(axis);
    origin = origin && near(mask.origin[i], image.origin[i], std::max(unit, 1.0));
  }
  for (std::size_t i = 0; i < 9; ++i) direction = direction && near(mask.direction[i], image.direction[i], 1);
  const Spacing &a = mask.spacing, &b = image.spacing;
  if (!spacing) return "spacing " + listed(a.x, a.y, a.z) + " mm instead of " + listed(b.x, b.y, b.z) + " mm";
  const auto &p = mask.origin, &q = image.origin;
  if (!origin) return "origin " + listed(p[0], p[1], p[2]) + " mm instead of " + listed(q[0], q[1], q[2]) + " mm";
  return direction ? "" : "its axes point elsewhere";
}

}  // namespace

std::unique_ptr<io::Image> open_mask(const std::string& path, const io::Image& image, const Execution& execution,
                                     std::vector<std::string>& warnings) {
  if (path.empty()) return nullptr;
  auto mask = open_input(path, {}, execution);
  const bool fits = mask->volume_count() == 1 || mask->volume_count() == image.volume_count();
  std::string doubt;
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    const io::Geometry& own = mask->geometry(mask->volume_count() == 1 || !fits ? 0 : volume);
    const io::Geometry& other = image.geometry(volume);
    if (!fits || own.extent != other.extent) {
      throw Error(Errc::invalid_argument, "--mask " + path + ": has " + describe_extent(*mask) +
                                              " voxels, but the input has " + describe_extent(image));
    }
    const std::string what = difference(own, other);
    if (what.empty()) continue;
    if (own.is_placed && other.is_placed) {
      throw Error(Errc::invalid_argument, "--mask " + path + ": lies elsewhere than the input: " + what +
                                              "; give a mask made on the grid of the input");
    }
    doubt = what;
  }
  if (!doubt.empty()) {
    warnings.push_back("--mask " + path +
                       ": taken to lie where the input lies, though the files do not say so: " + doubt);
  }
  return mask;
}

std::unique_ptr<VolumeSource> mask_of_volume(const io::Image& mask, std::size_t volume) {
  // Where 0 is the padding of a DICOM mask, it is outside all the same.
  return mask.volume(mask.volume_count() == 1 ? 0 : volume, io::Values::real_with_padding);
}

std::string identify_mask(const io::Image& mask) {
  Sha256 hash;
  for (std::size_t volume = 0; volume < mask.volume_count(); ++volume) {
    for_each_slab(*mask_of_volume(mask, volume), [&](VolumeView<const float> slab) {
      std::vector<std::byte> inside(static_cast<std::size_t>(slab.extent.voxels()));
      std::transform(slab.data, slab.data + inside.size(), inside.begin(),
                     [](float voxel) { return std::byte{is_inside(voxel)}; });
      hash.update(inside);
    });
  }
  return to_hex(hash.digest()).substr(0, 16);
}

}  // namespace quietvox::cli
