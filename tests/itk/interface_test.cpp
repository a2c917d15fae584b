// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Parameters, errors and pixel types of the filters.
#include <itkMedianImageFilter.h>

#include <limits>
#include <random>
#include <sstream>

#include "images.hpp"
#include "itk_adapters/filters/pixel_conversion.hpp"
#include "itk_adapters/filters/setter_names.hpp"
#include "quietvoxBilateralImageFilter.h"
#include "quietvoxGaussianImageFilter.h"
#include "quietvoxMedianImageFilter.h"
#include "warnings.hpp"

namespace quietvox::test {
namespace {

using Median = MedianImageFilter<Volume<float>>;
using Bilateral = BilateralImageFilter<Volume<float>>;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const itk::ExceptionObject& error) {
    return error.GetDescription();
  }
  return "no exception";
}

/// As they are typed.
TEST(Parameters, AreSpelledAsSettersInMessages) {
  EXPECT_EQ(with_setters("use " + Parameter{"backend", "cpu"}), "use SetBackend(\"cpu\")");
  EXPECT_EQ(with_setters(Parameter{"stabilise", "rician"}), "SetStabilise(\"rician\")");
  EXPECT_EQ(with_setters(Parameter{"force-kind", "scalar"}), "SetForceKind(quietvox::DataKind::scalar)");
  EXPECT_EQ(with_setters(Parameter{"noise-model", "gaussian"}), "SetNoiseModel(quietvox::NlmNoise::gaussian)");
  EXPECT_EQ(with_setters(Parameter{"radius", "XxYxZ"}), "SetRadius({X, Y, Z})");
  EXPECT_EQ(with_setters("a larger " + Parameter{"sigma"}), "a larger SetSigma");
  EXPECT_EQ(with_setters("use " + Parameter{"force"}), "use WriteOptions::force");
}

TEST(Parameters, AreThoseOfTheTable) {
  const auto bilateral = Bilateral::New();
  EXPECT_EQ(bilateral->GetRangeSigma(), std::nullopt);
  EXPECT_EQ(bilateral->GetTruncate(), BilateralParams{}.truncate);
  bilateral->SetRangeSigma(12.5);
  bilateral->SetDomainSigma(2);
  bilateral->SetSupport(Support::disc);
  EXPECT_EQ(bilateral->GetRangeSigma(), 12.5);
  EXPECT_EQ(bilateral->GetDomainSigma(), (Triple<double>{2, 2, 2}));
  EXPECT_EQ(bilateral->GetSupport(), Support::disc);
  bilateral->SetRangeSigmaToAuto();
  EXPECT_EQ(bilateral->GetRangeSigma(), std::nullopt);
  bilateral->SetDomainSigma({1, 2, 3});
  EXPECT_EQ(bilateral->GetDomainSigma(), (Triple<double>{1, 2, 3}));
}

TEST(Parameters, PerAxisTakesOneNumberOrOnePerAxis) {
  const auto median = Median::New();
  EXPECT_EQ(median->GetRadius(), std::nullopt);
  median->SetRadius(2);
  EXPECT_EQ(median->GetRadius(), (Radius3{2, 2, 2}));
  median->SetRadius(Volume<float>::SizeType{{3, 2, 1}});
  EXPECT_EQ(median->GetRadius(), (Radius3{3, 2, 1}));
  median->SetRadius({1, 0, 2});
  EXPECT_EQ(median->GetRadius(), (Radius3{1, 0, 2}));
  const auto plane = MedianImageFilter<Plane<float>>::New();
  plane->SetRadius(Plane<float>::SizeType{{3, 2}});
  EXPECT_EQ(plane->GetRadius()->x, 3);
  EXPECT_EQ(plane->GetRadius()->y, 2);
}

TEST(Parameters, SetToTheSameValueDoNotRunTheFilterAgain) {
  const auto median = Median::New();
  median->SetRadius(1);
  const auto time = median->GetMTime();
  median->SetRadius(1);
  EXPECT_EQ(median->GetMTime(), time);
  median->SetRadius(2);
  EXPECT_GT(median->GetMTime(), time);
}

TEST(Parameters, ArePrinted) {
  const auto bilateral = Bilateral::New();
  bilateral->SetRangeSigma(12.5);
  std::ostringstream text;
  bilateral->Print(text);
  for (const auto& field : describe_fields<BilateralParams>()) {
    EXPECT_NE(text.str().find(camel_case(field.name) + ": "), std::string::npos) << field.name;
  }
  EXPECT_NE(text.str().find("RangeSigma: 12.5\n"), std::string::npos);
  EXPECT_NE(text.str().find("DomainSigma: auto\n"), std::string::npos);
}

