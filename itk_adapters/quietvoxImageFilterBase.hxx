// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#ifndef quietvoxImageFilterBase_hxx
#define quietvoxImageFilterBase_hxx

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <new>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "backends/choice.hpp"
#include "core/provenance.hpp"
#include "itk_adapters/filters/pixel_conversion.hpp"
#include "itk_adapters/filters/setter_names.hpp"
#include "itk_adapters/header_upstream.hpp"
#include "quietvoxImageFilterBase.h"

namespace quietvox {

template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
template <typename T, typename TValue>
Triple<T> ImageFilterBase<TInputImage, TOutputImage, TParameters>::ToTriple(const TValue& value) {
  const auto converted = [](const auto& number) {
    if constexpr (std::integral<T>) {
      static_assert(std::integral<std::remove_cvref_t<decltype(number)>>, "a number of voxels is an integer");
      return std::in_range<T>(number) ? static_cast<T>(number) : std::numeric_limits<T>::max();  // out of every range
    } else {
      return static_cast<T>(number);
    }
  };
  if constexpr (std::is_arithmetic_v<TValue>) {
    return {converted(value), converted(value), converted(value)};
  } else {
    return {converted(value[0]), converted(value[1]), converted(value[ImageDimension - 1])};
  }
}

template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
template <auto VMember>
void ImageFilterBase<TInputImage, TOutputImage, TParameters>::SetField(
    const std::remove_cvref_t<decltype(std::declval<ParametersType>().*VMember)>& value) {
  using Value = std::remove_cvref_t<decltype(value)>;
  if (FieldType<Value>::format(m_Parameters.*VMember) == FieldType<Value>::format(value)) return;
  ParametersType parameters = m_Parameters;
  parameters.*VMember = value;
  this->SetParameters(parameters);
}

template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
void ImageFilterBase<TInputImage, TOutputImage, TParameters>::SetParameters(const ParametersType& parameters) {
  try {
    validate(parameters);
  } catch (const Error& error) {
    itkExceptionMacro(<< with_setters(error.message()));
  }
  m_Parameters = parameters;
  this->Modified();
}

template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
FilterConfig ImageFilterBase<TInputImage, TOutputImage, TParameters>::GetResolvedSettings() const {
  if (!m_Resolved) itkExceptionMacro(<< TParameters::name << ": the parameters are resolved by Update()");
  return *m_Resolved;
}

template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
void ImageFilterBase<TInputImage, TOutputImage, TParameters>::SetBackend(const std::string& choice) {
  if (choice == m_BackendChoice) return;
  m_BackendChoice = choice;
  m_Backend.reset();
  this->Modified();
}

template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
void ImageFilterBase<TInputImage, TOutputImage, TParameters>::SetStabilise(const std::string& choice) {
  const auto stabilise = FieldType<Stabilise>::parse(choice);
  if (!stabilise) {
    std::string words;
    for (const std::string_view word : choices(Stabilise{})) words += (words.empty() ? "" : ", ") + std::string(word);
    itkExceptionMacro(<< "SetStabilise = '" << choice << "' is not allowed; give one of " << words);
  }
  if (*stabilise == m_Stabilise) return;
  m_Stabilise = *stabilise;
  this->Modified();
}

template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
Extent ImageFilterBase<TInputImage, TOutputImage, TParameters>::ExtentOf(
    const typename TInputImage::RegionType& region) {
  Extent extent{1, 1, 1};
  for (unsigned int axis = 0; axis < ImageDimension; ++axis) {
    extent[static_cast<int>(axis)] = static_cast<std::int64_t>(region.GetSize(axis));
  }
  return extent;
}

/** What an image holds in memory, its place counted from the start of the whole image. */
template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
template <typename TImage>
auto ImageFilterBase<TInputImage, TOutputImage, TParameters>::ViewOf(TImage* image,
                                                                     const typename TInputImage::RegionType& whole) {
  const auto& region = image->GetBufferedRegion();
  VolumeView<std::remove_pointer_t<decltype(image->GetBufferPointer())>> view{.data = image->GetBufferPointer(),
                                                                              .extent = ExtentOf(region)};
  for (unsigned int axis = 0; axis < ImageDimension; ++axis) {
    view.spacing[static_cast<int>(axis)] = std::abs(image->GetSpacing()[axis]);  // ITK warns of negative ones only
    view.origin[static_cast<int>(axis)] = region.GetIndex(axis) - whole.GetIndex(axis);
  }
  return view;
}

/** When what the input shows was last changed: by what makes it, or by hand after that. */
template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
itk::ModifiedTimeType ImageFilterBase<TInputImage, TOutputImage, TParameters>::InputTime() const {
  const TInputImage* const input = this->GetInput();
  const bool is_made_anew = input->GetSource() && input->GetMTime() <= input->GetUpdateMTime();
  return is_made_anew ? input->GetPipelineMTime() : std::max(input->GetPipelineMTime(), input->GetMTime());
}

/** What headers say of an image. */
template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
VolumeFacts ImageFilterBase<TInputImage, TOutputImage, TParameters>::FactsOf(const TInputImage* image) {
  const auto whole = image->GetLargestPossibleRegion();
  return {.extent = ExtentOf(whole), .spacing = ViewOf(image, whole).spacing, .header = header_upstream(image)};
}

/** Where slices lie along x or y and the filter expects them along z, the whole output is made at once. */
template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
void ImageFilterBase<TInputImage, TOutputImage, TParameters>::EnlargeOutputRequestedRegion(itk::DataObject* output) {
  Superclass::EnlargeOutputRequestedRegion(output);
  m_SwapsAxes = false;
  if (ImageDimension != 3 || !RegistryEntry().works_in_slices || !this->GetInput()) return;
  try {
    m_SwapsAxes = swaps_axes(this->GetRequestedSettings(), FactsOf(this->GetInput()));
  } catch (const Error& error) {
    itkExceptionMacro(<< with_setters(error.message()));
  }
  if (m_SwapsAxes) output->SetRequestedRegionToLargestPossibleRegion();
}

template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
void ImageFilterBase<TInputImage, TOutputImage, TParameters>::GenerateInputRequestedRegion() {
  Superclass::GenerateInputRequestedRegion();
  auto* const input = const_cast<TInputImage*>(this->GetInput());
  if (!input) return;

  if (this->GetMTime() != m_ResolvedFilterTime || this->InputTime() != m_ResolvedInputTime) {
    m_Resolved.reset();
    m_Stabilisation.reset();
  }
  m_ResolvedFilterTime = this->GetMTime();
  m_ResolvedInputTime = this->InputTime();

  const auto whole = input->GetLargestPossibleRegion();
  if (!m_Resolved) {
    try {
      const VolumeFacts facts = FactsOf(input);
      const FilterConfig requested = this->GetRequestedSettings();
      const FilterConfig by_header = resolve_by_facts(std::span(&requested, 1), facts).front();
      if (by_header.waiting().empty() && !is_asked_for(m_Stabilise) && !m_SwapsAxes) m_Resolved = by_header;
      const std::string warning = thick_axis_warning(by_header, facts);
      if (!warning.empty()) itkWarningMacro(<< warning);
    } catch (const Error& error) {
      itkExceptionMacro(<< with_setters(error.message()));
    }
  }
  if (!m_Resolved || FillsMissing() || m_SwapsAxes) {
    input->SetRequestedRegion(whole);
    return;
  }
  auto region = input->GetRequestedRegion();
  typename TInputImage::SizeType reach;
  for (unsigned int axis = 0; axis < ImageDimension; ++axis) {
    reach[axis] = static_cast<itk::SizeValueType>(m_Resolved->halo()[static_cast<int>(axis)]);
  }
  region.PadByRadius(reach);
  region.Crop(whole);
  if (RegistryEntry().needs_whole_blocks) {  // results stay within the range of their slices
    for (unsigned int axis = 0; axis < 2; ++axis) {
      region.SetIndex(axis, whole.GetIndex(axis));
      region.SetSize(axis, whole.GetSize(axis));
    }
  }
  input->SetRequestedRegion(region);
}

template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
void ImageFilterBase<TInputImage, TOutputImage, TParameters>::SetAbortGenerateData(bool abort) {
  Superclass::SetAbortGenerateData(abort);
  const std::lock_guard lock(m_StopMutex);
  if (abort) m_Stop.request_stop();
}

template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
Execution ImageFilterBase<TInputImage, TOutputImage, TParameters>::MakeExecution() {
  Execution execution;
  execution.threads =
      static_cast<int>(std::min(this->GetNumberOfWorkUnits(), this->GetMultiThreader()->GetMaximumNumberOfThreads()));
  const std::lock_guard lock(m_StopMutex);
  m_Stop = std::stop_source();
  if (this->GetAbortGenerateData()) m_Stop.request_stop();
  execution.stop = m_Stop.get_token();
  execution.progress = [this](double done) {
    const float more = static_cast<float>(done) - this->GetProgress();
    if (more > 0) this->IncrementProgress(more);
  };
  return execution;
}

template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
void ImageFilterBase<TInputImage, TOutputImage, TParameters>::GenerateData() {
  this->AllocateOutputs();
  try {
    const FilterConfig requested = this->GetRequestedSettings();
    if (!m_Backend) m_Backend = choose_backend(m_BackendChoice, std::span(&requested, 1)).backend;
    this->Run(this->MakeExecution());
    this->UpdateProgress(1);
  } catch (const Error& error) {
    if (error.code() == Errc::cancelled) {
      itk::ProcessAborted aborted(__FILE__, __LINE__);
      aborted.SetLocation(ITK_LOCATION);
      throw aborted;
    }
    itkExceptionMacro(<< with_setters(error.message()));
  } catch (const itk::ExceptionObject&) {
    throw;
  } catch (const std::exception& exception) {
    itkExceptionMacro(<< itk_message(exception));
  }
}

template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
void ImageFilterBase<TInputImage, TOutputImage, TParameters>::Run(const Execution& execution) {
  using In = InputPixelType;
  using Out = OutputPixelType;
  const TInputImage* const image = this->GetInput();
  if (!holds_pixels(image, image->GetRequestedRegion())) itkExceptionMacro(<< holds_no_pixels);
  const auto whole = image->GetLargestPossibleRegion();
  const VolumeView<const In> buffered = ViewOf(image, whole);
  const VolumeView<Out> output = ViewOf(this->GetOutput(), whole);

  std::optional<PixelVolume<In>> volume;
  std::unique_ptr<VolumeFilter> swapped;
  if (!m_Resolved || m_SwapsAxes) {
    volume.emplace(buffered, header_upstream(image), execution.silent());
    std::vector<Message> warnings;
    auto filter = volume_filter(this->GetRequestedSettings(), m_Stabilise, *volume, *m_Backend, execution, warnings);
    if (!m_Resolved) {
      for (const Message& warning : warnings) itkWarningMacro(<< with_setters(warning));
    }
    m_Resolved = filter->resolved().front();
    m_Stabilisation = filter->stabilisation();
    if (m_SwapsAxes) swapped = std::move(filter);
  }
  m_ResolvedInputTime = this->InputTime();  // the input has been made by now
  const VolumeView<const In> input = FillsMissing() ? buffered : halo_slices(buffered, output, m_Resolved->halo());
  if constexpr (std::same_as<In, Out> && (std::same_as<In, std::int16_t> || std::same_as<In, std::uint16_t>)) {
    if (!m_Stabilisation && !swapped && m_Backend->has_integer(m_Resolved->filter())) {
      return m_Backend->run(*m_Resolved, input, output, execution);
    }
  }

  // Float images are filtered where they lie, others in float copies. Rank filters need no more than the order.
  std::optional<PixelRanks<In>> ranks;
  if constexpr (exceeds_float<In>) {
    const In* const end = input.data + input.extent.voxels();
    if (TParameters::commutes_with_rescale && !m_Stabilisation && !std::all_of(input.data, end, fits_float<In>)) {
      ranks.emplace(input.data, input.extent.voxels());
    }
  }
  if constexpr (exceeds_float<In> && std::floating_point<In>) {
    const double middle = ranks ? 0 : middle_if_far(pixel_range(input.data, input.extent.voxels()));
    if (middle != 0) {
      itkWarningMacro(<< "the pixels lie around " << middle
                      << ", where 32-bit floats, in which this filter computes, lose digits; subtract that value "
                         "first, with an itk::ShiftScaleImageFilter, and add it after");
    }
  }
  if (swapped) {
    swapped->run([&](VolumeView<const float> slices) {
      convert_pixels(slices.data, output.row(0, slices.origin.z), slices.extent.voxels(), execution);
    });
    if constexpr (std::same_as<In, Out> && exceeds_float<In> && std::floating_point<In>) {
      if (!m_Stabilisation) KeepUnchanged(input, output);
    }
    return;
  }
  VolumeView<const float> from{nullptr, input.extent, input.spacing, input.origin};
  VolumeView<float> to{nullptr, output.extent, output.spacing, output.origin};
  std::vector<float> from_copy, to_copy;
  if constexpr (std::same_as<In, float>) from.data = input.data;
  if (!std::same_as<In, float> || m_Stabilisation) {
    from_copy.resize(static_cast<std::size_t>(input.extent.voxels()));
    if (ranks) {
      change_pixels(input.data, from_copy.data(), input.extent.voxels(), execution,
                    [&](In pixel) { return ranks->rank(pixel); });
    } else {
      convert_pixels(input.data, from_copy.data(), input.extent.voxels(), execution);
    }
    from.data = from_copy.data();
    if (m_Stabilisation) {
      m_Stabilisation->apply({from_copy.data(), input.extent, input.spacing, input.origin}, execution.silent());
    }
  }
  if constexpr (std::same_as<Out, float>) {
    to.data = output.data;
  } else {
    to_copy.resize(static_cast<std::size_t>(output.extent.voxels()));
    to.data = to_copy.data();
  }
  std::optional<FilledSlices> filled;
  if (RegistryEntry().needs_whole_blocks) filled.emplace(from, *m_Resolved, execution.silent());
  m_Backend->run(std::span(&*m_Resolved, 1), filled ? filled->view() : from, to, execution);
  if (filled) filled->restore(to);
  if (m_Stabilisation) m_Stabilisation->undo(to, execution.silent());
  if (ranks) {
    change_pixels(to.data, output.data, output.extent.voxels(), execution,
                  [&](float rank) { return to_pixel<Out>(ranks->pixel(rank)); });
  } else if constexpr (!std::same_as<Out, float>) {
    convert_pixels(to_copy.data(), output.data, output.extent.voxels(), execution);
    if constexpr (std::same_as<In, Out> && std::floating_point<In>) {
      if (!m_Stabilisation) KeepUnchanged(input, output);
    }
  }
}

/** Voxels that the filter did not change get back the digits that floats lack. */
template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
void ImageFilterBase<TInputImage, TOutputImage, TParameters>::KeepUnchanged(
    const VolumeView<const InputPixelType>& input, const VolumeView<OutputPixelType>& output) {
  const std::int64_t x0 = output.origin.x - input.origin.x;
  for (std::int64_t z = 0; z < output.extent.z; ++z) {
    for (std::int64_t y = 0; y < output.extent.y; ++y) {
      const std::int64_t in_y = y + output.origin.y - input.origin.y, in_z = z + output.origin.z - input.origin.z;
      const InputPixelType* const before = input.row(in_y, in_z) + x0;
      for (std::int64_t x = 0; x < output.extent.x; ++x) {
        OutputPixelType& after = output.at(x, y, z);
        if (after == static_cast<float>(before[x])) after = before[x];
      }
    }
  }
}

template <typename TInputImage, typename TOutputImage, FilterParams TParameters>
void ImageFilterBase<TInputImage, TOutputImage, TParameters>::PrintSelf(std::ostream& os, itk::Indent indent) const {
  Superclass::PrintSelf(os, indent);
  for_each_field<TParameters>([&](const auto& row) {
    os << indent << camel_case(row.name) << ": " << get_field(m_Parameters, row.name) << '\n';
  });
  os << indent << "Stabilise: " << this->GetStabilise() << '\n';
  os << indent << "Backend: " << this->GetBackendName() << '\n';
  os << indent << "Resolved: " << (m_Resolved ? describe_chain(std::span(&*m_Resolved, 1)) : "(by Update())") << '\n';
}

}  // namespace quietvox

#endif
