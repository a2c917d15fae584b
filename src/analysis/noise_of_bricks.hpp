// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "analysis/air.hpp"
#include "analysis/noise_bricks.hpp"
#include "core/execution.hpp"
#include "core/noise_model.hpp"

namespace quietvox {

/// What headers say of whether voxels are magnitudes, whose noise is Rician.
enum class Magnitudes { no, perhaps, yes };

/// What is known of a volume besides its voxels.
struct KnownOfVolume {
  Magnitudes magnitudes = Magnitudes::perhaps;
  bool is_of_mr = false;          ///< whose noise is Rician in magnitudes, and follows no signal
  bool may_follow_signal = true;  ///< the noise
  bool object_is_dark = false;    ///< and air is bright
  bool may_have_borders = false;  ///< that X-rays did not reach
  bool has_large_voxels = false;  ///< so large that no part of a head is flat
  bool is_difference = false;     ///< the bricks are what two volumes differ by
  std::function<double()> sigma_between_neighbours;
};

struct NoiseOfBricks {
  NoiseModel model;
  double steepness = 1, floor = 1;  ///< see NoiseSpectrumFit
  double sigma_of_flat = 0;         ///< by the usual number of bricks
  double most = 0;                  ///< sigma before what structure adds was taken off, if it was
  double of_quiet = 0;          ///< sigma of white noise by quiet pieces; 0 if it is not white or was not looked for
  double signal = 0;            ///< mean of the volume where the noise was measured
  std::int64_t object = 0;      ///< bricks
  Air air{};                    ///< without its parts
  std::string why_magnitudes;   ///< why they may be, though nothing says so for sure
  bool are_magnitudes = false;  ///< as the signal shows, without air
  bool nothing_to_go_by = false, is_by_air = false, is_of_counts = false;
};

/// Measures the noise that bricks of voxels show. They are left as energies, and only those of the object.
NoiseOfBricks noise_of_bricks(NoiseBricks&, const KnownOfVolume&, const Execution&);

}  // namespace quietvox
