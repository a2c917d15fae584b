// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/backend.hpp"
#include "core/border.hpp"
#include "filters/common/launch_context.hpp"

namespace quietvox {

enum class GaussianAlgorithm {
  by_sigma,   ///< per axis: fir for sigma up to 6 voxels, recursive above
  fir,        ///< the sampled Gaussian
  recursive,  ///< its approximation by a recursive filter, whose cost does not grow with sigma
};
constexpr std::array<std::string_view, 3> choices(GaussianAlgorithm) { return {"by-sigma", "fir", "recursive"}; }

/// Convolves with a Gaussian, axis by axis; sigma is divided by the spacing.
///
/// fir: weights exp(-n^2 / (2 sigma^2)) for |n| <= 5 sigma, rounded, with sum 1. At most 2e-6 of the range of the
/// voxels + 4 ulp(max |u|) from exact arithmetic, if the largest is above 1e-36.
///
/// recursive: weights sum_i (A_i cos(W_i n / sigma) + B_i sin(W_i n / sigma)) exp(L_i n / sigma), n >= 0, two terms,
/// and the same for -n, with sum 1 (Deriche 1993; the numbers of Farnebäck and Westin 2006, which ITK uses too). They
/// differ from the Gaussian by up to 0.3 % of its peak. The recursion starts anew at every 128th voxel, 10 sigma
/// earlier, as if the voxel there went on without end, so that what it sees is finite and no slab can change it. At
/// most 1e-5 of the range + 4 ulp(max |u|) from exact arithmetic.
///
/// The window may be larger than the volume. Missing voxels keep their value and have no weight. Of the recursive
/// weights some are negative, and where those present add up to less than 0.01 a voxel keeps its value. What border
/// `copy` leaves alone is what lies within 5 sigma of the edge.
struct GaussianParams {
  static constexpr double largest_sigma = 500;  ///< voxels

  std::optional<Triple<double>> sigma;
  GaussianAlgorithm algorithm = GaussianAlgorithm::by_sigma;
  Border border = Border::replicate;
  Radius3 reach{};  ///< set by resolved(): how far an axis is seen; 0: the axis is not filtered

  static constexpr std::string_view name = "gaussian";
  static constexpr std::string_view summary = "Gaussian mean of the neighbourhood; smooths noise and edges alike.";
  static constexpr bool commutes_with_rescale = false;
  static consteval auto fields() {
    return std::tuple{
        field("sigma", &GaussianParams::sigma, {0, 1e6}, "mm",
              "Standard deviation per axis, 0 for none, at most 500 voxels; auto: one in-plane voxel."),
        field("algorithm", &GaussianParams::algorithm,
              "Sampled Gaussian, recursive approximation, or by sigma: fir up to 6 voxels, recursive above."),
        field("border", &GaussianParams::border, "What the window sees beyond the edge of the volume."),
    };
  }

  /// Throws Error(invalid_argument) where sigma is more than 500 voxels.
  GaussianParams resolved(const VolumeFacts&) const;
  constexpr Radius3 halo() const { return reach; }
  constexpr std::string_view window_field() const { return ""; }
  static FilterHooks<GaussianParams> hooks() {
    // Where voxels are missing: what those present add up to, and their weights.
    return {.slabs_besides = 2, .cpu_ns_per_voxel = &GaussianParams::cpu_ns_per_voxel};
  }
  constexpr double cpu_ns_per_voxel(const Extent&) const { return 10; }
};

/// `params` are resolved.
void gaussian_cpu(VolumeView<const float>, VolumeView<float>, const GaussianParams& params, const Execution&);
void gaussian_cuda(VolumeView<const float>, VolumeView<float>, const GaussianParams& params,
                   const cuda::LaunchContext&);

}  // namespace quietvox
