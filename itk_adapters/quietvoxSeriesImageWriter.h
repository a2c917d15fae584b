// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#ifndef quietvoxSeriesImageWriter_h
#define quietvoxSeriesImageWriter_h

#include <itkProcessObject.h>

#include <optional>
#include <string>

#include "quietvoxSeriesImageSource.h"

namespace quietvox {

/** \class SeriesImageWriter
 * \brief Gives a scan back, in its own format and with everything but the voxels untouched.
 *
 * The scan is that of the SeriesImageSource at the upper end of the input's pipeline. What stands between is recorded
 * as what was done to it: quietvox filters with their parameters, other classes by name. Both can be set instead, which
 * an image without a pipeline needs. The image must lie where the scan lies: size, spacing, origin and direction are
 * compared. A scan of several volumes goes through the pipeline volume by volume. The output appears whole or not at
 * all; a warning says how many voxels its stored type could not hold. */
class SeriesImageWriter : public itk::ProcessObject {
 public:
  ITK_DISALLOW_COPY_AND_MOVE(SeriesImageWriter);

  using Self = SeriesImageWriter;
  using Superclass = itk::ProcessObject;
  using Pointer = itk::SmartPointer<Self>;
  using ConstPointer = itk::SmartPointer<const Self>;
  using ImageType = SeriesImageSource::ImageType;

  itkNewMacro(Self);
  itkTypeMacro(SeriesImageWriter, ProcessObject);

  using Superclass::SetInput;
  void SetInput(const ImageType* image);
  const ImageType* GetInput() const;

  /** The file or folder to make. */
  itkSetStringMacro(FileName);
  itkGetStringMacro(FileName);

  /** Where the scan's metadata come from. Default: the source upstream. */
  itkSetObjectMacro(Source, SeriesImageSource);

  /** What was done to the voxels. Default: the quietvox filters upstream. */
  void SetProvenance(const Provenance& provenance);

  void SetWriteOptions(const io::WriteOptions& options);
  const io::WriteOptions& GetWriteOptions() const { return m_WriteOptions; }

  /** In how many slabs of slices the pipeline runs. Default: 1, the whole volume at once. */
  itkSetClampMacro(NumberOfStreamDivisions, unsigned int, 1, itk::NumericTraits<unsigned int>::max());
  itkGetConstMacro(NumberOfStreamDivisions, unsigned int);

  /** Runs the pipeline and writes. */
  void Update() override;
  void UpdateLargestPossibleRegion() override { this->Update(); }

  /** What the last Update() wrote. */
  const io::WriteReport& GetReport() const { return m_Report; }

 protected:
  SeriesImageWriter();
  ~SeriesImageWriter() override = default;
  void PrintSelf(std::ostream& os, itk::Indent indent) const override;

 private:
  void Write();
  void WriteVolume(std::size_t volume, io::ImageWriter& writer, const io::Geometry& geometry);

  std::string m_FileName;
  SeriesImageSource::Pointer m_Source;
  std::optional<Provenance> m_Provenance;
  io::WriteOptions m_WriteOptions;
  unsigned int m_NumberOfStreamDivisions{1};
  io::WriteReport m_Report;
};

}  // namespace quietvox

#endif
