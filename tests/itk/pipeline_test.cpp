// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// The filters as parts of a pipeline: requested regions, streaming, progress, abort.
#include <itkCommand.h>
#include <itkExtractImageFilter.h>
#include <itkImageRegionSplitterMultidimensional.h>
#include <itkStreamingImageFilter.h>

#include <bit>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "backends/choice.hpp"
#include "core/memory_volume.hpp"
#include "images.hpp"
#include "quietvoxBilateralImageFilter.h"
#include "quietvoxDctImageFilter.h"
#include "quietvoxMedianImageFilter.h"

namespace quietvox::test {
namespace {

using Image = Volume<float>;
using Median = MedianImageFilter<Image>;
using Bilateral = BilateralImageFilter<Image>;

/// A source that gives copies of a region of an image and remembers what it was asked for.
class Recorder : public itk::ImageToImageFilter<Image, Image> {
 public:
  using Self = Recorder;
  using Superclass = itk::ImageToImageFilter<Image, Image>;
  using Pointer = itk::SmartPointer<Self>;
  itkNewMacro(Self);
  std::vector<Image::RegionType> asked;

 protected:
  void GenerateData() override {
    this->AllocateOutputs();
    const auto region = this->GetOutput()->GetBufferedRegion();
    asked.push_back(region);
    itk::ImageAlgorithm::Copy(this->GetInput(), this->GetOutput(), region, region);
  }
};

/// The output of `last`, computed in `pieces` blocks that cut all axes.
Image::Pointer streamed(itk::ImageSource<Image>* last, unsigned int pieces) {
  const auto streaming = itk::StreamingImageFilter<Image, Image>::New();
  streaming->SetInput(last->GetOutput());
  streaming->SetRegionSplitter(itk::ImageRegionSplitterMultidimensional::New());
  streaming->SetNumberOfStreamDivisions(pieces);
  streaming->Update();
  Image::Pointer output = streaming->GetOutput();
  output->DisconnectPipeline();
  return output;
}

TEST(Streaming, GivesTheWholeImage) {
  const auto image = noisy_image<Image>({{23, 19, 14}});
  for (const unsigned int pieces : {2U, 7U, 27U}) {
    const auto make = [&] {
      const auto recorder = Recorder::New();
      recorder->SetInput(image);
      const auto median = Median::New();
      median->SetInput(recorder->GetOutput());
      median->SetRadius(Radius3{2, 1, 1});
      const auto bilateral = Bilateral::New();
      bilateral->SetInput(median->GetOutput());
      bilateral->SetRangeSigma(30);
      bilateral->SetDomainSigma(1);
      return std::tuple(recorder, median, bilateral);
    };
    const auto [whole_recorder, whole_median, whole] = make();
    whole->Update();
    const auto [recorder, median, bilateral] = make();
    const auto output = streamed(bilateral, pieces);
    SCOPED_TRACE(pieces);
    expect_equal<Image>(output, whole->GetOutput());
    EXPECT_GT(recorder->asked.size(), 1U);
    for (const auto& region : recorder->asked) {
      EXPECT_LT(region.GetNumberOfPixels(), image->GetLargestPossibleRegion().GetNumberOfPixels());
    }
  }
}

/// ITK takes negative spacings with a warning.
TEST(Streaming, ANegativeSpacingCountsByItsLength) {
  const auto image = noisy_image<Image>({{23, 19, 14}});
  std::vector<Image::Pointer> results;
  for (const double sign : {1.0, -1.0}) {
    Image::SpacingType spacing;
    spacing[0] = 0.5 * sign;
    spacing[1] = 0.5;
    spacing[2] = 3;
    image->SetSpacing(spacing);
    const auto median = Median::New();
    median->SetInput(image);
    median->Update();
    results.push_back(median->GetOutput());
  }
  expect_equal<Image>(results[1], results[0]);
}

TEST(Streaming, AsksTheInputForTheRegionAndTheReachOfTheWindow) {
  const auto image = noisy_image<Image>({{40, 30, 20}});
  const auto recorder = Recorder::New();
  recorder->SetInput(image);
  const auto median = Median::New();
  median->SetInput(recorder->GetOutput());
  median->SetRadius(Radius3{3, 2, 1});
  median->UpdateOutputInformation();
  const auto start = image->GetLargestPossibleRegion().GetIndex();
  const Image::RegionType region({{start[0] + 10, start[1], start[2] + 19}}, {{5, 6, 1}});
  median->GetOutput()->SetRequestedRegion(region);
  median->Update();
  ASSERT_EQ(recorder->asked.size(), 1U);
  EXPECT_EQ(recorder->asked[0], Image::RegionType({{start[0] + 7, start[1], start[2] + 18}}, {{11, 8, 2}}));
  EXPECT_EQ(median->GetOutput()->GetBufferedRegion(), region);

  const auto whole = Median::New();
  whole->SetInput(image);
  whole->SetRadius(Radius3{3, 2, 1});
  whole->Update();
  expect_equal<Image>(median->GetOutput(), whole->GetOutput(), region);
}

TEST(Streaming, AnImageWithoutVoxelsIsRefused) {
  const auto empty = Image::New();
  empty->SetRegions(noisy_image<Image>({{32, 24, 12}})->GetLargestPossibleRegion());
  const auto median = Median::New();
  median->SetInput(empty);
  EXPECT_THROW(median->Update(), itk::ExceptionObject);
  const auto automatic = Bilateral::New();
  automatic->SetInput(empty);
  EXPECT_THROW(automatic->Update(), itk::ExceptionObject);
}

TEST(Streaming, AutomaticValuesDoNotDependOnTheRegion) {
  const auto image = noisy_image<Image>({{32, 24, 12}});
  const auto whole = Bilateral::New();
  whole->SetInput(image);
  whole->Update();
  ASSERT_FALSE(whole->GetRangeSigma());
  const double sigma = whole->GetResolvedParameters().range_sigma.value();
  EXPECT_GT(sigma, 10);

  const auto recorder = Recorder::New();
  recorder->SetInput(image);
  const auto pieces = Bilateral::New();
  pieces->SetInput(recorder->GetOutput());
  expect_equal<Image>(streamed(pieces, 6), whole->GetOutput());
  EXPECT_EQ(pieces->GetResolvedParameters().range_sigma.value(), sigma);
  ASSERT_FALSE(recorder->asked.empty());
  EXPECT_EQ(recorder->asked[0], image->GetLargestPossibleRegion()) << "the noise is that of the whole image";
}

/// As in the program, which knows them for lost.
TEST(Streaming, BlankSlicesDoNotCountAsNoise) {
  const auto sigma_of = [](const Image::Pointer& image) {
    const auto filter = Bilateral::New();
    filter->SetInput(image);
    filter->Update();
    return filter->GetResolvedParameters().range_sigma.value();
  };
  const auto image = noisy_image<Image>({{64, 64, 24}});
  const auto whole = image->GetLargestPossibleRegion();
  std::mt19937 random(7);
  std::normal_distribution<float> noise(100, 20);
  for (itk::ImageRegionIterator<Image> voxel(image, whole); !voxel.IsAtEnd(); ++voxel) voxel.Set(noise(random));
  const double sigma = sigma_of(image);
  EXPECT_GT(sigma, 10);
  for (itk::ImageRegionIterator<Image> voxel(image, whole); !voxel.IsAtEnd(); ++voxel) {
    if ((voxel.GetIndex()[2] - whole.GetIndex(2)) % 3 == 1) voxel.Set(0);
  }
  image->Modified();
  EXPECT_NEAR(sigma_of(image), sigma, 0.1 * sigma);
}

TEST(Streaming, AutomaticValuesFollowTheImage) {
  const auto image = noisy_image<Image>({{32, 24, 6}});
  const auto filter = Bilateral::New();
  filter->SetInput(image);
  filter->Update();
  const double before = filter->GetResolvedParameters().range_sigma.value();
  for (itk::ImageRegionIterator<Image> voxel(image, image->GetBufferedRegion()); !voxel.IsAtEnd(); ++voxel) {
    voxel.Set(3 * voxel.Get());
  }
  image->Modified();
  filter->Update();
  EXPECT_NEAR(filter->GetResolvedParameters().range_sigma.value(), 3 * before, 1e-3 * before);
}

TEST(Streaming, AutomaticValuesFollowWhatIsChangedBehindASource) {
  const auto recorder = Recorder::New();
  recorder->SetInput(noisy_image<Image>({{32, 24, 6}}));
  const auto filter = Bilateral::New();
  filter->SetInput(recorder->GetOutput());
  filter->Update();
  const double before = filter->GetResolvedParameters().range_sigma.value();
  Image* const image = recorder->GetOutput();
  for (itk::ImageRegionIterator<Image> voxel(image, image->GetBufferedRegion()); !voxel.IsAtEnd(); ++voxel) {
    voxel.Set(3 * voxel.Get());
  }
  image->Modified();
  filter->Update();
  EXPECT_NEAR(filter->GetResolvedParameters().range_sigma.value(), 3 * before, 1e-3 * before);
}

/// As the program filters a volume of these pixels.
std::vector<std::uint32_t> filtered_by_program(const std::vector<float>& pixels, const FilterConfig& settings) {
  MemoryVolume source({pixels.data(), {{32, 24, 12}}});
  const auto backend = make_backend("cpu");
  std::vector<std::uint32_t> bits;
  filter_volume(source, std::span(&settings, 1), *backend, {}, [&](VolumeView<const float> slices) {
    for (std::int64_t i = 0; i < slices.extent.voxels(); ++i) {
      bits.push_back(std::bit_cast<std::uint32_t>(slices.data[i]));
    }
  });
  return bits;
}

/// Filters of blocks get what is missing filled in, and what is far beyond the noise, as in the program; their results
/// stay within the range of whole slices, whatever is asked for.
template <class Input>
void expect_blocks_as_in_program(const typename Input::Pointer& image) {
  const auto filter = DctImageFilter<Input, Image>::New();
  filter->SetInput(image);
  filter->SetSigma(60);
  filter->SetBackend("cpu");
  filter->Update();
  const auto* const pixels = image->GetBufferPointer();
  const auto expected = filtered_by_program({pixels, pixels + 32 * 24 * 12}, filter->GetResolvedSettings());
  const auto bits = [](const float* voxels) {
    std::vector<std::uint32_t> numbers(32 * 24 * 12);
    std::memcpy(numbers.data(), voxels, sizeof(float) * numbers.size());
    return numbers;
  };
  EXPECT_EQ(bits(filter->GetOutput()->GetBufferPointer()), expected);
  EXPECT_EQ(bits(streamed(filter, 6)->GetBufferPointer()), expected);
}

TEST(Streaming, MissingPixelsKeepNothingElseFromBeingFiltered) {
  const auto image = noisy_image<Image>({{32, 24, 12}});
  float* const pixels = image->GetBufferPointer();
  for (std::size_t i = 0; i < 32 * 24 * 12; i += i < 32 * 24 ? 1 : 7) {
    pixels[i] = std::numeric_limits<float>::quiet_NaN();
  }
  pixels[32 * 24 * 5 + 100] = 1e12F;
  expect_blocks_as_in_program<Image>(image);
}

TEST(Streaming, IntegersAreFilteredInBlocksAsByTheProgram) {
  expect_blocks_as_in_program<Volume<std::int16_t>>(noisy_image<Volume<std::int16_t>>({{32, 24, 12}}));
}

TEST(Progress, RisesToOneOnTheUpdatingThread) {
  const auto filter = Median::New();
  filter->SetInput(noisy_image<Image>({{64, 64, 64}}));
  filter->SetRadius(2);
  filter->SetNumberOfWorkUnits(1);  // of several threads, another one may do most of the work
  std::vector<float> seen;
  filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject&) { seen.push_back(filter->GetProgress()); });
  filter->Update();
  ASSERT_GT(seen.size(), 3U) << "only the start and the end were reported";
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_FLOAT_EQ(seen.back(), 1);
}

