// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// A scan through ITK's pipeline and back to a file.
#include <cstdlib>

#include "files.hpp"
#include "images.hpp"
#include "itk_adapters/image_io.hpp"
#include "quietvoxBilateralImageFilter.h"
#include "quietvoxMedianImageFilter.h"
#include "quietvoxSeriesImageSource.h"
#include "quietvoxSeriesImageWriter.h"
#include "support/test_data.hpp"

namespace quietvox::test {
namespace {
namespace fs = std::filesystem;

using Image = SeriesImageSource::ImageType;

const io::Geometry geometry{.extent = {24, 20, 12},
                            .spacing = {0.5, 0.75, 2.5},
                            .origin = {-10.25, 20.5, 7},
                            .direction = {0, 1, 0, -1, 0, 0, 0, 0, 1}};

/// Writes a scan of noisy volumes.
void make_scan(const fs::path& path, std::size_t volumes = 1) {
  const Settings median(find_filter("median"));
  const auto writer = create_itk_image(path, geometry, volumes, {.output_type = "int16"});
  for (std::size_t volume = 0; volume < volumes; ++volume) {
    const auto image = noisy_image<Image>({{24, 20, 12}}, 0, 200.0 * static_cast<double>(volume + 1));
    writer->begin_volume(volume, {{median}, {median}, "cpu"});
    writer->write({image->GetBufferPointer(), geometry.extent, geometry.spacing});
  }
  writer->commit();
}

SeriesImageSource::Pointer source_of(const fs::path& path, std::size_t volume = 0) {
  const auto source = SeriesImageSource::New();
  source->SetFileName(path.string());
  source->SetVolumeIndex(volume);
  return source;
}

/// A pipeline of median and bilateral filter.
struct Pipeline {
  explicit Pipeline(const fs::path& path, std::size_t volume = 0) : source(source_of(path, volume)) {
    median->SetInput(source->GetOutput());
    bilateral->SetInput(median->GetOutput());
  }
  SeriesImageSource::Pointer source;
  MedianImageFilter<Image>::Pointer median = MedianImageFilter<Image>::New();
  BilateralImageFilter<Image>::Pointer bilateral = BilateralImageFilter<Image>::New();
};

/// The voxels of `image` as they are stored after writing.
std::vector<short> rounded(const Image* image) {
  std::vector<short> voxels;
  itk::ImageRegionConstIteratorWithIndex<Image> voxel(image, image->GetLargestPossibleRegion());
  for (; !voxel.IsAtEnd(); ++voxel) voxels.push_back(to_pixel<short>(voxel.Get()));
  return voxels;
}

TEST(SeriesImageSource, GivesPlaceAndVoxels) {
  const Folder folder;
  make_scan(folder / "scan.mha");
  const auto source = source_of(folder / "scan.mha");
  source->Update();
  const Image* const image = source->GetOutput();
  EXPECT_EQ(image->GetLargestPossibleRegion().GetSize(), (Image::SizeType{{24, 20, 12}}));
  for (unsigned int axis = 0; axis < 3; ++axis) {
    EXPECT_EQ(image->GetSpacing()[axis], geometry.spacing[static_cast<int>(axis)]);
    EXPECT_EQ(image->GetOrigin()[axis], geometry.origin[axis]);
    for (unsigned int row = 0; row < 3; ++row) {
      EXPECT_EQ(image->GetDirection()[row][axis], geometry.direction[3 * row + axis]);
    }
  }
  EXPECT_EQ(rounded(image), rounded(noisy_image<Image>({{24, 20, 12}})))
      << "stored as the shorts that they were cut to";
}

TEST(SeriesImageSource, ReadsTheSlicesAskedFor) {
  const Folder folder;
  make_scan(folder / "scan.mha");
  const auto whole = source_of(folder / "scan.mha"), part = source_of(folder / "scan.mha");
  whole->Update();
  part->UpdateOutputInformation();
  const Image::RegionType asked({{3, 4, 5}}, {{2, 2, 3}});
  part->GetOutput()->SetRequestedRegion(asked);
  part->Update();
  EXPECT_EQ(part->GetOutput()->GetBufferedRegion(), Image::RegionType({{0, 0, 5}}, {{24, 20, 3}}));
  expect_equal<Image>(part->GetOutput(), whole->GetOutput(), asked);
}

TEST(SeriesImageSource, SaysWhatIsWrong) {
  const Folder folder;
  make_scan(folder / "scan.mha");
  folder.write("letter.txt", "Dear reader");
  EXPECT_THROW(source_of(folder / "nowhere")->Update(), itk::ExceptionObject);
  EXPECT_THROW(source_of(folder / "letter.txt")->Update(), itk::ExceptionObject);
  EXPECT_THROW(source_of(folder / "scan.mha", 1)->Update(), itk::ExceptionObject) << "there is one volume";
}

TEST(SeriesImageWriter, GivesTheScanBackHoweverItIsStreamed) {
  const Folder folder;
  make_scan(folder / "scan.mha");
  Pipeline expected(folder / "scan.mha");
  expected.bilateral->Update();
  for (const unsigned int divisions : {1U, 5U, 100U}) {
    const fs::path path = folder / ("out" + std::to_string(divisions) + ".mha");
    Pipeline pipeline(folder / "scan.mha");
    const auto writer = SeriesImageWriter::New();
    writer->SetInput(pipeline.bilateral->GetOutput());
    writer->SetFileName(path.string());
    writer->SetNumberOfStreamDivisions(divisions);
    writer->Update();
    ASSERT_FALSE(writer->GetReport().files.empty());
    EXPECT_EQ(writer->GetReport().files[0], path);
    const auto result = source_of(path);
    result->Update();
    EXPECT_EQ(rounded(result->GetOutput()), rounded(expected.bilateral->GetOutput())) << divisions;
    EXPECT_EQ(result->GetOutput()->GetDirection(), expected.source->GetOutput()->GetDirection());
  }
}

TEST(SeriesImageWriter, SendsEveryVolumeThroughThePipeline) {
  const Folder folder;
  make_scan(folder / "scan.nrrd", 2);
  Pipeline pipeline(folder / "scan.nrrd");
  const auto writer = SeriesImageWriter::New();
  writer->SetInput(pipeline.bilateral->GetOutput());
  writer->SetFileName((folder / "out.nrrd").string());
  writer->Update();
  for (const std::size_t volume : {0U, 1U}) {
    Pipeline expected(folder / "scan.nrrd", volume);
    expected.bilateral->Update();
    const auto result = source_of(folder / "out.nrrd", volume);
    result->Update();
    EXPECT_EQ(rounded(result->GetOutput()), rounded(expected.bilateral->GetOutput())) << "volume " << volume;
  }
  EXPECT_EQ(pipeline.source->GetVolumeIndex(), 0U);
}

TEST(SeriesImageWriter, TakesAnImageWithoutAPipeline) {
  const Folder folder;
  make_scan(folder / "scan.mha");
  Pipeline pipeline(folder / "scan.mha");
  pipeline.bilateral->Update();
  Image::Pointer image = pipeline.bilateral->GetOutput();
  const Provenance provenance{{pipeline.bilateral->GetRequestedSettings()},
                              {pipeline.bilateral->GetResolvedSettings()},
                              pipeline.bilateral->GetBackendName()};
  image->DisconnectPipeline();
  const auto writer = SeriesImageWriter::New();
  writer->SetInput(image);
  writer->SetFileName((folder / "out.mha").string());
  EXPECT_THROW(writer->Update(), itk::ExceptionObject) << "whose metadata?";
  writer->SetSource(pipeline.source);
  EXPECT_THROW(writer->Update(), itk::ExceptionObject) << "what was done?";
  writer->SetProvenance(provenance);
  writer->Update();
  const auto result = source_of(folder / "out.mha");
  result->Update();
  EXPECT_EQ(rounded(result->GetOutput()), rounded(image));
}

TEST(SeriesImageWriter, LeavesNothingWhereItFails) {
  const Folder folder;
  make_scan(folder / "scan.mha");
  const auto before = folder.names();
  Pipeline pipeline(folder / "scan.mha");
  const auto writer = SeriesImageWriter::New();
  writer->SetInput(pipeline.bilateral->GetOutput());
  writer->SetFileName((folder / "scan.mha").string());
  EXPECT_THROW(writer->Update(), itk::ExceptionObject) << "output and input are the same";
  writer->SetFileName((folder / "out.mha").string());
  pipeline.median->SetRadius(15);
  EXPECT_THROW(writer->Update(), itk::ExceptionObject) << "the window is larger than the volume";
  EXPECT_EQ(folder.names(), before);
}

int run_example(const fs::path& input, const fs::path& output) {
  const std::string program = std::string(QUIETVOX_BINARY_DIR) + "/bin/denoise_series";
  return std::system(("'" + program + "' '" + input.string() + "' '" + output.string() + "' > /dev/null").c_str());
}

TEST(Example, DenoisesAScan) {
  const Folder folder;
  make_scan(folder / "scan.mhd");
  ASSERT_EQ(run_example(folder / "scan.mhd", folder / "out.mhd"), 0);
  Pipeline expected(folder / "scan.mhd");
  expected.median->SetRadius({1, 1, 0});
  expected.bilateral->Update();
  const auto result = source_of(folder / "out.mhd");
  result->Update();
  EXPECT_EQ(rounded(result->GetOutput()), rounded(expected.bilateral->GetOutput()));
  EXPECT_NE(run_example(folder / "nowhere", folder / "other.mhd"), 0);
}

}  // namespace
}  // namespace quietvox::test
