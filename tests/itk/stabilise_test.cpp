// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Noise that is not Gaussian, in a pipeline.
#include <itkExtractImageFilter.h>
#include <itkShiftScaleImageFilter.h>

#include <algorithm>

#include "analysis/measure_noise.hpp"
#include "backends/choice.hpp"
#include "core/memory_volume.hpp"
#include "images.hpp"
#include "phantom/phantom.hpp"
#include "phantom/scanner_noise.hpp"
#include "quietvoxDctImageFilter.h"
#include "quietvoxGaussianImageFilter.h"
#include "quietvoxNlmImageFilter.h"
#include "workflow/noise_of_volume.hpp"
#include "workflow/volume_filter.hpp"

namespace quietvox::test {
namespace {

using Image = Volume<float>;

constexpr Extent extent{{96, 96, 24}};
constexpr double sigma = 60;

Image::Pointer magnitudes(NoiseKind kind = NoiseKind::rician, double amount = sigma) {
  const Phantom phantom = make_phantom(PhantomKind::mr, extent);
  const auto image = Image::New();
  image->SetRegions(Image::RegionType({{5, -3, 2}}, {{96, 96, 24}}));
  image->Allocate();
  std::ranges::copy(phantom.voxels, image->GetBufferPointer());
  MemoryVolume source({phantom.voxels.data(), extent});
  NoiseAdder(source, {kind, amount, 7}, {}).add({image->GetBufferPointer(), extent});
  return image;
}

std::vector<float> by_workflow(const FilterConfig& settings, Stabilise stabilise, const Image* image) {
  MemoryVolume source({image->GetBufferPointer(), extent});
  const auto backend = make_backend("cpu");
  const VolumeFilter filter({std::span(&settings, 1), stabilise}, source, *backend, {},
                            [&](VolumeSource& volume, const Execution& execution) {
                              return measure_noise_for(stabilise, volume, execution);
                            });
  std::vector<float> voxels;
  filter.run([&](VolumeView<const float> slices) {
    voxels.insert(voxels.end(), slices.data, slices.data + slices.extent.voxels());
  });
  return voxels;
}

template <class Filter>
typename Filter::Pointer filter_of(const Image* image) {
  const auto filter = Filter::New();
  filter->SetInput(image);
  filter->SetBackend("cpu");
  return filter;
}

std::vector<float> voxels_of(const Image* image) {
  const auto count = static_cast<std::size_t>(image->GetBufferedRegion().GetNumberOfPixels());
  return {image->GetBufferPointer(), image->GetBufferPointer() + count};
}

template <class Filter>
class Stabilised : public testing::Test {};
using FiltersByNoise = testing::Types<NlmImageFilter<Image>, DctImageFilter<Image>>;
TYPED_TEST_SUITE(Stabilised, FiltersByNoise);

TYPED_TEST(Stabilised, MagnitudesAreFilteredAsByTheProgram) {
  const auto image = magnitudes();
  const auto filter = filter_of<TypeParam>(image);
  filter->Update();
  EXPECT_EQ(filter->GetStabilisedNoise(), "Rician noise");
  EXPECT_EQ(voxels_of(filter->GetOutput()), by_workflow(filter->GetRequestedSettings(), Stabilise::automatic, image));
  const std::vector<float> stabilised = voxels_of(filter->GetOutput());
  EXPECT_LT(stabilised.front(), 0.5 * sigma) << "air is dark";
  filter->SetStabilise("none");
  filter->Update();
  EXPECT_EQ(filter->GetStabilisedNoise(), "");
  EXPECT_EQ(voxels_of(filter->GetOutput()), by_workflow(filter->GetRequestedSettings(), Stabilise::none, image));
  EXPECT_NE(voxels_of(filter->GetOutput()), stabilised);
}

/// Where the noise varies, and the filter is given only what it reaches.
TYPED_TEST(Stabilised, PartsComeOutAsInTheWhole) {
  const auto image = magnitudes(NoiseKind::g_factor, 150);
  const auto same = itk::ShiftScaleImageFilter<Image, Image>::New();
  same->SetInput(image);
  same->ReleaseDataFlagOn();
  const auto filter = filter_of<TypeParam>(same->GetOutput());
  filter->Update();
  EXPECT_EQ(filter->GetStabilisedNoise(), "Rician noise");
  Image::Pointer whole = filter->GetOutput();
  whole->DisconnectPipeline();
  const auto part = itk::ExtractImageFilter<Image, Image>::New();
  part->SetInput(filter->GetOutput());
  const Image::RegionType region({{40, 20, 9}}, {{30, 17, 5}});
  part->SetExtractionRegion(region);
  part->Update();
  expect_equal<Image>(part->GetOutput(), whole, region);
}

/// Whose noise the air tells, once it is known that they are magnitudes.
TEST(Stabilise, WeakMagnitudesAreMeasuredAsByTheProgram) {
  const auto image = magnitudes(NoiseKind::rician, 900);
  const auto filter = filter_of<DctImageFilter<Image>>(image);
  filter->SetStabilise("rician");
  filter->Update();
  const std::vector<float> result = voxels_of(filter->GetOutput());
  EXPECT_EQ(result, by_workflow(filter->GetRequestedSettings(), Stabilise::rician, image));
  MemoryVolume source({image->GetBufferPointer(), extent});
  EXPECT_NE(measure_noise_for(Stabilise::rician, source, {}).sigma, measure_noise(source, {}).sigma);
}

TEST(Stabilise, GoesAroundAnyFilterWhereAskedFor) {
  const auto image = magnitudes();
  const auto filter = filter_of<GaussianImageFilter<Image>>(image);
  filter->SetSigma(1);
  filter->Update();
  EXPECT_EQ(filter->GetStabilisedNoise(), "");
  filter->SetStabilise("rician");
  filter->Update();
  EXPECT_EQ(filter->GetStabilisedNoise(), "Rician noise");
  EXPECT_EQ(voxels_of(filter->GetOutput()), by_workflow(filter->GetRequestedSettings(), Stabilise::rician, image));
  EXPECT_THROW(filter->SetStabilise("rice"), itk::ExceptionObject);
  EXPECT_EQ(filter->GetStabilise(), "rician");
}

}  // namespace
}  // namespace quietvox::test
