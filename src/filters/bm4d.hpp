// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "core/backend.hpp"
#include "core/noise_model.hpp"
#include "filters/common/dct_block.hpp"
#include "filters/common/launch_context.hpp"

namespace quietvox {

enum class Bm4dQuality { fast, standard, best };
constexpr std::array<std::string_view, 3> choices(Bm4dQuality) { return {"fast", "default", "best"}; }

/// Block matching and collaborative filtering in two stages, both 3-D (after BM4D of Maggioni, Katkovnik, Egiazarian
/// and Foi 2013, IEEE Transactions on Image Processing 22:119; BM3D for squares within slices). With h = strength
/// sigma:
///
/// References are the blocks that begin at every third voxel of each axis, or less far apart where blocks are shorter,
/// and the last ones. A reference is grouped with the 15 blocks that begin within search_radius and lie nearest to it,
/// itself first, or as many as make the largest power of two that there are. Nearest is by the sum of squared
/// differences of round(16 v / h), v being the noisy volume in the first stage and its result, the basic estimate, in
/// the second; of equal ones, by place. A group is transformed along its blocks' axes and, by Haar wavelets, across its
/// blocks; all transforms are orthonormal. Its coefficients but the first, which stays, are multiplied by g:
///
///     first stage:   Haar wavelets along the axes too,  g = 1 where c^2 >= (2.8 + 0.7 t)^2 s^2 v, else 0
///     second stage:  DCT-II along the axes,  g = b^2 / (b^2 + (0.7 + 0.8 t) s^2 v),  b those of the basic estimate
///
/// and it is transformed back. A voxel becomes the weighted mean of what all blocks of all groups say, with weights
/// window / sum of g^2 s^2 v over the group, g = 1 for the first coefficient; the window is the product along the axes
/// of a Kaiser window (beta = 2).
///
/// In the end, what is no noise is put back: things of about 2x2x2 voxels that stand out of it, and calcifications of
/// one. First, with L = 5 max(1, strength) sigma max(map), a voxel of which the groups say that it changes by c changes
/// by c where |c| <= L, by L with the sign of c where |c| <= 1.4 L, and beyond that by L (1.8 - |c| / L) / 0.4, down to
/// nothing at 1.8 L.
///
/// Then let d be what was taken from a voxel. Of each box of 2x2x2 voxels that holds it (one along axes where blocks
/// have one), let m be the mean of d, and q the sum of d over the half that holds the voxel over that of the box, along
/// the axis where q is least. The box counts with p = m min(1, max(0, 8 q - 1.5)): for voxels that share in m. The
/// highest p of all boxes, if above 0, and the lowest, if below, are put back, each multiplied by
///
///     min(1, max(0, |p| / e - 4.5)),   e = max(1, strength) sigma map sqrt(max(1 / N, variance of a box's mean)),
///
/// map at the voxel, N the voxels of the box, the variance that of noise of sigma 1 by its spectrum, as below. In all,
/// the voxel changes by no more than L + min(1, max(0, r / 4 - 1.5)) (2 n - L), n = max(1, strength) sigma map, where
/// what the groups made of it and of the eight voxels beside it in its slice ranges over r n: at strong edges and
/// points, noise of more than two deviations may stay, so that no more than this is lost of them. Missing voxels and
/// those outside the volume count as d = 0, and a voxel with d = 0 stays. In noise alone, one box in 10^6 has such a
/// mean.
///
/// s = h map in the middle of the reference. v is the exact variance of the coefficient, of noise of sigma 1 and its
/// spectrum, for these blocks in their places, which may overlap (Makinen, Azzari and Foi 2020, IEEE Transactions on
/// Image Processing 29:8339): with B a function of the basis of a block, x_a the places of blocks, n those of voxels,
/// and w a wavelet across blocks,
///
///     v = sum_ab w_a w_b C(x_a - x_b),   C(d) = sum_nm B(n) B(m) correlation(n - m + d)
///
/// but at least 2^-10, C as multiples of 2^-16, and correlations of voxels more than 8 apart as none. t = min(1, N -
/// 1), N the product of the spectrum's correlation lengths: where noise is correlated, blocks are alike by their noise
/// too, and more has to be taken out. Spectrum and map are those that were measured, where sigma was; a sigma that is
/// given is that of white noise, everywhere the same.
///
/// The papers take 32 blocks in the second stage; on real scans 16 are as good. `fast` searches within 3 voxels instead
/// of 5; `best` within 7, with references at every second voxel. Squares search within 5, 9 or 13 voxels of
/// their slice and, where slices are even, of the two next to it.
///
/// Along an axis that is shorter than a block, blocks take the largest power of two of voxels that fits. Blocks with a
/// missing voxel are in no group; missing voxels, and those that no group holds, keep their value. h = 0 changes
/// nothing. Weights, and weights times changes, are added up in whole multiples of a tiny fraction of h, so that
/// no order shows; with that, the first stage is exact, and the second groups the same blocks everywhere. Results
/// differ from those of exact arithmetic by at most 1e-5 max |u|, for intensities below 1e18 (others are missing) and
/// 1e6 h, where h is at most 16 max |u| and groups hold no blocks whose root mean squared difference is above 32 h.
/// Larger h add 1e-6 h: the fraction of it shows.
struct Bm4dParams {
  std::optional<double> sigma;
  double strength = 1;
  Bm4dQuality quality = Bm4dQuality::standard;
  std::optional<Radius3> search_radius;
  std::optional<DctBlock> block;
  int stages = 2;

