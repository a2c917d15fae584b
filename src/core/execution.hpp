// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

namespace quietvox {

/// How a filter is to run; what it computes never depends on it.
struct Execution {
  int threads = 0;                          ///< 0: one per core
  std::optional<std::size_t> memory_limit;  ///< bytes of voxel buffers held at once; none: the whole volume
  std::stop_token stop{};                   ///< a stop request ends the run with Errc::cancelled
  std::function<void(double)> progress{};   ///< called with the fraction done, 0 to 1, never concurrently

  /// The same execution whose progress covers only [from, to] of this one's.
  Execution part(double from, double to) const;
};

/// Calls `body(begin, end)` on pieces of [0, count) of about `grain` items, in parallel. Reports progress after each
/// piece and throws Error(cancelled) once a stop is requested. The first exception of a piece ends the loop and is
/// rethrown.
void parallel_for(const Execution&, std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body);

/// Threads that parallel_for uses for this execution.
int thread_count(const Execution&);

}  // namespace quietvox
