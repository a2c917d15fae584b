// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/provenance.hpp"

namespace quietvox {

std::string version() { return QUIETVOX_VERSION; }

std::string describe_chain(std::span<const Settings> chain) {
  std::string text;
  for (const Settings& step : chain) {
    text += (text.empty() ? "" : " -> ") + step.filter().name;
    for (const FieldInfo& field : step.filter().fields) text += " " + field.name + "=" + step.get(field.name);
  }
  return text;
}

std::string derivation_text(const Provenance& provenance) {
  const std::string mask = provenance.mask.empty() ? "" : "; within mask " + provenance.mask;
  return "quietvox " + version() + ": " + describe_chain(provenance.resolved) + mask + "; not for diagnostic use";
}

}  // namespace quietvox
