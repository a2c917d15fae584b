// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "filters/quadratic/coefficients.hpp"

namespace quietvox {

/// How coefficients are fitted to a noisy volume and a clean one.
struct QuadraticTraining {
  int size = 3;           ///< 3 or 5
  double ridge = 1e-4;    ///< added to each term's mean square, as a share of it
  bool keep_flat = true;  ///< sum h1 = 1, sum h2 = 0, h0 = 0: flat areas stay as they are
};

/// Peak signal-to-noise ratios, in dB, on voxels that were not trained on; the peak is the range of intensities.
struct TrainedQuadratic {
  QuadraticCoefficients coefficients;
  std::int64_t trained_on = 0, held_out = 0;  ///< voxels
  double noisy_psnr = 0;                      ///< of what was given
  double linear_psnr = 0;                     ///< of the linear filter of the same size, trained in the same way
  double quadratic_psnr = 0;
};

/// Fits the coefficients that make `clean` of `noisy` with the least square error, in double (ridge regression). Rows
/// are parted into bands of 8, the last of every four bands is held out; windows that leave the volume or hold missing
/// voxels are left out, and of large volumes every n-th voxel is taken. The same for any number of threads.
/// Throws Error(invalid_argument) where extents differ or there is nothing to learn from.
TrainedQuadratic train_quadratic(VolumeView<const float> noisy, VolumeView<const float> clean, Range<double> range,
                                 const QuadraticTraining&, const Execution&);

}  // namespace quietvox
