// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "itk_adapters/peers/itk_filters.hpp"

#include <itkBilateralImageFilter.h>
#include <itkImage.h>
#include <itkImportImageFilter.h>
#include <itkMedianImageFilter.h>
#include <itkSmoothingRecursiveGaussianImageFilter.h>
#include <itkVersion.h>

namespace quietvox::peers {
namespace {

template <class T>
using Image = itk::Image<T, 3>;

/// Voxels per axis, or a radius, as ITK takes them.
template <class T>
itk::Size<3> itk_size(const Triple<T>& count) {
  itk::Size<3> size;
  for (unsigned axis = 0; axis < 3; ++axis) size[axis] = static_cast<itk::SizeValueType>(count[static_cast<int>(axis)]);
  return size;
}

/// An ITK image of voxels a unit apart over the same memory, which ITK does not change.
template <class T>
typename Image<T>::Pointer itk_image(const VolumeView<const T>& volume) {
  const auto import = itk::ImportImageFilter<T, 3>::New();
  import->SetRegion({itk_size(volume.extent)});
  import->SetImportPointer(const_cast<T*>(volume.data), static_cast<itk::SizeValueType>(volume.extent.voxels()), false);
  import->Update();
  return import->GetOutput();
}

/// Runs a filter; the image that it made lives as long as the pointer to its voxels.
template <class T, class Filter>
std::shared_ptr<const T> result_of(Filter& filter, const VolumeView<const T>& volume, int threads) {
  if (threads > 0) {
    filter.GetMultiThreader()->SetMaximumNumberOfThreads(static_cast<itk::ThreadIdType>(threads));
    filter.SetNumberOfWorkUnits(static_cast<itk::ThreadIdType>(threads));
  }
  filter.SetInput(itk_image(volume));
  filter.Update();
  const typename Image<T>::Pointer image = filter.GetOutput();
  return {image->GetBufferPointer(), [image](const T*) {}};
}

}  // namespace

std::string itk_version() { return itk::Version::GetITKVersion(); }

template <class T>
std::shared_ptr<const T> itk_median(VolumeView<const T> volume, Radius3 radius, int threads) {
  const auto filter = itk::MedianImageFilter<Image<T>, Image<T>>::New();
  filter->SetRadius(itk_size(radius));
  return result_of<T>(*filter, volume, threads);
}
template std::shared_ptr<const float> itk_median(VolumeView<const float>, Radius3, int);
template std::shared_ptr<const std::int16_t> itk_median(VolumeView<const std::int16_t>, Radius3, int);

std::shared_ptr<const float> itk_bilateral(VolumeView<const float> volume, Radius3 radius, double domain_sigma,
                                           double range_sigma, int samples, int threads) {
  const auto filter = itk::BilateralImageFilter<Image<float>, Image<float>>::New();
  filter->AutomaticKernelSizeOff();
  filter->SetRadius(itk_size(radius));
  filter->SetDomainSigma(domain_sigma);
  filter->SetRangeSigma(range_sigma);
  filter->SetNumberOfRangeGaussianSamples(static_cast<unsigned>(samples));
  return result_of<float>(*filter, volume, threads);
}

std::shared_ptr<const float> itk_gaussian(VolumeView<const float> volume, double sigma, int threads) {
  const auto filter = itk::SmoothingRecursiveGaussianImageFilter<Image<float>, Image<float>>::New();
  filter->SetSigma(sigma);
  return result_of<float>(*filter, volume, threads);
}

}  // namespace quietvox::peers
