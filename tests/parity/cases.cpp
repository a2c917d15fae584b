// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "parity/cases.hpp"

#include <cmath>
#include <map>
#include <stdexcept>

#include "backends/choice.hpp"
#include "core/pipeline.hpp"
#include "core/provenance.hpp"
#include "filters/registry.hpp"

namespace quietvox::test {
namespace {

/// As far as the header of a volume that has room for any window resolves them: far enough for windows.
FilterConfig with_room(const FilterConfig& settings) {
  constexpr std::int64_t roomy = 1 << 20;
  return settings.resolved({.extent = {{roomy, roomy, roomy}}, .spacing = busy_volume({{1, 1, 1}}, 0).spacing});
}

/// Makes what is given per axis smaller along one axis: half widths in voxels, or else distances, which decide how wide
/// an automatic window is.
void shrink(FilterConfig& settings, int axis) {
  for (const FieldInfo& field : settings.filter().fields) {
    if (field.kind != FieldKind::integer_triple) continue;
    auto radius = FieldType<std::optional<Radius3>>::parse(settings.get(field.name)).value();
    if (!radius || (*radius)[axis] == 0) continue;
    --(*radius)[axis];
    settings.set(field.name, FieldType<Radius3>::format(*radius));
    return;
  }
  for (const FieldInfo& field : settings.filter().fields) {
    if (field.kind != FieldKind::real_triple) continue;
    auto distance = FieldType<Triple<double>>::parse(with_room(settings).get(field.name)).value();
    distance[axis] /= 2;
    settings.set(field.name, FieldType<Triple<double>>::format(distance));
  }
}

/// The settings with a window that is no larger than the volume.
FilterConfig fitted(FilterConfig settings, const Extent& extent) {
  if (settings.filter().window_field(settings.params()).empty()) return settings;  // may reach across the volume
  for (int axis = 0; axis < 3; ++axis) {
    if (extent[axis] == 1) continue;  // windows are flat there
    while (2 * std::int64_t{with_room(settings).reach().radius[axis]} + 1 > extent[axis]) {
      const std::string before = describe_chain(std::vector{settings});
      shrink(settings, axis);
      if (describe_chain(std::vector{settings}) == before) throw std::runtime_error("no window fits: " + before);
    }
  }
  return settings;
}

/// Half widths in voxels are `radius`, or less where that does not fit.
FilterConfig with_windows(const Filter& filter, const Extent& extent, int radius) {
  FilterConfig settings(filter);
  for (const FieldInfo& field : filter.fields) {
    if (field.kind == FieldKind::integer_triple) settings.set(field.name, std::to_string(radius));
  }
  return fitted(settings, extent);
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

std::vector<FilterConfig> fitting_settings(const Filter& filter, const Extent& extent) {
  const FilterConfig base = with_windows(filter, extent, 1);
  std::vector<FilterConfig> all{base, with_windows(filter, extent, 2)};
  for (const FieldInfo& field : filter.fields) {
    const auto& values = field.kind == FieldKind::flag ? std::vector<std::string>{"false", "true"} : field.choices;
    for (const std::string& value : values) {
      if (value == field.default_text) continue;
      FilterConfig varied = base;
      varied.set(field.name, value);
      all.push_back(fitted(varied, extent));
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

FilterConfig resolved_for(const FilterConfig& settings, const Volume& volume, const Backend& backend,
                          const NoiseMeasure& measure) {
  const auto resolve = [&](const Volume& like) {
    MemorySource source(like);
    return resolve_chain(std::vector{settings}, source, backend, {}, measure).front();
  };
  try {
    return resolve(volume);
  } catch (const Error&) {  // noise models of magnitudes refuse negative voxels
    Volume magnitudes = volume;
    for (float& voxel : magnitudes.voxels) voxel = std::abs(voxel);
    return resolve(magnitudes);
  }
}

Volume filtered(const Backend& backend, const FilterConfig& resolved, const Volume& in, int threads) {
  Volume out(in.extent, in.spacing);
  backend.run(std::vector{resolved}, in.view(), out.view(), {.threads = threads, .memory_limit = {}});
  return out;
}

}  // namespace quietvox::test
