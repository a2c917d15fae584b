// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "quietvoxSeriesImageSource.h"

#include <algorithm>

#include "itk_adapters/filters/filter_support.hpp"
#include "workflow/input_output.hpp"

namespace quietvox {

void SeriesImageSource::SetFileName(const std::string& path) {
  if (path == m_FileName) return;
  m_FileName = path;
  this->Modified();
}

void SeriesImageSource::SetSeriesUID(const std::string& uid) {
  if (uid == m_SeriesUID) return;
  m_SeriesUID = uid;
  this->Modified();
}

void SeriesImageSource::SetAllowGaps(bool allow) {
  if (allow == m_AllowGaps) return;
  m_AllowGaps = allow;
  this->Modified();
}

void SeriesImageSource::SetForceKind(std::optional<DataKind> kind) {
  if (kind == m_ForceKind) return;
  m_ForceKind = kind;
  this->Modified();
}

void SeriesImageSource::SetSlicesOnly(bool only) {
  if (only == m_SlicesOnly) return;
  m_SlicesOnly = only;
  this->ModifiedWithoutReopening();
}

void SeriesImageSource::SetVolumeIndex(std::size_t index) {
  if (index == m_VolumeIndex) return;
  m_VolumeIndex = index;
  this->ModifiedWithoutReopening();
}

void SeriesImageSource::ModifiedWithoutReopening() {
  const bool is_current = m_ImageTime == this->GetMTime();
  this->Modified();
  if (is_current) m_ImageTime = this->GetMTime();
}

const io::Image& SeriesImageSource::GetImage() {
  if (m_Image && m_ImageTime == this->GetMTime()) return *m_Image;
  m_Image.reset();
  m_Volume.reset();
  m_ImageTime = this->GetMTime();
  try {
    m_Image = open_input(m_FileName, {.series = m_SeriesUID, .allow_gaps = m_AllowGaps, .force_kind = m_ForceKind}, {});
  } catch (const itk::ExceptionObject&) {
    throw;
  } catch (const std::exception& exception) {
    itkExceptionMacro(<< itk_message(exception));
  }
  return *m_Image;
}

SeriesImageSource* SeriesImageSource::FindUpstream(const itk::DataObject* data) {
  while (data && data->GetSource()) {
    itk::ProcessObject* const process = data->GetSource();
    if (auto* const source = dynamic_cast<Self*>(process)) return source;
    const auto inputs = process->GetIndexedInputs();
    data = inputs.empty() ? nullptr : inputs.front().GetPointer();
  }
  return nullptr;
}

void SeriesImageSource::GenerateOutputInformation() {
  const io::Image& image = this->GetImage();
  if (m_VolumeIndex >= image.volume_count()) {
    itkExceptionMacro(<< m_FileName << ": there is no volume " << m_VolumeIndex << "; the scan has "
                      << image.volume_count() << ", counted from 0");
  }
  const io::Geometry& geometry = image.geometry(m_VolumeIndex);
  const auto reason = image.why_2d_only(m_VolumeIndex);
  if (geometry.extent.z > 1 && !reason.empty() && !m_SlicesOnly) {
    itkExceptionMacro(<< m_FileName << ": " << reason << "; SlicesOnlyOn() accepts it for windows within slices");
  }
  ImageType::RegionType region;
  ImageType::SpacingType spacing;
  ImageType::PointType origin;
  ImageType::DirectionType direction;
  for (unsigned int axis = 0; axis < 3; ++axis) {
    region.SetSize(axis, static_cast<itk::SizeValueType>(geometry.extent[static_cast<int>(axis)]));
    spacing[axis] = geometry.spacing[static_cast<int>(axis)];
    origin[axis] = geometry.origin[axis];
    for (unsigned int row = 0; row < 3; ++row) direction[row][axis] = geometry.direction[3 * row + axis];
  }
  ImageType* const output = this->GetOutput();
  output->SetLargestPossibleRegion(region);
  output->SetSpacing(spacing);
  output->SetOrigin(origin);
  output->SetDirection(direction);
}

/** Slices are read whole. */
void SeriesImageSource::EnlargeOutputRequestedRegion(itk::DataObject* data) {
  auto* const output = itkDynamicCastInDebugMode<ImageType*>(data);
  auto region = output->GetRequestedRegion();
  for (unsigned int axis = 0; axis < 2; ++axis) {
    region.SetIndex(axis, output->GetLargestPossibleRegion().GetIndex(axis));
    region.SetSize(axis, output->GetLargestPossibleRegion().GetSize(axis));
  }
  output->SetRequestedRegion(region);
}

void SeriesImageSource::GenerateData() {
  this->AllocateOutputs();
  ImageType* const output = this->GetOutput();
  const auto region = output->GetBufferedRegion();
  const io::Geometry& geometry = m_Image->geometry(m_VolumeIndex);
  const VolumeView<float> view{output->GetBufferPointer(),
                               {geometry.extent.x, geometry.extent.y, static_cast<std::int64_t>(region.GetSize(2))},
                               geometry.spacing,
                               {0, 0, region.GetIndex(2)}};
  try {
    if (!m_Volume || m_OpenedVolume != m_VolumeIndex) {
      m_Volume = m_Image->volume(m_VolumeIndex, io::VoxelDomain::real);
      m_OpenedVolume = m_VolumeIndex;
    }
    // Slices are decoded at the same time; an abort is noticed between the blocks.
    constexpr std::int64_t block = 16;
    for (std::int64_t z = 0; z < view.extent.z; z += block) {
      if (this->GetAbortGenerateData()) throw itk::ProcessAborted(__FILE__, __LINE__);
      const std::int64_t count = std::min(block, view.extent.z - z);
      m_Volume->read(view.slices(z, count));
      this->UpdateProgress(static_cast<float>(z + count) / static_cast<float>(view.extent.z));
    }
    if (view.origin.z + view.extent.z == geometry.extent.z) m_Volume.reset();  // a writer may go on with its reader
  } catch (const itk::ExceptionObject&) {
    throw;
  } catch (const std::exception& exception) {
    itkExceptionMacro(<< itk_message(exception));
  }
}

void SeriesImageSource::PrintSelf(std::ostream& os, itk::Indent indent) const {
  Superclass::PrintSelf(os, indent);
  os << indent << "FileName: " << m_FileName << '\n';
  os << indent << "SeriesUID: " << m_SeriesUID << '\n';
  os << indent << "AllowGaps: " << m_AllowGaps << '\n';
  os << indent << "ForceKind: " << FieldType<std::optional<DataKind>>::format(m_ForceKind) << '\n';
  os << indent << "SlicesOnly: " << m_SlicesOnly << '\n';
  os << indent << "VolumeIndex: " << m_VolumeIndex << '\n';
}

}  // namespace quietvox
