// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/noise_model.hpp"
#include "io/image.hpp"

namespace quietvox {

/// Measures the noise of a volume of an image; of a series, by its neighbour too. `source` delivers that volume.
NoiseModel noise_of_volume(const io::Image&, std::size_t volume, VolumeSource& source, const Execution&);

}  // namespace quietvox