TEST(Progress, IsRecordedFromAnyThreadAndNeverFalls) {
  struct Probe : Median {
    using Pointer = itk::SmartPointer<Probe>;
    itkSimpleNewMacro(Probe);
    using Median::MakeExecution;
  };
  const auto filter = Probe::New();
  int events = 0;
  filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject&) { ++events; });
  const Execution execution = filter->MakeExecution();
  std::vector<float> seen;
  std::jthread([&] {
    for (const double done : {0.25, 0.5, 0.375, 0.75}) {
      execution.progress(done);
      seen.push_back(filter->GetProgress());
    }
  }).join();
  EXPECT_EQ(seen, (std::vector<float>{0.25F, 0.5F, 0.5F, 0.75F}));
  EXPECT_EQ(events, 0) << "observers were called on another thread than that of Update()";
  EXPECT_FALSE(execution.stop.stop_requested());
  std::jthread([&] { filter->AbortGenerateDataOn(); }).join();
  EXPECT_TRUE(execution.stop.stop_requested());
}

/// Measuring the noise, which comes first, tells none.
TEST(Abort, IsHeededBeforeAnyProgressIsTold) {
  struct Aborted : Bilateral {
    using Pointer = itk::SmartPointer<Aborted>;
    itkSimpleNewMacro(Aborted);
    void AllocateOutputs() override {
      Bilateral::AllocateOutputs();
      this->AbortGenerateDataOn();
    }
  };
  const auto filter = Aborted::New();
  filter->SetInput(noisy_image<Image>({{48, 48, 16}}));
  EXPECT_THROW(filter->Update(), itk::ProcessAborted);
  EXPECT_EQ(filter->GetProgress(), 0);
}

