// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// denoise_series INPUT OUTPUT: a scan through a median and a bilateral filter, given back in its own format.
#include <exception>
#include <iostream>

#include "quietvoxBilateralImageFilter.h"
#include "quietvoxMedianImageFilter.h"
#include "quietvoxSeriesImageSource.h"
#include "quietvoxSeriesImageWriter.h"

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::cerr << "usage: denoise_series INPUT OUTPUT\n";
    return 64;
  }
  using Image = quietvox::SeriesImageSource::ImageType;

  const auto source = quietvox::SeriesImageSource::New();
  source->SetFileName(argv[1]);

  const auto median = quietvox::MedianImageFilter<Image>::New();
  median->SetInput(source->GetOutput());
  median->SetRadius({1, 1, 0});

  const auto bilateral = quietvox::BilateralImageFilter<Image>::New();
  bilateral->SetInput(median->GetOutput());
  bilateral->SetRangeSigmaToAuto();  // from the noise that the median left

  const auto writer = quietvox::SeriesImageWriter::New();
  writer->SetInput(bilateral->GetOutput());
  writer->SetFileName(argv[2]);
  writer->SetNumberOfStreamDivisions(4);
  writer->Update();

  std::cout << "range sigma " << *bilateral->GetResolvedParameters().range_sigma << '\n';
  for (const auto& file : writer->GetReport().files) std::cout << "wrote " << file.string() << '\n';
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
