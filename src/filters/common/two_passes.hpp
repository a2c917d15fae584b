// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/backend.hpp"

namespace quietvox {

/// Slices that filters of two passes take through both of them together, at least.
inline std::int64_t slices_together(const Extent& extent) {
  constexpr std::int64_t voxels = std::int64_t{1} << 22, least = 32;
  return std::min(std::max(voxels / extent.slice(), least), extent.z);
}

/// What a first pass makes of the slices that a second one is about to read. Slices that are read again stay, so that
/// none is made twice.
class Intermediate {
 public:
  /// For outputs `out` whose neighbours a second pass reads as far as `reach`, within the volume that `in` shows.
  Intermediate(const VolumeView<const float>& in, const VolumeView<float>& out, Radius3 reach)
      : place_(expanded(out, reach, in)), reach_(reach.z), slice_(place_.extent.slice()) {
    end_ = place_.origin.z + place_.extent.z;
    buffer_.resize(static_cast<std::size_t>(slices_held(out.extent, reach, place_.extent.z) * slice_));
    place_.data = buffer_.data();
    place_.extent.z = 0;
  }

  static std::size_t bytes(const Extent& extent, Radius3 reach) {
    return static_cast<std::size_t>(slices_held(extent, reach, extent.z) * extent.slice()) * sizeof(float);
  }

  /// Calls make(slices) for those that the outputs [first, last) need and that are not there yet, and returns all that
  /// they need. Outputs are asked for in ascending order, at most slices_together() at once.
  template <class Make>
  VolumeView<const float> slices(std::int64_t first, std::int64_t last, const Make& make) {
    const std::int64_t done = place_.origin.z + place_.extent.z, until = std::min(last + reach_, end_);
    const std::int64_t from = std::max(place_.origin.z, first - reach_);
    std::copy(buffer_.data() + (from - place_.origin.z) * slice_, buffer_.data() + (done - place_.origin.z) * slice_,
              buffer_.data());
    place_.origin.z = from;
    place_.extent.z = until - from;
    if (until > done) make(place_.slices(done - from, until - done));
    return place_;
  }

 private:
  static std::int64_t slices_held(const Extent& extent, Radius3 reach, std::int64_t most) {
    return std::min(slices_together(extent) + 2 * reach.z, most);
  }

  VolumeView<float> place_;
  std::int64_t reach_, slice_, end_ = 0;
  std::vector<float> buffer_;
};

/// Calls body(first, last, part of the execution) for the slices of `out`, as many together as above.
template <class Body>
void for_slices_together(const VolumeView<float>& out, const Execution& execution, const Body& body) {
  const std::int64_t together = slices_together(out.extent);
  const auto fraction = [&](std::int64_t z) { return static_cast<double>(z) / static_cast<double>(out.extent.z); };
  for (std::int64_t z = 0; z < out.extent.z; z += together) {
    const std::int64_t end = std::min(z + together, out.extent.z);
    body(out.origin.z + z, out.origin.z + end, execution.part(fraction(z), fraction(end)));
  }
}

}  // namespace quietvox
