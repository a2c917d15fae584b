// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <any>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/filter.hpp"

namespace quietvox::cuda {
struct Queue;  ///< where filters queue their kernels; what it holds is known to cuda/ alone
}

namespace quietvox {

/// The implementations of one filter on one backend. The 16-bit ones are there where a filter can work on integers.
template <FilterParams P>
struct Kernels {
  template <class T>
  using Kernel = void (*)(VolumeView<const T>, VolumeView<T>, const P&, const Execution&);
  Kernel<float> f32;
  Kernel<std::int16_t> i16 = nullptr;
  Kernel<std::uint16_t> u16 = nullptr;
};

template <class T>
using Run = std::function<void(VolumeView<const T>, VolumeView<T>, const std::any&, const Execution&)>;

/// One line of a backend's list of filters.
struct BackendEntry {
  std::string filter;
  Run<float> f32;
  Run<std::int16_t> i16;
  Run<std::uint16_t> u16;
};

template <FilterParams P>
BackendEntry backend_entry(Kernels<P> kernels) {
  const auto erased = []<class T>(void (*kernel)(VolumeView<const T>, VolumeView<T>, const P&, const Execution&)) {
    return kernel ? Run<T>([kernel](VolumeView<const T> in, VolumeView<T> out, const std::any& params,
                                    const Execution& execution) {
      kernel(in, out, std::any_cast<const P&>(params), execution);
    })
                  : Run<T>();
  };
  return {std::string(P::name), erased(kernels.f32), erased(kernels.i16), erased(kernels.u16)};
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
  virtual void run(std::span<const Settings> chain, VolumeView<const float> in, VolumeView<float> out,
                   const Execution&) const = 0;
  virtual void run(const Settings&, VolumeView<const std::int16_t>, VolumeView<std::int16_t>,
                   const Execution&) const = 0;
  virtual void run(const Settings&, VolumeView<const std::uint16_t>, VolumeView<std::uint16_t>,
                   const Execution&) const = 0;
};

/// `cpu`, `cuda`, `cuda:N`, or `auto`: CUDA where a usable device is found, else the CPU.
/// Throws Error(device) where CUDA is asked for by name and there is none, Error(invalid_argument) for other words.
std::unique_ptr<Backend> make_backend(std::string_view choice);

/// The CUDA backend on `device` (-1: all of this host). Throws Error(device) with the reason where there is none.
/// Defined in cuda/; a build without CUDA says so.
std::unique_ptr<Backend> make_cuda_backend(int device);

/// Reach of a chain of filters: the sum of their halos.
Radius3 total_halo(std::span<const Settings> chain);

/// The place of `box` grown by `halo` and cut at `whole`; `data` is left to the caller.
VolumeView<float> grown(const VolumeView<float>& box, Radius3 halo, const VolumeView<const float>& whole);

}  // namespace quietvox
