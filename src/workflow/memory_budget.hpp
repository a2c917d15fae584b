// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/choice.hpp"
#include "workflow/observer.hpp"
#include "workflow/options.hpp"

namespace quietvox {

/// Threads, memory, progress and stop requests of a run. What the process takes already counts towards
/// --memory-limit; Error(out_of_memory) where that leaves nothing.
Execution execution_of(const ExecutionOptions&, const Observer&);

/// The same for readers and writers, which tell no progress but notes.
Execution background_of(const ExecutionOptions&, const Observer&);

/// Takes `bytes` that are needed besides the voxels from a memory limit; Error(out_of_memory) where that does not leave
/// `least`.
void reserve_memory(Execution&, std::size_t bytes, std::size_t least);

/// Gives memory back to the system that was freed, which is kept elsewise.
void trim_heap();

}  // namespace quietvox
