// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "core/provenance.hpp"
#include "core/series_noise.hpp"
#include "workflow/blank_slices.hpp"
#include "workflow/denoise.hpp"
#include "workflow/noise_of_volume.hpp"
#include "workflow/rounding.hpp"
#include "workflow/unfiltered_volumes.hpp"

namespace quietvox {

/// Filters the volumes of a scan that is open, one after another, into the files that a request names.
class ScanFilter {
 public:
  struct Scan {
    const io::Image& image;
    const io::Image* mask;  ///< null: none
    std::span<const io::FileStamp> files;
  };

  /// `request` holds its filters; `is_chosen`: they were not chosen by hand. The report has its format, and the filters
  /// of each volume as far as headers tell them. Checks what can be checked before voxels are read.
  ScanFilter(const DenoiseRequest& request, bool is_chosen, const Scan&, UnfilteredVolumes&, const StartingBackend&,
             const Observer&, DenoiseReport&);

  /// Puts the outputs in place, or in a dry run throws what that would throw as far as it can be told.
  void run();

 private:
  /// The image, and where it is asked for, the residual.
  struct Writers {
    std::unique_ptr<io::ImageWriter> image, residual;
  };
  /// A volume as it is to be filtered.
  struct Input {
    BlankSlices* slices;                   ///< what the source is or goes back to
    std::unique_ptr<VolumeSource> source;  ///< where there is a mask, less what it leaves out
  };
  using WriteSlices = std::function<void(VolumeView<const float> slices)>;

  std::size_t count() const { return image_.volume_count(); }
  io::VoxelDomain choose_domain() const;
  Writers make_writers() const;
  Input input_of(std::size_t volume) const;
  NoiseMeasure measure_of(std::size_t volume, const VolumeSource& as_it_is);

  void check(std::size_t volume);
  void reserve_memory();
  void measure_series();
  void begin_provenance();
  void filter(std::size_t volume);
  void write_unfiltered(std::size_t volume, const BlankSlices& slices, VolumeSource& source);
  void write(std::size_t volume, const BlankSlices& slices, const std::function<void(const WriteSlices&)>& run);
  void finish();

  const DenoiseRequest& request_;
  bool is_chosen_;
  const io::Image& image_;
  const io::Image* mask_;
  std::span<const io::FileStamp> files_;
  UnfilteredVolumes& unfiltered_;
  const StartingBackend& backend_;
  const Observer& observer_;
  DenoiseReport& report_;
  Execution background_, whole_;  ///< of readers and writers, of filters
  io::VoxelDomain domain_;
  Writers writers_;
  Rounding rounding_;
  bool restores_;  ///< writers need the original voxels
  NoiseOfVolumes noise_of_volumes_;
  std::optional<SeriesNoise> of_series_;
  LostSlices lost_;
  Provenance provenance_;
};

}  // namespace quietvox
