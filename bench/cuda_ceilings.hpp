// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Rates that the hardware cannot exceed, measured on the device itself.
namespace quietvox::bench {

struct Ceilings {
  double copy;              ///< bytes read plus bytes written per second
  double minmax_f32;        ///< float minima or maxima per second
  double minmax_s16x2;      ///< 16-bit minima or maxima per second, two per instruction
  double exp2;              ///< exponentials per second
  double fma;               ///< float multiply-adds per second
  double atomics;           ///< 64-bit atomic additions per second, of warps to 256 bytes in a row, in the L2 cache
  double shared;            ///< bytes per second, read from shared memory without conflicts
  double upload, download;  ///< bytes per second, pinned memory, one direction at a time
};

Ceilings measure_ceilings();

}  // namespace quietvox::bench
