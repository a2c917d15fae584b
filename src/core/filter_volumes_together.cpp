// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/input_limits.hpp"
#include "core/pipeline.hpp"

namespace quietvox {
namespace {

/// Slices of a slab, so that what is read and written of it fits.
std::int64_t slices_at_once(std::int64_t volumes, std::int64_t maps, const Extent& extent, std::int64_t halo,
                            std::uint64_t memory) {
  const auto bytes = [&](std::int64_t slices) {
    const std::int64_t read = std::min(slices + 2 * halo, extent.z);
    return static_cast<std::uint64_t>((volumes * read + (volumes + maps) * slices) * extent.slice()) * sizeof(float);
  };
  std::int64_t slices = extent.z;
  while (slices > 1 && bytes(slices) > memory) --slices;
  check_limit("filtering one slice of each volume", bytes(slices), memory);
  return slices;
}

}  // namespace

void filter_volumes_together(std::span<VolumeSource* const> volumes, const FilterConfig& resolved,
                             const Backend& backend, const Execution& execution,
                             const std::function<void(std::span<const VolumeView<const float>>)>& consume) {
  resolved.check_resolved();
  const Extent extent = volumes.front()->extent();
  for (VolumeSource* const volume : volumes) {
    if (volume->extent() != extent) {
      throw Error(Errc::invalid_argument, resolved.filter().name + ": the volumes of the series differ in size");
    }
  }
  const std::size_t maps = resolved.filter().maps.size();
  const std::int64_t halo = std::min<std::int64_t>(resolved.halo().z, extent.z);
  const std::int64_t together =
      slices_at_once(std::ssize(volumes), static_cast<std::int64_t>(maps), extent, halo, memory_budget(execution));

  const auto slices_of = [&](std::vector<float>& buffer, const VolumeSource& volume, std::int64_t first,
                             std::int64_t last) {
    buffer.resize(static_cast<std::size_t>((last - first) * extent.slice()));
    return VolumeView<float>{buffer.data(), {{extent.x, extent.y, last - first}}, volume.spacing(), {0, 0, first}};
  };
  std::vector<std::vector<float>> read(volumes.size()), made(volumes.size() + maps);
  for (std::int64_t first = 0; first < extent.z; first += together) {
    check_stop(execution.stop);
    const std::int64_t last = std::min(first + together, extent.z);
    std::vector<VolumeView<const float>> inputs;
    std::vector<VolumeView<float>> outputs;
    for (std::size_t i = 0; i < volumes.size(); ++i) {
      const auto slices =
          slices_of(read[i], *volumes[i], std::max<std::int64_t>(first - halo, 0), std::min(last + halo, extent.z));
      volumes[i]->read(slices);
      inputs.emplace_back(slices);
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
      outputs.push_back(slices_of(made[i], *volumes[std::min(i, volumes.size() - 1)], first, last));
    }
    const auto fraction = [&](std::int64_t z) { return static_cast<double>(z) / static_cast<double>(extent.z); };
    backend.run(resolved, inputs, outputs, execution.part(fraction(first), fraction(last)));
    consume(std::vector<VolumeView<const float>>(outputs.begin(), outputs.end()));
  }
}

}  // namespace quietvox