TEST(Errors, OfRangeAreExceptionsThatNameTheParameter) {
  const auto median = Median::New();
  const auto message = message_of([&] { median->SetRadius(16); });
  for (const auto* part : {"median", "SetRadius = '16x16x16'", "0 to 15"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  EXPECT_EQ(median->GetRadius(), std::nullopt) << "a refused value changes nothing";
  EXPECT_THROW(median->SetRadius(Volume<float>::SizeType{{1UL << 32, 1, 1}}), itk::ExceptionObject);
  EXPECT_THROW(Bilateral::New()->SetRangeSigma(-1), itk::ExceptionObject);
}

TEST(Errors, OfTheWindowAndTheBackendAreExceptions) {
  const auto median = Median::New();
  median->SetInput(noisy_image<Volume<float>>({{20, 20, 4}}));
  median->SetRadius(2);
  EXPECT_NE(message_of([&] { median->Update(); }).find("along z"), std::string::npos);
  median->SetRadius(1);
  median->SetBackend("abacus");
  EXPECT_NE(message_of([&] { median->Update(); }).find("abacus"), std::string::npos);
  median->SetBackend("cpu");
  EXPECT_NO_THROW(median->Update());
  EXPECT_EQ(median->GetBackendName(), "cpu");
  EXPECT_NE(message_of([] { Median::New()->Update(); }), "no exception") << "there is no input";
}

template <class Filter, class Value>
concept TakesRadius = requires(Filter& filter, const Value& value) {
  filter.SetRadius(value);
};

TEST(Parameters, OfOtherNumbersOfAxesDoNotCompile) {
  static_assert(TakesRadius<Median, itk::Size<3>> && TakesRadius<Median, int[3]> && TakesRadius<Median, unsigned>);
  static_assert(!TakesRadius<Median, itk::Size<2>> && !TakesRadius<Median, itk::Size<4>>);
  static_assert(!TakesRadius<Median, int[2]> && !TakesRadius<Median, std::array<int, 4>>);
  static_assert(!TakesRadius<Median, const int*> && !TakesRadius<Median, std::vector<int>>);
  using Flat = MedianImageFilter<Plane<float>>;
  static_assert(TakesRadius<Flat, itk::Size<2>> && TakesRadius<Flat, std::array<int, 2>>);
  static_assert(!TakesRadius<Flat, itk::Size<3>>);
}

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

/// The filter on `Pixel` gives what it gives on float, as `Pixel`.
template <class Pixel>
void expect_as_float(double low, double high) {
  const auto image = noisy_image<Volume<Pixel>>({{21, 13, 6}}, low, high);
  const auto floats = Volume<float>::New();
  floats->CopyInformation(image);
  floats->SetRegions(image->GetLargestPossibleRegion());
  floats->Allocate();
  itk::ImageRegionIterator<Volume<Pixel>> from(image, image->GetBufferedRegion());
  itk::ImageRegionIterator<Volume<float>> to(floats, image->GetBufferedRegion());
  for (; !from.IsAtEnd(); ++from, ++to) to.Set(static_cast<float>(from.Get()));

  const auto reference = Bilateral::New();
  reference->SetInput(floats);
  reference->SetRangeSigma((high - low) / 5);
  reference->Update();
  const auto filter = BilateralImageFilter<Volume<Pixel>>::New();
  filter->SetInput(image);
  filter->SetRangeSigma((high - low) / 5);
  filter->Update();
  itk::ImageRegionConstIteratorWithIndex<Volume<Pixel>> voxel(filter->GetOutput(), image->GetBufferedRegion());
  std::size_t different = 0;
  for (; !voxel.IsAtEnd(); ++voxel) {
    different += voxel.Get() != to_pixel<Pixel>(reference->GetOutput()->GetPixel(voxel.GetIndex()));
  }
  EXPECT_EQ(different, 0U) << typeid(Pixel).name();
}

TEST(PixelTypes, GoThroughFloat) {
  expect_as_float<unsigned char>(0, 255);
  expect_as_float<short>(-1024, 3000);
  expect_as_float<unsigned short>(0, 65535);
  expect_as_float<int>(-100000, 100000);
  expect_as_float<double>(-1, 1);
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
  const auto filter = BilateralImageFilter<Volume<Pixel>>::New();
  filter->SetInput(image_of<Pixel>({value, 0}));
  filter->SetRangeSigma(1);
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
    const auto warnings = Warnings::New();
    itk::OutputWindow::SetInstance(warnings);
    filter->SetInput(image_of<double>({offset, offset + 1}));
    filter->Update();
    itk::OutputWindow::SetInstance(nullptr);
    return warnings->text;
  };
  const auto gaussian = GaussianImageFilter<Volume<double>>::New();
  EXPECT_NE(warning_of(gaussian, 1e9).find("the pixels lie around 1e+09"), std::string::npos);
  EXPECT_EQ(warning_of(gaussian, 0), "");
  EXPECT_EQ(warning_of(MedianImageFilter<Volume<double>>::New(), 1e9), "") << "it picks among the very pixels";
}

/// As the program says it.
TEST(Warnings, TellOfNoiseThatIsNotThereAndOfThickSlices) {
  const auto flat = noisy_image<Volume<float>>({{40, 40, 12}}, 0, 0);
  Volume<float>::SpacingType spacing;
  spacing.Fill(1);
  spacing[2] = 5;
  flat->SetSpacing(spacing);
  const auto warning_of = [&](const auto& filter) {
    const auto warnings = Warnings::New();
    itk::OutputWindow::SetInstance(warnings);
    filter->SetInput(flat);
    filter->Update();
    itk::OutputWindow::SetInstance(nullptr);
    return warnings->text;
  };
  const auto bilateral = Bilateral::New();
  EXPECT_NE(warning_of(bilateral).find("no noise was found, so SetRangeSigma = auto became 0"), std::string::npos);
  bilateral->SetRangeSigma(1);
  EXPECT_EQ(warning_of(bilateral), "");
  const auto median = Median::New();
  EXPECT_EQ(warning_of(median), "");
  median->SetRadius(1);
  EXPECT_NE(warning_of(median).find("extends along z, where voxels lie 5 mm apart"), std::string::npos);
}

TEST(PixelTypes, KeepTheDigitsOfVoxelsThatDoNotChange) {
  const auto image = image_of<double>({0.1});
  const auto bilateral = BilateralImageFilter<Volume<double>>::New();
  bilateral->SetInput(image);
  bilateral->SetRangeSigma(1);
  const auto region = image->GetBufferedRegion();
  bilateral->GetOutput()->SetRequestedRegion(Volume<double>::RegionType(region.GetIndex(), {{5, 4, 3}}));
  bilateral->Update();
  expect_equal<Volume<double>>(bilateral->GetOutput(), image, bilateral->GetOutput()->GetBufferedRegion());
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
