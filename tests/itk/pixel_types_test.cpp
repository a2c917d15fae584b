// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Filters of images of any pixel type.
#include <itkMedianImageFilter.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "as_float.hpp"
#include "images.hpp"
#include "itk_adapters/filters/pixel_conversion.hpp"
#include "messages.hpp"
#include "quietvoxGaussianImageFilter.h"
#include "quietvoxMedianImageFilter.h"

namespace quietvox::test {
namespace {

TEST(PixelConversion, RoundsHalfAwayFromZeroAndStaysInRange) {
  EXPECT_EQ(to_pixel<int>(2.5F), 3);
  EXPECT_EQ(to_pixel<int>(-2.5F), -3);
  EXPECT_EQ(to_pixel<short>(-0.4F), 0);
  EXPECT_EQ(to_pixel<unsigned char>(255.6F), 255);
  EXPECT_EQ(to_pixel<unsigned char>(-7.0F), 0);
  EXPECT_EQ(to_pixel<int>(3e9F), std::numeric_limits<int>::max());
  EXPECT_EQ(to_pixel<unsigned long>(INFINITY), std::numeric_limits<unsigned long>::max());
  EXPECT_EQ(to_pixel<short>(NAN), 0);
  EXPECT_TRUE(std::isnan(to_pixel<double>(NAN)));
}

TEST(PixelTypes, GoThroughFloat) {
  const auto expect = [](auto pixel, double low, double high) {
    using Pixel = decltype(pixel);
    expect_as_float<GaussianImageFilter<Volume<float>>, GaussianImageFilter<Volume<Pixel>>>(
        low, high, [](auto& filter) { filter.SetSigma(1); });
  };
  expect(static_cast<unsigned char>(0), 0, 255);
  expect(char{}, -100, 100);
  expect(bool{}, 0, 2);
  expect(short{}, -1024, 3000);
  expect(static_cast<unsigned short>(0), 0, 65535);
  expect(int{}, -100000, 100000);
  expect(double{}, -1, 1);
}

/// An image of these values, drawn at random.
template <class Pixel>
typename Volume<Pixel>::Pointer image_of(const std::vector<Pixel>& values) {
  auto image = noisy_image<Volume<Pixel>>({{21, 13, 6}}, 0, 100);
  std::mt19937 random(5);
  for (itk::ImageRegionIterator<Volume<Pixel>> it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it) {
    it.Set(values[random() % values.size()]);
  }
  return image;
}

template <class Pixel>
void expect_exact_median(const std::vector<Pixel>& values) {
  const auto image = image_of(values);
  const auto theirs = itk::MedianImageFilter<Volume<Pixel>, Volume<Pixel>>::New();
  theirs->SetInput(image);
  theirs->Update();
  const auto ours = MedianImageFilter<Volume<Pixel>>::New();
  ours->SetInput(image);
  ours->SetRadius(1);
  ours->Update();
  expect_equal<Volume<Pixel>>(ours->GetOutput(), theirs->GetOutput());
}

TEST(PixelTypes, KeepTheirOwnValuesInRankFilters) {
  expect_exact_median<unsigned>({16777216, 16777217, 16777218, 16777219, 0, 4294967295U, 4294967294U});
  expect_exact_median<int>({-16777217, -16777218, 16777217, 2147483647, 2147483646, -2147483647 - 1, 0});
  expect_exact_median<long>({9223372036854775807L, 9223372036854775806L, -9007199254740993L, 0, 1});
  expect_exact_median<double>({0.1, 0.2, 0.30000000000000004, 0.3, 1e300, -1e300, 1e-300, 5e-324, 0});
}

TEST(PixelTypes, KeepWhatIsNoNumberInRankFilters) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const auto image = image_of<double>({0.1});
  const auto start = image->GetBufferedRegion().GetIndex();
  image->SetPixel({{start[0] + 3, start[1] + 3, start[2] + 3}}, nan);
  image->SetPixel({{start[0] + 5, start[1] + 3, start[2] + 3}}, -infinity);
  const auto median = MedianImageFilter<Volume<double>>::New();
  median->SetInput(image);
  median->Update();
  itk::ImageRegionConstIteratorWithIndex<Volume<double>> voxel(median->GetOutput(), image->GetBufferedRegion());
  for (; !voxel.IsAtEnd(); ++voxel) {
    const double before = image->GetPixel(voxel.GetIndex());
    EXPECT_TRUE(voxel.Get() == before || (std::isnan(voxel.Get()) && std::isnan(before))) << voxel.GetIndex();
  }
}

template <class Pixel>
std::string refusal_of(Pixel value) {
  const auto filter = GaussianImageFilter<Volume<Pixel>>::New();
  filter->SetInput(image_of<Pixel>({value, 0}));
  filter->SetSigma(1);
  return message_of([&] { filter->Update(); });
}

TEST(PixelTypes, BeyondFloatAreRefusedWhereFiltersCompute) {
  EXPECT_NE(refusal_of<unsigned>(16777217).find("16777217"), std::string::npos) << refusal_of<unsigned>(16777217);
  EXPECT_NE(refusal_of<long>(-9007199254740993L).find("-9007199254740993"), std::string::npos);
  EXPECT_NE(refusal_of<double>(1e300).find("1e+300"), std::string::npos) << refusal_of<double>(1e300);
  EXPECT_EQ(refusal_of<unsigned>(16777218), "no exception");
  EXPECT_EQ(refusal_of<long>(1L << 62), "no exception");
  EXPECT_EQ(refusal_of<double>(std::numeric_limits<double>::infinity()), "no exception") << "a missing voxel";
}

TEST(PixelTypes, DoublesFarFromZeroAreWarnedOf) {
  const auto warning_of = [](const auto& filter, double offset) {
    filter->SetInput(image_of<double>({offset, offset + 1}));
    return warnings_of(filter);
  };
  const auto gaussian = GaussianImageFilter<Volume<double>>::New();
  EXPECT_NE(warning_of(gaussian, 1e9).find("the pixels lie around 1e+09"), std::string::npos);
  EXPECT_EQ(warning_of(gaussian, 0), "");
  EXPECT_EQ(warning_of(MedianImageFilter<Volume<double>>::New(), 1e9), "") << "it picks among the very pixels";
}

TEST(PixelTypes, KeepTheDigitsOfVoxelsThatDoNotChange) {
  const auto image = image_of<double>({0.1});
  const auto gaussian = GaussianImageFilter<Volume<double>>::New();
  gaussian->SetInput(image);
  gaussian->SetSigma(1);
  const auto region = image->GetBufferedRegion();
  gaussian->GetOutput()->SetRequestedRegion(Volume<double>::RegionType(region.GetIndex(), {{5, 4, 3}}));
  gaussian->Update();
  expect_equal<Volume<double>>(gaussian->GetOutput(), image, gaussian->GetOutput()->GetBufferedRegion());
}

TEST(PixelTypes, SixteenBitsAreFilteredAsTheyAre) {
  const auto image = noisy_image<Volume<unsigned short>>({{21, 13, 6}}, 0, 65535);
  const auto median = MedianImageFilter<Volume<unsigned short>>::New();
  median->SetInput(image);
  median->Update();
  const auto through_float = MedianImageFilter<Volume<unsigned short>, Volume<float>>::New();
  through_float->SetInput(image);
  through_float->Update();
  itk::ImageRegionConstIteratorWithIndex<Volume<unsigned short>> voxel(median->GetOutput(), image->GetBufferedRegion());
  for (; !voxel.IsAtEnd(); ++voxel) {
    ASSERT_EQ(voxel.Get(), through_float->GetOutput()->GetPixel(voxel.GetIndex())) << voxel.GetIndex();
  }
}

}  // namespace
}  // namespace quietvox::test
