// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#ifndef quietvoxImageFilterBase_h
#define quietvoxImageFilterBase_h

#include <itkImage.h>
#include <itkImageToImageFilter.h>

#include <any>
#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>

#include "core/backend.hpp"
#include "filters/registry.hpp"
#include "itk_adapters/filters/filter_support.hpp"

namespace quietvox {

/** How many numbers an array holds, as its type tells; 0 where it does not. */
template <typename T>
consteval std::size_t length_of_array() {
  if constexpr (requires { std::integral_constant<std::size_t, T::Dimension>(); }) {
    return T::Dimension;  // of ITK
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    return std::tuple_size_v<T>;
  } else {
    return std::extent_v<T>;
  }
}

/** One number, or an array of one per axis: itk::Size and its like, std::array, T[N]. */
template <typename T, unsigned int VDimension>
concept PerAxis = (length_of_array<T>() == VDimension) || std::is_arithmetic_v<T>;

/** \class ImageFilterBase
 * \brief A quietvox filter as an ITK filter.
 *
 * The filter is the one that the parameter struct TParameters belongs to; the classes made from this one add nothing
 * but a setter and a getter per parameter. Images have two or three axes and scalar pixels, and are no adaptors. Voxels
 * are filtered as float, 16-bit integers as they are where the filter can. Other pixel types go through float: output
 * is rounded to integers half away from zero and moved into the pixel type's range (NaN becomes 0). Integers that a
 * float would round, and numbers beyond its range, are refused; other doubles are rounded to the nearest float, and
 * voxels that do not change keep their digits. Rank filters (median) take and give back every value of every type.
 *
 * Requested regions of any place and size give the voxels of the whole image. A parameter that is `auto` and rests on
 * an estimate of the noise is resolved once for the largest possible region: the first request after a change asks the
 * input for all of it, those that follow for their own region and the reach of the window. Filters of blocks (bm4d,
 * dct, prinlm) ask for all of an image of floating-point pixels: where some are missing, they are filled in for the
 * filter. Filters that work in slices (these and quadratic) ask for all of the input, and make all of the output at
 * once, where slices lie along x or y.
 *
 * An image is filtered by itself: the noise of a series is measured in each volume alone, and blank slices are
 * filtered like all others, unlike in the program and denoise(DenoiseRequest). Labels and phases are refused only where
 * a SeriesImageSource upstream says that they are some; the program leaves such volumes of a scan as they are.
 *
 * Errors are itk::ExceptionObject, thrown by the setters where a value is out of its range. AbortGenerateData ends
 * Update() with itk::ProcessAborted. The largest number of threads is GetNumberOfWorkUnits(). */
template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
class ImageFilterBase : public itk::ImageToImageFilter<TInputImage, TOutputImage>, public FilterProvenance {
 public:
  ITK_DISALLOW_COPY_AND_MOVE(ImageFilterBase);

  using Self = ImageFilterBase;
  using Superclass = itk::ImageToImageFilter<TInputImage, TOutputImage>;
  using Pointer = itk::SmartPointer<Self>;
  using ConstPointer = itk::SmartPointer<const Self>;
  using ParametersType = TParameters;
  using InputPixelType = typename TInputImage::PixelType;
  using OutputPixelType = typename TOutputImage::PixelType;

  static constexpr unsigned int ImageDimension = TInputImage::ImageDimension;
  static_assert(ImageDimension == 2 || ImageDimension == 3, "images have two or three axes");
  static_assert(TOutputImage::ImageDimension == ImageDimension, "input and output have the same axes");
  static_assert(std::derived_from<TInputImage, itk::Image<InputPixelType, ImageDimension>> &&
                    std::derived_from<TOutputImage, itk::Image<OutputPixelType, ImageDimension>>,
                "image adaptors are not read through; put an itk::CastImageFilter behind them");
  static_assert(std::is_arithmetic_v<InputPixelType> && std::is_arithmetic_v<OutputPixelType>, "pixels are scalars");

  itkTypeMacro(ImageFilterBase, ImageToImageFilter);

