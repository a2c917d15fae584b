// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images.hpp"
#include "itk_adapters/filters/pixel_conversion.hpp"

namespace quietvox::test {

/// A filter of images of any pixel type gives what the same gives of float, as that type. `set` sets the parameters of
/// both.
template <class FilterOfFloat, class Filter, class Set>
void expect_as_float(double low, double high, const Set& set) {
  using Image = typename Filter::InputImageType;
  using Pixel = typename Image::PixelType;
  const auto image = noisy_image<Image>({{21, 13, 6}}, low, high);
  const auto floats = Volume<float>::New();
  floats->CopyInformation(image);
  floats->SetRegions(image->GetLargestPossibleRegion());
  floats->Allocate();
  itk::ImageRegionIterator<Image> from(image, image->GetBufferedRegion());
  itk::ImageRegionIterator<Volume<float>> to(floats, image->GetBufferedRegion());
  for (; !from.IsAtEnd(); ++from, ++to) to.Set(static_cast<float>(from.Get()));

  const auto reference = FilterOfFloat::New();
  reference->SetInput(floats);
  set(*reference);
  reference->Update();
  const auto filter = Filter::New();
  filter->SetInput(image);
  set(*filter);
  filter->Update();
  itk::ImageRegionConstIteratorWithIndex<Image> voxel(filter->GetOutput(), image->GetBufferedRegion());
  std::size_t different = 0;
  for (; !voxel.IsAtEnd(); ++voxel) {
    different += voxel.Get() != to_pixel<Pixel>(reference->GetOutput()->GetPixel(voxel.GetIndex()));
  }
  EXPECT_EQ(different, 0U) << typeid(Pixel).name();
}

}  // namespace quietvox::test
