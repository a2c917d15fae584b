// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <numbers>
#include <string_view>

#include "core/backend.hpp"
#include "core/border.hpp"
#include "filters/common/launch_context.hpp"

namespace quietvox {

/// What nlm takes the noise for.
enum class NlmNoise { gaussian, rician };
constexpr std::array<std::string_view, 2> choices(NlmNoise) { return {"gaussian", "rician"}; }

/// Non-local means: averages each voxel p with the voxels q = p + o whose surroundings look like its own (Buades, Coll
/// and Morel 2005):
///
///     out  = u_p + sum_q w_q (u_q - u_p) / sum_q w_q
///     w_q  = exp(-max(D - noise_bias s^2, 0) / (strength s)^2) spatial intensity,   s^2 = sigma^2 (m_p^2 + m_q^2) / 2
///     D    = mean over the patch n of (u(p + n) - u(q + n))^2,   of which noise makes 2 s^2 on average
///     spatial = exp(-1/2 sum_a (o_a s_a / spatial_sigma)^2),   intensity = exp(-(u_q - u_p)^2 / (2 intensity_sigma^2))
///
/// The patch is the box of patch_radius; o runs over the box of search_radius, or q over all voxels of the slice of p.
/// m is the map of the noise where sigma was measured, else 1; beyond the border, it is that of the voxel that stands
/// there. The factors spatial and intensity are 1 unless their sigmas are given; together they make the NLM-bilateral
/// filter of Indurkhya and Vallabhu 2023. The noise model `rician` averages u^2 instead and returns sqrt(max(mean - 2
/// (sigma m_p)^2, 0)) (Wiest-Daessle et al. 2008). Where a voxel of either patch is missing, D leaves the pair out;
/// missing voxels q have no weight, and missing voxels p keep their value. h = strength sigma = 0 changes nothing.
/// Differs from exact arithmetic by at most 1e-5 max |u|, for intensities below 2^60 h; with `rician` the square does
/// so by 2e-5 max u^2, since near 0 the root magnifies what was rounded.
struct NlmParams {
  static constexpr int largest_patch_radius = 7, largest_search_radius = 31;
  static constexpr int wide_patch = 2;  // in in-plane voxels, of an automatic patch

  std::optional<Radius3> patch_radius;
  std::optional<OrAll<Radius3>> search_radius;
  std::optional<double> sigma;
  std::optional<double> strength;
  double noise_bias = 2;
  NlmNoise noise_model = NlmNoise::gaussian;
  double spatial_sigma = 0;
  double intensity_sigma = 0;
  Border border = Border::replicate;

  CoarseField map{};  ///< of the noise, over sigma; of resolved parameters
  Extent volume{};    ///< voxels of the whole volume; of resolved parameters

  static constexpr std::string_view name = "nlm";
  static constexpr std::string_view summary = "Non-local means: mean of voxels with similar surroundings.";
  static constexpr bool commutes_with_rescale = false;
  static consteval auto fields() {
    return std::tuple{
        field("patch-radius", &NlmParams::patch_radius, {0, largest_patch_radius}, "voxel",
              "Half width of the patches compared, per axis; auto: the length of one in-plane voxel, or two where "
              "the noise is strong or correlated."),
        field("search-radius", &NlmParams::search_radius, {0, largest_search_radius}, "voxel",
              "Half width of the search window, per axis; auto: three in-plane voxels, or five for windows "
              "within slices, or two if that leaves less error; all: the whole slice."),
        field("sigma", &NlmParams::sigma, {0, 1e30}, "intensity",
              "Standard deviation of the noise; auto: measured, with its local strength; 0 changes nothing."),
        field("strength", &NlmParams::strength, {0, 100}, "sigma",
              "Smoothing strength h, in sigmas; larger smooths more; auto: from the ratio of contrast to noise, and "
              "times 0.8 or 1.25 if that leaves less error."),
        field("noise-bias", &NlmParams::noise_bias, {0, 10}, "sigma^2",
              "Patch distance expected from noise, in noise variances; two patches of pure noise differ by 2."),
        field("noise-model", &NlmParams::noise_model, "Distribution of the noise; rician: of MR magnitude images."),
        field("spatial-sigma", &NlmParams::spatial_sigma, {0, 1e6}, "mm",
              "Standard deviation of a further weight by distance; 0: none."),
        field("intensity-sigma", &NlmParams::intensity_sigma, {0, 1e30}, "intensity",
              "Standard deviation of a further weight by difference of the voxels themselves; 0: none."),
        field("border", &NlmParams::border, "What patches and windows see beyond the edge of the volume."),
    };
  }

  /// Throws Error(invalid_argument) where the noise model is rician and the voxels are no magnitudes.
  NlmParams resolved(const VolumeFacts&) const;
  constexpr Reach halo() const {
    const Radius3 search = search_window().value_or(Radius3{}), patch = widest_patch();
    const bool whole = !search_window();
    return {{search.x + patch.x, search.y + patch.y, search.z + patch.z}, {whole, whole, false}};
  }
  constexpr std::string_view window_field() const {
    return search_radius && *search_radius ? "search-radius" : "patch-radius";
  }
  static FilterHooks<NlmParams> hooks() {
    return {.working_bytes = &NlmParams::working_bytes, .cpu_ns_per_voxel = &NlmParams::cpu_ns_per_voxel};
  }

  std::size_t working_bytes(const Extent&, int threads) const;
  constexpr double cpu_ns_per_voxel(const Extent& extent) const {
    return search_window() ? window_voxels(*search_window()) : static_cast<double>(extent.slice());
  }

  // Of resolved parameters, where the noise may not be known yet:
  constexpr Radius3 widest_patch() const { return patch_radius.value_or(widest_patch_); }
  constexpr const OrAll<Radius3>& search_window() const { return *search_radius; }
  // Of resolved parameters:
  double h() const { return *strength * *sigma; }

 private:
  void resolve_window(const VolumeFacts&);
  void resolve_by_noise(const VolumeFacts&, bool is_search_given);
  /// Of resolved parameters, replaces the strength, and the window if it was not given, by the best that were tried.
  void try_out(const NoiseModel&, const VolumeFacts&, bool is_search_given);

  Radius3 widest_patch_{};  ///< that an automatic patch may have
};

/// `params` are resolved.
void nlm_cpu(VolumeView<const float>, VolumeView<float>, const NlmParams& params, const Execution&);
void nlm_cuda(VolumeView<const float>, VolumeView<float>, const NlmParams& params, const cuda::LaunchContext&);

}  // namespace quietvox
