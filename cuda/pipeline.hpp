// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/filter.hpp"
#include "cuda/device.hpp"

namespace quietvox::cuda {

/// Runs a chain of filters on one device, from host memory to host memory. The volume crosses the bus in pieces of
/// slices while the pieces before are filtered, each input slice once; what is between two filters stays on the device.
/// A volume larger than the device's memory, or than execution.memory_limit, goes through in several slabs.
/// Throws Error(out_of_memory) where not even a slab of one slice fits.
template <class T>
void run_chain(Device&, std::span<const FilterConfig> chain, VolumeView<const T> in, VolumeView<T> out,
               const Execution&);

}  // namespace quietvox::cuda
