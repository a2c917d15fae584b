// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "analysis/measure_noise.hpp"
#include "core/backend.hpp"
#include "core/filter.hpp"
#include "support/difference.hpp"
#include "support/references.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {

/// A filter of the registry on a backend, with a volume of this size.
struct ParityCase {
  std::string filter, backend;
  Extent extent;
};
void PrintTo(const ParityCase&, std::ostream*);
std::string case_name(const ParityCase&);

/// Every filter x backend x extent.
std::vector<ParityCase> parity_cases();

/// The backend of that name, or none with the reason where this machine has no device for it.
struct BackendOrReason {
  const Backend* backend;
  std::string reason;
};
BackendOrReason find_backend(const std::string& name);

/// Settings whose windows fit the extent: the defaults with small windows, then, one at a time, every choice, both
/// states of every flag, and a larger window where there is room.
std::vector<FilterConfig> fitting_settings(const Filter&, const Extent&);

/// Null where there is none.
const Reference* find_reference(const std::string& filter);

/// By the noise of the volume, or as `measure` says.
FilterConfig resolved_for(const FilterConfig&, const Volume&, const Backend&,
                          const NoiseMeasure& measure = measure_noise);

Volume filtered(const Backend&, const FilterConfig& resolved, const Volume&, int threads = 0);

}  // namespace quietvox::test
