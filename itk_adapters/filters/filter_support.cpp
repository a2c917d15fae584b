// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "itk_adapters/filters/filter_support.hpp"

#include <optional>
#include <span>
#include <utility>

#include "analysis/measure_noise.hpp"
#include "core/filled_source.hpp"
#include "core/memory_volume.hpp"
#include "quietvoxSeriesImageSource.h"

namespace quietvox {

HeaderFacts header_upstream(const itk::DataObject* data) {
  SeriesImageSource* const source = SeriesImageSource::FindUpstream(data);
  if (!source) return {};
  return source->GetImage().volume(source->GetVolumeIndex(), io::VoxelDomain::stored)->header();
}

Resolved resolved_with_voxels(const FilterConfig& settings, Stabilise choice, VolumeSource& volume,
                              const Execution& execution) {
  VolumeFacts facts = header_facts(volume);
  const FilterConfig by_header = settings.resolved(facts);
  std::optional<NoiseModel> measured;
  const auto measure = [&] {
    if (!measured) measured = measure_noise(volume, execution.silent());
    return *measured;
  };
  auto stabilisation = find_stabilisation(std::span(&settings, 1), choice, volume, measure);
  std::optional<StabilisedSource> stabilised;
  if (stabilisation) stabilised.emplace(volume, *stabilisation, execution.silent());
  facts.noise = [&] { return stabilisation ? stabilisation->noise_after() : measure(); };
  facts.intensities = found_once([&] { return intensities(stabilised ? *stabilised : volume); });
  Resolved resolved{settings.resolved(facts), std::move(stabilisation), {}};
  if (measured) resolved.warnings = noise_warnings(by_header, resolved.settings, *measured);
  if (measured && is_asked_for(choice) && !resolved.stabilisation && resolved.warnings.empty()) {
    resolved.warnings.push_back(nothing_is_stabilised(*measured));
  }
  return resolved;
}

bool is_usable(float pixel) { return FilledSource::is_usable(pixel); }

std::vector<float> filled_in(const VolumeView<const float>& whole, const Execution& execution) {
  std::vector<float> voxels(static_cast<std::size_t>(whole.extent.voxels()));
  MemoryVolume volume(whole);
  FilledSource(volume, execution).read({voxels.data(), whole.extent, whole.spacing});
  return voxels;
}

void restore_missing(const VolumeView<const float>& whole, const VolumeView<float>& part) {
  for (std::int64_t z = 0; z < part.extent.z; ++z) {
    for (std::int64_t y = 0; y < part.extent.y; ++y) {
      const float* const before = whole.row(part.origin.y + y, part.origin.z + z) + part.origin.x;
      float* const after = part.row(y, z);
      for (std::int64_t x = 0; x < part.extent.x; ++x) {
        if (!is_usable(before[x])) after[x] = before[x];
      }
    }
  }
}

}  // namespace quietvox
