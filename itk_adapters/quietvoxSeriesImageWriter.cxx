// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "quietvoxSeriesImageWriter.h"

#include <algorithm>
#include <set>

#include "io/geometry_mismatch.hpp"
#include "itk_adapters/filters/filter_support.hpp"
#include "workflow/input_output.hpp"

namespace quietvox {
namespace {

constexpr const char* back_to_grid =
    "insert an itk::OrientImageFilter that turns the axes back, or an itk::ResampleImageFilter whose reference image "
    "is the output of the source";

/** What stands upstream of an image. */
struct Upstream {
  SeriesImageSource* source = nullptr;
  std::vector<const itk::ProcessObject*> steps;  // all but the source, in the order in which they run
  bool has_filters = false;                      // of quietvox
};

void add_steps(itk::ProcessObject* process, Upstream& upstream, std::set<itk::ProcessObject*>& known) {
  if (!process || process == upstream.source || !known.insert(process).second) return;
  for (const auto& input : process->GetInputs()) {
    if (input) add_steps(input->GetSource(), upstream, known);
  }
  upstream.steps.push_back(process);
  if (dynamic_cast<const FilterProvenance*>(process)) upstream.has_filters = true;
}

Upstream look_upstream(const itk::DataObject* data) {
  Upstream upstream;
  upstream.source = SeriesImageSource::FindUpstream(data);
  std::set<itk::ProcessObject*> known;
  add_steps(data->GetSource(), upstream, known);
  return upstream;
}

Provenance provenance_of(const Upstream& upstream) {
  Provenance provenance;
  std::string choices;  // of the filters, in order
  bool is_automatic = true;
  for (const itk::ProcessObject* process : upstream.steps) {
    const auto* const step = dynamic_cast<const FilterProvenance*>(process);
    if (!step) {
      provenance.others.push_back({provenance.resolved.size(), process->GetNameOfClass()});
      continue;
    }
    provenance.requested.push_back(step->GetRequestedSettings().with_content_hashes());
    provenance.resolved.push_back(step->GetResolvedSettings());
    provenance.backend = step->GetBackendName();
    if (const std::string noise = step->GetStabilisedNoise(); !noise.empty()) provenance.stabilised = noise;
    choices += (choices.empty() ? "" : ", ") + step->GetStabilise();
    is_automatic = is_automatic && step->GetStabilise() == "auto";
  }
  if (!is_automatic) provenance.stabilise = choices;
  return provenance;
}

/** Where the first voxel and the axes of an image lie. */
io::Geometry geometry_of(const SeriesImageWriter::ImageType* image) {
  const auto& whole = image->GetLargestPossibleRegion();
  SeriesImageWriter::ImageType::PointType origin;
  image->TransformIndexToPhysicalPoint(whole.GetIndex(), origin);
  io::Geometry geometry;
  for (unsigned int axis = 0; axis < 3; ++axis) {
    geometry.extent[static_cast<int>(axis)] = static_cast<std::int64_t>(whole.GetSize(axis));
    geometry.spacing[static_cast<int>(axis)] = image->GetSpacing()[axis];
    geometry.origin[axis] = origin[axis];
    for (unsigned int row = 0; row < 3; ++row) geometry.direction[3 * row + axis] = image->GetDirection()[row][axis];
  }
  return geometry;
}

}  // namespace

SeriesImageWriter::SeriesImageWriter() { this->SetNumberOfRequiredInputs(1); }

void SeriesImageWriter::SetInput(const ImageType* image) {
  this->ProcessObject::SetNthInput(0, const_cast<ImageType*>(image));
}

const SeriesImageWriter::ImageType* SeriesImageWriter::GetInput() const {
  return itkDynamicCastInDebugMode<const ImageType*>(this->GetPrimaryInput());
}

void SeriesImageWriter::SetProvenance(const Provenance& provenance) {
  m_Provenance = provenance;
  this->Modified();
}

void SeriesImageWriter::SetWriteOptions(const io::WriteOptions& options) {
  m_WriteOptions = options;
  this->Modified();
}

void SeriesImageWriter::Update() {
  this->SetAbortGenerateData(false);
  this->InvokeEvent(itk::StartEvent());
  this->UpdateProgress(0);
  try {
    this->Write();
  } catch (const itk::ExceptionObject&) {
    throw;
  } catch (const std::exception& exception) {
    itkExceptionMacro(<< itk_message(exception));
  }
  this->UpdateProgress(1);
  this->InvokeEvent(itk::EndEvent());
}

void SeriesImageWriter::Write() {
  if (!this->GetInput()) itkExceptionMacro(<< "there is no input");
  const Upstream upstream = look_upstream(this->GetInput());
  const SeriesImageSource::Pointer source = m_Source ? m_Source.GetPointer() : upstream.source;
  if (!source) itkExceptionMacro(<< "there is no SeriesImageSource upstream; name one with SetSource()");
  if (!m_Provenance && !upstream.has_filters) {
    itkExceptionMacro(<< "there is no quietvox filter upstream; say with SetProvenance() what was done");
  }
  const std::shared_ptr<const io::Image> shared = source->ShareImage();
  const io::Image& image = *shared;
  if (image.volume_count() > 1 && source != upstream.source) {
    itkExceptionMacro(<< "a scan of " << image.volume_count() << " volumes needs its source upstream of the input");
  }
  const io::Format named = output_format(OutputFormat::automatic, m_FileName, image.format());
  if (named != image.format()) {
    itkExceptionMacro(<< m_FileName << ": is the name of a " << io::to_string(named) << " file, but the scan is "
                      << io::to_string(image.format())
                      << " and keeps its format; give another name, or use itk::ImageFileWriter");
  }
  const auto writer = image.writer(m_FileName, io::VoxelDomain::real, m_WriteOptions);
  check_output(m_FileName, named, m_WriteOptions.force, source->GetFileName());  // before all the work
  const std::size_t chosen = source->GetVolumeIndex();
  try {
    for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
      source->SetVolumeIndex(volume);
      this->WriteVolume(volume, *writer, image.geometry(volume));
    }
  } catch (...) {
    source->SetVolumeIndex(chosen);
    throw;
  }
  source->SetVolumeIndex(chosen);
  io::expect_unchanged(image.files());
  m_Report = writer->commit();
  if (m_Report.clamped > 0) {
    itkWarningMacro(<< m_FileName << ": " << m_Report.clamped
                    << " voxels lie beyond what the stored type holds and got its nearest value");
  }
  for (const std::string& warning : m_Report.warnings) itkWarningMacro(<< m_FileName << ": " << warning);
}

