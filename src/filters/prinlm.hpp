// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "filters/bm4d.hpp"
#include "filters/common/launch_context.hpp"
#include "filters/dct.hpp"

namespace quietvox {

enum class PrinlmGuide { dct, bm4d };
constexpr std::array<std::string_view, 2> choices(PrinlmGuide) { return {"dct", "bm4d"}; }

/// Non-local means whose weights come from a guide, the volume as the filter `dct` or `bm4d` leaves it (after PRI-NLM3D
/// of Manjon et al. 2012, Medical Image Analysis 16:18). With g the guide, m_p = (2 g_p + sum of g over the six
/// neighbours of p) / 8, where a neighbour that is missing, outside the volume, or along an axis whose search radius is
/// 0 counts as p, and h = strength sigma:
///
///     out_p = sum_q w_pq u_q / sum_q w_pq,   w_pq = exp(-((g_p - g_q)^2 / 4 + (m_p - m_q)^2) / h^2)
///
/// over the voxels q of the box of search_radius about p. Voxels are compared, not patches, so that rotated structures
/// are alike. The paper lets small differences count as none and cuts large ones off; without either, and a strength
/// chosen anew, results on real scans are as good. Where noise is correlated, the sigma of a `dct` guide is s times
/// that of the noise, and an automatic strength is 0.45 / s^(c / 2), c = min(1, max(0, contrast / sigma of the noise -
/// 1)): with more, clear ridges and edges lose height. Missing
/// voxels keep their value and have no weight. sigma = 0 or strength = 0 changes nothing. Differs from exact arithmetic
/// by at most 1e-5 max |u|, for intensities below 1e18 (others are missing) and 1e37 h, and where the filter of the
/// guide does.
struct PrinlmParams {
  std::optional<double> sigma;
  std::optional<double> strength;
  std::optional<Radius3> search_radius;
  PrinlmGuide guide = PrinlmGuide::dct;
  double guide_strength = 1;
  std::optional<DctBlock> guide_block;

  DctParams dct{};    ///< of the guide, if it is that; of resolved parameters
  Bm4dParams bm4d{};  ///< likewise

  static constexpr std::string_view name = "prinlm";
  static constexpr std::string_view summary =
      "Mean of voxels that are alike in the result of dct or bm4d, rotated or not.";
  static constexpr bool commutes_with_rescale = false;
  static consteval auto fields() {
    using P = PrinlmParams;
    return std::tuple{
        field("sigma", &P::sigma, {0, 1e30}, "intensity",
              "Standard deviation of the noise; auto: measured, and more where it is correlated; 0 changes nothing."),
        field("strength", &P::strength, {0, 100}, "sigma",
              "Smoothing strength h, in sigmas; larger smooths more; auto: 0.45, and less for correlated noise that is "
              "weaker than structure, if dct "
              "makes the guide."),
        field("search-radius", &P::search_radius, {0, 15}, "voxel",
              "Half width of the window that is averaged, per axis; auto: 4 voxels of a slice, 7 where windows stay "
              "within slices."),
        field("guide", &P::guide,
              "Filter that makes the guide: dct, or bm4d, which leaves less noise and takes two to three and a half "
              "times as long."),
        field("guide-strength", &P::guide_strength, {0, 100}, "sigma", "Strength of the guide's filter."),
        field("guide-block", &P::guide_block, "Voxels of a block of the guide's filter; auto: as that filter chooses."),
    };
  }

  PrinlmParams resolved(const VolumeFacts&) const;
  /// Of the voxels that a result needs of the guide.
  constexpr Radius3 reach() const {
    const auto with_neighbour = [](int radius) { return radius > 0 ? radius + 1 : 0; };
    return {with_neighbour(search_radius->x), with_neighbour(search_radius->y), with_neighbour(search_radius->z)};
  }
  constexpr Radius3 halo() const {
    const Radius3 of_guide = guide == PrinlmGuide::dct ? dct.halo() : bm4d.halo();
    return {reach().x + of_guide.x, reach().y + of_guide.y, reach().z + of_guide.z};
  }
  constexpr std::string_view window_field() const { return ""; }
  static FilterHooks<PrinlmParams> hooks() {
    return {.working_bytes = &PrinlmParams::working_bytes,
            .cpu_ns_per_voxel = &PrinlmParams::cpu_ns_per_voxel,
            .works_in_slices = true,
            .needs_whole_blocks = true};
  }

  std::size_t working_bytes(const Extent&, int threads) const;
  constexpr double cpu_ns_per_voxel(const Extent& extent) const {
    return (guide == PrinlmGuide::dct ? dct.cpu_ns_per_voxel(extent) : bm4d.cpu_ns_per_voxel(extent)) +
           0.5 * window_voxels(*search_radius);
  }

  double h() const { return *strength * *sigma; }
};

/// `params` are resolved.
void prinlm_cpu(VolumeView<const float>, VolumeView<float>, const PrinlmParams& params, const Execution&);
void prinlm_cuda(VolumeView<const float>, VolumeView<float>, const PrinlmParams& params, const cuda::LaunchContext&);

}  // namespace quietvox
