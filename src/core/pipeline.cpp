// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

namespace quietvox {
namespace {

/// Output slices per slab. A slab holds its input with halos, its output, and while a filter of a chain runs, what it
/// reads from and writes to, with what is left of the halos. Without a limit that is twice the volume, which one filter
/// needs when it takes the volume whole.
std::int64_t slab_slices(Extent extent, std::span<const Settings> chain, const Execution& execution) {
  const std::int64_t halo = 2 * total_halo(chain).z;
  const std::int64_t buffers = 1 + std::min<std::int64_t>(static_cast<std::int64_t>(chain.size()), 3);
  const std::int64_t slice_bytes = extent.slice() * static_cast<std::int64_t>(sizeof(float));
  const auto bytes = [&](std::int64_t slices) {
    const std::int64_t grown_slices = std::min(slices + halo, extent.z);
    return (slices + (buffers - 1) * grown_slices) * slice_bytes;
  };
  const std::int64_t limit =
      execution.memory_limit ? static_cast<std::int64_t>(*execution.memory_limit) : 2 * extent.z * slice_bytes;
  if (execution.memory_limit && bytes(1) > limit) {
    const auto mib = [](std::int64_t value) { return std::to_string((value + (1 << 20) - 1) >> 20) + " MiB"; };
    throw Error(Errc::out_of_memory,
                "a memory limit of " + mib(limit) + " is too small: filtering one slice needs " + mib(bytes(1)));
  }
  std::int64_t slices = 1;
  while (slices < extent.z && bytes(slices + 1) <= limit) ++slices;
  return slices;
}

/// A window of consecutive slices of a source. Moving forward, the slices in both the old and the new place are kept,
/// not read again.
class SliceWindow {
 public:
  explicit SliceWindow(VolumeSource& source) : source_(source), extent_(source.extent()) {}

  /// Room for as many slices: growing later would hold the old and the new buffer at once.
  void reserve(std::int64_t slices) { buffer_.reserve(static_cast<std::size_t>(slices * extent_.slice())); }

  VolumeView<const float> move_to(std::int64_t first, std::int64_t last) {
    const std::int64_t slice = extent_.slice();
    const std::int64_t kept = first < first_ ? 0 : std::clamp<std::int64_t>(last_ - first, 0, last - first);
    if (kept > 0) {
      std::memmove(buffer_.data(), buffer_.data() + (first - first_) * slice, sizeof(float) * kept * slice);
    }
    buffer_.resize(std::max(buffer_.size(), static_cast<std::size_t>((last - first) * slice)));
    first_ = first;
    last_ = last;
    VolumeView<float> window{buffer_.data(), {extent_.x, extent_.y, last - first}, source_.spacing(), {0, 0, first}};
    if (last - first > kept) source_.read(window.slices(kept, last - first - kept));
    return window;
  }

 private:
  VolumeSource& source_;
  Extent extent_;
  std::vector<float> buffer_;
  std::int64_t first_ = 0, last_ = 0;
};

/// A source seen through filters.
class FilteredVolume final : public VolumeSource {
 public:
  FilteredVolume(VolumeSource& source, std::span<const Settings> chain, const Backend& backend, Execution execution)
      : source_(source), window_(source), chain_(chain), backend_(backend), execution_(std::move(execution)) {}

  Extent extent() const override { return source_.extent(); }
  Spacing spacing() const override { return source_.spacing(); }
  void set_execution(Execution execution) { execution_ = std::move(execution); }

  void read(VolumeView<float> slices) override {
    const std::int64_t halo = total_halo(chain_).z;
    const std::int64_t first = std::max<std::int64_t>(slices.origin.z - halo, 0);
    const std::int64_t last = std::min(slices.origin.z + slices.extent.z + halo, extent().z);
    window_.reserve(std::min(slices.extent.z + 2 * halo, extent().z));
    backend_.run(chain_, window_.move_to(first, last), slices, execution_);
  }

 private:
  VolumeSource& source_;
  SliceWindow window_;
  std::span<const Settings> chain_;
  const Backend& backend_;
  Execution execution_;
};

}  // namespace

void for_each_slab(VolumeSource& source, const std::function<void(VolumeView<const float>)>& body) {
  // As few reads as memory allows: a source that filters computes the reach of its windows anew for each.
  constexpr std::int64_t most_slices = 16, most_voxels = std::int64_t{1} << 22;
  const Extent extent = source.extent();
  const std::int64_t together =
      std::min(std::clamp<std::int64_t>(most_voxels / extent.slice(), 1, most_slices), extent.z);
  std::vector<float> buffer(static_cast<std::size_t>(together * extent.slice()));
  for (std::int64_t first = 0; first < extent.z; first += together) {
    const std::int64_t slices = std::min(together, extent.z - first);
    const VolumeView<float> slab{buffer.data(), {extent.x, extent.y, slices}, source.spacing(), {0, 0, first}};
    source.read(slab);
    body(slab);
  }
}

Range<double> intensities(VolumeSource& source) {
  float min = std::numeric_limits<float>::infinity(), max = -min;
  for_each_slab(source, [&](VolumeView<const float> slab) {
    for (std::int64_t i = 0; i < slab.extent.voxels(); ++i) {
      if (is_missing(slab, slab.data[i])) continue;
      min = std::min(min, slab.data[i]);
      max = std::max(max, slab.data[i]);
    }
  });
  return min <= max ? Range<double>{min, max} : Range<double>{0, 0};
}

std::vector<Settings> resolve_chain(std::span<const Settings> chain, VolumeSource& source, const Backend& backend,
                                    const Execution& execution, const NoiseEstimator& estimate) {
  std::vector<Settings> resolved;
  Execution silent = execution;
  silent.progress = {};
  for (const Settings& step : chain) {
    const auto ask = [&](const auto& question) {
      if (resolved.empty()) return question(source);
      FilteredVolume filtered(source, resolved, backend, silent);
      return question(filtered);
    };
    resolved.push_back(step.resolved(
        {source.extent(), source.spacing(), [&] { return ask(estimate); }, [&] { return ask(intensities); }}));
  }
  return resolved;
}

void filter_volume(VolumeSource& source, std::span<const Settings> chain, const Backend& backend,
                   const Execution& execution, const std::function<void(VolumeView<const float>)>& consume) {
  const Extent extent = source.extent();
  const std::int64_t slices = slab_slices(extent, chain, execution);
  FilteredVolume filtered(source, chain, backend, execution);
  std::vector<float> buffer(static_cast<std::size_t>(slices * extent.slice()));
  for (std::int64_t first = 0; first < extent.z; first += slices) {
    const std::int64_t count = std::min(slices, extent.z - first);
    const auto fraction = [&](std::int64_t z) { return static_cast<double>(z) / static_cast<double>(extent.z); };
    filtered.set_execution(execution.part(fraction(first), fraction(first + count)));
    VolumeView<float> slab{buffer.data(), {extent.x, extent.y, count}, source.spacing(), {0, 0, first}};
    filtered.read(slab);
    consume(slab);
  }
}

}  // namespace quietvox