  /** All parameters at once. */
  void SetParameters(const ParametersType& parameters);
  const ParametersType& GetParameters() const { return m_Parameters; }

  /** The parameters of the last run with every `auto` replaced. Throws before the first. */
  ParametersType GetResolvedParameters() const {
    return std::any_cast<const ParametersType&>(this->GetResolvedSettings().params());
  }

  /** Where to run: auto (CUDA where a device is found, else the CPU; the default), cpu, cuda or cuda:N. Update() throws
   * for other words, and where there is no such device. */
  void SetBackend(const std::string& choice);
  const std::string& GetBackend() const { return m_BackendChoice; }

  /** Which noise is made Gaussian before the filter and turned back after it, without its bias: auto (where the filter
   * goes by the measured noise, whatever that is found to be; the default), none, rician, poisson or speckle. */
  void SetStabilise(const std::string& choice);
  std::string GetStabilise() const override { return FieldType<Stabilise>::format(m_Stabilise); }
  /** `Rician noise`, `Poisson noise` or `speckle` if the last run made that Gaussian, otherwise empty. */
  std::string GetStabilisedNoise() const override { return m_Stabilisation ? m_Stabilisation->noise_before() : ""; }

  FilterConfig GetRequestedSettings() const override { return {RegistryEntry(), m_Parameters}; }
  FilterConfig GetResolvedSettings() const override;
  std::string GetBackendName() const override { return m_Backend ? m_Backend->name() : m_BackendChoice; }

  /** Any thread may ask for the end of Update(), at any time. */
  void SetAbortGenerateData(bool abort) override;

 protected:
  ImageFilterBase() = default;
  ~ImageFilterBase() override = default;

  /** One number for all axes, or one per image axis; an axis that the image lacks gets the value of the last one and
   * plays no part. */
  template <typename T, typename TValue>
  static Triple<T> ToTriple(const TValue& value);

  /** Throws where the value is out of its range. */
  template <auto VMember>
  void SetField(const std::remove_cvref_t<decltype(std::declval<ParametersType>().*VMember)>& value);

  /** How Update() runs the filter. Any thread may report progress, which never falls; ITK calls observers on the thread
   * that called Update() alone. */
  Execution MakeExecution();

  void EnlargeOutputRequestedRegion(itk::DataObject* output) override;
  void GenerateInputRequestedRegion() override;
  void GenerateData() override;
  void PrintSelf(std::ostream& os, itk::Indent indent) const override;

 private:
  static const Filter& RegistryEntry() { return find_filter(ParametersType::name); }
  /** Missing pixels may lie anywhere, and what fills them in, too. */
  static bool FillsMissing() { return std::floating_point<InputPixelType> && RegistryEntry().needs_whole_blocks; }
  itk::ModifiedTimeType InputTime() const;
  static VolumeFacts FactsOf(const TInputImage* image);
  static Extent ExtentOf(const typename TInputImage::RegionType& region);
  template <typename TImage>
  static auto ViewOf(TImage* image, const typename TInputImage::RegionType& whole);
  static void KeepUnchanged(const VolumeView<const InputPixelType>& input, const VolumeView<OutputPixelType>& output);

  void Run(const Execution& execution);

  ParametersType m_Parameters{};
  std::string m_BackendChoice{"auto"};
  std::unique_ptr<Backend> m_Backend;
  std::mutex m_StopMutex;
  std::stop_source m_Stop;  // of this Update()

  Stabilise m_Stabilise = Stabilise::automatic;
  bool m_SwapsAxes = false;  // see EnlargeOutputRequestedRegion

  std::optional<FilterConfig> m_Resolved;        // none while it takes the voxels of the whole input to know
  std::optional<Stabilisation> m_Stabilisation;  // goes with it
  itk::ModifiedTimeType m_ResolvedFilterTime{};  // what m_Resolved was made from
  itk::ModifiedTimeType m_ResolvedInputTime{};
};

}  // namespace quietvox

#ifndef ITK_MANUAL_INSTANTIATION
#include "quietvoxImageFilterBase.hxx"
#endif

#endif
