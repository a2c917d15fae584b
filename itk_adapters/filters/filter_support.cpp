// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "itk_adapters/filters/filter_support.hpp"

#include "analysis/measure_noise.hpp"
#include "quietvoxSeriesImageSource.h"

namespace quietvox {

HeaderFacts header_upstream(const itk::DataObject* data) {
  SeriesImageSource* const source = SeriesImageSource::FindUpstream(data);
  if (!source) return {};
  return source->GetImage().volume(source->GetVolumeIndex(), io::VoxelDomain::stored)->header();
}

FilterConfig resolved_with_voxels(const FilterConfig& settings, VolumeSource& volume) {
  VolumeFacts facts = header_facts(volume);
  facts.noise = found_once([&volume] { return measure_noise(volume, {}); });
  facts.intensities = found_once([&volume] { return intensities(volume); });
  return settings.resolved(facts);
}

}  // namespace quietvox
