// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "io/image.hpp"

/// Whether images lie in the same place.
namespace quietvox::io {

/// Where `moved` lies, if not where `image` does: `spacing 1, 1, 2 mm instead of 1, 1, 1 mm`; else empty. An axis of
/// one voxel has no spacing to compare.
std::string displacement(const Geometry& moved, const Geometry& image);

/// The first slice that lies elsewhere, of two volumes of the same geometry that need not lie evenly: `slice 4 lies at
/// 0, 0, 16 mm instead of 0, 0, 6 mm`; else empty.
std::string displaced_slice(const Image& moved, std::size_t moved_volume, const Image& image, std::size_t volume);

}  // namespace quietvox::io
