// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace quietvox {

/// How a filter is to run; what it computes never depends on it.
struct Execution {
  int threads = 0;  ///< 0: one per core
  std::optional<std::size_t>
      memory_limit;        ///< most bytes of voxels held at once; none: twice the volume, more for a chain
  std::stop_token stop{};  ///< a stop request ends the run with Errc::cancelled
  std::function<void(double)> progress{};  ///< called with the fraction done, 0 to 1, by any thread, one at a time
  std::function<void(const std::string&)> note{};  ///< called with a line for people, where a run has to wait
  /// Where a filter may keep what it needs again for the slices that follow. It belongs to one filter with the same
  /// parameters and to whole slices of one volume; what does not follow starts anew. Null: nowhere.
  std::any* kept = nullptr;

  /// The same execution whose progress covers only [from, to] of this one's.
  Execution part(double from, double to) const;
  /// The same execution that tells no progress.
  Execution silent() const;
};

/// Throws Error(cancelled) once a stop is requested.
void check_stop(const std::stop_token&);

/// Calls `body(begin, end)` on pieces of [0, count) of about `grain` items, in parallel. Reports progress after each
/// piece and throws Error(cancelled) once a stop is requested. The first exception of a piece ends the loop and is
/// rethrown.
void parallel_for(const Execution&, std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body);

/// Runs the jobs at the same time, as far as there are threads; each may use parallel_for. The first exception of a job
/// keeps those that have not begun from running, and is rethrown when the others have ended. The caller holds no lock
/// that other work may want: a thread that waits for jobs takes any.
void parallel_invoke(const Execution&, std::span<const std::function<void()>> jobs);

/// Threads that parallel_for uses for this execution.
int thread_count(const Execution&);

/// Calls `body(worker, item)` for each item of [0, count), in parallel like parallel_for. Workers, made by `make`, hold
/// buffers that are costly to make; they go from item to item, and serve one at a time.
template <class Make, class Body>
void parallel_for_with_scratch(const Execution& execution, std::int64_t count, const Make& make, const Body& body) {
  using Worker = std::invoke_result_t<const Make&>;
  std::mutex mutex;
  std::vector<std::unique_ptr<Worker>> idle;
  parallel_for(execution, count, 1, [&](std::int64_t begin, std::int64_t end) {
    std::unique_ptr<Worker> worker;
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) {
        worker = std::move(idle.back());
        idle.pop_back();
      }
    }
    if (!worker) worker = std::make_unique<Worker>(make());
    for (std::int64_t item = begin; item < end; ++item) body(*worker, item);
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(worker));
  });
}

}  // namespace quietvox
