// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <any>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/backend.hpp"

namespace quietvox {

/// Slices that filters of two passes take through both of them at once.
inline std::int64_t slices_together(const Extent& extent) {
  constexpr std::int64_t voxels = std::int64_t{1} << 20, least = 16;
  return std::max(voxels / extent.slice(), least);
}

/// What a first pass makes of the slices that a second one is about to read. Slices that are read again stay, so that
/// none is made twice.
class Intermediate {
 public:
  /// For results of `out` and the slices after it. The second pass reads as far as `reach`; along x and y no more than
  /// `in` shows.
  Intermediate(const VolumeView<const float>& in, const VolumeView<float>& out, Radius3 reach)
      : place_(expanded(out, reach, in)), reach_(reach.z) {
    place_.extent.z = 0;
    buffer_.reserve(static_cast<std::size_t>(most_slices(place_.extent, reach) * place_.extent.slice()));
  }

  /// What it holds of a volume.
  static std::size_t bytes(const Extent& extent, Radius3 reach) {
    return static_cast<std::size_t>(std::min(most_slices(extent, reach), extent.z) * extent.slice()) * sizeof(float);
  }

  /// Calls make(slices) for those that `out` needs and that are not there yet, and returns all that it needs, as far as
  /// `in` goes. Outputs follow each other.
  template <class Make>
  VolumeView<const float> slices(const VolumeView<const float>& in, const VolumeView<float>& out, const Make& make) {
    const std::int64_t done = place_.origin.z + place_.extent.z, slice = place_.extent.slice();
    const std::int64_t from = std::max(place_.origin.z, out.origin.z - reach_);
    const std::int64_t until = std::min(out.origin.z + out.extent.z + reach_, in.origin.z + in.extent.z);
    std::copy(buffer_.data() + (from - place_.origin.z) * slice, buffer_.data() + (done - place_.origin.z) * slice,
              buffer_.data());
    const auto voxels = static_cast<std::size_t>((until - from) * slice);
    if (buffer_.size() < voxels) buffer_.resize(voxels);
    place_.data = buffer_.data();
    place_.origin.z = from;
    place_.extent.z = until - from;
    if (until > done) make(place_.slices(done - from, until - done));
    return place_;
  }

 private:
  static std::int64_t most_slices(const Extent& extent, Radius3 reach) { return slices_together(extent) + 2 * reach.z; }

  VolumeView<float> place_;
  std::int64_t reach_;
  std::vector<float> buffer_;
};

/// A run that made the slices before `next`.
template <class Run>
struct KeptRun {
  std::shared_ptr<Run> run;
  std::int64_t next = 0;
};

/// Fills `out` by Run(in, out, params).make(in, slices, execution), a few slices at a time. Goes on with the run that
/// the execution kept, if it ended where `out` begins: then what both need is not computed again. Else starts a new
/// run.
template <class Run, class Params>
void run_or_go_on(const VolumeView<const float>& in, const VolumeView<float>& out, const Params& params,
                  const Execution& execution) {
  KeptRun<Run> kept;
  const auto* const before = std::any_cast<KeptRun<Run>>(execution.kept);
  if (before && before->next == out.origin.z) kept = *before;
  if (execution.kept) execution.kept->reset();  // a run that fails, or that `out` does not follow, does not go on
  if (!kept.run) kept.run = std::make_shared<Run>(in, out, params);

  const auto fraction = [&](std::int64_t z) { return static_cast<double>(z) / static_cast<double>(out.extent.z); };
  const std::int64_t together = slices_together(out.extent);
  for (std::int64_t z = 0; z < out.extent.z; z += together) {
    const std::int64_t end = std::min(z + together, out.extent.z);
    kept.run->make(in, out.slices(z, end - z), execution.part(fraction(z), fraction(end)));
    if (execution.progress) execution.progress(fraction(end));
  }
  kept.next = out.origin.z + out.extent.z;
  if (execution.kept) *execution.kept = std::move(kept);
}

}  // namespace quietvox