TEST(Abort, EndsTheUpdateAndLeavesTheFilterUsable) {
  const auto image = noisy_image<Image>({{64, 64, 64}});
  const auto filter = Median::New();
  filter->SetInput(image);
  filter->SetNumberOfWorkUnits(1);
  const auto observer = filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject&) {
    if (filter->GetProgress() > 0) filter->AbortGenerateDataOn();
  });
  bool saw_abort = false;
  filter->AddObserver(itk::AbortEvent(), [&](const itk::EventObject&) { saw_abort = true; });
  EXPECT_THROW(filter->Update(), itk::ProcessAborted);
  EXPECT_TRUE(saw_abort);

  filter->RemoveObserver(observer);
  filter->Update();
  const auto fresh = Median::New();
  fresh->SetInput(image);
  fresh->Update();
  expect_equal<Image>(filter->GetOutput(), fresh->GetOutput());
}

TEST(Errors, OutOfMemoryIsAnExceptionOfItk) {
  const auto filter = Median::New();
  filter->SetInput(noisy_image<Image>({{16, 16, 16}}));
  filter->SetNumberOfWorkUnits(1);
  filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject&) {
    if (filter->GetProgress() > 0) throw std::bad_alloc();
  });
  EXPECT_THROW(filter->Update(), itk::ExceptionObject);
}

TEST(WorkUnits, DoNotChangeTheResult) {
  const auto image = noisy_image<Image>({{40, 30, 20}});
  const auto one = Bilateral::New(), many = Bilateral::New();
  one->SetInput(image);
  one->SetNumberOfWorkUnits(1);
  one->Update();
  many->SetInput(image);
  many->SetNumberOfWorkUnits(8);
  many->Update();
  expect_equal<Image>(one->GetOutput(), many->GetOutput());
}

}  // namespace
}  // namespace quietvox::test
