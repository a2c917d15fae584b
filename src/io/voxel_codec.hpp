// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "io/image.hpp"
#include "io/rescale.hpp"
#include "io/scalar_type.hpp"

namespace quietvox::io {

/// How voxels look in a file, and what they mean.
struct VoxelFormat {
  ScalarType type = ScalarType::float32;
  bool swapped = false;  ///< not in the byte order of this machine
  Rescale rescale{};
};

/// For voxels that are no numbers, or infinite, where an integer type such as `int16` is to hold them.
Error not_finite_error(const std::string& type);

enum class Inexact { refuse, round };

/// Rescaled values of stored voxels, as floats. Unless it is to be rounded, throws Error(unsupported) for a number that
/// a float cannot hold: an integer beyond 2^24 with more than 24 significant bits, or moved too far by a rescale, a
/// double beyond the range.
void decode(std::span<const std::byte> stored, const VoxelFormat&, std::span<float> values,
            Inexact inexact = Inexact::refuse);

/// Widens a range to hold the rescaled values of stored voxels, as doubles, but for those that are not finite.
void widen(std::optional<Range<double>>&, std::span<const std::byte> stored, const VoxelFormat&);

/// None where the type holds floats.
std::optional<StoredIntegers> integers_of(const VoxelFormat&);

/// Whether encode_restoring() encodes them.
bool restores_bytes(std::span<const float> values, const VoxelFormat&);

/// Stores `values`, rounding half away from zero and moving what lies outside the stored range back into it. Where a
/// value equals what `before` says of the same voxel, the bytes that are in `stored` already stay; so they do where it
/// is not finite and the type holds integers. Returns how many were moved.
std::int64_t encode_changes(std::span<const float> values, std::span<const float> before, const VoxelFormat&,
                            std::span<std::byte> stored);

/// The same, with nothing to keep. Throws Error(unsupported) for a value that is not finite where the type holds
/// integers.
std::int64_t encode(std::span<const float> values, const VoxelFormat&, std::span<std::byte> stored);

/// encode(), where that makes of every value that decode() gave the bytes that it was decoded from: encode_changes()
/// would store no others then, whatever a filter left as it was. Returns nothing, and `stored` holds anything, where
/// that is not so or not known.
std::optional<std::int64_t> encode_restoring(std::span<const float> values, const VoxelFormat&,
                                             std::span<std::byte> stored);

}  // namespace quietvox::io
