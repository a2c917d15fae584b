// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/swapped_volume.hpp"

#include <algorithm>

namespace quietvox {
namespace {

std::size_t bytes_of(const Extent& extent) { return static_cast<std::size_t>(extent.voxels()) * sizeof(float); }

/// Calls move(a, b) for each voxel that both views hold: `a` is the voxel in the swapped slices, `b` the same voxel in
/// slices of the volume as it is.
template <class Some, class Whole, class Move>
void for_pairs(const VolumeView<Some>& swapped, const VolumeView<Whole>& whole, const AxisSwap& swap,
               const Execution& execution, const Move& move) {
  const Index3 step = swap(Index3{1, whole.extent.x, whole.extent.slice()});
  const Index3 first = swap(whole.origin);  // of the whole's slices along the swapped axes
  const Extent of_whole = swap(whole.extent);
  const std::int64_t columns = of_whole.x, slices = swapped.extent.z;
  // Neighbours along the inner loop share the lines of a cache with what lies beside them.
  const bool is_along_x = step.x == 1 || columns <= slices;
  const std::int64_t inner = is_along_x ? columns : slices, outer = is_along_x ? slices : columns;
  const std::int64_t of_slice = swapped.extent.slice();
  const std::int64_t inner_step = is_along_x ? 1 : of_slice, outer_step = is_along_x ? of_slice : 1;
  const std::int64_t inner_of_whole = is_along_x ? step.x : step.z, outer_of_whole = is_along_x ? step.z : step.x;
  parallel_for(execution, of_whole.y, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t y = begin; y < end; ++y) {
      Some* some = swapped.row(first.y + y, 0) + first.x;
      Whole* other = whole.data + y * step.y + (swapped.origin.z - first.z) * step.z;
      for (std::int64_t i = 0; i < outer; ++i, some += outer_step, other += outer_of_whole) {
        for (std::int64_t j = 0; j < inner; ++j) move(some[j * inner_step], other[j * inner_of_whole]);
      }
    }
  });
}

}  // namespace

SwappedVolume::SwappedVolume(VolumeSource& source, AxisSwap swap, std::size_t room, const Execution& execution)
    : source_(source), swap_(swap), room_(room), execution_(execution.silent()) {}

SwappedVolume::SwappedVolume(VolumeSource& source, AxisSwap swap, const Execution& execution)
    : SwappedVolume(source, swap, execution.memory_limit ? *execution.memory_limit / 2 : bytes_of(source.extent()),
                    execution) {}

void SwappedVolume::read(VolumeView<float> slices) {
  for (std::int64_t z = 0; z < slices.extent.z;) {
    const std::int64_t wanted = slices.origin.z + z;
    if (wanted < kept_.origin.z || wanted >= kept_.origin.z + kept_.extent.z) keep(wanted);
    const std::int64_t count = std::min(slices.extent.z - z, kept_.origin.z + kept_.extent.z - wanted);
    const VolumeView<float> some = kept_.slices(wanted - kept_.origin.z, count);
    std::copy_n(some.data, some.extent.voxels(), slices.row(0, z));
    z += count;
  }
}

/// Reads the volume for as many swapped slices as there is room for.
void SwappedVolume::keep(std::int64_t first) {
  Extent extent = this->extent();
  const auto room = static_cast<std::int64_t>(room_ / bytes_of({{extent.x, extent.y, 1}}));
  extent.z = std::clamp<std::int64_t>(room, 1, extent.z - first);
  voxels_.resize(static_cast<std::size_t>(extent.voxels()));
  kept_ = {voxels_.data(), extent, spacing(), {0, 0, first}};
  for_each_slab(source_, [&](VolumeView<const float> slab) {
    for_pairs(kept_, slab, swap_, execution_, [](float& to, float from) { to = from; });
  });
}

FilterFrame::FilterFrame(std::span<const FilterConfig> chain, VolumeSource& source, const Execution& execution)
    : as_it_is_(source),
      swap_(axis_swap_for(chain, header_facts(source))),
      chain_(swap_(chain)),
      swapped_(swap_ ? std::make_unique<SwappedVolume>(source, swap_, bytes_of(source.extent()), execution) : nullptr),
      execution_(execution.silent()) {}

NoiseModel FilterFrame::by_filters(const NoiseModel& model) const {
  return swap_ && model.spectrum.across_axis != 2 ? swap_(model) : model;
}

void FilterFrame::run(const std::function<void(const std::function<void(VolumeView<const float> slices)>& take)>& run,
                      const std::function<void(VolumeView<const float> slices)>& consume) const {
  if (!swapped_) return run(consume);
  const Extent extent = as_it_is_.extent();
  std::vector<float> voxels(static_cast<std::size_t>(extent.voxels()));
  const VolumeView<float> whole{voxels.data(), extent, as_it_is_.spacing()};
  run([&](VolumeView<const float> swapped) {
    for_pairs(swapped, whole, swap_, execution_, [](float from, float& to) { to = from; });
  });
  consume(whole);
}

}  // namespace quietvox
