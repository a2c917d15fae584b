// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// What filters learn from the scan at the upper end of their pipeline.
#include <gtest/gtest.h>
#include <itkShiftScaleImageFilter.h>

#include <cstdlib>
#include <random>

#include "files.hpp"
#include "quietvoxQuadraticImageFilter.h"
#include "quietvoxSeriesImageSource.h"
#include "quietvoxSeriesImageWriter.h"
#include "support/make_dicom.hpp"

namespace quietvox::test {
namespace {
namespace fs = std::filesystem;

using Image = SeriesImageSource::ImageType;

/// A slice of noise in two halves, whose low values are shown white.
void make_negative(const fs::path& path) {
  DicomSpec spec{.columns = 40, .rows = 30};
  std::mt19937 random(2);
  for (int i = 0; i < 40 * 30; ++i)
    spec.cells.push_back(static_cast<std::uint16_t>(random() % 300 + i % 40 / 20 * 900));
  spec.more = {{DCM_PhotometricInterpretation, "MONOCHROME1"}};
  write_dicom(path, spec);
}

TEST(Monochrome1, GivesWhatTheProgramGives) {
  const Folder folder;
  make_negative(folder / "in.dcm");
  const std::string program = std::string(QUIETVOX_BINARY_DIR) + "/bin/quietvox quadratic --backend cpu";
  const std::string command =
      program + " '" + (folder / "in.dcm").string() + "' '" + (folder / "program.dcm").string() + "' > /dev/null 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0);

  const auto source = SeriesImageSource::New();
  source->SetFileName((folder / "in.dcm").string());
  const auto same = itk::ShiftScaleImageFilter<Image, Image>::New();  // the source need not come right before
  same->SetInput(source->GetOutput());
  const auto quadratic = QuadraticImageFilter<Image>::New();
  quadratic->SetInput(same->GetOutput());
  quadratic->SetBackend("cpu");
  const auto writer = SeriesImageWriter::New();
  writer->SetInput(quadratic->GetOutput());
  writer->SetFileName((folder / "itk.dcm").string());
  writer->Update();
  EXPECT_EQ(quadratic->GetResolvedParameters().white, White::low);
  EXPECT_EQ(dicom_cells(folder / "itk.dcm"), dicom_cells(folder / "program.dcm"));
  EXPECT_NE(dicom_cells(folder / "itk.dcm"), dicom_cells(folder / "in.dcm")) << "nothing was filtered";
}

}  // namespace
}  // namespace quietvox::test
