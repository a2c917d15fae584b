// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

#include "core/host_device.hpp"
#include "filters/bm4d.hpp"

/// What block matching took out although noise does not explain it: small things that no block is like.
namespace quietvox::bm4d_kernel {

/// Of boxes of two voxels along each axis, or one where blocks have one. All backends compute the same bits; they add
/// what was taken from voxels in pairs along x, then y, then z.
struct Significance {
  float standard_error;  ///< of the mean of a box, where the map is 1
  float share;           ///< of a voxel in a box
  float most_change;     ///< of a voxel

  /// Nothing from voxels that are missing.
  static QV_HD float taken(float noisy, float filtered) {
    const float difference = noisy - filtered;
    return fabsf(difference) < INFINITY ? difference : 0.0F;
  }

  /// What a voxel becomes. Of what was taken from the boxes that hold it, the highest sum, at least 0, and the lowest,
  /// at most 0.
  QV_HD float restored(float noisy, float filtered, float highest, float lowest, float map) const {
    const float back = significant(highest * share, map) + significant(lowest * share, map);
    if (back == 0 || taken(noisy, filtered) == 0) return filtered;
    const float change = (filtered - noisy) + back;
    return noisy + fminf(fmaxf(change, -most_change), most_change) + 0.0F;
  }

 private:
  /// All of a mean that is above 5.5 standard errors, nothing below 4.5, part of it between.
  QV_HD float significant(float mean, float map) const {
    constexpr float doubtful = 4.5F;
    const float error = fmaxf(standard_error * map, std::numeric_limits<float>::min());
    const float part = fminf(fmaxf(fabsf(mean) / error - doubtful, 0.0F), 1.0F);
#ifdef __CUDA_ARCH__
    return __fmul_rn(mean, part);  // fused with the sum, it is rounded otherwise
#else
    return mean * part;
#endif
  }
};

Significance significance_of(const Bm4dParams&);

/// out = filtered, with what is significant put back. `filtered` lies within `noisy`, and holds `out` and, as far as
/// the volume goes, params.neighbours() about it.
void restore_significant(VolumeView<const float> noisy, VolumeView<const float> filtered, VolumeView<float> out,
                         const Bm4dParams& params, const Execution&);

}  // namespace quietvox::bm4d_kernel
