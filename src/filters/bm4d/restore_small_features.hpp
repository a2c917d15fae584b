// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

#include "core/host_device_macro.hpp"
#include "filters/bm4d.hpp"

/// What block matching took out although noise does not explain it: small things that no block is like. All backends
/// compute the same bits.
namespace quietvox::bm4d_kernel {

/// What is left of the change of a voxel that may change by no more than `most`: nothing of a change that is 1.8 times
/// as large, for which noise is no reason any more; less and less of `most` from 1.4 times on.
QV_HD double bounded_change(double change, double most) {
  const double within = fmin(fmax(change, -most), most);
  const double left = 1 - fmin(fmax(2.5 * (fabs(change) / most - 1.4), 0.0), 1.0);
#ifdef __CUDA_ARCH__
  return __dmul_rn(within, left);  // fused with the sum, it is rounded otherwise
#else
  return within * left;
#endif
}

/// What the filter took from a voxel; 0 where it is missing.
QV_HD float taken_from(float noisy, float filtered) {
  const float difference = noisy - filtered;
  return fabsf(difference) < INFINITY ? difference : 0.0F;
}

/// Sums of what was taken from the boxes that hold a voxel, as far as they count for it.
struct BoxSums {
  float highest = 0, lowest = 0;

  static QV_HD float less(float a, float b) { return b < a ? b : a; }
  static QV_HD float more(float a, float b) { return a < b ? b : a; }
  /// From 0 where a half has 3/16 of the sum, to all of the sum where it has 5/16. Products are exact.
  static QV_HD float part(float sum, float half) { return 8 * half - sum - 0.5F * sum; }

  /// `taken(x, y, z)` is what was taken from the voxel that lies so far from this one, each of -1, 0 and 1.
  template <class TakenAt>
  static QV_HD BoxSums about_voxel(const TakenAt& taken) {
    BoxSums found;
    for (int z = -1; z <= 1; z += 2) {
      for (int y = -1; y <= 1; y += 2) {
        for (int x = -1; x <= 1; x += 2) {
          const float row = taken(0, 0, 0) + taken(x, 0, 0), next_row = taken(0, y, 0) + taken(x, y, 0);
          const float across = taken(0, 0, z) + taken(x, 0, z), next_across = taken(0, y, z) + taken(x, y, z);
          const float sum = (row + next_row) + (across + next_across);
          const float half_x = (taken(0, 0, 0) + taken(0, y, 0)) + (taken(0, 0, z) + taken(0, y, z));
          const float half_y = row + across, half_z = row + next_row;
          const float least = less(less(half_x, half_y), half_z), most = more(more(half_x, half_y), half_z);
          found.highest = more(found.highest, less(sum, part(sum, least)));
          found.lowest = less(found.lowest, more(sum, part(sum, most)));
        }
      }
    }
    return found;
  }
};

/// Which changes are no noise.
struct Significance {
  float standard_error;  ///< of the mean of a box, where the map is 1
  float share;           ///< of a voxel in a box
  float most_noise;      ///< standard deviation of the noise that may be taken out, where the map is 1
  float most_change;     ///< of a voxel

  /// What a voxel becomes. `filtered_at(x, y)` is what was made of the voxel that lies so far from it in its slice,
  /// each of -1, 0 and 1; of one outside the volume, what was made of this one.
  template <class FilteredAt>
  QV_HD float restored(float noisy, float filtered, const BoxSums& sums, float map,
                       const FilteredAt& filtered_at) const {
    if (taken_from(noisy, filtered) == 0) return filtered;
    const float back = significant(sums.highest * share, map) + significant(sums.lowest * share, map);
    const float change = (filtered - noisy) + back;
    const float most = most_change_of(fabsf(change), map, filtered_at);
    if (back == 0 && fabsf(change) <= most) return filtered;
    return noisy + BoxSums::less(BoxSums::more(change, -most), most) + 0.0F;
  }

 private:
  /// Fused with a sum, it is rounded otherwise.
  static QV_HD float product(float a, float b) {
#ifdef __CUDA_ARCH__
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
  }

  /// All of a mean that is above 5.5 standard errors, nothing below 4.5, part of it between.
  QV_HD float significant(float mean, float map) const {
    constexpr float doubtful = 4.5F;
    const float error = BoxSums::more(standard_error * map, std::numeric_limits<float>::min());
    return product(mean, BoxSums::less(BoxSums::more(fabsf(mean) / error - doubtful, 0.0F), 1.0F));
  }

  /// How much a voxel may change: where those around it range over more than 10 standard deviations, 2 of these; less
  /// of the usual amount from 6 on. What is asked for decides whether it has to be known.
  template <class FilteredAt>
  QV_HD float most_change_of(float asked, float map, const FilteredAt& filtered_at) const {
    const float noise = BoxSums::more(product(most_noise, map), std::numeric_limits<float>::min());
    if (asked <= 2 * noise) return most_change;
    float low = filtered_at(0, 0), high = low;
    for (int y = -1; y <= 1; ++y) {
      for (int x = -1; x <= 1; ++x) {
        low = BoxSums::less(low, filtered_at(x, y));
        high = BoxSums::more(high, filtered_at(x, y));
      }
    }
    const float part = BoxSums::less(BoxSums::more((high - low) / noise - 6, 0.0F), 4.0F) * 0.25F;
    return most_change - product(part, most_change - 2 * noise);
  }
};

Significance significance_of(const Bm4dParams&);

/// out = filtered, with what is significant put back. `filtered` lies within `noisy`, and holds `out` and, as far as
/// the volume goes, params.neighbours() about it.
void restore_small_features(VolumeView<const float> noisy, VolumeView<const float> filtered, VolumeView<float> out,
                            const Bm4dParams& params, const Execution&);

}  // namespace quietvox::bm4d_kernel