void SeriesImageWriter::WriteVolume(std::size_t volume, io::ImageWriter& writer, const io::Geometry& geometry) {
  auto* const input = const_cast<ImageType*>(this->GetInput());
  input->UpdateOutputInformation();
  const auto whole = input->GetLargestPossibleRegion();
  const io::Geometry place = geometry_of(input);
  if (place.extent != geometry.extent) {
    itkExceptionMacro(<< "the image has the size " << whole.GetSize() << ", the scan " << geometry.extent.x << " x "
                      << geometry.extent.y << " x " << geometry.extent.z << "; " << back_to_grid);
  }
  if (const std::string what = io::geometry_mismatch(place, geometry); !what.empty()) {
    itkExceptionMacro(<< "the image lies elsewhere than the scan: " << what << "; " << back_to_grid);
  }
  const std::int64_t slices = geometry.extent.z;
  const std::int64_t pieces = std::min<std::int64_t>(m_NumberOfStreamDivisions, slices);
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const std::int64_t first = slices * piece / pieces, last = slices * (piece + 1) / pieces;
    auto region = whole;
    region.SetIndex(2, whole.GetIndex(2) + first);
    region.SetSize(2, static_cast<itk::SizeValueType>(last - first));
    input->SetRequestedRegion(region);
    input->PropagateRequestedRegion();
    input->UpdateOutputData();
    // Only now do the filters know what their `auto`s stand for.
    if (piece == 0) {
      Provenance provenance = m_Provenance ? *m_Provenance : provenance_of(look_upstream(input));
      provenance.by = "ITK";
      writer.begin_volume(volume, provenance);
    }

    if (!holds_pixels(input, region)) itkExceptionMacro(<< holds_no_pixels);
    const auto buffered = input->GetBufferedRegion();
    const std::int64_t start = buffered.GetIndex(2) - whole.GetIndex(2);
    const VolumeView<const float> view{
        input->GetBufferPointer(),
        {geometry.extent.x, geometry.extent.y, static_cast<std::int64_t>(buffered.GetSize(2))},
        geometry.spacing,
        {0, 0, start}};
    writer.write(view.slices(first - start, last - first));
    this->UpdateProgress(static_cast<float>(piece + 1) / static_cast<float>(pieces));
    if (this->GetAbortGenerateData()) throw itk::ProcessAborted(__FILE__, __LINE__);
  }
}

void SeriesImageWriter::PrintSelf(std::ostream& os, itk::Indent indent) const {
  Superclass::PrintSelf(os, indent);
  os << indent << "FileName: " << m_FileName << '\n';
  os << indent << "NumberOfStreamDivisions: " << m_NumberOfStreamDivisions << '\n';
}

}  // namespace quietvox
