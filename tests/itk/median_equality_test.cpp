// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <itkImage.h>
#include <itkImageRegionIterator.h>
#include <itkMedianImageFilter.h>

#include <random>
#include <vector>

#include "filters/median.hpp"
#include "images.hpp"
#include "quietvoxMedianImageFilter.h"

namespace quietvox::test {
namespace {

template <class T>
class MedianOfItk : public testing::Test {};
using VoxelTypes = testing::Types<float, std::int16_t, std::uint16_t>;
TYPED_TEST_SUITE(MedianOfItk, VoxelTypes);

TYPED_TEST(MedianOfItk, EqualsOursInEveryVoxel) {
  using Image = itk::Image<TypeParam, 3>;
  const auto image = Image::New();
  image->SetRegions(typename Image::SizeType{{45, 27, 12}});
  image->Allocate();
  std::mt19937 random(4);
  for (itk::ImageRegionIterator<Image> it(image, image->GetLargestPossibleRegion()); !it.IsAtEnd(); ++it) {
    it.Set(static_cast<TypeParam>(std::uniform_int_distribution<int>(0, 3000)(random)));
  }
  const VolumeView<const TypeParam> in{image->GetBufferPointer(), {{45, 27, 12}}, {1, 1, 1}, {}, {}};
  for (const Radius3& radius : {Radius3{1, 1, 1},
                                {1, 1, 0},
                                {2, 2, 0},
                                {3, 3, 0},
                                {4, 4, 0},
                                {5, 5, 0},
                                {7, 7, 0},
                                {2, 2, 2},
                                {2, 2, 1},
                                {3, 3, 1},
                                {0, 1, 3},
                                {4, 1, 2},
                                {9, 0, 0}}) {
    const auto filter = itk::MedianImageFilter<Image, Image>::New();
    typename Image::SizeType size;
    for (unsigned axis = 0; axis < 3; ++axis) {
      size[axis] = static_cast<itk::SizeValueType>(radius[static_cast<int>(axis)]);
    }
    filter->SetRadius(size);
    filter->SetInput(image);
    filter->Update();
    MedianParams params;
    params.radius = radius;
    std::vector<TypeParam> ours(static_cast<std::size_t>(in.extent.voxels()));
    median_cpu(in, VolumeView<TypeParam>{ours.data(), in.extent, {1, 1, 1}, {}, {}}, params, {});
    EXPECT_TRUE(std::equal(ours.begin(), ours.end(), filter->GetOutput()->GetBufferPointer()))
        << "radius " << FieldType<Radius3>::format(radius);
  }
}

template <class Image>
void expect_median_of_itk(typename Image::SizeType size, typename Image::SizeType radius) {
  const auto image = noisy_image<Image>(size);
  const auto theirs = itk::MedianImageFilter<Image, Image>::New();
  theirs->SetInput(image);
  theirs->SetRadius(radius);
  theirs->Update();
  const auto ours = MedianImageFilter<Image>::New();
  ours->SetInput(image);
  ours->SetRadius(radius);
  ours->Update();
  expect_equal<Image>(ours->GetOutput(), theirs->GetOutput());
}

TEST(MedianImageFilter, EqualsTheOneOfItkInEveryVoxel) {
  using Size = Volume<float>::SizeType;
  for (const auto& [size, radius] :
       {std::pair(Size{{23, 17, 9}}, Size{{1, 1, 1}}), std::pair(Size{{33, 5, 7}}, Size{{2, 2, 2}}),
        std::pair(Size{{16, 16, 5}}, Size{{3, 3, 1}}), std::pair(Size{{9, 11, 13}}, Size{{0, 2, 4}}),
        std::pair(Size{{64, 3, 1}}, Size{{5, 1, 0}})}) {
    SCOPED_TRACE(testing::Message() << "size " << size << " radius " << radius);
    expect_median_of_itk<Volume<float>>(size, radius);
  }
}

TEST(MedianImageFilter, EqualsTheOneOfItkForIntegersAndPlanes) {
  expect_median_of_itk<Volume<short>>({{19, 14, 6}}, {{1, 1, 1}});
  expect_median_of_itk<Volume<unsigned char>>({{19, 14, 6}}, {{2, 1, 1}});
  expect_median_of_itk<Plane<float>>({{41, 27}}, {{3, 2}});
  expect_median_of_itk<Plane<unsigned short>>({{41, 27}}, {{1, 1}});
}

}  // namespace
}  // namespace quietvox::test
