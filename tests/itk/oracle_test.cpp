// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// The filters give what ITK's own give.
#include <itkBilateralImageFilter.h>
#include <itkMedianImageFilter.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "images.hpp"
#include "quietvoxBilateralImageFilter.h"
#include "quietvoxMedianImageFilter.h"

namespace quietvox::test {
namespace {

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

TEST(BilateralImageFilter, AgreesWithTheOneOfItk) {
  using Image = Volume<float>;
  const auto image = noisy_image<Image>({{21, 18, 7}});
  const double range_sigma = 40;
  const auto theirs = itk::BilateralImageFilter<Image, Image>::New();
  theirs->SetInput(image);
  theirs->SetDomainSigma(1.6);
  theirs->SetRangeSigma(range_sigma);
  theirs->SetNumberOfRangeGaussianSamples(1000000);  // its default of 100 is a coarse table
  theirs->Update();
  const auto ours = BilateralImageFilter<Image>::New();
  ours->SetInput(image);
  ours->SetDomainSigma(1.6);
  ours->SetRangeSigma(range_sigma);
  ours->SetRangeCut(4);
  ours->Update();

  const double tolerance = 1e-5 * range_sigma + 4 * (std::nextafter(200.0F, 300.0F) - 200.0F);
  double largest = 0, change = 0;
  itk::ImageRegionConstIteratorWithIndex<Image> a(ours->GetOutput(), image->GetLargestPossibleRegion());
  for (; !a.IsAtEnd(); ++a) {
    largest = std::max(largest, std::abs(double{a.Get()} - theirs->GetOutput()->GetPixel(a.GetIndex())));
    change = std::max(change, std::abs(double{a.Get()} - image->GetPixel(a.GetIndex())));
  }
  EXPECT_LE(largest, tolerance);
  EXPECT_GT(change, 10) << "nothing was filtered";
}

}  // namespace
}  // namespace quietvox::test
