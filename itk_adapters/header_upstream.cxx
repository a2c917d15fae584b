// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "itk_adapters/header_upstream.hpp"

#include <cmath>

#include "quietvoxSeriesImageSource.h"

namespace quietvox {
namespace {

/// Whether slices that were read lie along another axis than z by now.
bool is_turned(const itk::DataObject* data, const itk::ImageBase<3>* scan) {
  const auto* const image = dynamic_cast<const itk::ImageBase<3>*>(data);
  if (!image) return false;
  constexpr double half = 0.5;
  double along = 0;
  for (unsigned int axis = 0; axis < 3; ++axis) along += image->GetDirection()[axis][2] * scan->GetDirection()[axis][2];
  return std::abs(along) < half;
}

}  // namespace

HeaderFacts header_upstream(const itk::DataObject* data) {
  SeriesImageSource* const source = SeriesImageSource::FindUpstream(data);
  if (!source) return {};
  HeaderFacts header = source->GetImage().volume(source->GetVolumeIndex(), io::VoxelDomain::stored)->header();
  if (is_turned(data, source->GetOutput())) header.slices_are_even = true;
  return header;
}

}  // namespace quietvox
