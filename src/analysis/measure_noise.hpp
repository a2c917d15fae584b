// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "core/noise_model.hpp"
#include "core/pipeline.hpp"

namespace quietvox {

/// Measures the noise of a volume in its flat parts.
///
/// Bricks of 8x8x4 voxels, spread over the volume, are taken apart by a discrete cosine transform. The flattest bricks
/// of the object, those with the least energy in all but the lowest frequencies, hold little besides noise: the median
/// of their squared coefficients is its power at each frequency, once corrected for the choice, which prefers bricks
/// that are quiet by chance. Structure reaches across slices, so low in-plane frequencies are read from the high
/// frequencies across slices, if there are any. The lowest frequencies, at which no brick is flat, are taken to be no
/// stronger than those next to them. If bricks with the spectrum of the noise grow stronger or weaker over the volume,
/// a cubic polynomial through their logarithms is the map. If their variance grows with their mean or its square, and
/// that explains it clearly better than the place does, the noise is Poisson or speckle, unless headers say magnitudes,
/// MR or CT, or voxels lie far from 0. Where air holds Rician noise, its mean square is 2 sigma^2, which is more exact:
/// that counts where it is up to 5 % above.
///
/// Reads the volume once, rarely up to four times, holds some 24 MiB besides the slices being read (up to 60 where
/// these are few and large), and where slices lie along x or y, as much of the volume as SwappedVolume keeps. The
/// result depends on the voxels alone. Throws Error(invalid_argument) for a volume without voxels, or whose spacing is
/// no length.
NoiseModel measure_noise(VolumeSource&, const Execution&);

/// So many bytes, roughly, are held besides the slices being read.
std::size_t memory_to_measure_noise(const Extent&);

/// The same for a volume of a series that has a neighbour like it. What both show is not noise: half the variance of
/// their difference is measured. Contrast or motion may make the two differ by more than noise: then the volume alone
/// counts where it has less, or where only the highest frequencies of the difference tell of noise.
NoiseModel measure_noise_with_neighbour(VolumeSource&, VolumeSource& neighbour, const Execution&);

}  // namespace quietvox
