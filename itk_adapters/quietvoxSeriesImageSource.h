// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#ifndef quietvoxSeriesImageSource_h
#define quietvoxSeriesImageSource_h

#include <itkImage.h>
#include <itkImageSource.h>

#include <memory>
#include <string>

#include "io/image.hpp"

namespace quietvox {

/** \class SeriesImageSource
 * \brief Reads a volume of a scan: a DICOM file or folder, a NIfTI, NRRD or MetaImage file.
 *
 * Voxels are real values (HU, ...), missing ones NaN; spacing, origin and direction are those of the patient (LPS, mm).
 * Only the slices of the requested region are read. A SeriesImageWriter gives the scan back in its own format. */
class SeriesImageSource : public itk::ImageSource<itk::Image<float, 3>> {
 public:
  ITK_DISALLOW_COPY_AND_MOVE(SeriesImageSource);

  using Self = SeriesImageSource;
  using ImageType = itk::Image<float, 3>;
  using Superclass = itk::ImageSource<ImageType>;
  using Pointer = itk::SmartPointer<Self>;
  using ConstPointer = itk::SmartPointer<const Self>;

  itkNewMacro(Self);
  itkTypeMacro(SeriesImageSource, ImageSource);

  /** The file or folder. */
  void SetFileName(const std::string& path);
  itkGetStringMacro(FileName);

  /** Which series of a folder that holds several. */
  void SetSeriesUID(const std::string& uid);
  itkGetStringMacro(SeriesUID);

  /** Accept missing, uneven or tilted slices. Default: false. */
  void SetAllowGaps(bool allow);
  itkGetConstMacro(AllowGaps, bool);
  itkBooleanMacro(AllowGaps);

  /** What the numbers are, whatever the headers say: filters refuse labels, vectors, colours, and but for the median
   * phases. Default: as the headers say. */
  void SetForceKind(std::optional<DataKind> kind);
  std::optional<DataKind> GetForceKind() const { return m_ForceKind; }

  /** Accept scans whose slices make no regular volume. The caller promises that no window extends along z; without that
   * promise such a scan is refused. Default: false. */
  void SetSlicesOnly(bool only);
  itkGetConstMacro(SlicesOnly, bool);
  itkBooleanMacro(SlicesOnly);

  /** Which volume of a scan that holds several (echoes, time points, diffusion directions). Default: 0. */
  void SetVolumeIndex(std::size_t index);
  itkGetConstMacro(VolumeIndex, std::size_t);

  /** The opened scan. Opens it where that has not been done, and anew once Modified() was called: its files may have
   * changed. */
  const io::Image& GetImage();
  /** The same, to be kept whatever becomes of the files. */
  std::shared_ptr<const io::Image> ShareImage() {
    (void)this->GetImage();
    return m_Image;
  }

  /** The source that the first inputs of a pipeline lead up to; null where there is none. */
  static Self* FindUpstream(const itk::DataObject* data);

 protected:
  SeriesImageSource() = default;
  ~SeriesImageSource() override = default;

  void ModifiedWithoutReopening();
  void GenerateOutputInformation() override;
  void EnlargeOutputRequestedRegion(itk::DataObject* output) override;
  void GenerateData() override;
  void PrintSelf(std::ostream& os, itk::Indent indent) const override;

 private:
  std::string m_FileName;
  std::string m_SeriesUID;
  bool m_AllowGaps{false};
  std::optional<DataKind> m_ForceKind;
  bool m_SlicesOnly{false};
  std::size_t m_VolumeIndex{0};

  std::shared_ptr<const io::Image> m_Image;
  itk::ModifiedTimeType m_ImageTime{};  // this->GetMTime() that it belongs to
  std::unique_ptr<VolumeSource> m_Volume;
  std::size_t m_OpenedVolume{0};
};

}  // namespace quietvox

#endif
