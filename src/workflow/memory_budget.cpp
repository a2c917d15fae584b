// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/memory_budget.hpp"

#include <malloc.h>
#include <unistd.h>

#include <fstream>

#include "core/input_limits.hpp"

namespace quietvox {
namespace {

/// Bytes of memory that the process holds; 0 where the system does not say.
std::size_t resident_bytes() {
  std::size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// What a run takes besides its voxels: buffers of readers and writers, and code that is loaded when it is called; for
/// each thread, its stack and the working memory of filters.
constexpr std::size_t reserve = std::size_t{9} << 20, reserve_of_thread = std::size_t{256} << 10;

std::size_t bytes_of_limit(const ExecutionOptions& options) {
  return static_cast<std::size_t>(*options.memory_limit) << 20;
}

Message too_small(const ExecutionOptions& options) {
  return Parameter{"memory-limit"} + " = " + std::to_string(*options.memory_limit) + " is too small: ";
}

}  // namespace

Execution execution_of(const ExecutionOptions& options, const Observer& observer) {
  Execution result;
  result.threads = options.threads;
  result.stop = observer.stop;
  result.progress = observer.progress;
  if (options.memory_limit) {
    const std::size_t limit = bytes_of_limit(options);
    trim_heap();
    const std::size_t taken =
        resident_bytes() + reserve + reserve_of_thread * static_cast<std::size_t>(thread_count(result));
    if (limit <= taken) {
      throw Error(Errc::out_of_memory, too_small(options) + "without any voxels quietvox takes " + in_mib(taken),
                  "give more than that");
    }
    result.memory_limit = limit - taken;
  }
  return result;
}

Execution background_of(const ExecutionOptions& options, const Observer& observer) {
  Execution result = execution_of(options, observer).silent();
  result.note = observer.note;
  return result;
}

void reserve_memory(Execution& execution, const ExecutionOptions& options, std::size_t bytes, std::size_t least) {
  if (*execution.memory_limit < bytes + least) {
    const std::size_t taken = bytes_of_limit(options) - *execution.memory_limit;
    throw Error(Errc::out_of_memory,
                too_small(options) + "without any voxels quietvox takes " + in_mib(taken) +
                    ", readers, writers and filters " + in_mib(bytes) + ", and one slice, or what is done before, " +
                    in_mib(least),
                "give at least " + std::to_string(mib(taken) + mib(bytes) + mib(least)));
  }
  *execution.memory_limit -= bytes;
}

void trim_heap() { malloc_trim(0); }

}  // namespace quietvox
