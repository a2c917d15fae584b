// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "itk_adapters/header_upstream.hpp"

#include "quietvoxSeriesImageSource.h"

namespace quietvox {

HeaderFacts header_upstream(const itk::DataObject* data) {
  SeriesImageSource* const source = SeriesImageSource::FindUpstream(data);
  if (!source) return {};
  return source->GetImage().volume(source->GetVolumeIndex(), io::VoxelDomain::stored)->header();
}

}  // namespace quietvox
