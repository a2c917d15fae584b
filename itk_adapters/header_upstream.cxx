// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "itk_adapters/header_upstream.hpp"

#include <cmath>

#include "quietvoxSeriesImageSource.h"

namespace quietvox {
namespace {

/// Whether the slices of an image are those that were read, or some of them.
bool has_slices_of(const itk::DataObject* data, const itk::ImageBase<3>* scan) {
  const auto* const image = dynamic_cast<const itk::ImageBase<3>*>(data);
  if (!image) return true;
  constexpr double rounding = 1e-4;
  double along = 0;
  for (unsigned int axis = 0; axis < 3; ++axis) along += image->GetDirection()[axis][2] * scan->GetDirection()[axis][2];
  return std::abs(along) >= 1 - rounding &&
         std::abs(image->GetSpacing()[2] - scan->GetSpacing()[2]) <= rounding * scan->GetSpacing()[2];
}

}  // namespace

HeaderFacts header_upstream(const itk::DataObject* data) {
  SeriesImageSource* const source = SeriesImageSource::FindUpstream(data);
  if (!source) return {};
  HeaderFacts header = source->GetImage().volume(source->GetVolumeIndex(), io::VoxelDomain::stored)->header();
  // Filters between may have turned or resampled it.
  if (!has_slices_of(data, source->GetOutput())) header.slices_are_even = true;
  return header;
}

}  // namespace quietvox
