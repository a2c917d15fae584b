// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/volumes.hpp"

namespace quietvox::test {

/// Real anatomy without noise to speak of, 0 to 255, that filters are judged on: PSNR, peak 255, of voxels above
/// `floor`.
struct Truth {
  Volume volume;
  float floor;

  double psnr(const Volume& result) const;
};

/// Part of volumes/chris_t1.nii.gz of the real scans, 96x96x64 voxels of which all count.
Truth real_t1();
/// quality/t1_template.nii.gz of the real scans; voxels above 10 count.
Truth t1_template();

Volume with_white_noise(const Volume&, double sigma, int seed);

/// A flat volume of 1000 with white noise and lesions of 2x2x2 voxels, each `contrast` above or below in turn. The
/// first one begins where the volume does.
struct Lesions {
  Volume volume;
  std::vector<std::size_t> bright, dark;                ///< voxels
  std::vector<std::size_t> beside_bright, beside_dark;  ///< that share a face with one of these
};
Lesions small_lesions(Extent extent, double sigma, double contrast);

}  // namespace quietvox::test
