// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <any>
#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/filter.hpp"

namespace quietvox {

/// The implementations of one filter on one backend. Context is an Execution, or what a device
/// whose memory holds the voxels needs to know. The 16-bit ones are null if the filter cannot work on integers.
template <FilterParams P, class Context>
struct Kernels {
  template <class T>
  using Kernel = void (*)(VolumeView<const T>, VolumeView<T>, const P&, const Context&);
  Kernel<float> f32 = nullptr;
  Kernel<std::int16_t> i16 = nullptr;
  Kernel<std::uint16_t> u16 = nullptr;
  /// Replaces f32 for a filter that gives maps or takes all volumes: `outputs` are a result for each volume, and then
  /// the maps.
  void (*series)(std::span<const VolumeView<const float>> volumes, std::span<const VolumeView<float>> outputs, const P&,
                 const Context&) = nullptr;
};

template <class T, class Context>
using Run = std::function<void(VolumeView<const T>, VolumeView<T>, const std::any&, const Context&)>;
template <class Context>
using SeriesRun = std::function<void(std::span<const VolumeView<const float>>, std::span<const VolumeView<float>>,
                                     const std::any&, const Context&)>;

/// One line of a backend's list of filters.
template <class Context>
struct BackendEntry {
  std::string filter;
  Run<float, Context> f32;
  Run<std::int16_t, Context> i16;
  Run<std::uint16_t, Context> u16;
  SeriesRun<Context> series;

  bool has_integer() const { return i16 && u16; }

  template <class T>
  const Run<T, Context>& run() const {
    if constexpr (std::same_as<T, float>) {
      return f32;
    } else if constexpr (std::same_as<T, std::int16_t>) {
      return i16;
    } else {
      return u16;
    }
  }
};

template <FilterParams P, class Context>
BackendEntry<Context> backend_entry(Kernels<P, Context> kernels) {
  const auto erased = []<class T>(void (*kernel)(VolumeView<const T>, VolumeView<T>, const P&, const Context&)) {
    return kernel ? Run<T, Context>(
                        [kernel](VolumeView<const T> in, VolumeView<T> out, const std::any& params,
                                 const Context& context) { kernel(in, out, std::any_cast<const P&>(params), context); })
                  : Run<T, Context>();
  };
  SeriesRun<Context> series;
  if (kernels.series) {
    series = [kernel = kernels.series](auto volumes, auto outputs, const std::any& params, const Context& context) {
      kernel(volumes, outputs, std::any_cast<const P&>(params), context);
    };
  }
  return {std::string(P::name), erased(kernels.f32), erased(kernels.i16), erased(kernels.u16), series};
}

/// The line of a filter, or null where the list has none.
template <class Context>
const BackendEntry<Context>* find_entry(const std::vector<BackendEntry<Context>>& entries, const Filter& filter) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const BackendEntry<Context>& entry) { return entry.filter == filter.name; });
  return found == entries.end() ? nullptr : &*found;
}

/// A place where filters run: the CPU, or one or more CUDA devices.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;  ///< as recorded in provenance: `cpu`, `cuda:0 (NVIDIA H200)`
  virtual bool has(const Filter&) const = 0;
  virtual bool has_integer(const Filter&) const = 0;  ///< 16-bit volumes are filtered as they are

  /// Runs the filters, at least one, one after another. `in` holds `out` grown by the sum of their halos, cut at the
  /// volume's edge.
  virtual void run(std::span<const FilterConfig> chain, VolumeView<const float> in, VolumeView<float> out,
                   const Execution&) const = 0;
  virtual void run(const FilterConfig&, VolumeView<const std::int16_t>, VolumeView<std::int16_t>,
                   const Execution&) const = 0;
  virtual void run(const FilterConfig&, VolumeView<const std::uint16_t>, VolumeView<std::uint16_t>,
                   const Execution&) const = 0;
  /// Runs a filter that gives maps or takes all volumes. `outputs`: a result for each volume, and then the maps. Throws
  /// Error(device) if the backend has no such filters.
  virtual void run(const FilterConfig&, std::span<const VolumeView<const float>> volumes,
                   std::span<const VolumeView<float>> outputs, const Execution&) const;
};

/// Reach of a chain of filters: the sum of their halos.
Radius3 total_halo(std::span<const FilterConfig> chain);

/// `box` grown by `halo` on every side, but not beyond `whole`, a part of the same volume. Its `data` is null: the
/// caller sets it.
template <class T>
VolumeView<T> expanded(VolumeView<T> box, Radius3 halo, const VolumeView<const T>& whole) {
  box.data = nullptr;
  box.spacing = whole.spacing;
  box.missing = whole.missing;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t last =
        std::min(box.origin[axis] + box.extent[axis] + halo[axis], whole.origin[axis] + whole.extent[axis]);
    box.origin[axis] = std::max(box.origin[axis] - halo[axis], whole.origin[axis]);
    box.extent[axis] = last - box.origin[axis];
  }
  return box;
}

/// The slices of `in` that a window of reach `halo` around `out` can see.
template <class T, class U>
VolumeView<T> halo_slices(const VolumeView<T>& in, const VolumeView<U>& out, Radius3 halo) {
  const std::int64_t first = std::max(in.origin.z, out.origin.z - halo.z);
  const std::int64_t last = std::min(in.origin.z + in.extent.z, out.origin.z + out.extent.z + halo.z);
  return in.slices(first - in.origin.z, last - first);
}

}  // namespace quietvox
