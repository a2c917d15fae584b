// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "itk_adapters/filter_support.hpp"

#include "quality/measure_noise.hpp"
#include "quietvoxSeriesImageSource.h"

namespace quietvox {

HeaderFacts header_upstream(const itk::DataObject* data) {
  SeriesImageSource* const source = SeriesImageSource::FindUpstream(data);
  if (!source) return {};
  return source->GetImage().volume(source->GetVolumeIndex(), io::Values::stored)->header();
}

Settings resolved_with_voxels(const Settings& settings, VolumeSource& volume) {
  VolumeFacts facts = header_facts(volume);
  facts.noise = found_once([&volume] { return measure_noise(volume, {}); });
  facts.intensities = found_once([&volume] { return intensities(volume); });
  return settings.resolved(facts);
}

}  // namespace quietvox
