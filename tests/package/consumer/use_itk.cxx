// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// The ITK classes from outside: one voxel of another value in a flat image, which a median removes.
#include <itkImage.h>
#include <quietvoxMedianImageFilter.h>
#include <quietvoxSeriesImageSource.h>

#include <iostream>

int main() {
  using Image = itk::Image<short, 2>;
  const auto image = Image::New();
  image->SetRegions(Image::SizeType{{8, 8}});
  image->Allocate();
  image->FillBuffer(5);
  image->SetPixel({{4, 4}}, 1000);
  const auto median = quietvox::MedianImageFilter<Image>::New();
  median->SetInput(image);
  median->SetRadius({1, 1, 0});
  median->Update();

  bool refused = false;
  const auto source = quietvox::SeriesImageSource::New();
  source->SetFileName("no-such-file");
  try {
    source->Update();
  } catch (const itk::ExceptionObject&) {
    refused = true;
  }
  std::cout << "the voxel is " << median->GetOutput()->GetPixel({{4, 4}}) << '\n';
  return median->GetOutput()->GetPixel({{4, 4}}) == 5 && refused ? 0 : 1;
}
