// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/backend.hpp"
#include "core/border.hpp"
#include "filters/common/launch_context.hpp"

namespace quietvox {

enum class White {
  high,  ///< large values are shown white: MONOCHROME2, CT, MR
  low,   ///< small values are: MONOCHROME1, as many mammograms are stored
};
constexpr std::array<std::string_view, 2> choices(White) { return {"high", "low"}; }

/// A quadratic filter written in the differences d_i = x_i - x_0 of a window's voxels to its centre x_0:
///
///     y - x_0 = constant + linear x_0 + square x_0^2
///               + sum_i d_i (of_difference_i + of_centre_i x_0 + sum_{j>=i} of_pair_ij d_j)
///
/// The same polynomial as the one in the voxels themselves, in which flat areas stay flat to the bit where the first
/// three numbers are 0. Voxels but the centre are counted row by row.
struct QuadraticForm {
  static constexpr int most_neighbours = 24;

  int neighbours = 0;  ///< 8 or 24
  float constant = 0, linear = 0, square = 0;
  std::array<float, most_neighbours> of_difference{}, of_centre{};
  std::array<float, most_neighbours*(most_neighbours + 1) / 2> of_pair{};  ///< 00, 01, ..., 11, 12, ...

  constexpr int radius() const { return neighbours == 8 ? 1 : 2; }
};

/// A second-order Volterra filter of every slice, with a window of 3x3 or 5x5:
///
///     y = h0 + sum_i h1_i x_i + gain sum_{i<=j} h2_ij x_i x_j,   x = (u - lowest) / (highest - lowest)
///
/// and y scaled back. Where small values are shown white, `lowest` and `highest` change places, so that 1 is white
/// always. At most 1e-5 of highest - lowest + 4 ulp(max |u|) from exact arithmetic where the x are within [0, 1] and
/// the sum of |h| is at most 10. Missing voxels keep their value and stand in a window with the value of its centre.
/// Where lowest = highest nothing changes.
struct QuadraticParams {
  std::string coefficients = "denoise";
  double gain = 1;
  std::optional<double> lowest, highest;
  std::optional<White> white;
  Border border = Border::replicate;
  QuadraticForm form{};  ///< set by resolved()
  Radius3 reach{};       ///< set by resolved()

  static constexpr std::string_view name = "quadratic";
  static constexpr std::string_view summary =
      "Quadratic (Volterra) filter of a slice, trained or by design; enhances detail.";
  static constexpr bool commutes_with_rescale = false;
  static consteval auto fields() {
    return std::tuple{
        field("coefficients", &QuadraticParams::coefficients, NoRange{}, "NAME",
              "denoise, mammogram-enhance, or a JSON file of trained coefficients."),
        field("gain", &QuadraticParams::gain, {0, 1000}, "", "Factor of the quadratic part."),
        field("lowest", &QuadraticParams::lowest, {-1e30, 1e30}, "intensity",
              "Value that counts as 0; auto: as the coefficients say, else the smallest of the volume."),
        field("highest", &QuadraticParams::highest, {-1e30, 1e30}, "intensity",
              "Value that counts as 1; auto: as the coefficients say, else the largest of the volume."),
        field("white", &QuadraticParams::white,
              "Which values are shown white; auto: low for DICOM images of the photometric interpretation MONOCHROME1, "
              "else high."),
        field("border", &QuadraticParams::border, "What the window sees beyond the edge of the volume."),
    };
  }

  /// Reads the coefficients. Throws Error: input_path (no such file), corrupt (what is wrong with it),
  /// invalid_argument (lowest above highest).
  QuadraticParams resolved(const VolumeFacts&) const;
  constexpr Radius3 halo() const { return reach; }
  /// A preset keeps its name, a file is told by the first 16 digits of its SHA-256, as in sha256:0123456789abcdef.
  QuadraticParams with_content_hashes() const;
  bool enhances() const { return coefficients == "mammogram-enhance"; }
  constexpr std::string_view window_field() const { return "coefficients"; }
  static FilterHooks<QuadraticParams> hooks() {
    return {.enhances = &QuadraticParams::enhances,
            .with_content_hashes = &QuadraticParams::with_content_hashes,
            .works_in_slices = true};
  }

  /// x = (u - origin) * scale, and y * unscale is an intensity again. Of resolved parameters.
  double origin() const { return *white == White::high ? *lowest : *highest; }
  double unscale() const { return *white == White::high ? *highest - *lowest : *lowest - *highest; }
};

/// `params` are resolved.
void quadratic_cpu(VolumeView<const float>, VolumeView<float>, const QuadraticParams& params, const Execution&);
void quadratic_cuda(VolumeView<const float>, VolumeView<float>, const QuadraticParams& params,
                    const cuda::LaunchContext&);

}  // namespace quietvox
