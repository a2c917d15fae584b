// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// The bilateral filter against ITK's, with its table of range weights refined: ITK's domain sigma is in mm,
// its window is a box of ceil(2.5 sigma / spacing) unless given, and it leaves out neighbours from 4 range sigmas on.
#include <gtest/gtest.h>
#include <itkBilateralImageFilter.h>

#include <algorithm>
#include <cmath>

#include "as_float.hpp"
#include "filters/bilateral.hpp"
#include "images.hpp"
#include "quietvoxBilateralImageFilter.h"

namespace quietvox::test {
namespace {

using Image = itk::Image<float, 3>;

struct Case {
  Image::SizeType size;
  Triple<double> spacing, domain_sigma;
  std::optional<Radius3> radius;
};

void expect_agreement(const Case& c) {
  const double range_sigma = 40;
  const auto image = noisy_image<Image>(c.size);
  image->SetSpacing(std::array{c.spacing.x, c.spacing.y, c.spacing.z}.data());
  const auto theirs = itk::BilateralImageFilter<Image, Image>::New();
  theirs->SetInput(image);
  theirs->SetDomainSigma(std::array{c.domain_sigma.x, c.domain_sigma.y, c.domain_sigma.z}.data());
  theirs->SetRangeSigma(range_sigma);
  theirs->SetNumberOfRangeGaussianSamples(1000000);
  if (c.radius) {
    theirs->AutomaticKernelSizeOff();
    theirs->SetRadius(
        Image::SizeType{{static_cast<itk::SizeValueType>(c.radius->x), static_cast<itk::SizeValueType>(c.radius->y),
                         static_cast<itk::SizeValueType>(c.radius->z)}});
  }
  theirs->Update();

  BilateralParams params;
  params.domain_sigma = c.domain_sigma;
  params.range_sigma = range_sigma;
  params.range_cut = 4;
  params.radius = c.radius;
  const Extent extent{{static_cast<std::int64_t>(c.size[0]), static_cast<std::int64_t>(c.size[1]),
                       static_cast<std::int64_t>(c.size[2])}};
  const VolumeView<const float> in{image->GetBufferPointer(), extent, c.spacing};
  std::vector<float> ours(static_cast<std::size_t>(extent.voxels()));
  bilateral_cpu(in, {ours.data(), extent, c.spacing}, params.resolved({extent, c.spacing, {}}), {});

  double worst = 0, change = 0, largest = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(ours[i]) - theirs->GetOutput()->GetBufferPointer()[i]));
    change = std::max(change, std::abs(static_cast<double>(ours[i]) - in.data[i]));
    largest = std::max(largest, std::abs(static_cast<double>(in.data[i])));
  }
  const auto top = static_cast<float>(largest);
  EXPECT_LE(worst, 1e-5 * range_sigma + 4 * (static_cast<double>(std::nextafter(top, 2 * top)) - top));
  EXPECT_GT(change, 10) << "nothing was filtered";
}

TEST(Bilateral, AgreesWithTheOneOfItk) {
  expect_agreement({{{21, 18, 9}}, {1, 1, 1}, {1.6, 1.6, 1.6}, std::nullopt});
  expect_agreement({{{21, 18, 9}}, {0.7, 0.9, 2.5}, {1.2, 1.5, 3}, std::nullopt});
  expect_agreement({{{21, 18, 9}}, {0.7, 0.9, 2.5}, {1.2, 1.5, 3}, Radius3{3, 1, 2}});
  expect_agreement({{{40, 33, 3}}, {0.5, 0.5, 4}, {1, 1, 1}, Radius3{5, 5, 0}});
}

TEST(BilateralImageFilter, AgreesWithTheOneOfItk) {
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

/// The range sigma has the unit of the pixels.
TEST(BilateralImageFilter, GoesThroughFloat) {
  expect_as_float<BilateralImageFilter<Image>, BilateralImageFilter<Volume<short>>>(
      -1024, 3000, [](auto& filter) { filter.SetRangeSigma(800); });
}

}  // namespace
}  // namespace quietvox::test
