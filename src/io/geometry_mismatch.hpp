// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "io/axis_map.hpp"
#include "io/image.hpp"

/// Whether images lie in the same place.
namespace quietvox::io {

/// Where `moved` lies, if not where `image` does: `spacing 1, 1, 2 mm instead of 1, 1, 1 mm`; else empty. An axis of
/// one voxel has no spacing to compare.
std::string geometry_mismatch(const Geometry& moved, const Geometry& image);

/// How far voxels may lie apart that are taken for one, in voxels along each axis.
constexpr double same_voxel = 0.25;

/// Where the first voxel of each slice lies, LPS, mm.
using SlicePositions = std::vector<std::array<double, 3>>;
SlicePositions even_positions(const Geometry&);
/// Slice by slice where the image says it so, else as `own` has it, which is one of its geometries; with the axes of a
/// map.
SlicePositions slice_positions(const Image&, std::size_t volume, const Geometry& own, const AxisMap& = {});

/// How far voxels of two volumes of the same extent that have the same index lie apart at most, in voxels of `image`
/// along one of its axes.
double farthest(const Geometry& moved, const SlicePositions& moved_slices, const Geometry& image,
                const SlicePositions& slices);
/// The same in some of the slices.
double farthest(const Geometry& moved, const SlicePositions& moved_slices, const Geometry& image,
                const SlicePositions& slices, std::size_t first, std::size_t count);

/// Of volumes whose voxels do not all lie where they should, the first slice that is out of place:
/// `slice 4 lies at 0, 0, 16 mm instead of 0, 0, 6 mm`. If there is none, says that the axes differ.
std::string mismatched_slice(const Geometry& image, const SlicePositions& moved, const SlicePositions& slices);

}  // namespace quietvox::io
