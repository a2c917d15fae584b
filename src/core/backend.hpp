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

namespace quietvox::cuda {
struct Queue;  ///< where filters queue their kernels; what it holds is known to cuda/ alone
}

namespace quietvox {

/// The implementations of one filter on one backend, which run as How says: an Execution, or the cuda::Queue of a
/// device whose memory holds the voxels. The 16-bit ones are there where a filter can work on integers.
template <FilterParams P, class How>
struct Kernels {
  template <class T>
  using Kernel = void (*)(VolumeView<const T>, VolumeView<T>, const P&, const How&);
  Kernel<float> f32;
  Kernel<std::int16_t> i16 = nullptr;
  Kernel<std::uint16_t> u16 = nullptr;
  bool by_name_only = false;  ///< as in BackendEntry
};

template <class T, class How>
using Run = std::function<void(VolumeView<const T>, VolumeView<T>, const std::any&, const How&)>;

/// One line of a backend's list of filters.
template <class How>
struct BackendEntry {
  std::string filter;
  Run<float, How> f32;
  Run<std::int16_t, How> i16;
  Run<std::uint16_t, How> u16;
  bool by_name_only = false;  ///< `auto` does not take it: it has not been proven on a device yet

  bool has_integer() const { return i16 && u16; }

  template <class T>
  const Run<T, How>& run() const {
    if constexpr (std::same_as<T, float>) {
      return f32;
    } else if constexpr (std::same_as<T, std::int16_t>) {
      return i16;
    } else {
      return u16;
    }
  }
};

template <FilterParams P, class How>
BackendEntry<How> backend_entry(Kernels<P, How> kernels) {
  const auto erased = []<class T>(void (*kernel)(VolumeView<const T>, VolumeView<T>, const P&, const How&)) {
    return kernel ? Run<T, How>([kernel](VolumeView<const T> in, VolumeView<T> out, const std::any& params,
                                         const How& how) { kernel(in, out, std::any_cast<const P&>(params), how); })
                  : Run<T, How>();
  };
  return {std::string(P::name), erased(kernels.f32), erased(kernels.i16), erased(kernels.u16), kernels.by_name_only};
}

/// The line of a filter, or null where the list has none.
template <class How>
const BackendEntry<How>* find_entry(const std::vector<BackendEntry<How>>& entries, const Filter& filter) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const BackendEntry<How>& entry) { return entry.filter == filter.name; });
  return found == entries.end() ? nullptr : &*found;
}

/// A place where filters run: the CPU, or one or more CUDA devices.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;  ///< as recorded in provenance: `cpu`, `cuda:0 (NVIDIA H200)`
  virtual bool has(const Filter&) const = 0;
  virtual bool has_integer(const Filter&) const = 0;  ///< 16-bit volumes are filtered as they are
  /// True where `auto` must not take it: it has not been proven on a device yet.
  virtual bool by_name_only(const Filter&) const { return false; }

  /// Runs the filters, at least one, one after another. `in` holds `out` grown by the sum of their halos, cut at the
  /// volume's edge.
  virtual void run(std::span<const Settings> chain, VolumeView<const float> in, VolumeView<float> out,
                   const Execution&) const = 0;
  virtual void run(const Settings&, VolumeView<const std::int16_t>, VolumeView<std::int16_t>,
                   const Execution&) const = 0;
  virtual void run(const Settings&, VolumeView<const std::uint16_t>, VolumeView<std::uint16_t>,
                   const Execution&) const = 0;
};

/// Reach of a chain of filters: the sum of their halos.
Radius3 total_halo(std::span<const Settings> chain);

/// The place of `box` grown by `halo` and cut at `whole`, a part of the same volume; `data` is left to the caller.
template <class T>
VolumeView<T> grown(VolumeView<T> box, Radius3 halo, const VolumeView<const T>& whole) {
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
VolumeView<T> near_slices(const VolumeView<T>& in, const VolumeView<U>& out, Radius3 halo) {
  const std::int64_t first = std::max(in.origin.z, out.origin.z - halo.z);
  const std::int64_t last = std::min(in.origin.z + in.extent.z, out.origin.z + out.extent.z + halo.z);
  return in.slices(first - in.origin.z, last - first);
}

}  // namespace quietvox
