// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/backend.hpp"

namespace quietvox {

/// One 3-D volume that can be read slice by slice, any number of times. Reading in ascending order is cheapest.
class VolumeSource {
 public:
  virtual ~VolumeSource() = default;
  virtual Extent extent() const = 0;
  virtual Spacing spacing() const = 0;
  virtual HeaderFacts header() const { return {}; }
  /// Fills `slices`, whose origin.z is the first slice wanted and whose extent in x and y is that of the volume.
  /// Missing voxels are NaN or infinite. Called from one thread at a time, which may be another one each time.
  virtual void read(VolumeView<float> slices) = 0;
};

/// Reads a volume from the first slice to the last, a few at a time, and calls `body` with them, which may change the
/// voxels.
void for_each_slab(VolumeSource&, const std::function<void(VolumeView<float> slices)>& body);

/// Smallest and largest voxel; missing ones do not count, and a volume of nothing else has 0 and 0.
Range<double> intensities(VolumeSource&);

/// The middle of the range if it lies so far from 0, compared with its width, that 32-bit floats would lose digits;
/// otherwise 0.
double middle_if_far(const Range<double>&);

/// Measures the noise of a volume.
using NoiseMeasure = std::function<NoiseModel(VolumeSource&, const Execution&)>;

/// What is known of a volume before a voxel is read.
VolumeFacts header_facts(const VolumeSource&);

/// Replaces every `auto` of the chain that these facts are enough for; the others wait.
std::vector<FilterConfig> resolve_by_facts(std::span<const FilterConfig> chain, const VolumeFacts&);

/// The same by what headers say.
std::vector<FilterConfig> resolve_by_header(std::span<const FilterConfig> chain, const VolumeSource&);

/// Replaces every `auto` of the chain. Each filter estimates on what reaches it: the source after the filters before
/// it. Resolved once per volume, so that no slab, thread or device can change the result.
std::vector<FilterConfig> resolve_chain(std::span<const FilterConfig> chain, VolumeSource&, const Backend&,
                                        const Execution&, const NoiseMeasure&);

/// The smallest memory_limit that filter_volume() takes for a volume of this extent, in bytes.
std::size_t least_memory(const Extent&, std::span<const FilterConfig> resolved_chain, const Execution&);

/// Where the wall time of filter_volume() went, in seconds.
struct StageTimes {
  /// One of the three jobs that go on side by side.
  struct Stage {
    double busy = 0;     ///< it was at work
    double awaited = 0;  ///< it was still at work, and the others waited
  };
  Stage read, filter, consume;  ///< in a chain, `read` may include filters before the last
};

/// Filters a volume slab by slab, within execution.memory_limit, and hands the filtered slices to `consume` in
/// ascending order. Each slice of the source is read once, except some beside slices that are missing whole. How slabs
/// are cut never changes a voxel. Missing voxels stay so, and are filled in for filters that need whole blocks. Where
/// memory allows, one slab is filtered while the next is read and the one before it is consumed, on other threads. A
/// filter may keep what the slab after this one needs again (Execution::kept).
/// Throws Error: invalid_argument for a chain that is empty or not resolved, unsupported for filters that
/// filter_volumes_together() runs, out_of_memory where not even one slice at a time fits into the limit.
StageTimes filter_volume(VolumeSource&, std::span<const FilterConfig> resolved_chain, const Backend&, const Execution&,
                         const std::function<void(VolumeView<const float> slices)>& consume);

/// Runs a filter that gives maps or takes all volumes, slab by slab within execution.memory_limit, and hands the
/// results of the volumes and then the maps to `consume`, in ascending order. How slabs are cut never changes a voxel.
/// The volumes are all of a series, or one. Throws Error: invalid_argument where their extents differ, out_of_memory
/// where not even one slice of each fits into the limit.
void filter_volumes_together(std::span<VolumeSource* const> volumes, const FilterConfig& resolved, const Backend&,
                             const Execution&,
                             const std::function<void(std::span<const VolumeView<const float>> outputs)>& consume);

}  // namespace quietvox
