// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/provenance.hpp"

namespace quietvox {
namespace {

/// `2` for `2x2x2`.
std::string brief_value(const FieldInfo& field, const std::string& value) {
  if (field.kind != FieldKind::integer_triple && field.kind != FieldKind::real_triple) return value;
  const std::string first = value.substr(0, value.find('x'));
  return value == first + "x" + first + "x" + first ? first : value;
}

}  // namespace

std::string version() { return QUIETVOX_VERSION; }

std::string describe_chain(std::span<const FilterConfig> chain) {
  std::string text;
  for (const FilterConfig& step : chain) {
    text += (text.empty() ? "" : " -> ") + step.filter().name;
    for (const FieldInfo& field : step.filter().fields) text += " " + field.name + "=" + step.get(field.name);
  }
  return text;
}

std::string brief_chain(std::span<const FilterConfig> chain, std::size_t most) {
  std::string names, text;
  for (const FilterConfig& step : chain) {
    const std::string between = names.empty() ? "" : ", ";
    names += between + step.filter().name;
    text += between + step.filter().name;
    for (const FieldInfo& field : step.filter().fields) {
      const std::string value = step.get(field.name);
      if (value != field.default_text) text += " " + field.name + " " + brief_value(field, value);
    }
  }
  if (text.size() <= most) return text;
  return names.size() <= most ? names : std::to_string(chain.size()) + " filters";
}

std::string derivation_text(const Provenance& provenance, bool is_changed) {
  const std::string mask = provenance.mask.empty() ? "" : "; within mask " + provenance.mask;
  std::string steps;
  const auto add = [&steps](const std::string& step) { steps += (steps.empty() ? "" : " -> ") + step; };
  auto other = provenance.others.begin();
  for (std::size_t step = 0; step <= provenance.resolved.size(); ++step) {
    for (; other != provenance.others.end() && other->before == step; ++other) add(other->name);
    if (step < provenance.resolved.size()) add(describe_chain(std::span(&provenance.resolved[step], 1)));
  }
  const std::string by = steps.empty() || provenance.by.empty() ? "" : "; by " + provenance.by;
  const std::string unchanged = is_changed || steps.empty() ? "" : "; no voxel changed";
  if (steps.empty()) steps = "left as it was";
  const std::string noise = provenance.noise_source.empty() ? "" : "; " + provenance.noise_source;
  const std::string even = provenance.stabilised.empty() ? "" : "; stabilised: " + provenance.stabilised;
  return "quietvox " + version() + ": " + steps + mask + noise + even + by + unchanged + "; not for diagnostic use";
}

}  // namespace quietvox
