// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/choice.hpp"
#include "workflow/observer.hpp"
#include "workflow/options.hpp"

namespace quietvox {

/// Threads, memory, progress and stop requests of a run. The memory that the process already takes counts towards
/// memory_limit; throws Error(out_of_memory) if that leaves nothing.
Execution execution_of(const ExecutionOptions&, const Observer&);

/// The same for readers and writers, which report notes but no progress.
Execution background_of(const ExecutionOptions&, const Observer&);

/// Subtracts `bytes`, needed besides the voxels, from the memory limit that execution_of() made of these options.
/// Throws Error(out_of_memory), which tells the limit that would do, if less than `least` is left.
void reserve_memory(Execution&, const ExecutionOptions&, std::size_t bytes, std::size_t least);

/// Returns freed memory to the system, which the allocator would keep.
void trim_heap();

}  // namespace quietvox
