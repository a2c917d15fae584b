// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Slices that lie along another axis than z, as some programs reorder them.
#include <itkStreamingImageFilter.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>

#include "analysis/measure_noise.hpp"
#include "backends/choice.hpp"
#include "core/axis_swap.hpp"
#include "core/memory_volume.hpp"
#include "images.hpp"
#include "phantom/phantom.hpp"
#include "phantom/scanner_noise.hpp"
#include "quietvoxBm4dImageFilter.h"
#include "quietvoxDctImageFilter.h"
#include "quietvoxQuadraticImageFilter.h"
#include "workflow/volume_filter.hpp"

namespace quietvox::test {
namespace {

using Image = Volume<float>;

/// A head of thick slices that lie along `axis`, with noise.
Image::Pointer slices_along(int axis) {
  const Extent in_order{{48, 40, 12}};
  const Phantom phantom = make_phantom(PhantomKind::mr, in_order);
  MemoryVolume source({phantom.voxels.data(), in_order, {1, 1, 5}});
  std::vector<float> noisy = phantom.voxels;
  NoiseAdder(source, {NoiseKind::gaussian, 30, 7}, {}).add({noisy.data(), in_order});

  Triple<std::int64_t> extent = in_order, step{1, in_order.x, in_order.x * in_order.y};
  std::swap(extent[axis], extent.z);
  std::swap(step[axis], step.z);
  const auto image = Image::New();
  image->SetRegions(Image::RegionType(
      {{5, -3, 2}}, {{static_cast<itk::SizeValueType>(extent.x), static_cast<itk::SizeValueType>(extent.y),
                      static_cast<itk::SizeValueType>(extent.z)}}));
  double spacing[3] = {1, 1, 1};
  spacing[axis] = 5;
  image->SetSpacing(spacing);
  image->Allocate();
  float* to = image->GetBufferPointer();
  for (std::int64_t z = 0; z < extent.z; ++z) {
    for (std::int64_t y = 0; y < extent.y; ++y) {
      for (std::int64_t x = 0; x < extent.x; ++x) {
        *to++ = noisy[static_cast<std::size_t>(x * step.x + y * step.y + z * step.z)];
      }
    }
  }
  return image;
}

std::vector<float> by_workflow(const FilterConfig& settings, const Image* image) {
  const auto size = image->GetLargestPossibleRegion().GetSize();
  MemoryVolume source(
      {image->GetBufferPointer(),
       {{static_cast<std::int64_t>(size[0]), static_cast<std::int64_t>(size[1]), static_cast<std::int64_t>(size[2])}},
       {image->GetSpacing()[0], image->GetSpacing()[1], image->GetSpacing()[2]}});
  const auto backend = make_backend("cpu");
  const VolumeFilter filter({std::span(&settings, 1), Stabilise::automatic}, source, *backend, {}, measure_noise);
  std::vector<float> voxels;
  filter.run([&](VolumeView<const float> slices) {
    voxels.insert(voxels.end(), slices.data, slices.data + slices.extent.voxels());
  });
  return voxels;
}

std::vector<float> voxels_of(const Image* image) {
  const auto count = static_cast<std::size_t>(image->GetLargestPossibleRegion().GetNumberOfPixels());
  return {image->GetBufferPointer(), image->GetBufferPointer() + count};
}

template <class Filter>
class AxisSwapInPipelines : public testing::Test {};
using FiltersInSlices = testing::Types<DctImageFilter<Image>, Bm4dImageFilter<Image>, QuadraticImageFilter<Image>>;
TYPED_TEST_SUITE(AxisSwapInPipelines, FiltersInSlices);

TYPED_TEST(AxisSwapInPipelines, GiveWhatTheProgramGives) {
  for (const int axis : {0, 1, 2}) {
    const auto image = slices_along(axis);
    const auto filter = TypeParam::New();
    filter->SetInput(image);
    filter->SetBackend("cpu");
    const auto streamed = itk::StreamingImageFilter<Image, Image>::New();
    streamed->SetInput(filter->GetOutput());
    streamed->SetNumberOfStreamDivisions(3);
    streamed->Update();
    const std::vector<float> expected = by_workflow(filter->GetRequestedSettings(), image);
    EXPECT_NE(expected, voxels_of(image)) << axis;
    EXPECT_EQ(voxels_of(streamed->GetOutput()), expected) << axis;
    filter->UpdateLargestPossibleRegion();
    EXPECT_EQ(voxels_of(filter->GetOutput()), expected) << axis;
  }
}

/// Two slices are fewer than the window of rows and columns has voxels.
TEST(AxisSwapOfFewSlices, FindsRoomForTheWindow) {
  const auto image = Image::New();
  image->SetRegions(Image::SizeType{{2, 40, 48}});
  const double spacing[3] = {5, 1, 1};
  image->SetSpacing(spacing);
  image->Allocate(true);
  const auto filter = QuadraticImageFilter<Image>::New();
  filter->SetInput(image);
  filter->SetBackend("cpu");
  EXPECT_NO_THROW(filter->Update());
}

template <class Pixel>
class AxisSwapOfPixels : public testing::Test {};
using ShortAndDouble = testing::Types<short, double>;
TYPED_TEST_SUITE(AxisSwapOfPixels, ShortAndDouble);

TYPED_TEST(AxisSwapOfPixels, AreFilteredAsFloatsAre) {
  using Pixels = Volume<TypeParam>;
  const auto floats = slices_along(0);
  for (float& voxel : std::span(floats->GetBufferPointer(), 48 * 40 * 12)) voxel = std::round(voxel);
  const auto image = Pixels::New();
  image->SetRegions(floats->GetLargestPossibleRegion());
  image->SetSpacing(floats->GetSpacing());
  image->Allocate();
  std::copy_n(floats->GetBufferPointer(), 48 * 40 * 12, image->GetBufferPointer());
  const auto filter = DctImageFilter<Pixels>::New();
  filter->SetInput(image);
  filter->SetBackend("cpu");
  filter->Update();
  const std::vector<float> expected = by_workflow(filter->GetRequestedSettings(), floats);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto wanted = std::is_integral_v<TypeParam> ? std::round(expected[i]) : expected[i];
    ASSERT_EQ(static_cast<float>(filter->GetOutput()->GetBufferPointer()[i]), wanted) << i;
  }
}

}  // namespace
}  // namespace quietvox::test
