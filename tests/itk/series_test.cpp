// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// A scan through ITK's pipeline and back to a file.
#include <itkAddImageFilter.h>
#include <itkChangeInformationImageFilter.h>
#include <itkFlipImageFilter.h>
#include <itkOrientImageFilter.h>
#include <itkPermuteAxesImageFilter.h>
#include <itkShiftScaleImageFilter.h>

#include <cstdlib>

#include "files.hpp"
#include "images.hpp"
#include "io/create.hpp"
#include "itk_adapters/file_io/image_io.hpp"
#include "messages.hpp"
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

std::unique_ptr<io::ImageWriter> create_scan(const fs::path& path, std::size_t volumes) {
  if (!path.has_extension()) return io::create_dicom(path, geometry, "CT", {});
  if (path.extension() == ".gz") return io::create_nifti(path, geometry, volumes, {});
  return create_itk_image(path, geometry, volumes, {.output_type = io::ScalarType::int16});
}

/// Writes a scan of noisy volumes: a DICOM series where the name has no ending.
void make_scan(const fs::path& path, std::size_t volumes = 1) {
  const FilterConfig median(find_filter("median"));
  const auto writer = create_scan(path, volumes);
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

TEST(SeriesImageSource, ReadsASingleSlice) {
  const Folder folder;
  make_scan(folder / "series");
  const auto source = source_of(fs::directory_iterator(folder / "series")->path());
  source->Update();
  EXPECT_EQ(source->GetOutput()->GetLargestPossibleRegion().GetSize(), (Image::SizeType{{24, 20, 1}}));
}

TEST(SeriesImageSource, ReadsFilesThatHaveChangedAnew) {
  const Folder folder;
  make_scan(folder / "other.mha");
  for (const bool is_renamed : {false, true}) {
    const io::Geometry small{.extent = {4, 3, 2}, .spacing = {2, 2, 3}};
    const auto writer = create_itk_image(folder / "scan.mha", small, 1, {.force = true});
    const std::vector<float> voxels(24, 7);
    writer->begin_volume(0, {{FilterConfig(find_filter("median"))}, {FilterConfig(find_filter("median"))}, "cpu"});
    writer->write({voxels.data(), small.extent, small.spacing});
    writer->commit();
    const auto source = source_of(folder / "scan.mha"), expected = source_of(folder / "other.mha");
    source->Update();
    EXPECT_EQ(source->GetOutput()->GetSpacing()[2], 3);
    if (is_renamed) {
      fs::copy_file(folder / "other.mha", folder / "new.mha");
      fs::rename(folder / "new.mha", folder / "scan.mha");
    } else {
      fs::copy_file(folder / "other.mha", folder / "scan.mha", fs::copy_options::overwrite_existing);
    }
    source->Modified();
    source->UpdateLargestPossibleRegion();
    expected->Update();
    EXPECT_EQ(source->GetOutput()->GetSpacing(), expected->GetOutput()->GetSpacing());
    EXPECT_EQ(rounded(source->GetOutput()), rounded(expected->GetOutput()));
  }
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

TEST(SeriesImageWriter, RefusesAnImageOfWhichOnlyAPartIsThere) {
  const Folder folder;
  make_scan(folder / "scan.mha");
  const auto before = folder.names();
  const auto source = source_of(folder / "scan.mha");
  source->UpdateOutputInformation();
  source->GetOutput()->SetRequestedRegion(Image::RegionType({{0, 0, 5}}, {{24, 20, 3}}));
  source->Update();
  Image::Pointer image = source->GetOutput();
  image->DisconnectPipeline();
  const auto refuses = [&](const Image* part) {
    const auto writer = SeriesImageWriter::New();
    writer->SetInput(part);
    writer->SetSource(source);
    writer->SetProvenance({{}, {FilterConfig(find_filter("median"))}, "cpu"});
    writer->SetFileName((folder / "out.mha").string());
    EXPECT_THROW(writer->Update(), itk::ExceptionObject);
  };
  refuses(image);
  const auto empty = Image::New();  // without voxels
  empty->CopyInformation(image);
  empty->SetRegions(image->GetLargestPossibleRegion());
  refuses(empty);
  EXPECT_EQ(folder.names(), before);
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

/// The message of the exception with which writing `image` fails; empty where it is written.
std::string refusal(const Image* image, const fs::path& output) {
  const auto writer = SeriesImageWriter::New();
  writer->SetInput(image);
  writer->SetFileName(output.string());
  try {
    writer->Update();
  } catch (const itk::ExceptionObject& error) {
    return error.GetDescription();
  }
  return "";
}

TEST(SeriesImageWriter, RefusesVoxelsThatLieElsewhere) {
  const Folder folder;
  make_scan(folder / "scan");
  const auto source = source_of(folder / "scan");
  const auto refusal_behind = [&](itk::ImageToImageFilter<Image, Image>* filter) {
    filter->SetInput(source->GetOutput());
    const auto median = MedianImageFilter<Image>::New();
    median->SetInput(filter->GetOutput());
    std::string message = refusal(median->GetOutput(), folder / "out");
    EXPECT_EQ(message.empty(), fs::exists(folder / "out")) << message;
    return message;
  };
  for (const bool about_origin : {false, true}) {
    for (const unsigned int axis : {0U, 1U, 2U}) {
      const auto flip = itk::FlipImageFilter<Image>::New();
      itk::FlipImageFilter<Image>::FlipAxesArrayType axes(false);
      axes[axis] = true;
      flip->SetFlipAxes(axes);
      flip->SetFlipAboutOrigin(about_origin);
      const std::string message = refusal_behind(flip);
      EXPECT_NE(message.find("origin"), std::string::npos) << axis << about_origin << ": " << message;
      EXPECT_NE(message.find("OrientImageFilter"), std::string::npos) << axis << about_origin << ": " << message;
    }
  }
  const auto change = [] { return itk::ChangeInformationImageFilter<Image>::New(); };
  const auto wider = change(), turned = change(), moved = change();
  wider->ChangeSpacingOn();
  wider->SetOutputSpacing(std::array{0.5, 0.8, 2.5}.data());
  EXPECT_NE(refusal_behind(wider).find("spacing"), std::string::npos);
  turned->ChangeDirectionOn();  // to that of the identity, about the same origin
  EXPECT_NE(refusal_behind(turned).find("axes"), std::string::npos);
  moved->ChangeRegionOn();  // the index of the first voxel: the origin stays where index 0 lies
  moved->SetOutputOffset(std::array<itk::IndexValueType, 3>{0, 0, 1}.data());
  EXPECT_NE(refusal_behind(moved).find("origin"), std::string::npos);
  const auto barely = change();
  barely->ChangeOriginOn();
  barely->SetOutputOrigin(std::array{-10.2501, 20.5, 7.0001}.data());
  EXPECT_EQ(refusal_behind(barely), "") << "within what masks are allowed";
}

TEST(SeriesImageWriter, TakesVoxelsThatWereTurnedAndTurnedBack) {
  const Folder folder;
  make_scan(folder / "scan.mha");
  using Orient = itk::OrientImageFilter<Image, Image>;
  Pipeline expected(folder / "scan.mha"), pipeline(folder / "scan.mha");
  expected.bilateral->Update();
  const auto turn = Orient::New(), back = Orient::New();
  turn->UseImageDirectionOn();
  turn->SetInput(pipeline.bilateral->GetOutput());
  turn->SetDesiredCoordinateOrientation(itk::SpatialOrientation::ITK_COORDINATE_ORIENTATION_SLA);
  EXPECT_NE(refusal(turn->GetOutput(), folder / "out.mha"), "");
  back->UseImageDirectionOn();
  back->SetInput(turn->GetOutput());
  back->SetDesiredCoordinateDirection(expected.source->GetOutput()->GetDirection());
  EXPECT_EQ(refusal(back->GetOutput(), folder / "out.mha"), "");
  const auto result = source_of(folder / "out.mha");
  result->Update();
  EXPECT_EQ(rounded(result->GetOutput()), rounded(expected.bilateral->GetOutput()));
}

/// The places of texts, of which each stands behind the one before it.
void expect_in_order(const std::string& text, const std::vector<std::string>& parts) {
  std::size_t from = 0;
  for (const std::string& part : parts) {
    const std::size_t place = text.find(part, from);
    EXPECT_NE(place, std::string::npos) << part << " in " << text;
    if (place != std::string::npos) from = place + part.size();
  }
}

/// `path`, its values doubled, between a median and a bilateral filter and, by their sum with themselves, behind them.
struct MixedPipeline : Pipeline {
  explicit MixedPipeline(const fs::path& path) : Pipeline(path) {
    twice->SetInput(median->GetOutput());
    twice->SetScale(2);
    bilateral->SetInput(twice->GetOutput());
    sum->SetInput1(bilateral->GetOutput());
    sum->SetInput2(source->GetOutput());
  }
  itk::ShiftScaleImageFilter<Image, Image>::Pointer twice = itk::ShiftScaleImageFilter<Image, Image>::New();
  itk::AddImageFilter<Image>::Pointer sum = itk::AddImageFilter<Image>::New();
};

TEST(SeriesImageWriter, NamesTheOtherFiltersOfItsPipeline) {
  const std::vector<std::string> names{"median", "ShiftScaleImageFilter", "bilateral", "AddImageFilter"};
  for (const std::string ending : {"", ".mha", ".nii.gz"}) {
    SCOPED_TRACE(ending);
    const Folder folder;
    make_scan(folder / ("scan" + ending));
    const MixedPipeline pipeline(folder / ("scan" + ending));
    ASSERT_EQ(refusal(pipeline.sum->GetOutput(), folder / ("out" + ending)), "");
    expect_in_order(
        ending.empty() ? folder.read("out/" + *Folder::names_in(folder / "out").begin()) : folder.read("out.json"),
        names);
  }
}

TEST(SeriesImageWriter, GivesNewIdentifiersWhereOtherFiltersTookPart) {
  const Folder folder;
  make_scan(folder / "scan");
  MixedPipeline pipeline(folder / "scan");
  ASSERT_EQ(refusal(pipeline.sum->GetOutput(), folder / "once"), "");
  pipeline.twice->SetScale(3);
  ASSERT_EQ(refusal(pipeline.sum->GetOutput(), folder / "thrice"), "");
  EXPECT_NE(source_of(folder / "once")->GetImage().series_uid(), source_of(folder / "thrice")->GetImage().series_uid());
  Pipeline again(folder / "scan");
  ASSERT_EQ(refusal(again.bilateral->GetOutput(), folder / "a"), "");
  ASSERT_EQ(refusal(again.bilateral->GetOutput(), folder / "b"), "");
  EXPECT_EQ(source_of(folder / "a")->GetImage().series_uid(), source_of(folder / "b")->GetImage().series_uid());
  const std::string file = "a/" + *Folder::names_in(folder / "a").begin();
  EXPECT_NE(folder.read(file).find("; by ITK; not for diagnostic use"), std::string::npos);
}

TEST(SeriesImageWriter, RefusesTheNameOfAnotherFormat) {
  const Folder folder;
  make_scan(folder / "series");
  Pipeline pipeline(folder / "series");
  const std::string why = refusal(pipeline.bilateral->GetOutput(), folder / "out.nii.gz");
  EXPECT_NE(why.find("is the name of a NIfTI file, but the scan is DICOM"), std::string::npos) << why;
  EXPECT_FALSE(fs::exists(folder / "out.nii.gz"));
}

TEST(SeriesImageWriter, RefusesToReplaceAJsonFileBeforeItFilters) {
  const Folder folder;
  make_scan(folder / "scan.mha");
  std::ofstream(folder / "out.json") << "{}";
  Pipeline pipeline(folder / "scan.mha");
  EXPECT_NE(refusal(pipeline.bilateral->GetOutput(), folder / "out.mha").find("out.json"), std::string::npos);
  EXPECT_EQ(pipeline.bilateral->GetOutput()->GetBufferedRegion().GetSize()[0], 0U) << "nothing was filtered";
  EXPECT_FALSE(fs::exists(folder / "out.mha"));
}

TEST(SeriesImageWriter, WarnsOfVoxelsBeyondTheStoredType) {
  const Folder folder;
  make_scan(folder / "scan.mha");
  const auto warnings = Warnings::New();
  itk::OutputWindow::SetInstance(warnings);
  Pipeline plain(folder / "scan.mha");
  EXPECT_EQ(refusal(plain.bilateral->GetOutput(), folder / "plain.mha"), "");
  EXPECT_EQ(warnings->text.find("beyond what the stored type holds"), std::string::npos) << warnings->text;
  MixedPipeline pipeline(folder / "scan.mha");
  pipeline.twice->SetShift(65536);
  EXPECT_EQ(refusal(pipeline.sum->GetOutput(), folder / "out.mha"), "");
  itk::OutputWindow::SetInstance(nullptr);
  EXPECT_NE(warnings->text.find("5760 voxels"), std::string::npos) << warnings->text;
}

int run_example(const fs::path& input, const fs::path& output) {
  const std::string program = std::string(QUIETVOX_BINARY_DIR) + "/bin/denoise_series";
  return std::system(("'" + program + "' '" + input.string() + "' '" + output.string() + "' > /dev/null").c_str());
}

TEST(Example, DenoisesAScan) {
  for (const std::string ending : {"", ".nii.gz", ".mhd"}) {
    SCOPED_TRACE(ending);
    const Folder folder;
    const fs::path scan = folder / ("scan" + ending), out = folder / ("out" + ending);
    make_scan(scan);
    ASSERT_EQ(run_example(scan, out), 0);
    Pipeline expected(scan);
    expected.median->SetRadius({1, 1, 0});
    expected.bilateral->Update();
    const auto result = source_of(out);
    result->Update();
    EXPECT_EQ(rounded(result->GetOutput()), rounded(expected.bilateral->GetOutput()));
    EXPECT_EQ(result->GetImage().format(), expected.source->GetImage().format());
  }
  EXPECT_NE(run_example("nowhere", "nowhere.mhd"), 0);
}

TEST(RealScan, WithoutAThirdAxisIsReadOnPromiseOnly) {
  QV_NEEDS_TEST_DATA();
  const auto source = source_of(test_data("ct_missing_slice"));
  EXPECT_THROW(source->Update(), itk::ExceptionObject);
  source->SlicesOnlyOn();
  source->Update();
  EXPECT_GT(source->GetOutput()->GetLargestPossibleRegion().GetSize(2), 1U);
}

/// What headers say of slices goes for these, not for the axis that is called z after the image was turned.
TEST(RealScan, ThatWasTurnedIsFilteredAsItLies) {
  QV_NEEDS_TEST_DATA();
  const auto source = source_of(test_data("ct_missing_slice"));
  source->SlicesOnlyOn();
  const auto turned = itk::PermuteAxesImageFilter<Image>::New();
  turned->SetInput(source->GetOutput());
  turned->SetOrder(itk::PermuteAxesImageFilter<Image>::PermuteOrderArrayType({2, 1, 0}));
  const auto radius_of = [](const Image* image) {
    const auto median = MedianImageFilter<Image>::New();
    median->SetInput(image);
    median->Update();
    return *median->GetResolvedParameters().radius;
  };
  EXPECT_EQ(radius_of(source->GetOutput()), (Radius3{1, 1, 0}));
  EXPECT_EQ(radius_of(turned->GetOutput()), (Radius3{0, 1, 1}));
}

TEST(RealScan, ComesBackWithItsPixels) {
  QV_NEEDS_TEST_DATA();
  const Folder folder;
  const auto source = source_of(test_data("ct_series_philips"));
  const auto median = MedianImageFilter<Image>::New();
  median->SetInput(source->GetOutput());
  median->SetRadius(0);
  const auto writer = SeriesImageWriter::New();
  writer->SetInput(median->GetOutput());
  writer->SetFileName((folder / "out").string());
  writer->SetNumberOfStreamDivisions(3);
  writer->Update();
  EXPECT_EQ(writer->GetReport().files.size(), 14U);
  const auto again = source_of(folder / "out"), original = source_of(test_data("ct_series_philips"));
  again->Update();
  original->Update();
  expect_equal<Image>(again->GetOutput(), original->GetOutput());
}

}  // namespace
}  // namespace quietvox::test
