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
  std::string steps;
  const auto add = [&steps](const std::string& step) { steps += (steps.empty() ? "" : " -> ") + step; };
  auto other = provenance.others.begin();
  for (std::size_t step = 0; step <= provenance.resolved.size(); ++step) {
    for (; other != provenance.others.end() && other->before == step; ++other) add(other->name);
    if (step < provenance.resolved.size()) add(describe_chain(std::span(&provenance.resolved[step], 1)));
  }
  return "quietvox " + version() + ": " + steps + mask + "; not for diagnostic use";
}

}  // namespace quietvox
