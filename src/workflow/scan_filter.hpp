// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "core/provenance.hpp"
#include "core/series_noise.hpp"
#include "workflow/blank_slices.hpp"
#include "workflow/denoise.hpp"
#include "workflow/noise_of_volume.hpp"
#include "workflow/rounding_check.hpp"
#include "workflow/unfiltered_volumes.hpp"

namespace quietvox {

/// What takes the results.
struct ScanWriters {
  std::unique_ptr<io::ImageWriter> image, residual;  ///< the latter where it is asked for
  io::VoxelDomain domain;                            ///< of the values that `image` takes
};

/// Filters the volumes of a scan that is open, one after another.
class ScanFilter {
 public:
  struct Scan {
    const io::Image& image;
    const io::Image* mask;                 ///< null: none
    std::span<const io::FileStamp> files;  ///< of both
  };

  /// `request` must hold filters; `is_chosen`: quietvox chose them, not the user. `report` must already hold the output
  /// format, and the filters of each volume, resolved as far as the headers allow.
  ScanFilter(const DenoiseRequest& request, bool is_chosen, const Scan&, ScanWriters, UnfilteredVolumes&,
             const StartingBackend&, const Observer&, DenoiseReport&);

  /// Filters and puts the outputs in place. A dry run only throws what a real one would, as far as that can be
  /// foreseen.
  void run();

 private:
  /// A volume as it is to be filtered.
  struct Input {
    BlankSlices* slices;                   ///< part of `source`: all of it, or what the mask is applied to
    std::unique_ptr<VolumeSource> source;  ///< voxels outside the mask, if there is one, are missing
  };
  using WriteSlices = std::function<void(VolumeView<const float> slices)>;

  std::size_t count() const { return image_.volume_count(); }
  VolumeChain chain() const { return {request_.filters, report_.stabilise, is_chosen_, mask_ != nullptr}; }
  Input input_of(std::size_t volume) const;
  NoiseMeasure measure_of(std::size_t volume, const VolumeSource& as_it_is);

  /// Volumes with the same warning share one.
  void warn_of(std::size_t volume, const Message& warning);
  void warn_of_mask(const std::set<std::size_t>& empty);
  void add_warnings_of_volumes();
  void check(std::size_t volume);
  void reserve_memory();
  void measure_series();
  using MakeFilter = std::function<std::unique_ptr<const VolumeFilter>()>;
  std::unique_ptr<const VolumeFilter> unlike_series(std::size_t volume, VolumeSource&, const MakeFilter& by_own_noise);
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
  ScanWriters writers_;
  RoundingCheck rounding_;
  bool restores_;  ///< writers need the original voxels
  NoiseOfVolumes noise_of_volumes_;
  bool is_series_warned_of_ = false;
  std::vector<std::pair<Message, std::set<std::size_t>>> warnings_of_volumes_;
  std::optional<SeriesNoise> of_series_;
  std::map<std::size_t, double> haar_;  ///< estimate_noise() of the volumes that the series was measured by
  double usual_haar_ = 0;               ///< their median
  LostSlices lost_;
  Provenance provenance_;
};

}  // namespace quietvox