  Radius3 lengths{4, 4, 4};  ///< voxels of a block per axis; of resolved parameters
  Extent volume{};           ///< voxels of the whole volume; of resolved parameters
  NoiseSpectrum spectrum{};  ///< of the noise; of resolved parameters
  CoarseField map{};         ///< of the noise, over sigma; of resolved parameters

  static constexpr std::string_view name = "bm4d";
  static constexpr std::string_view summary = "Block matching in 3-D: shrinks groups of blocks that are alike, twice.";
  static constexpr bool commutes_with_rescale = false;
  static consteval auto fields() {
    using P = Bm4dParams;
    return std::tuple{
        field("sigma", &P::sigma, {0, 1e30}, "intensity",
              "Standard deviation of the noise, taken as white; auto: measured, with its correlation and local "
              "strength; 0 changes nothing."),
        field("strength", &P::strength, {0, 100}, "sigma", "Noise level to remove, in sigmas; larger smooths more."),
        field("quality", &P::quality,
              "How far and how densely to search: fast, default, or best, which takes four times as long."),
        field("search-radius", &P::search_radius, {0, 31}, "voxel",
              "Half width of the search window, per axis; auto: 3, 5 or 7 by quality; for 8x8x1 blocks 5, 9 or "
              "13."),
        field("block", &P::block,
              "Block size; auto: 8x8x1 for under 4 slices, uneven or over 3.5 pixels apart; else 4x4x4."),
        field("stages", &P::stages, {1, 2}, "", "1: first stage; 2: both."),
    };
  }

  Bm4dParams resolved(const VolumeFacts&) const;
  /// Of one stage: a voxel's blocks, their references, and the blocks that those are compared with.
  constexpr Radius3 reach() const {
    const Radius3 r = *search_radius;
    return {2 * r.x + lengths.x - 1, 2 * r.y + lengths.y - 1, 2 * r.z + lengths.z - 1};
  }
  /// How far the boxes that hold a voxel reach beyond it.
  constexpr Radius3 neighbours() const { return {lengths.x > 1, lengths.y > 1, lengths.z > 1}; }
  /// What `count` stages and the boxes reach together.
  constexpr Radius3 halo_of(int count) const {
    const Radius3 r = reach(), near = neighbours();
    return {count * r.x + near.x, count * r.y + near.y, count * r.z + near.z};
  }
  constexpr Radius3 halo() const { return halo_of(stages); }
  constexpr std::string_view window_field() const { return ""; }
  static FilterHooks<Bm4dParams> hooks() {
    return {.working_bytes = &Bm4dParams::working_bytes,
            .cpu_ns_per_voxel = &Bm4dParams::cpu_ns_per_voxel,
            .works_in_slices = true,
            .needs_whole_blocks = true};
  }

  /// The noise that may be taken out, at least as strong as it was measured.
  double most_noise() const { return std::max(strength, 1.0) * *sigma; }
  double most_change() const;  ///< of a voxel
  std::size_t working_bytes(const Extent&, int threads) const;
  constexpr double cpu_ns_per_voxel(const Extent&) const { return 300 + 0.6 * window_voxels(*search_radius); }

  double h() const { return strength * *sigma; }
  double threshold() const { return 2.8 + 0.7 * correlated(); }
  double ratio() const { return 0.7 + 0.8 * correlated(); }
  double correlated() const;  ///< t: from 0, for white noise, to 1
  /// From reference to reference along an axis, in voxels.
  constexpr int step(int axis) const { return std::min(quality == Bm4dQuality::best ? 2 : 3, lengths[axis]); }
};

/// `params` are resolved.
void bm4d_cpu(VolumeView<const float>, VolumeView<float>, const Bm4dParams& params, const Execution&);
void bm4d_cuda(VolumeView<const float>, VolumeView<float>, const Bm4dParams& params, const cuda::LaunchContext&);

}  // namespace quietvox
