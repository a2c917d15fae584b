// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/execution.hpp"
#include "core/volume_view.hpp"

namespace quietvox {

/// How far a volume is from a reference. Voxels missing in either one do not count; where none is left, the averages
/// are NaN.
struct Comparison {
  std::int64_t voxels = 0;       ///< compared
  std::int64_t in_one_only = 0;  ///< missing in one of the two volumes
  std::int64_t different = 0;    ///< of the voxels compared, not equal
  double data_range = 0;         ///< of PSNR and SSIM: as given, else largest minus smallest value of the reference
  double mse = 0;
  double nrmse = 0;              ///< root mean square error over the root mean square of the reference
  double psnr = 0;               ///< dB: 10 log10(data_range^2 / mse); infinite for equal volumes
  double ssim = 0;               ///< mean structural similarity (Wang et al. 2004), uniform window of 7^3 or what fits
  double max_error = 0;          ///< largest absolute difference
  double edge_preservation = 0;  ///< correlation of the Laplacians (Sattar et al. 1997); 1 where edges are the same
  double residual_whiteness =
      0;  ///< correlation of neighbours in volume - reference, mean of the axes; 0 for white noise
};

/// `offset`: was subtracted from all voxels of both. Throws Error(invalid_argument) where the extents differ or the
/// data range is not above 0.
Comparison compare(VolumeView<const float> reference, VolumeView<const float> volume, std::optional<double> data_range,
                   const Execution&, double offset = 0);

}  // namespace quietvox
