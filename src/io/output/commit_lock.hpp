// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <list>
#include <set>

#include "core/execution.hpp"
#include "io/files/posix_file.hpp"

namespace quietvox::io {

/// Keeps runs that put outputs in place in the same folders from mixing theirs: a lock on each folder itself, for which
/// nothing is written. It ends with this object, or with the process.
class CommitLock {
 public:
  /// Waits where another process holds a lock, and says so by `execution.note`. After the longest time it goes on
  /// without, as it does where the file system knows no such locks: what waits is finished work. Throws
  /// Error(cancelled).
  CommitLock(const std::set<std::filesystem::path>& folders, const Execution& execution,
             std::chrono::milliseconds longest = std::chrono::seconds(20));

 private:
  std::list<Descriptor> held_;
};

}  // namespace quietvox::io
