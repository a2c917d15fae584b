// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/backend.hpp"
#include "core/border.hpp"
#include "filters/common/launch_context.hpp"

namespace quietvox {

enum class MedianShape {
  box,     ///< all voxels within the radius of every axis
  cross,   ///< the voxels on the axes through the centre
  row,     ///< along x only
  column,  ///< along y only
};
constexpr std::array<std::string_view, 4> choices(MedianShape) { return {"box", "cross", "row", "column"}; }

/// Replaces each voxel by the median of its window: the middle value of the odd number of voxels under it.
///
/// Exact: the result is always one of the inputs, and the same from every backend. Missing voxels keep their value and
/// do not count; of an even number of voxels that are left, the lower middle one is taken.
struct MedianParams {
  static constexpr int largest_radius = 15;

  std::optional<Radius3> radius;
  MedianShape shape = MedianShape::box;
  Border border = Border::replicate;

  static constexpr std::string_view name = "median";
  static constexpr std::string_view summary = "Median of a window; removes impulse noise and keeps edges.";
  static constexpr bool commutes_with_rescale = true;
  static consteval auto fields() {
    return std::tuple{
        field("radius", &MedianParams::radius, {0, largest_radius}, "voxel",
              "Half width of the window per axis; auto: 1 where a neighbour is no farther away than two in-plane "
              "voxels, else 0."),
        field("shape", &MedianParams::shape, "Voxels of the window that count."),
        field("border", &MedianParams::border, "What the window sees beyond the edge of the volume."),
    };
  }

  MedianParams resolved(const VolumeFacts&) const;
  constexpr Radius3 halo() const {
    switch (shape) {
      case MedianShape::row: return {radius->x, 0, 0};
      case MedianShape::column: return {0, radius->y, 0};
      default: return *radius;
    }
  }
  constexpr std::string_view window_field() const { return "radius"; }
  static FilterHooks<MedianParams> hooks() { return {.cpu_ns_per_voxel = &MedianParams::cpu_ns_per_voxel}; }
  double cpu_ns_per_voxel(const Extent&) const;
};

/// `params` are resolved.
void median_cpu(VolumeView<const float>, VolumeView<float>, const MedianParams& params, const Execution&);
void median_cpu(VolumeView<const std::int16_t>, VolumeView<std::int16_t>, const MedianParams&, const Execution&);
void median_cpu(VolumeView<const std::uint16_t>, VolumeView<std::uint16_t>, const MedianParams&, const Execution&);

void median_cuda(VolumeView<const float>, VolumeView<float>, const MedianParams&, const cuda::LaunchContext&);
void median_cuda(VolumeView<const std::int16_t>, VolumeView<std::int16_t>, const MedianParams&,
                 const cuda::LaunchContext&);
void median_cuda(VolumeView<const std::uint16_t>, VolumeView<std::uint16_t>, const MedianParams&,
                 const cuda::LaunchContext&);

}  // namespace quietvox
