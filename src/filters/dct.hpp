// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/backend.hpp"
#include "filters/common/dct_block.hpp"
#include "filters/common/launch_context.hpp"

namespace quietvox {

/// Shrinks the cosine coefficients of every block of the volume, twice: the first result tells the second pass which
/// coefficients are signal (the oracle DCT filter of Manjon et al. 2012, Medical Image Analysis 16:18). With C_B u the
/// orthonormal DCT-II of u in the block B, and k its coefficients but the mean, which stays:
///
///     first:   g_B(k) = G((C_B u)_k / (2.8 h), 8),    second: g_B(k) = G((C_B first)_k / h, 4),    h = strength sigma
///     G(r, n)  = r^n / (1 + r^n)
///     w_B      = 1 / (1 + sum_k g_B(k)^2), the mean's gain of 1 included
///     out_p    = sum_B w_B (C_B^-1 (g_B C_B u))_p / sum_B w_B over all blocks that hold p
///
/// The paper keeps or drops a coefficient, at 2.7 h and at h; gains that rise steeply there leave 0.1 dB less noise on
/// a real scan, and no result hangs on how a sum was rounded. The mean of a block always stays, so that a constant
/// added to the volume is added to the result. A block lies within the volume; along an axis that is shorter, blocks
/// take the largest power of two of voxels that fits. Blocks with a missing voxel do not count; voxels in none that
/// counts keep their value, as missing ones do. h = 0 changes nothing. Differs from exact arithmetic by at most
/// 1e-5 max |u|, for intensities below 1e18 (others are missing) of which the largest is above 1e-35 h.
struct DctParams {
  std::optional<double> sigma;
  double strength = 1;
  std::optional<DctBlock> block;

  static constexpr double first_threshold = 2.8;  ///< of the first pass, in h

  Radius3 lengths{4, 4, 4};  ///< voxels of a block per axis; of resolved parameters

  static constexpr std::string_view name = "dct";
  static constexpr std::string_view summary = "Oracle DCT: shrinks the cosine coefficients of overlapping blocks.";
  static constexpr bool commutes_with_rescale = false;
  static consteval auto fields() {
    return std::tuple{
        field("sigma", &DctParams::sigma, {0, 1e30}, "intensity",
              "Standard deviation of the noise; auto: measured, and more where it is correlated; 0 changes nothing."),
        field("strength", &DctParams::strength, {0, 100}, "sigma",
              "Noise level to remove, in sigmas; larger smooths more."),
        field("block", &DctParams::block,
              "Block size; auto: 8x8x1 for under 4 slices, uneven slices, or slices over 5 pixels apart; else "
              "4x4x4."),
    };
  }

  DctParams resolved(const VolumeFacts&) const;
  /// Of the blocks that hold a voxel.
  constexpr Radius3 reach() const { return {lengths.x - 1, lengths.y - 1, lengths.z - 1}; }
  /// Of both passes.
  constexpr Radius3 halo() const { return {2 * reach().x, 2 * reach().y, 2 * reach().z}; }
  constexpr std::string_view window_field() const { return ""; }
  static FilterHooks<DctParams> hooks() {
    return {.working_bytes = &DctParams::working_bytes,
            .cpu_ns_per_voxel = &DctParams::cpu_ns_per_voxel,
            .works_in_slices = true,
            .needs_whole_blocks = true};
  }

  std::size_t working_bytes(const Extent&, int threads) const;
  constexpr double cpu_ns_per_voxel(const Extent&) const { return 100; }

  double h() const { return strength * *sigma; }
};

/// `params` are resolved.
void dct_cpu(VolumeView<const float>, VolumeView<float>, const DctParams& params, const Execution&);
void dct_cuda(VolumeView<const float>, VolumeView<float>, const DctParams& params, const cuda::LaunchContext&);

}  // namespace quietvox
