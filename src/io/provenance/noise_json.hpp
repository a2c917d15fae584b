// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/noise_model.hpp"
#include "io/provenance/settings_json.hpp"

namespace quietvox {

/// What was measured, without spectrum and map.
Json to_json(const NoiseModel&);
/// Power by frequency: `in_plane`, a list of rows, and `across`.
Json to_json(const NoiseSpectrum&);

}  // namespace quietvox
