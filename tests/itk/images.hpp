// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <itkImage.h>
#include <itkImageRegionConstIteratorWithIndex.h>
#include <itkImageRegionIterator.h>

#include <cstring>
#include <random>

namespace quietvox::test {

template <class Pixel>
using Volume = itk::Image<Pixel, 3>;
template <class Pixel>
using Plane = itk::Image<Pixel, 2>;

/// An image of noise between `low` and `high` around a step, whose region does not start at zero and whose voxels are
/// not cubes.
template <class Image>
typename Image::Pointer noisy_image(typename Image::SizeType size, double low = 0, double high = 200) {
  typename Image::RegionType region;
  typename Image::SpacingType spacing;
  for (unsigned int axis = 0; axis < Image::ImageDimension; ++axis) {
    region.SetIndex(axis, 3 - 5 * static_cast<int>(axis));
    region.SetSize(axis, size[axis]);
    spacing[axis] = 0.8 + 0.6 * axis;
  }
  auto image = Image::New();
  image->SetRegions(region);
  image->SetSpacing(spacing);
  image->Allocate();
  std::mt19937 random(7);
  std::uniform_real_distribution<double> noise(low, (low + high) / 2);
  const auto middle = region.GetIndex(0) + static_cast<itk::IndexValueType>(size[0] / 2);
  for (itk::ImageRegionIterator<Image> voxel(image, region); !voxel.IsAtEnd(); ++voxel) {
    const double step = voxel.GetIndex()[0] < middle ? 0 : (high - low) / 2;
    voxel.Set(static_cast<typename Image::PixelType>(noise(random) + step));
  }
  return image;
}

/// Every voxel of `region` has the same bits in both images.
template <class Image>
void expect_equal(const Image* actual, const Image* expected, const typename Image::RegionType& region) {
  ASSERT_TRUE(actual->GetBufferedRegion().IsInside(region));
  ASSERT_TRUE(expected->GetBufferedRegion().IsInside(region));
  std::size_t different = 0;
  itk::ImageRegionConstIteratorWithIndex<Image> a(actual, region), b(expected, region);
  for (; !a.IsAtEnd(); ++a, ++b) {
    const auto left = a.Get(), right = b.Get();
    if (std::memcmp(&left, &right, sizeof left) != 0 && ++different == 1) {
      ADD_FAILURE() << "at " << a.GetIndex() << ": " << +left << " instead of " << +right;
    }
  }
  EXPECT_EQ(different, 0U);
}

template <class Image>
void expect_equal(const Image* actual, const Image* expected) {
  ASSERT_EQ(actual->GetLargestPossibleRegion(), expected->GetLargestPossibleRegion());
  expect_equal(actual, expected, expected->GetLargestPossibleRegion());
}

}  // namespace quietvox::test
