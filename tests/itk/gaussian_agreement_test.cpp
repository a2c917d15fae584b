// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// The recursive Gaussian filter of the core against ITK's, which runs over whole lines where ours starts anew.
#include <gtest/gtest.h>
#include <itkSmoothingRecursiveGaussianImageFilter.h>

#include <algorithm>
#include <cmath>

#include "filters/gaussian.hpp"
#include "images.hpp"

namespace quietvox::test {
namespace {

using Image = itk::Image<float, 3>;

void expect_agreement(Image::SizeType size, Spacing spacing, double sigma) {
  const auto image = noisy_image<Image>(size);
  image->SetSpacing(std::array{spacing.x, spacing.y, spacing.z}.data());
  const auto theirs = itk::SmoothingRecursiveGaussianImageFilter<Image, Image>::New();
  theirs->SetInput(image);
  theirs->SetSigma(sigma);
  theirs->Update();

  GaussianParams params;
  params.sigma = {sigma, sigma, sigma};
  params.algorithm = GaussianAlgorithm::recursive;
  const Extent extent{
      {static_cast<std::int64_t>(size[0]), static_cast<std::int64_t>(size[1]), static_cast<std::int64_t>(size[2])}};
  const VolumeView<const float> in{image->GetBufferPointer(), extent, spacing};
  std::vector<float> ours(static_cast<std::size_t>(extent.voxels()));
  gaussian_cpu(in, {ours.data(), extent, spacing}, params.resolved({extent, spacing, {}}), {});

  double worst = 0, change = 0;
  const auto [lowest, highest] = std::minmax_element(in.data, in.data + extent.voxels());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(ours[i]) - theirs->GetOutput()->GetBufferPointer()[i]));
    change = std::max(change, std::abs(static_cast<double>(ours[i]) - in.data[i]));
  }
  EXPECT_LE(worst, 1e-5 * (static_cast<double>(*highest) - *lowest)) << sigma;
  EXPECT_GT(change, 0.1 * (*highest - *lowest)) << "nothing was filtered";
}

TEST(Gaussian, AgreesWithTheOneOfItk) {
  for (const double sigma : {0.5, 2.0, 6.5, 13.0, 60.0}) {
    expect_agreement({{300, 18, 9}}, {1, 1, 1}, sigma);
    expect_agreement({{23, 17, 290}}, {0.7, 0.9, 0.5}, sigma);
  }
}

}  // namespace
}  // namespace quietvox::test
