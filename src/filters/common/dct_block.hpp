// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/fields.hpp"
#include "core/volume_facts.hpp"

namespace quietvox {

/// Voxels of a block: a cube, or a square within a slice.
enum class DctBlock { cube, square };
constexpr std::array<std::string_view, 2> choices(DctBlock) { return {"4x4x4", "8x8x1"}; }
/// Squares for few slices, uneven ones, and those that lie more than `thick` pixels apart.
DctBlock default_block(const VolumeFacts&, double thick);
/// Voxels of a block per axis; where the volume is shorter, the largest power of two that fits.
Radius3 block_lengths(DctBlock, const Extent& volume);

}  // namespace quietvox
