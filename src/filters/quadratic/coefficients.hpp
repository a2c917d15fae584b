// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filters/quadratic.hpp"

namespace quietvox {

/// The coefficients of a quadratic filter, in the voxels of its window row by row; the JSON file of the same keys.
struct QuadraticCoefficients {
  int size = 3;  ///< 3 or 5
  double h0 = 0;
  std::vector<double> h1;                ///< size^2
  std::vector<double> h2;                ///< 00, 01, 02, ..., 11, 12, ...: size^2 (size^2 + 1) / 2
  std::optional<Range<double>> range{};  ///< of the intensities that it is for; none: those of the volume
  std::string name{}, provenance{};
  std::string identity{};  ///< the name of a preset, the hash of a file

  int voxels() const { return size * size; }
  /// Place of h2_ij, i <= j.
  std::size_t pair(int i, int j) const { return static_cast<std::size_t>(i * voxels() - i * (i - 1) / 2 + j - i); }
  double& h2_at(int i, int j) { return h2[i <= j ? pair(i, j) : pair(j, i)]; }
  double h2_at(int i, int j) const { return h2[i <= j ? pair(i, j) : pair(j, i)]; }
};

/// A preset by its name, else the file of that name. Throws Error: input_path, corrupt with the entry that is wrong.
QuadraticCoefficients quadratic_coefficients(const std::string& name_or_file);

/// Whether a file holds coefficients that train-quadratic made, as their provenance tells.
bool is_trained_file(const std::filesystem::path&);

/// What a file of them holds.
std::string to_json(const QuadraticCoefficients&);

/// Throws Error(corrupt) naming `file` and the entry.
QuadraticCoefficients quadratic_from_json(std::string_view text, const std::string& file);

/// `gain` is the factor of the quadratic part.
QuadraticForm quadratic_form(const QuadraticCoefficients&, double gain);

/// The presets, made by the project. mammogram-enhance: y = x + Teager(x) / 2, with the two-dimensional Teager operator
/// 3 x_0^2 - x_W x_E - x_N x_S - (x_NW x_SE + x_NE x_SW) / 2 (Mitra 1991), a Laplacian weighted with the local mean.
/// denoise: trained on phantoms by train-quadratic; docs/quadratic.md says how.
const std::vector<QuadraticCoefficients>& quadratic_presets();

}  // namespace quietvox
