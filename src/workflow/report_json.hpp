// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "io/provenance/settings_json.hpp"
#include "workflow/denoise.hpp"

namespace quietvox {

/// How the parameters of a message are written for its reader: `--radius` for who types it, `radius` for a program.
using Spelling = std::function<std::string(const Parameter&)>;

/// What was done to a volume in memory: `filters`, `noise`, `stabilised`, `backend`, `warnings`.
Json to_json(const VolumeReport&, const Spelling&);

/// What was done to a series in memory: `volumes`, each as above, `backend`, `warnings`, and where there is one
/// `noise_source`.
Json to_json(const SeriesReport&, const Spelling&);

/// What was done to a scan: `filter` of docs/schema, without the schema's version.
Json to_json(const DenoiseRequest&, const DenoiseReport&, const Spelling&);

}  // namespace quietvox
