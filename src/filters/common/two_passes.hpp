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
  return std::min(std::max(voxels / extent.slice(), least), extent.z);
}

/// What a first pass makes of the slices that a second one is about to read. Slices that are read again stay, so that
/// none is made twice.
class Intermediate {
 public:
  /// For outputs from `out` on whose neighbours a second pass reads as far as `reach`, within what `in` shows.
  Intermediate(const VolumeView<const float>& in, const VolumeView<float>& out, Radius3 reach)
      : place_(expanded(out, reach, in)), reach_(reach.z) {
    place_.extent.z = 0;
    const std::int64_t slices = slices_together(out.extent) + 2 * reach.z;
    buffer_.reserve(static_cast<std::size_t>(slices * place_.extent.slice()));
  }

  static std::size_t bytes(const Extent& extent, Radius3 reach) {
    const std::int64_t slices = std::min(slices_together(extent) + 2 * reach.z, extent.z);
    return static_cast<std::size_t>(slices * extent.slice()) * sizeof(float);
  }

  /// Calls make(slices) for those that the outputs [first, last) need and that are not there yet, and returns all that
  /// they need, as far as `in` goes. Outputs are asked for in ascending order.
  template <class Make>
  VolumeView<const float> slices(const VolumeView<const float>& in, std::int64_t first, std::int64_t last,
                                 const Make& make) {
    const std::int64_t done = place_.origin.z + place_.extent.z;
    const std::int64_t until = std::min(last + reach_, in.origin.z + in.extent.z);
    const std::int64_t from = std::max(place_.origin.z, first - reach_), slice = place_.extent.slice();
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
  VolumeView<float> place_;
  std::int64_t reach_;
  std::vector<float> buffer_;
};

/// Fills `out` by Run(in, out, params).make(in, out, execution), or by that run which made the slices before `out`,
/// where the execution has kept it: what passes have in common with those slices is not made again.
template <class Run, class Params>
void run_or_go_on(const VolumeView<const float>& in, const VolumeView<float>& out, const Params& params,
                  const Execution& execution) {
  if (!execution.kept) return Run(in, out, params).make(in, out, execution);
  using Kept = std::pair<std::shared_ptr<Run>, std::int64_t>;  // and the slice that it makes next
  Kept kept{nullptr, 0};
  if (auto* const before = std::any_cast<Kept>(execution.kept)) kept = std::exchange(*before, Kept());
  if (!kept.first || kept.second != out.origin.z) kept.first = std::make_shared<Run>(in, out, params);
  kept.first->make(in, out, execution);
  *execution.kept = Kept(std::move(kept.first), out.origin.z + out.extent.z);
}

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
