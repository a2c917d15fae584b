// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/noise_bricks.hpp"

namespace quietvox {

/// Sigma of white noise where structure is everywhere, measured in pieces of 6x6 voxels: some lie in gaps of it. White
/// noise is the same in all pieces and at all frequencies. Structure differs from piece to piece, so that the quietest
/// hold little, and falls with frequency. 0 where that cannot be told: the noise is not white, bricks are few, or the
/// quietest pieces are much darker than others. The bricks hold voxels; `level`: the value of no signal.
double white_noise_in_structure(const NoiseBricks& bricks, double level);

}  // namespace quietvox
