// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/backend.hpp"
#include "core/memory_volume.hpp"
#include "core/pipeline.hpp"
#include "itk_adapters/filters/pixel_conversion.hpp"
#include "workflow/volume_filter.hpp"

/// What the ITK filters do that needs no pixel type.
namespace quietvox {

class FilledSource;

/// What an exception of the library or the system means, as ITK's users know its parameters.
std::string itk_message(const std::exception&);

/// True if the filter takes z for the axis across slices, and the slices of this image lie along another: then axes are
/// exchanged while it filters (core/axis_swap.hpp), which takes the whole image.
bool swaps_axes(const FilterConfig&, const VolumeFacts&);

/// A filter made ready for a whole volume, as the program does it. Adds what there is to warn of.
std::unique_ptr<VolumeFilter> volume_filter(const FilterConfig&, Stabilise, VolumeSource&, const Backend&,
                                            const Execution&, std::vector<Message>& warnings);

/// Whole slices with what is missing in them filled in, for filters that need whole blocks.
class FilledSlices {
 public:
  FilledSlices(const VolumeView<const float>& slices, const FilterConfig& resolved, const Execution&);
  ~FilledSlices();
  VolumeView<const float> view() const { return filled_; }
  /// FilledSource::restore() for results within them.
  void restore(VolumeView<float> results) const;

 private:
  MemoryVolume slices_;
  std::unique_ptr<FilledSource> source_;
  std::vector<float> voxels_;
  VolumeView<float> filled_;
};

/// Whether the pixels of a region are in memory, as they are not where an image was not allocated.
template <typename TImage>
bool holds_pixels(const TImage* image, const typename TImage::RegionType& region) {
  return image->GetBufferPointer() && image->GetBufferedRegion().IsInside(region);
}
constexpr const char* holds_no_pixels =
    "the input does not hold its pixels, or only some of them; allocate it, or update what makes it";

/// A whole volume in memory, read as float.
template <class T>
class PixelVolume final : public VolumeSource {
 public:
  PixelVolume(const VolumeView<const T>& volume, HeaderFacts header, const Execution& execution)
      : volume_(volume), header_(std::move(header)), execution_(execution) {}
  Extent extent() const override { return volume_.extent; }
  Spacing spacing() const override { return volume_.spacing; }
  HeaderFacts header() const override { return header_; }
  void read(VolumeView<float> slices) override {
    convert_pixels(volume_.row(0, slices.origin.z), slices.data, slices.extent.voxels(), execution_);
  }

 private:
  VolumeView<const T> volume_;
  HeaderFacts header_;
  Execution execution_;
};

/// What a filter tells the writer at the end of its pipeline.
class FilterProvenance {
 public:
  virtual ~FilterProvenance() = default;
  virtual FilterConfig GetRequestedSettings() const = 0;
  virtual FilterConfig GetResolvedSettings() const = 0;  ///< throws itk::ExceptionObject before the filter has run
  virtual std::string GetBackendName() const = 0;
  virtual std::string GetStabilise() const = 0;
  virtual std::string GetStabilisedNoise() const = 0;  ///< the noise that was made Gaussian; empty: none
};

}  // namespace quietvox
