// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/volume_view.hpp"

namespace quietvox::test {

/// Writes a NIfTI-1 file (.nii) of 16-bit integers or floats, spacing 1 mm, made by hand so that it depends on no
/// writer. It does not say where it lies, or, where `is_placed`, at the origin.
void write_nifti(const std::filesystem::path&, Extent, const std::vector<std::int16_t>& voxels, int volumes = 1,
                 bool is_placed = false);
void write_nifti(const std::filesystem::path&, Extent, const std::vector<float>& voxels, int volumes = 1);

/// Real values of one volume of whatever the program can read.
std::vector<float> read_voxels(const std::filesystem::path&, std::size_t volume = 0);

/// Random 16-bit integers, the same for the same seed.
std::vector<std::int16_t> random_integers(std::size_t count, unsigned seed);

/// A DICOM series of 5 slices of a noisy CT phantom, made by the program.
void make_series(const std::filesystem::path& folder);

}  // namespace quietvox::test
