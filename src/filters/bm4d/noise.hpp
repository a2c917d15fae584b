// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/noise_model.hpp"

/// What noise leaves in the coefficients of the block matching filter.
namespace quietvox::bm4d_kernel {

constexpr int block_room = 64;  ///< voxels of a block, at most

/// Covariances of coefficients are whole multiples of this: sums of those of a group are exact in 32 bits, so that no
/// order shows.
constexpr double variance_grid = 0x1p-16;
/// No coefficient has less variance, whatever the spectrum.
constexpr double least_variance = 0x1p-10;

/// Covariances of the same coefficient of two blocks, of noise of sigma 1.
struct Covariances {
  Extent size{};                     ///< distances below these, along each axis; blocks farther apart share no noise
  std::vector<std::int32_t> values;  ///< block_room for each distance, x fastest

  /// Of blocks so far apart; null for those that share no noise.
  const std::int32_t* of(std::int64_t x, std::int64_t y, std::int64_t z) const {
    x = x < 0 ? -x : x;
    y = y < 0 ? -y : y;
    z = z < 0 ? -z : z;
    if (x >= size.x || y >= size.y || z >= size.z) return nullptr;
    return values.data() + ((z * size.y + y) * size.x + x) * block_room;
  }
};

enum class Basis { wavelets, cosines };

/// A function of an orthonormal basis of 1, 2, 4 or 8 voxels.
std::vector<double> basis_function(Basis, int index, int length);

std::size_t covariances_bytes(Radius3 lengths, Radius3 search);

/// Of blocks of a group, whose references search so far.
Covariances covariances_of(const NoiseSpectrum&, Basis, Radius3 lengths, Radius3 search);

}  // namespace quietvox::bm4d_kernel
