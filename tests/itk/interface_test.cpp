// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Parameters, errors and warnings of the filters.
#include <sstream>

#include "images.hpp"
#include "itk_adapters/filters/setter_names.hpp"
#include "messages.hpp"
#include "quietvoxBilateralImageFilter.h"
#include "quietvoxMedianImageFilter.h"

namespace quietvox::test {
namespace {

using Median = MedianImageFilter<Volume<float>>;
using Bilateral = BilateralImageFilter<Volume<float>>;

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
  EXPECT_NE(text.str().find("Stabilise: auto\n"), std::string::npos);
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

/// As the program says it.
TEST(Warnings, TellOfNoiseThatIsNotThereAndOfThickSlices) {
  const auto flat = noisy_image<Volume<float>>({{40, 40, 12}}, 0, 0);
  Volume<float>::SpacingType spacing;
  spacing.Fill(1);
  spacing[2] = 5;
  flat->SetSpacing(spacing);
  const auto warning_of = [&](const auto& filter) {
    filter->SetInput(flat);
    return warnings_of(filter);
  };
  const auto bilateral = Bilateral::New();
  EXPECT_NE(warning_of(bilateral).find("no noise was found, so SetRangeSigma = auto became 0"), std::string::npos);
  bilateral->SetRangeSigma(1);
  EXPECT_EQ(warning_of(bilateral), "");
  const auto lost = noisy_image<Volume<float>>({{40, 40, 12}}, 50, 100);
  itk::ImageRegionIterator<Volume<float>> voxel(lost, lost->GetBufferedRegion());
  const auto slice = lost->GetBufferedRegion().GetIndex()[2] + 5;
  for (; !voxel.IsAtEnd(); ++voxel) {
    if (voxel.GetIndex()[2] == slice) voxel.Set(0);
  }
  bilateral->SetRangeSigmaToAuto();
  bilateral->SetInput(lost);
  EXPECT_NE(warnings_of(bilateral).find("slice 6 holds one value"), std::string::npos);
  const auto median = Median::New();
  EXPECT_EQ(warning_of(median), "");
  median->SetRadius(1);
  EXPECT_NE(warning_of(median).find("extends along z, where voxels lie 5 mm apart"), std::string::npos);
}

}  // namespace
}  // namespace quietvox::test
