// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/volume_facts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quietvox {
namespace {

constexpr double thick_over_in_plane = 2;
constexpr double rounding = 1e-6;  // of spacings that files round: 1.4 mm is twice 0.7 mm

}  // namespace

void check_volume(const Extent& extent, const Spacing& spacing) {
  if (extent.x < 1 || extent.y < 1 || extent.z < 1) {
    throw Error(Errc::invalid_argument, "the volume is empty", "give voxels along every axis");
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (spacing[axis] > 0 && std::isfinite(spacing[axis])) continue;
    throw Error(Errc::invalid_argument, "the spacing " + FieldType<double>::format(spacing[axis]) + " is no length",
                "give mm, above 0");
  }
}

std::optional<NoiseModel> VolumeFacts::noise_for(std::string_view field) const {
  if (noise) return noise();
  if (waiting) waiting->push_back({std::string(field), VoxelFact::noise});
  return std::nullopt;
}

std::optional<double> VolumeFacts::noise_sigma_for(std::string_view field) const {
  const auto model = noise_for(field);
  return model ? std::optional(model->trusted_sigma()) : std::nullopt;
}

std::optional<Range<double>> VolumeFacts::intensities_for(std::string_view field) const {
  if (intensities) return intensities();
  if (waiting) waiting->push_back({std::string(field), VoxelFact::intensities});
  return std::nullopt;
}

void VolumeFacts::need_true_values(const Message& filter) const {
  if (header.offset == 0) return;
  throw Error(Errc::unsupported,
              filter + ": the voxels lie around " + FieldType<double>::format(header.offset) +
                  ", where 32-bit floats would lose digits",
              "subtract that value first");
}

double VolumeFacts::in_plane_spacing() const {
  std::vector<double> spacings;
  for (int axis = 0; axis < 3; ++axis) {
    if (extent[axis] > 1) spacings.push_back(spacing[axis]);
  }
  if (spacings.empty()) return spacing.x;
  std::sort(spacings.begin(), spacings.end());
  return spacings[(spacings.size() - 1) / 2];
}

bool VolumeFacts::is_thick(int axis) const {
  return extent[axis] > 1 && spacing[axis] > thick_over_in_plane * in_plane_spacing() * (1 + rounding);
}

bool VolumeFacts::takes_part(int axis) const {
  return extent[axis] > 1 && !is_thick(axis) && (axis != 2 || header.slices_are_even);
}

int VolumeFacts::room(int axis) const {
  return static_cast<int>(std::min<std::int64_t>((extent[axis] - 1) / 2, std::numeric_limits<int>::max()));
}

Radius3 VolumeFacts::default_radius(int voxels, int largest) const {
  Radius3 radius;
  for (int axis = 0; axis < 3; ++axis) {
    if (!takes_part(axis)) continue;
    const double reach = std::floor(voxels * in_plane_spacing() / spacing[axis] + 0.5 + rounding);
    radius[axis] = static_cast<int>(std::min<double>(reach, std::min(largest, room(axis))));
  }
  return radius;
}

}  // namespace quietvox
