// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "parity/cases.hpp"

#include <cmath>
#include <map>

#include "core/pipeline.hpp"
#include "filters/registry.hpp"
#include "quality/noise_estimate.hpp"

namespace quietvox::test {
namespace {

/// The half width of a window that fits, at most `radius`.
std::string fitting_radius(const Extent& extent, int radius) {
  Radius3 fitting;
  for (int axis = 0; axis < 3; ++axis) {
    fitting[axis] = static_cast<int>(std::min<std::int64_t>(radius, (extent[axis] - 1) / 2));
  }
  return FieldType<Radius3>::format(fitting);
}

Settings with_windows(const Filter& filter, const Extent& extent, int radius) {
  Settings settings(filter);
  for (const FieldInfo& field : filter.fields) {
    if (field.kind == FieldKind::integer_triple) settings.set(field.name, fitting_radius(extent, radius));
  }
  return settings;
}

std::string size_name(const Extent& e) {
  return std::to_string(e.x) + "x" + std::to_string(e.y) + "x" + std::to_string(e.z);
}

}  // namespace

void PrintTo(const ParityCase& c, std::ostream* out) {
  *out << c.filter << " on " << c.backend << ", " << size_name(c.extent);
}

std::string case_name(const ParityCase& c) {
  std::string name = c.filter + "_" + c.backend + "_" + size_name(c.extent);
  for (char& letter : name) {
    if (letter == '-') letter = '_';
  }
  return name;
}

std::vector<ParityCase> parity_cases() {
  std::vector<ParityCase> cases;
  for (const Filter& filter : filters()) {
    for (const char* backend : {"cpu", "cuda"}) {
      for (const Extent extent :
           {Extent{1, 1, 1}, Extent{5, 7, 11}, Extent{33, 1, 2}, Extent{64, 64, 64}, Extent{61, 47, 1}}) {
        cases.push_back({filter.name, backend, extent});
      }
    }
  }
  return cases;
}

BackendOrReason find_backend(const std::string& name) {
  static std::map<std::string, std::unique_ptr<Backend>> made;
  try {
    if (!made.contains(name)) made[name] = make_backend(name);
    return {made[name].get(), {}};
  } catch (const Error& error) {
    if (error.code() != Errc::device) throw;
    return {nullptr, error.what()};
  }
}

std::vector<Settings> fitting_settings(const Filter& filter, const Extent& extent) {
  const Settings base = with_windows(filter, extent, 1);
  std::vector<Settings> all{base, with_windows(filter, extent, 2)};
  for (const FieldInfo& field : filter.fields) {
    const auto& values = field.kind == FieldKind::flag ? std::vector<std::string>{"false", "true"} : field.choices;
    for (const std::string& value : values) {
      if (value == field.default_text) continue;
      all.push_back(base);
      all.back().set(field.name, value);
    }
  }
  return all;
}

const Reference* find_reference(const std::string& filter) {
  for (const Reference& reference : references()) {
    if (reference.filter == filter) return &reference;
  }
  return nullptr;
}

Settings resolved_for(const Settings& settings, const Volume& volume, const Backend& backend) {
  MemorySource source(volume);
  return resolve_chain(std::vector{settings}, source, backend, {}, estimate_noise).front();
}

Volume filtered(const Backend& backend, const Settings& resolved, const Volume& in, int threads) {
  Volume out(in.extent, in.spacing);
  backend.run(std::vector{resolved}, in.view(), out.view(), {.threads = threads, .memory_limit = {}});
  return out;
}

}  // namespace quietvox::test
